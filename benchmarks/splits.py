"""SurvTRACE with default settings on the ten shared splits of METABRIC and SUPPORT.

The fit receives training and validation rows and draws its own validation; test rows only
report. Scores are the paper's (Uno's concordance at three horizons, censoring from the training
rows) plus the integrated Brier score. Needs the split files beside the data sets, in
$SURVTRACE_DATA_HOME. Writes benchmarks/results/splits.csv and prints the table.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from rich.console import Console
from rich.progress import track

from survtrace import DataWarning, SurvTRACE
from survtrace.datasets import load_metabric, load_support
from survtrace.metrics import concordance_paper, integrated_brier_score_survival

RESULTS = Path(__file__).parent / "results"
LOADERS = {"metabric": load_metabric, "support": load_support}


def score_split(name: str, split: int, splits: np.lib.npyio.NpzFile, settings: dict) -> dict:
    X, y = LOADERS[name]()
    train, val, test = (splits[f"{part}_{split}"] for part in ("train", "val", "test"))
    learn = np.concatenate([train, val])
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "1 of .* censored at duration 0", DataWarning)
        est = SurvTRACE(random_state=split, **settings).fit(X.iloc[learn], y.iloc[learn])
    seconds = time.perf_counter() - began
    horizons, grid = splits["horizons"], splits["ibs_grid"]
    survival = est.predict_survival_function(X.iloc[test], np.concatenate([horizons, grid]))
    scored = {"y": y.iloc[test], "y_train": y.iloc[train]}
    concordance = [
        concordance_paper(estimate=1 - survival[:, k], horizon=horizon, **scored)
        for k, horizon in enumerate(horizons)
    ]
    ibs = integrated_brier_score_survival(survival=survival[:, 3:], times=grid, **scored)
    return dict(zip(("C25", "C50", "C75"), concordance, strict=True)) | {
        "IBS": ibs,
        "epochs": int(est.history_["epoch"].max()) + 1,
        "seconds": seconds,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", choices=LOADERS, nargs="*", default=list(LOADERS))
    parser.add_argument("--splits", type=int, default=10)
    chosen = parser.parse_args()
    home = Path(os.environ.get("SURVTRACE_DATA_HOME", "../shared/data"))
    os.environ.setdefault("SURVTRACE_DATA_HOME", str(home))
    jobs = [
        (name, label, settings, split)
        for name in chosen.data
        for label, settings in (("default", {}), ("one member", {"n_members": 1}))
        for split in range(chosen.splits)
    ]
    console = Console()
    rows = []
    for name, label, settings, split in track(jobs, console=console):
        with np.load(home / f"splits_{name}.npz") as splits:
            scores = score_split(name, split, splits, {"verbose": False, **settings})
        rows.append({"data": name, "settings": label, "split": split, **scores})
    frame = pd.DataFrame(rows)
    RESULTS.mkdir(exist_ok=True)
    frame.to_csv(RESULTS / "splits.csv", index=False, float_format="%.6f")
    means = frame.groupby(["data", "settings"]).mean(numeric_only=True)
    console.print(means.drop(columns="split").round(4).to_string())


if __name__ == "__main__":
    main()
