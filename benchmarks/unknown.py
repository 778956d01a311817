"""Calibration of predictions when covariates of the test rows are unknown: none, one, half, all.

Fits SurvTRACE at its defaults to the learning rows of each split and predicts the test rows as they
are, with each covariate removed in turn, with a random half of the values removed, and with all.
A row of the result: the mean predicted incidence of any cause at the median event time, beside
Aalen-Johansen's of the learning rows (what a patient of whom nothing is known should get) and of
the test rows, and the integrated Brier score, mean over causes. Writes results/unknown.csv; with
--without the same where no step taught what unknown means, to results/unknown_without.csv.
"""

from __future__ import annotations

import argparse
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from survtrace import SurvTRACE
from survtrace.datasets.public import PUBLIC
from survtrace.metrics import aalen_johansen, integrated_brier_score
from survtrace.study.protocol import load_task
from survtrace.tables.outcome.outcome import read_outcome

RESULTS = Path(__file__).parent / "results"
DATA = ["metabric", "support", "flchain", *PUBLIC]


def removed(X: pd.DataFrame, seed: int) -> dict[str, list[pd.DataFrame]]:
    """Versions of a table with covariates removed, by how many."""
    half = np.random.default_rng(seed).random(X.shape) < 0.5
    return {
        "none": [X],
        "one": [X.assign(**{name: np.nan}) for name in X.columns[:20]],
        "half": [X.mask(half)],
        "all": [X.assign(**dict.fromkeys(X.columns, np.nan))],
    }


def score_split(data: str, number: int, settings: dict[str, Any]) -> list[dict[str, object]]:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    task = load_task(data)
    split = task.splits[number]
    horizon, grid = task.times(split)[0][1], task.times(split)[1]
    X, learned, tested = task.X, task.y.iloc[split.learn], read_outcome(task.y.iloc[split.test])
    est = SurvTRACE(random_state=number, verbose=False, **settings).fit(
        X.iloc[split.learn], learned
    )
    y_train = read_outcome(learned)
    observed = {
        name: sum(float(aalen_johansen(y, cause).at([horizon])[0]) for cause in est.causes_)
        for name, y in (("learned", y_train), ("tested", tested))
    }
    rows = []
    for how_many, tables in removed(X.iloc[split.test], number).items():
        for table in tables:
            incidence = est.predict_cumulative_incidence(table, [horizon, *grid])
            brier = [
                float(
                    integrated_brier_score(
                        tested, incidence[:, k, 1:], grid, cause=cause, y_train=y_train
                    )
                )
                for k, cause in enumerate(est.causes_)
            ]
            predicted = float(incidence[:, :, 0].sum(1).mean())
            known = {"data": data, "split": number, "removed": how_many, "predicted": predicted}
            rows.append({**known, **observed, "ibs": float(np.mean(brier))})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--data", default=",".join(DATA))
    parser.add_argument("--without", action="store_true", help="unknown_steps=0")
    asked = parser.parse_args()
    settings = {"unknown_steps": 0} if asked.without else {}
    out = RESULTS / ("unknown_without.csv" if asked.without else "unknown.csv")
    with ProcessPoolExecutor(asked.processes) as pool:
        jobs = [
            pool.submit(score_split, data, number, settings)
            for data in asked.data.split(",")
            for number in range(asked.splits)
        ]
        rows = pd.DataFrame([row for job in jobs for row in job.result()])
    means = rows.groupby(["data", "removed"], sort=False).mean().drop(columns="split")
    means["shift"] = (
        rows.assign(shift=(rows["predicted"] / rows["learned"] - 1).abs())
        .groupby(["data", "removed"], sort=False)["shift"]
        .mean()
    )
    means.reset_index().to_csv(out, index=False, float_format="%.5f")
    print(means.to_string(float_format="%.4f"))


if __name__ == "__main__":
    main()
