"""SurvTRACE with default settings on the ten shared splits of METABRIC and SUPPORT.

The fit receives training and validation rows and draws its own validation; test rows only
report. Scores are the paper's (Uno's concordance at three horizons, censoring from the training
rows) plus the integrated Brier score. Needs the data sets and split files, in
$SURVTRACE_DATA_HOME. Writes benchmarks/results/splits.csv and prints the table.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import pandas as pd
from rich.console import Console
from rich.progress import track

from survtrace import DataWarning, SurvTRACE
from survtrace.study.protocol import load_task
from survtrace.study.scoring import score_method

RESULTS = Path(__file__).parent / "results"
SCORES = ["C25", "C50", "C75", "IBS"]
SETTINGS = {"default": {}, "one member": {"n_members": 1}}


def score_split(name: str, split: int, settings: dict) -> dict:
    task = load_task(name)
    est = SurvTRACE(random_state=split, verbose=False, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        scores, seconds = score_method(est, task, task.splits[split])
    return {
        **scores[SCORES].iloc[0].to_dict(),
        "epochs": int(est.history_["epoch"].max()) + 1,
        "seconds": seconds["fit_seconds"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="*", default=["metabric", "support"])
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--out", type=Path, default=RESULTS / "splits.csv")
    chosen = parser.parse_args()
    jobs = [
        (name, label, split)
        for name in chosen.data
        for label in SETTINGS
        for split in range(chosen.splits)
    ]
    console = Console()
    rows = [
        {"data": name, "settings": label, "split": split}
        | score_split(name, split, SETTINGS[label])
        for name, label, split in track(jobs, console=console)
    ]
    frame = pd.DataFrame(rows)
    chosen.out.parent.mkdir(exist_ok=True)
    frame.to_csv(chosen.out, index=False, float_format="%.6f")
    means = frame.groupby(["data", "settings"]).mean(numeric_only=True)
    console.print(means.drop(columns="split").round(4).to_string())


if __name__ == "__main__":
    main()
