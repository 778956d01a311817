"""Time the truncated IPCW concordance against scikit-survival's, on 143,000 subjects with ties."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable
from importlib.metadata import version
from os import cpu_count
from pathlib import Path
from typing import Any

import numpy as np
from sksurv.metrics import concordance_index_ipcw
from sksurv.util import Surv

from survtrace.metrics import concordance_cause_specific, concordance_paper
from survtrace.tables.outcome.outcome import read_outcome

N_SUBJECTS, EVENT_SHARE, HORIZON = 143_000, 0.23, 100.0
AS_THEY_DO = {"ties": "scikit-survival"}
RESULTS = Path(__file__).parent / "results" / "concordance.json"


def main() -> None:
    event, months, estimate = cohort()
    y = Surv.from_arrays(event, months)
    outcome = read_outcome({"event": event.astype(int), "duration": months})
    causes = read_outcome({"event": event * (1 + np.arange(len(event)) % 2), "duration": months})
    concordance_paper(outcome, estimate, HORIZON, **AS_THEY_DO)  # compiles the kernel, or loads it
    ours, our_seconds = timed(
        lambda: concordance_paper(outcome, estimate, HORIZON, **AS_THEY_DO), 10
    )
    raw, raw_seconds = timed(lambda: concordance_paper(y, estimate, HORIZON, **AS_THEY_DO), 5)
    _, competing = timed(lambda: concordance_cause_specific(causes, estimate, HORIZON, cause=1), 10)
    theirs, their_seconds = timed(
        lambda: concordance_index_ipcw(y, y, estimate, tau=HORIZON, tied_tol=0)[0], 2
    )
    report = {
        "subjects": N_SUBJECTS,
        "share_with_event": float(event.mean()),
        "distinct_durations": len(np.unique(months)),
        "distinct_estimates": len(np.unique(estimate)),
        "ours": float(ours),
        "standard_error": ours.standard_error,
        "scikit_survival": float(theirs),
        "difference": abs(float(ours) - float(theirs)),
        "same_from_raw_y": float(raw) == float(ours),
        "seconds_ours": our_seconds,
        "seconds_ours_from_raw_y": raw_seconds,
        "seconds_ours_two_causes": competing,
        "seconds_scikit_survival": their_seconds,
        "ratio_of_medians": float(np.median(their_seconds) / np.median(our_seconds)),
        "machine": machine(),
    }
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(report, indent=2) + "\n")
    print(json.dumps(report, indent=2))


def cohort() -> tuple[Any, Any, Any]:
    """Durations in whole months and estimates to three decimals, so that both have many ties."""
    rng = np.random.default_rng(0)
    danger = rng.normal(size=N_SUBJECTS)
    latent = rng.exponential(np.exp(-danger) * 400)
    censoring = rng.uniform(1, 240, size=N_SUBJECTS)
    censoring *= np.quantile(latent / censoring, EVENT_SHARE)
    months = np.ceil(np.minimum(latent, censoring))
    estimate = np.round(danger + rng.normal(size=N_SUBJECTS), 3)
    return latent <= censoring, months, estimate


def timed(call: Callable[[], Any], repeats: int) -> tuple[Any, list[float]]:
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = call()
        seconds.append(round(time.perf_counter() - start, 4))
    return result, seconds


def machine() -> dict[str, Any]:
    packages = ("numpy", "numba", "scikit-survival")
    return {
        "platform": platform.platform(),
        "processor": platform.processor() or platform.machine(),
        "cpus": cpu_count(),
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
    }


if __name__ == "__main__":
    main()
