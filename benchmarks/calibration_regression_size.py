"""How often calibration by regression rejects the truth at 5 %, and how often intervals hold it.

The truth is scored: intercept 0, slope 1, and a smooth curve on the diagonal. Cohorts are those of
calibration_size.py. Beside them, how often a wrong prediction is rejected.

    python benchmarks/calibration_regression_size.py    # writes results/ of the same name
"""

from __future__ import annotations

import json
import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from calibration_size import COHORTS, draw, incidence
from survtrace.metrics import (
    calibration_errors,
    calibration_intercept_slope,
    smooth_calibration_curve,
)

RESULTS = Path(__file__).parent / "results" / "calibration_regression_size.json"
N_REPEATS = 1000
PLACES = (0.05, 0.25, 0.5, 0.75, 0.95)  # quantiles of the prediction at which the band is asked


def main() -> None:
    cells = [cell(n, kind, k) for n, kind, k in product((200, 500, 2000), COHORTS, (1, 2))]
    report = {"repeats": N_REPEATS, "level": 0.05, "cells": cells}
    RESULTS.write_text(json.dumps(report, indent=1) + "\n")


def cell(n: int, kind: str, k: int) -> dict[str, Any]:
    horizon, rows = COHORTS[kind][2], []
    for repeat in range(N_REPEATS):
        y, hazards = draw(n, kind, np.random.default_rng([3, repeat]))
        truth = incidence(hazards, k, horizon)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a curve without a fit is counted below
            rows.append(numbers(y, truth, horizon, k))
    mean = np.nanmean(rows, axis=0)
    names = ["test", "test, incidence ** 1.3", "intercept", "slope", "ici"]
    names += [f"band at {place:g}" for place in PLACES]
    found = {name: round(float(each), 4) for name, each in zip(names, mean, strict=True)}
    n_missing = int(np.isnan(np.array(rows)).any(axis=1).sum())
    words = {"subjects": n, "censoring": kind, "cause": k}
    print(words, found, n_missing, flush=True)
    return {**words, "found": found, "without_a_fit": n_missing}


def numbers(y: Any, truth: Any, horizon: float, k: int) -> list[float]:
    """Rejections of the truth and of a wrong prediction, what intervals hold, and the ICI."""
    line = calibration_intercept_slope(y, truth, horizon, cause=k)
    wrong = calibration_intercept_slope(y, truth**1.3, horizon, cause=k)
    at = np.quantile(truth, PLACES)
    curve = smooth_calibration_curve(y, truth, horizon, cause=k, at=at)
    return [
        rejects(line.p_value),
        rejects(wrong.p_value),
        holds(*line.intercept.interval(), 0.0),
        holds(*line.slope.interval(), 1.0),
        calibration_errors(y, truth, horizon, cause=k).ici,
        *(holds(low, high, p) for low, high, p in zip(curve.low, curve.high, at, strict=True)),
    ]


def rejects(p_value: float) -> float:
    return np.nan if np.isnan(p_value) else float(p_value < 0.05)


def holds(low: float, high: float, value: float) -> float:
    return np.nan if np.isnan(low) else float(low <= value <= high)


if __name__ == "__main__":
    main()
