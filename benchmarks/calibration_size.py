"""How often the calibration tests reject the truth at 5 %, and a wrong prediction.

Two causes whose hazards depend on a covariate, light and heavy censoring before the horizon.
Incidence is tested with G from the scored subjects and from as many others.
"""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from survtrace.metrics import d_calibration, d_calibration_incidence
from survtrace.tables.outcome.outcome import Outcome, read_outcome

RESULTS = Path(__file__).parent / "results" / "calibration_size.json"
N_REPEATS = 1000
COHORTS = {"light": (1.0, 4.0, 1.5), "heavy": (0.5, 1.5, 1.0)}  # hazards, last censoring, horizon


def main() -> None:
    cells = [cell(n, kind, bins) for n, kind, bins in product((500, 2000), COHORTS, (5, 10))]
    report = {"repeats": N_REPEATS, "level": 0.05, "cells": cells}
    RESULTS.write_text(json.dumps(report, indent=1) + "\n")


def draw(n: int, kind: str, rng: np.random.Generator) -> tuple[Outcome, Any]:
    scale, last, _ = COHORTS[kind]
    x = rng.normal(size=n)
    hazards = scale * np.stack([np.exp(x), 0.5 * np.exp(-0.5 * x)], axis=1)
    latent, censoring = rng.exponential(1 / hazards), rng.uniform(0.2, last, n)
    first = latent.min(axis=1)
    event = np.where(first <= censoring, 1 + latent.argmin(axis=1), 0)
    y = {"event": event, "duration": np.minimum(first, censoring)}
    return read_outcome(y, causes=(1, 2)), hazards


def incidence(hazards: Any, k: int, times: Any) -> Any:
    total = hazards.sum(axis=1)
    return hazards[:, k - 1] / total * (1 - np.exp(-total * times))


def cell(n: int, kind: str, bins: int) -> dict[str, Any]:
    rejected: dict[str, list[bool]] = {}
    censored, horizon = [], COHORTS[kind][2]
    for repeat in range(N_REPEATS):
        rng = np.random.default_rng([2, repeat])
        y, hazards = draw(n, kind, rng)
        others = draw(n, kind, rng)[0]
        censored.append(np.mean((y.event == 0) & (y.duration <= horizon)))
        survival = np.exp(-hazards.sum(axis=1) * y.duration)
        p_values = {
            "d_calibration": d_calibration(y, survival, bins).p_value,
            "d_calibration, survival ** 1.3": d_calibration(y, survival**1.3, bins).p_value,
        }
        for k in (1, 2):
            at_end, at_horizon = incidence(hazards, k, y.duration), incidence(hazards, k, horizon)
            settings = {"cause": k, "bins": bins}
            given = (y, at_end, at_horizon, horizon)
            name = f"d_calibration_incidence, cause {k}"
            p_values[name] = d_calibration_incidence(*given, **settings).p_value
            by_training = d_calibration_incidence(*given, y_train=others, **settings)
            p_values[f"{name}, G from training"] = by_training.p_value
            wrong = d_calibration_incidence(y, at_end**1.3, at_horizon**1.3, horizon, **settings)
            p_values[f"{name}, incidence ** 1.3"] = wrong.p_value
        for name, p_value in p_values.items():
            rejected.setdefault(name, []).append(p_value < 0.05)
    found = {name: round(float(np.mean(each)), 4) for name, each in rejected.items()}
    words = {"subjects": n, "censoring": kind, "bins": bins}
    print(words, found, flush=True)
    return {**words, "censored_by_horizon": round(float(np.mean(censored)), 3), "rejected": found}


if __name__ == "__main__":
    main()
