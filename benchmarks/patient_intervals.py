"""Measure how often a patient's interval holds the true incidence, and how wide it is.

    python benchmarks/patient_intervals.py --sizes 1000 5000 --repeats 20 --processes 16

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
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

TIMES = np.array([12.0, 36.0, 60.0, 96.0])
N_OTHERS = 1000
FIRST_SEED = 7_000  # other seeds than those the method was chosen on
RESULTS = Path(__file__).parent / "results" / "patient_intervals.json"
NAMES = ("coverage", "low_side", "coverage_80", "width", "sd_truth", "rms_error")


def main() -> None:
    """Measure all laws and sizes; print a table and write it beside the others."""
    asked = parse()
    tasks = [
        (n, linear, causes, seed)
        for seed, n, linear, causes in product(
            range(asked.first_seed, asked.first_seed + asked.repeats),
            asked.sizes,
            (True, False),
            (1, 2),
        )
    ]
    rows = list(run(tasks, asked.processes, asked.seconds))
    table = summarise(rows)
    for row in table:
        print(json.dumps(row))
    if asked.out:
        about = {"times": TIMES.tolist(), "others": N_OTHERS, "first_seed": asked.first_seed}
        Path(asked.out).write_text(json.dumps({**about, "rows": table}, indent=1) + "\n")


def parse() -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 5000])
    parser.add_argument("--repeats", type=int, default=10)
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
                yield from found.next(timeout=max(0.1, end - time.monotonic()))
            except TimeoutError:
                return


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
        rows.append({**about, "state": state, **of_state(true, found, *ends)})
    return rows


def of_state(true: Any, found: Any, ends: Any, ends_80: Any) -> dict[str, Any]:
    """Compute coverage, width and errors of a state, by time and by tenth."""
    (low, high), (low_80, high_80) = ends, ends_80
    inside = (low <= true) & (true <= high)
    return {
        "coverage": inside.mean(axis=0),
        "low_side": (true < low).mean(axis=0),
        "coverage_80": ((low_80 <= true) & (true <= high_80)).mean(axis=0),
        "width": (high - low).mean(axis=0),
        "sd_truth": true.std(axis=0),
        "rms_error": np.sqrt(((found - true) ** 2).mean(axis=0)),
        "by_truth": by_tenth(inside, true),
        "by_prediction": by_tenth(inside, found),
    }


def by_tenth(inside: Any, by: Any) -> Any:
    """Coverage in tenths of a curve at each time, averaged over the times."""
    order = np.argsort(by, axis=0)
    tenths = np.array_split(np.take_along_axis(inside, order, axis=0), 10)
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
            for name in (*NAMES, "by_truth", "by_prediction")
        }
        every = [row["coverage"].mean() for row in group]
        ratio = np.mean([row["width"] / row["sd_truth"] for row in group], axis=0)
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


if __name__ == "__main__":
    main()
