"""How often intervals over centres hold the truth, and how often equal groups are called different.

Centres of 200 subjects, whose hazard of the cause is that predicted times a factor of their own,
log-normal around 1. Scored is the observed/expected ratio. The truth of a centre is its true mean
incidence over the mean prediction. Two competing causes, 19 %
censored by the horizon.

Run as: nice -n 10 python benchmarks/coverage_centres.py [repeats]
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from coverage_validation import HORIZON, incidence
from survtrace.metrics import centre_spread, difference_test, observed_expected_ratio
from survtrace.tables.outcome.outcome import Outcome

RESULTS = Path(__file__).parent / "results" / "coverage_centres.json"
N_SUBJECTS, N_REPEATS = 200, 300
EFFECT, MONTHS, LAST_CENSORING = 0.8, 80.0, 180.0


def main() -> None:
    n_repeats = int(sys.argv[1]) if len(sys.argv) > 1 else N_REPEATS
    cells = []
    for n_centres, spread in product((5, 10, 20), (0.0, 0.1, 0.3)):
        x = np.random.default_rng(0).normal(size=(2000, 1))
        factors = np.exp(spread * np.random.default_rng(1).normal(size=2000))
        truths = np.array([ratio_of(x, factor) for factor in factors])
        mean = float(np.exp(np.log(truths).mean()))
        asked = ([n_centres] * n_repeats, [spread] * n_repeats, range(n_repeats))
        with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
            rows = list(pool.map(one, *asked, chunksize=10))
        cells.append({"centres": n_centres, "spread": spread, **summarised(rows, mean, truths)})
        print(cells[-1], flush=True)
    report = {"subjects of a centre": N_SUBJECTS, "repeats": n_repeats, "cells": cells}
    RESULTS.write_text(json.dumps(report, indent=1) + "\n")


def ratio_of(x: Any, factor: float) -> float:
    """The true observed/expected ratio of a centre."""
    return float(incidence(x, EFFECT, MONTHS / factor).mean() / incidence(x, EFFECT, MONTHS).mean())


def one(n_centres: int, spread: float, repeat: int) -> Any:
    """The spread between centres, also with tau taken as known, and the test that there is none."""
    rng = np.random.default_rng([5, repeat])
    factors = np.exp(spread * rng.normal(size=n_centres))
    ratios = [scored(factor, rng) for factor in factors]
    errors = [ratio.standard_error for ratio in ratios]
    spreads = [
        centre_spread(ratios, errors, scale="log", tau_known=known) for known in (False, True)
    ]
    return *spreads, difference_test(ratios, errors, scale="log")


def scored(factor: float, rng: np.random.Generator) -> Any:
    x = rng.normal(size=N_SUBJECTS)
    hazards = np.stack([factor * np.exp(EFFECT * x) / MONTHS, np.exp(-0.4 * x) / 200], axis=1)
    times, censoring = rng.exponential(1 / hazards), rng.uniform(0, LAST_CENSORING, N_SUBJECTS)
    first = times.min(axis=1)
    event = np.where(first <= censoring, 1 + times.argmin(axis=1), 0)
    y = Outcome(np.minimum(first, censoring), event, (1, 2))
    return observed_expected_ratio(y, incidence(x, EFFECT, MONTHS), HORIZON, cause=1)


def summarised(rows: list[Any], mean: float, truths: Any) -> dict[str, float]:
    spreads, of_known_tau, tests = zip(*rows, strict=True)
    found = {
        "mean held": np.mean([spread.low <= mean <= spread.high for spread in spreads]),
        "new centre held": new_centre_held(spreads, truths),
        "new centre held, tau known": new_centre_held(of_known_tau, truths),
        "true tau": np.log(truths).std(),
        "mean tau": np.mean([spread.tau for spread in spreads]),
        "difference found": np.mean([test[2] < 0.05 for test in tests]),
    }
    return {name: round(float(value), 4) for name, value in found.items()}


def new_centre_held(spreads: Any, truths: Any) -> Any:
    """How often the intervals of a new centre hold the value of one."""
    return np.mean([((s.new_low <= truths) & (truths <= s.new_high)).mean() for s in spreads])


if __name__ == "__main__":
    main()
