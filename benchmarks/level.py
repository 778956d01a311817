"""Mean predicted incidence against Aalen-Johansen of the rows learned from, and what it costs.

Fits SurvTRACE at its defaults to simulated cohorts whose truth is known, and to two thirds of
public tables. Every network answers twice: as it was trained (``recalibrate=False``) and with its
level fitted (the default); so the comparison is paired. Told are

- events expected over events observed in the rows learned from, with dropout in place and without;
- mean predicted incidence over Aalen-Johansen's, by cause, at the 25, 50, 75 and 97 % quantiles of
  the event times;
- simulated: the mean squared error of incidences of 4,000 other subjects against the truth;
- public tables: the integrated Brier score of the third that was held out.

    python benchmarks/level.py --processes 2       # writes benchmarks/results/level.json

Tables come from the extra ``public``. A machine without it reads what ``--export FOLDER`` wrote on
another: ``--folder FOLDER``.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import torch

from survtrace import SurvTRACE
from survtrace.datasets import load_flchain, load_metabric, load_public, load_support, make_cohort
from survtrace.datasets.public import _from_survset
from survtrace.losses.hazard import exposure
from survtrace.metrics import aalen_johansen
from survtrace.tables.outcome.time_grid import locate

RESULTS = Path(__file__).parent / "results" / "level.json"
QUANTILES = (0.25, 0.5, 0.75, 0.97)
MOST_ROWS = 3_000
N_MASKS = 10  # draws of dropout
SIMULATED: dict[str, dict[str, Any]] = {
    "1000 subjects": {"n_subjects": 1_000},
    "3000 subjects": {"n_subjects": 3_000},
    "3000 subjects and 20 intervals": {"n_subjects": 3_000, "n_intervals": 20},
    "2000 subjects with frequent events": {
        "n_subjects": 2_000, "linear": True, "proportions": (0.4, 0.25),
    },
}  # fmt: skip
SURVSET = (
    "prostate", "actg", "vlbw", "TRACE", "whas500", "dataDIVAT1", "prostateSurvival", "nwtco",
    "uis", "colon", "follic", "Aids2", "GBSG2", "rott2", "Framingham",
)  # fmt: skip
PUBLIC = ("nafld", "ebmt", "smart", "unemployment", "mgus", "leukemia", "pbc")
LOADERS: dict[str, Callable[[], tuple[pd.DataFrame, pd.DataFrame]]] = {
    **{name: partial(load_public, name) for name in PUBLIC},
    **{name: partial(_from_survset, name) for name in SURVSET},
    "metabric": load_metabric,
    "support": load_support,
    "flchain": load_flchain,
}
OUTCOME = ("_event", "_duration")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--tables", help="names, with commas; default: all")
    parser.add_argument("--folder", type=Path, help="tables that --export wrote")
    parser.add_argument("--export", type=Path, help="write the tables there, and end")
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    if given.export:
        export(given.export)
        return
    names = given.tables.split(",") if given.tables else [*SIMULATED, *LOADERS]
    jobs = [
        (simulated, name, seed) if name in SIMULATED else (public, name, seed, given.folder)
        for seed in range(given.repeats)
        for name in names
    ]
    rows: list[dict[str, Any]] = []
    with ProcessPoolExecutor(given.processes) as pool:
        for done in as_completed([pool.submit(*job) for job in jobs]):
            rows.append(done.result())
            report = {**summary(rows), "rows": rows}  # what a run that is broken off leaves
            given.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(json.dumps({name: value for name, value in report.items() if name != "rows"}, indent=1))


def export(folder: Path) -> None:
    """Write the tables as CSV files that any machine reads the same."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in LOADERS:
        X, y = load(name, None)
        y = y.set_axis(OUTCOME, axis=1)
        pd.concat([y, X], axis=1).to_csv(folder / f"{name}.csv", index=False)


def load(name: str, folder: Path | None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Load a table, or a sample of 3,000 of its rows; categories as text."""
    if folder is not None:
        table = pd.read_csv(folder / f"{name}.csv")
        y = table[list(OUTCOME)].set_axis(["event", "duration"], axis=1)
        return table.drop(columns=list(OUTCOME)), y
    X, y = (each.reset_index(drop=True) for each in LOADERS[name]())
    rows = np.sort(np.random.default_rng(0).permutation(len(X))[:MOST_ROWS])
    X, y = (each.iloc[rows].reset_index(drop=True) for each in (X, y))
    for column in X.select_dtypes(exclude="number"):
        X[column] = X[column].map("level {}".format, na_action="ignore").astype(object)
    return X, y[["event", "duration"]]


def simulated(name: str, seed: int) -> dict[str, Any]:
    """Fit a simulated cohort; squared errors against the truth."""
    law = dict(SIMULATED[name])
    n_intervals, n = law.pop("n_intervals", 4), law.pop("n_subjects")
    X, y = make_cohort(n, **law, random_state=seed)
    others, _, truth = make_cohort(4_000, **law, random_state=10_000 + seed, return_truth=True)

    def score(est: SurvTRACE, horizons: Any) -> float:
        incidence = est.predict_cumulative_incidence(others, horizons)
        return float(np.mean((incidence - truth.incidence(horizons)) ** 2))

    return {"table": name, "kind": "simulated", **compare(X, y, seed, score, n_intervals)}


def public(name: str, seed: int, folder: Path | None) -> dict[str, Any]:
    """Fit two thirds of a public table; integrated Brier scores of the others."""
    X, y = load(name, folder)
    order = np.random.default_rng(seed).permutation(len(X))
    learned, held_out = np.split(order, [2 * len(X) // 3])

    def score(est: SurvTRACE, horizons: Any) -> float:
        return -est.score(X.iloc[held_out], y.iloc[held_out])

    return {
        "table": name,
        "kind": "public",
        **compare(X.iloc[learned], y.iloc[learned], seed, score),
    }


def compare(
    X: pd.DataFrame,
    y: pd.DataFrame,
    seed: int,
    score: Callable[[SurvTRACE, Any], float],
    n_intervals: int = 4,
) -> dict[str, Any]:
    """Fit once; level and score before and after it was fitted."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    start = time.perf_counter()
    settings = {"n_intervals": n_intervals, "intervals": False, "random_state": seed}
    est = SurvTRACE(**settings, device="cpu", n_threads=1, verbose=False).fit(X, y)
    seconds = time.perf_counter() - start
    horizons = np.quantile(y["duration"][y["event"] > 0], QUANTILES)
    observed = aalen_johansen(y).at(horizons)
    factor, found = est.network_.recalibration_factor.clone(), {}
    for name, now in (("before", torch.ones_like(factor)), ("after", factor)):
        est.network_.recalibration_factor.copy_(now)
        predicted = est.predict_cumulative_incidence(X, horizons).mean(0)
        found[name] = {
            "predicted_over_observed": (predicted / np.maximum(observed, 1e-9)).round(4).tolist(),
            "expected_over_observed": expected_over_observed(est, X, y, dropout=False),
            "score": score(est, horizons),
        }
    est.network_.recalibration_factor.fill_(1.0)
    with_dropout = expected_over_observed(est, X, y, dropout=True)
    return {"seed": seed, "seconds": round(seconds, 2), "with_dropout": with_dropout, **found}


@torch.no_grad()
def expected_over_observed(
    est: SurvTRACE, X: pd.DataFrame, y: pd.DataFrame, dropout: bool
) -> list[float]:
    """Events that the hazards expect in the time lived, over those observed, by cause."""
    network = est.network_
    encoded = est.encoding_.encode(nw.from_native(X))
    rows, values = torch.from_numpy(encoded.rows), torch.from_numpy(encoded.values)
    end = np.minimum(y["duration"].to_numpy(float), est.time_grid_[-1])
    place = (torch.from_numpy(each) for each in locate(end, est.time_grid_))
    lived = exposure(*place, network.shape.n_intervals)
    network.train(dropout)
    network.seed_dropout(0)
    n_masks = N_MASKS if dropout else 1
    hazard = sum(network.hazards(rows, values).mean(0) for _ in range(n_masks)) / n_masks
    network.seed_dropout(None)
    network.eval()
    expected = (hazard * lived.unsqueeze(1)).sum((0, 2)).numpy()
    observed = [int((y["event"] == cause).sum()) for cause in est.causes_]
    return np.round(expected / observed, 4).tolist()


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Means over repeats and tables; tables, not repeats, make the interval of the score."""
    names = dict.fromkeys(row["table"] for row in sorted(rows, key=lambda row: row["kind"]))
    by_table = {name: of_table([r for r in rows if r["table"] == name]) for name in names}
    kinds = {row["table"]: row["kind"] for row in rows}
    scores = [by_table[name]["score_change_percent"] for name in names if kinds[name] == "public"]
    scores = scores or [np.nan]
    deviation = {
        when: np.concatenate([table[f"percent_{when}"] for table in by_table.values()], axis=None)
        for when in ("before", "after")
    }
    reach = 1.96 * np.std(scores, ddof=1) / np.sqrt(len(scores)) if len(scores) > 1 else np.nan
    return {
        "public_score_change_percent": [round(float(np.mean(scores)), 3), round(float(reach), 3)],
        "mean_absolute_deviation_percent": {
            when: round(float(np.abs(each).mean()), 2) for when, each in deviation.items()
        },
        "tables": by_table,
    }


def of_table(rows: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Mean over the repeats of one table."""
    rows = list(rows)

    def mean(values: Iterable[Any]) -> Any:
        return np.mean(list(values), axis=0).round(3).tolist()

    return {
        "repeats": len(rows),
        "seconds": mean(row["seconds"] for row in rows),
        "expected_over_observed_with_dropout": mean(row["with_dropout"] for row in rows),
        "expected_over_observed": mean(row["before"]["expected_over_observed"] for row in rows),
        **{
            f"percent_{when}": mean(
                100 * (np.array(row[when]["predicted_over_observed"]) - 1) for row in rows
            )
            for when in ("before", "after")
        },
        "score_change_percent": mean(
            100 * (row["after"]["score"] / row["before"]["score"] - 1) for row in rows
        ),
    }


def markdown(report: dict[str, Any]) -> str:
    """Write the table of the simulated cohorts and of the tables that the studies use, too."""
    lines = [
        "| table | as trained | level fitted | expected over observed | with dropout |",
        "|---|---|---|---|---|",
    ]
    for name in (*SIMULATED, "flchain", "metabric", "support"):
        table = report["tables"][name]
        percents = (
            ", ".join(
                " ".join(f"{round(percent):+d}" for percent in cause) for cause in table[when]
            )
            for when in ("percent_before", "percent_after")
        )
        ratios = (
            " ".join(f"{ratio:.2f}" for ratio in table[which])
            for which in ("expected_over_observed", "expected_over_observed_with_dropout")
        )
        lines.append(f"| {name} | {' | '.join(percents)} | {' | '.join(ratios)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
