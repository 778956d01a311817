"""Measure how often a patient's interval holds the true incidence, and how wide it is.

    python benchmarks/patient_intervals.py --sizes 1000 5000 20000 --repeats 10 4 2 --processes 16

Cohorts are simulated, so that the truth is known; coverage is that of 1,000 other subjects of the
same law, at several times, over all of them and in tenths of true and of predicted incidence.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from itertools import product
from multiprocessing import TimeoutError as Late
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

TIMES = np.array([12.0, 36.0, 60.0, 96.0])
N_OTHERS = 1000
FIRST_SEED = 7_000  # other seeds than those the method was chosen on
RESULTS = Path(__file__).parent / "results" / "patient_intervals.json"
MARGINS = (0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.5)  # what coverage would be, were intervals wider
NAMES = ("coverage", "low_side", "coverage_80", "width", "sd_truth", "rms_error")


def main() -> None:
    """Measure all laws and sizes; print a table and write it beside the others."""
    asked = parse()
    tasks = [
        (n, linear, causes, seed)
        for n, repeats in sorted(zip(asked.sizes, asked.repeats, strict=True), reverse=True)
        for seed, linear, causes in product(range(repeats), (True, False), (1, 2))
    ]
    tasks = [(*law, asked.first_seed + seed) for *law, seed in tasks]
    rows = list(run(tasks, asked.processes, asked.seconds))
    table = summarise(rows)
    print("\nmean over cohorts:")
    for row in table:
        print(json.dumps(row))
    if asked.out:
        about = {
            "margins": MARGINS,
            "times": TIMES.tolist(),
            "others": N_OTHERS,
            "first_seed": asked.first_seed,
        }
        Path(asked.out).write_text(json.dumps({**about, "rows": table}, indent=1) + "\n")


def parse() -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 5000])
    parser.add_argument("--repeats", type=int, nargs="+", default=[20, 10], help="of each size")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    parser.add_argument("--seconds", type=float, default=1e9, help="stop waiting after these")
    parser.add_argument("--out", default=str(RESULTS))
    return parser.parse_args()


def run(tasks: list[Any], processes: int, seconds: float) -> Iterator[dict[str, Any]]:
    """Measure cohorts in processes of their own; those not finished in time are left out."""
    end = time.monotonic() + seconds
    with get_context("spawn").Pool(processes) as pool:
        found = pool.imap_unordered(measure, tasks)
        for _ in tasks:
            try:
                rows = found.next(timeout=max(0.1, end - time.monotonic()))
            except Late:
                return
            print(
                *(json.dumps(row, default=np.ndarray.tolist) for row in rows), sep="\n", flush=True
            )
            yield from rows


def measure(task: tuple[int, bool, int, int]) -> list[dict[str, Any]]:
    """Fit one cohort, and measure the intervals of other subjects, a row for each state."""
    from survtrace import SurvTRACE
    from survtrace.datasets import make_cohort

    n, linear, n_causes, seed = task
    law: dict[str, Any] = {"linear": linear, "n_causes": n_causes}
    warnings.simplefilter("ignore")
    X, y = make_cohort(n, random_state=seed, **law)
    others, _, truth = make_cohort(N_OTHERS, random_state=10**6 + seed, return_truth=True, **law)
    begin = time.perf_counter()
    est = SurvTRACE(random_state=seed, verbose=False, n_threads=1, device="cpu").fit(X, y)
    seconds = time.perf_counter() - begin
    about = {"n": n, **law, "seconds": seconds}
    rows = []
    for state in (0, *est.causes_):
        how = {"kind": "survival"} if state == 0 else {"cause": state}
        if state == 0:
            true, found = truth.survival(TIMES), est.predict_survival_function(others, TIMES)
        else:
            true = truth.incidence(TIMES, cause=state)
            found = est.predict_cumulative_incidence(others, TIMES, cause=state)
        ends = [est.predict_interval(others, TIMES, level=level, **how) for level in (0.95, 0.8)]
        margins = [
            inside(true, *wider(est, by).predict_interval(others, TIMES, **how)).mean()
            for by in MARGINS
        ]
        rows.append({**about, "state": state, "margins": margins, **of_state(true, found, *ends)})
    return rows


def wider(est: Any, by: float) -> Any:
    """Copy an estimator whose intervals are so many times as wide, on the scale of log hazards."""
    scale = est.interval_
    quantiles = (by * np.array(scale.quantiles)).tolist()
    other = copy(est)
    other.interval_ = replace(scale, quantiles=quantiles)
    return other


def inside(true: Any, low: Any, high: Any) -> Any:
    """Mark where the truth lies between the ends."""
    return (low <= true) & (true <= high)


def of_state(true: Any, found: Any, ends: Any, ends_80: Any) -> dict[str, Any]:
    """Compute coverage, width and errors of a state, by time and by tenth."""
    (low, high), (low_80, high_80) = ends, ends_80
    holds = inside(true, low, high)
    return {
        "coverage": holds.mean(axis=0),
        "low_side": (true < low).mean(axis=0),
        "coverage_80": inside(true, low_80, high_80).mean(axis=0),
        "width": (high - low).mean(axis=0),
        "sd_truth": true.std(axis=0),
        "rms_error": np.sqrt(((found - true) ** 2).mean(axis=0)),
        "by_truth": by_tenth(holds, true),
        "by_prediction": by_tenth(holds, found),
    }


def by_tenth(holds: Any, by: Any) -> Any:
    """Coverage in tenths of a curve at each time, averaged over the times."""
    order = np.argsort(by, axis=0)
    tenths = np.array_split(np.take_along_axis(holds, order, axis=0), 10)
    return np.array([tenth.mean() for tenth in tenths])


def summarise(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Average over the cohorts of a law and a size."""
    groups = defaultdict(list)
    for row in rows:
        groups[row["n"], row["linear"], row["n_causes"], row["state"]].append(row)
    table = []
    for (n, linear, n_causes, state), group in sorted(groups.items()):
        means = {
            name: np.mean([row[name] for row in group], axis=0).round(3).tolist()
            for name in (*NAMES, "by_truth", "by_prediction", "margins")
        }
        every = [np.mean(row["coverage"]) for row in group]
        ratio = np.mean([np.divide(row["width"], row["sd_truth"]) for row in group], axis=0)
        table.append(
            {
                "n": n,
                "linear": linear,
                "n_causes": n_causes,
                "state": "event-free" if state == 0 else f"cause {state}",
                "cohorts": len(group),
                "mean_coverage": round(float(np.mean(every)), 3),
                "sd_between_cohorts": round(float(np.std(every)), 3),
                "width_over_sd_truth": ratio.round(2).tolist(),
                **means,
                "seconds": round(float(np.mean([row["seconds"] for row in group])), 1),
            }
        )
    return table


def markdown(report: dict[str, Any]) -> str:
    """Write the table of docs/results.md; with one cause to be event-free is its complement."""
    head = (
        "| subjects | linear | causes | state | cohorts | coverage at each time | mean "
        "| lowest, highest tenth of truth | width at each time |"
    )
    lines = [head, "|---|---|---|---|---|---|---|---|---|"]
    for row in report["rows"]:
        if (row["n_causes"], row["state"]) != (1, "event-free"):
            cells = (
                f"{row['n']:,}",
                "yes" if row["linear"] else "no",
                f"{row['n_causes']}",
                row["state"],
                f"{row['cohorts']}",
                " ".join(f"{share:.2f}" for share in row["coverage"]),
                f"{row['mean_coverage']:.3f}",
                f"{row['by_truth'][0]:.2f}, {row['by_truth'][-1]:.2f}",
                " ".join(f"{width:.1f}" for width in row["width_over_sd_truth"]),
            )
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
