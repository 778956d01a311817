"""The integrated Brier score of the studies' data by both rules for tied times.

An event at t is weighted by 1 / G(t-) ("left-limit", the default) or by 1 / G(t)
("scikit-survival", the only rule of earlier figures). Cause-specific Cox and Aalen-Johansen are
scored on every table of the studies, SurvTRACE where a fit takes seconds. Mean over causes and
splits. Writes results/ties.csv.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from survtrace.datasets.public import PUBLIC
from survtrace.study.presets import SIMPLE, survtrace
from survtrace.study.protocol import SHARED, SIMULATED, load_task
from survtrace.study.scoring import score_predictions

RESULTS = Path(__file__).parent / "results" / "ties.csv"
QUICK = ("mgus", "unemployment", "leukemia", "pbc")
RULES = ("scikit-survival", "left-limit")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=5)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for data in (*SHARED, *SIMULATED, *PUBLIC):
        task = load_task(data)
        methods = {**SIMPLE, **({"SurvTRACE": survtrace} if data in QUICK else {})}
        for name, make in methods.items():
            for number, split in enumerate(task.splits[: asked.splits]):
                method = make(number).fit(task.X.iloc[split.learn], task.y.iloc[split.learn])
                times = np.concatenate(task.times(split))
                incidence = method.predict_cumulative_incidence(task.X.iloc[split.test], times)
                for rule in RULES:
                    scores = score_predictions(incidence, replace(task, ties=rule), split)
                    known = {"data": data, "method": name, "rule": rule}
                    rows.append({**known, "ibs": scores["IBS"].mean()})
        print(data, flush=True)
    means = pd.DataFrame(rows).pivot_table("ibs", ["data", "method"], "rule", sort=False)[[*RULES]]
    means["change, %"] = 100 * (means["left-limit"] / means["scikit-survival"] - 1)
    means.reset_index().to_csv(RESULTS, index=False, float_format="%.6f")
    print(means.to_string(float_format="%.5f"))


if __name__ == "__main__":
    main()
