"""comprisk's competing-risk forest beside ours: same rows, same cores, same scores.

    python benchmarks/forest.py                         # 100,000 rows to learn from, all cores
    python benchmarks/forest.py --rows 238000 --methods forest "one member"
    python benchmarks/forest.py --show

Simulated subjects with 18 covariates and two causes, 20,000 others to score. The forest grows with
comprisk's own default settings (100 trees, leaves of 3) and with those of the study (200 trees,
leaves of 15); ours has its defaults, with one member and with eight, on the processor, and on a GPU
where there is one. Both get the raw table, and all of the given cores. Each fits a small table
first, so that no second is a compiler's. Concordance (at the median event time) and integrated
Brier score are those of the study, a mean over the causes, with the true incidence's beside them.
Results go to benchmarks/results/forest_<cores>cores.json; each number of rows and method replaces
its own figures there.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch

from survtrace import SurvTRACE
from survtrace.baselines import CompetingRiskForest
from survtrace.datasets import make_cohort
from survtrace.study.protocol import Split, Task
from survtrace.study.scoring import score_predictions

RESULTS = Path(__file__).parent / "results"
N_TEST, N_SMALL = 20_000, 2_000


def methods(n_threads: int) -> dict[str, partial[Any]]:
    """What makes each method, by its name."""
    ours = partial(SurvTRACE, n_threads=n_threads, random_state=0, verbose=False)
    forest = partial(CompetingRiskForest, n_jobs=n_threads, random_state=0)
    found = {
        "forest": partial(forest, n_estimators=100, min_samples_leaf=3),
        "forest of the study": forest,
        "one member": partial(ours, n_members=1, device="cpu"),
        "eight members": partial(ours, device="cpu"),
    }
    if torch.cuda.is_available():
        found["one member, GPU"] = partial(ours, n_members=1, device="cuda")
        found["eight members, GPU"] = partial(ours, device="cuda")
    return found


def simulated(n_rows: int) -> Task:
    """Subjects to learn from, and others to score."""
    X, y, truth = make_cohort(n_rows + N_TEST, random_state=0, return_truth=True)
    rows = np.arange(n_rows + N_TEST)
    split = Split(rows[:n_rows], rows[:0], rows[n_rows:])
    return Task("forest", X, y, (split,), truth=truth)


def measure(make: partial[Any], task: Task) -> dict[str, Any]:
    """Seconds to fit and to predict, and the scores of the held-out rows."""
    split = task.splits[0]
    times = np.concatenate(task.times(split))
    X, y, X_test = task.X.iloc[split.learn], task.y.iloc[split.learn], task.X.iloc[split.test]
    few = {"max_epochs": 1} if make.func is SurvTRACE else {}
    small = make(**few).fit(X[:N_SMALL], y[:N_SMALL])
    small.predict_cumulative_incidence(X_test[:N_SMALL], times)
    method, began = make(), time.perf_counter()
    method.fit(X, y)
    fitted = time.perf_counter()
    incidence = method.predict_cumulative_incidence(X_test, times)
    predicted = time.perf_counter()
    return {
        "fit_seconds": round(fitted - began, 2),
        "predict_seconds": round(predicted - fitted, 3),
        **scores(incidence, task),
    }


def scores(incidence: Any, task: Task) -> dict[str, Any]:
    """Concordance and integrated Brier score, by cause and their means."""
    table = score_predictions(incidence, task, task.splits[0])
    return {
        "concordance": round(float(table["C50"].mean()), 4),
        "integrated_brier": round(float(table["IBS"].mean()), 4),
        "distance_to_truth": round(float(table["truth"].mean()), 4),
        "by_cause": table.round(4).to_dict(orient="records"),
    }


def markdown(report: dict[str, Any]) -> str:
    """Write the results as a Markdown table."""
    machine = report["machine"]
    lines = [
        f"{machine['cpu']}, {machine['threads']} threads, {machine['device']}",
        "",
        "| rows | method | fit, s | predict 20,000, s | concordance | Brier | from the truth |",
        "|---|---|---|---|---|---|---|",
    ]
    for n_rows, found in report["rows"].items():
        for name, row in found.items():
            figures = [
                f"{row[key]:.4g}" if key in row else ""
                for key in ("fit_seconds", "predict_seconds")
            ]
            figures += [
                f"{row[key]:.4f}".lstrip("0")
                for key in ("concordance", "integrated_brier", "distance_to_truth")
            ]
            lines.append(f"| {int(n_rows):,} | {name} | " + " | ".join(figures) + " |")
    return "\n".join(lines)


def main() -> None:
    n_cores = len(os.sched_getaffinity(0))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000])
    parser.add_argument("--threads", type=int, default=n_cores)
    parser.add_argument("--methods", nargs="+", choices=methods(1), default=list(methods(1)))
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--show", action="store_true", help="print the table of the result file")
    given = parser.parse_args()
    file = given.out / f"forest_{given.threads}cores.json"
    report = json.loads(file.read_text()) if file.exists() else {"rows": {}}
    if given.show:
        print(markdown(report))
        return
    report["machine"] = machine(given.threads)
    given.out.mkdir(parents=True, exist_ok=True)
    for n_rows in given.rows:
        task = simulated(n_rows)
        found = report["rows"].setdefault(str(n_rows), {})
        split = task.splits[0]
        true = task.truth.take(split.test).incidence(np.concatenate(task.times(split)))
        found["the truth"] = scores(true, task)
        for name in given.methods:
            found[name] = measure(methods(given.threads)[name], task)
            print(n_rows, name, {k: v for k, v in found[name].items() if k != "by_cause"})
            file.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(markdown(report))


def machine(n_threads: int) -> dict[str, Any]:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return {
        "cpu": names[0] if names else platform.processor(),
        "threads": n_threads,
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU",
        "python": platform.python_version(),
        **{package: version(package) for package in ("comprisk", "torch", "numba")},
    }


if __name__ == "__main__":
    main()
