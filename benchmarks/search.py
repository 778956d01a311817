"""Chooses every baseline's settings on validation rows, for the studies to take.

Candidates are the products of each baseline's ``search_space``; they learn from the training rows
of the first splits and are judged by the integrated Brier score of their validation rows.
Resumable.
Writes benchmarks/results/search/scores.csv and src/survtrace/study/searched.json.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pandas as pd

from survtrace.study.presets import BOOSTING, COMPRISK, PAPER_COMPETING, PAPER_SINGLE
from survtrace.study.setting_search import SEARCHED, search_settings

RESULTS = Path(__file__).parent / "results" / "search"
SEARCHES = [
    ("metabric", PAPER_SINGLE, 5),
    ("support", PAPER_SINGLE, 3),
    ("flchain", PAPER_COMPETING, 3),
    ("simulated", PAPER_COMPETING, 1),
    ("linear", PAPER_COMPETING, 1),
]
PEERS = [
    ("metabric", BOOSTING, 1),
    ("support", BOOSTING, 1),
    ("flchain", {**BOOSTING, **COMPRISK}, 1),
    ("simulated", {**BOOSTING, **COMPRISK}, 1),
    ("linear", {**BOOSTING, **COMPRISK}, 1),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=2)
    n_processes = parser.parse_args().processes
    found: dict[str, dict] = {}
    scores = []
    for label, searches in (("", SEARCHES), ("peers-", PEERS)):
        for data, methods, n_splits in searches:
            folder = RESULTS / f"{label}{data}"
            best = search_settings(
                data, methods, folder, n_splits=n_splits, n_processes=n_processes
            )
            scores.append(pd.read_csv(folder / "scores.csv"))
            found[data] = found.get(data, {}) | best
            print(data, best)
    pd.concat(scores).to_csv(RESULTS / "scores.csv", index=False, float_format="%.6f")
    SEARCHED.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
