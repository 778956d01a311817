"""Small tables: what token bias and the pull to proportional hazards are worth, and Cox by ridge.

The first five splits of the public tables with at most 1,400 rows. SurvTRACE at its defaults and
without either setting; cause-specific Cox at several ridges, so that a reader sees which one would
be best with hindsight on the test rows. Means over splits and causes.

    python benchmarks/small_tables.py          # writes benchmarks/results/small_tables.json
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from survtrace.baselines import CauseSpecificCox
from survtrace.study.presets import ABLATION
from survtrace.study.protocol import load_task
from survtrace.study.scoring import score_method

RESULTS = Path(__file__).parent / "results" / "small_tables.json"
DATA = ("mgus", "leukemia", "ovarian", "pbc")
SCORES = ["C25", "C50", "C75", "IBS"]
N_SPLITS = 5


def cox(seed: int, ridge: float) -> Any:
    return CauseSpecificCox(ridge=ridge)


METHODS: dict[str, Callable[[int], Any]] = {
    **{name: ABLATION[name] for name in ("SurvTRACE", "w/o token bias", "w/o pull")},
    **{f"Cox, ridge {ridge:,}": partial(cox, ridge=ridge) for ridge in (1, 10, 100, 1_000, 10_000)},
}


def main() -> None:
    warnings.simplefilter("ignore")
    found = []
    for data in DATA:
        task = load_task(data)
        for method, make in METHODS.items():
            for number, split in enumerate(task.splits[:N_SPLITS]):
                means = score_method(make(number), task, split)[0][SCORES].mean()
                found.append({"data": data, "method": method, "split": number, **means})
        report = {"rows": found}
        RESULTS.write_text(json.dumps(report, indent=1) + "\n")  # all that is done so far
        print(data, flush=True)
    print(markdown(report))


def markdown(report: dict[str, Any]) -> str:
    """A row for each method: concordances at three horizons and integrated Brier score."""
    table = pd.DataFrame(report["rows"])
    means = table.groupby(["method", "data"], sort=False)[SCORES].mean()
    lines = ["| | " + " | ".join(DATA) + " |", "|---|" + "---|" * len(DATA)]
    for method in dict.fromkeys(table["method"]):
        cells = [
            " ".join(f"{means.loc[(method, data), score]:.3f}" for score in SCORES[:3])
            + f", {means.loc[(method, data), 'IBS']:.4f}"
            for data in DATA
        ]
        lines.append(f"| {method} | " + " | ".join(cells) + " |")
    return "\n".join(lines).replace("0.", ".")


if __name__ == "__main__":
    main()
