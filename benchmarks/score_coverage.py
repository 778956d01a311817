"""How often 95 % intervals of Brier scores hold the truth, with durations in years to months.

Two competing causes, 500 subjects, times recorded at the end of their year, quarter or month. An
event and a censoring in the same unit: either the event is seen ("dates": both dates are
rounded), or what came first in truth ("follow-up": the follow-up is rounded). G comes from the
scored subjects ("scored") or from 500 others ("training").
"""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from survtrace.metrics import (
    auc_at,
    brier_score_at,
    integrated_brier_score,
)
from survtrace.tables.outcome.outcome import Outcome, read_outcome

RESULTS = Path(__file__).parent / "results" / "score_coverage.json"
N_SUBJECTS, N_REPEATS, N_FIRST = 500, 2000, 300
UNITS = {"years": 12, "quarters": 3, "months": 1}
CENSORED_BY = {"moderate": 120.0, "heavy": 75.0}  # months; the horizon is month 60
HORIZON, GRID = 60.0, np.arange(12.0, 61.0, 12.0)


def main() -> None:
    truth = target(2_000_000)
    cells = [
        cell(truth, unit, censoring, rounding, source)
        for unit, censoring, rounding, source in product(
            UNITS, CENSORED_BY, ("dates", "follow-up"), ("scored", "training")
        )
    ]
    report = {"subjects": N_SUBJECTS, "repeats": N_REPEATS, "truth": truth, "cells": cells}
    RESULTS.write_text(json.dumps(report, indent=1) + "\n")
    for each in cells:
        words = [each[key] for key in ("unit", "censoring", "rounding", "weights_from")]
        found = {name: each[name]["coverage"] for name in truth}
        print(*words, found, each["Brier"]["coverage_scikit_survival"])


def draw(n: int, rng: np.random.Generator) -> tuple[Any, ...]:
    """Latent times in months of two causes, and a prediction that knows the hazards roughly."""
    x = rng.normal(size=n)
    hazards = np.stack([np.exp(0.8 * x) / 80, np.exp(-0.4 * x) / 200], axis=1)
    latent = rng.exponential(1 / hazards)
    return latent.min(axis=1), 1 + latent.argmin(axis=1), hazards


def incidence(hazards: Any, times: Any) -> Any:
    total = hazards.sum(axis=1, keepdims=True)
    return hazards[:, :1] / total * (1 - np.exp(-total * times))


def target(n: int) -> dict[str, float]:
    """The scores of so many subjects without censoring."""
    first, cause, hazards = draw(n, np.random.default_rng(0))
    return {
        name: float(score)
        for name, score in scores(
            read_outcome({"event": cause, "duration": np.ceil(first)}, causes=(1, 2)), hazards, {}
        ).items()
    }


def scores(y: Outcome, hazards: Any, known: dict[str, Any], ties: str | None = None) -> Any:
    at, grid = incidence(hazards, np.array([HORIZON])), incidence(hazards, GRID)
    rule = {"cause": 1, **known, **({} if ties is None else {"ties": ties})}
    return {
        "Brier": brier_score_at(y, at, HORIZON, **rule),
        "IBS": integrated_brier_score(y, grid, GRID, **rule),
        "AUC": auc_at(y, at[:, 0], HORIZON, **rule),
    }


def recorded(n: int, unit: int, last: float, rounding: str, rng: Any) -> tuple[Outcome, Any]:
    first, cause, hazards = draw(n, rng)
    censoring = rng.uniform(0, last, n)
    first_unit, censoring_unit = np.ceil(first / unit) * unit, np.ceil(censoring / unit) * unit
    seen = first_unit <= censoring_unit if rounding == "dates" else first <= censoring
    duration = np.minimum(first_unit, censoring_unit)
    event = np.where(seen, cause, 0)
    return read_outcome({"event": event, "duration": duration}, causes=(1, 2)), hazards


def cell(
    truth: dict[str, float], unit: str, censoring: str, rounding: str, source: str
) -> dict[str, Any]:
    found: dict[str, list[Any]] = {name: [] for name in truth}
    theirs: dict[str, list[Any]] = {name: [] for name in truth}
    censored = []
    for repeat in range(N_REPEATS):
        rng = np.random.default_rng([1, repeat])
        setting = (N_SUBJECTS, UNITS[unit], CENSORED_BY[censoring], rounding, rng)
        y, hazards = recorded(*setting)
        known = {} if source == "scored" else {"y_train": recorded(*setting)[0]}
        censored.append(np.mean((y.event == 0) & (y.duration <= HORIZON)))
        for name, score in scores(y, hazards, known).items():
            found[name].append((float(score), score.standard_error, *score.interval()))
        if repeat < N_FIRST:
            for name, score in scores(y, hazards, known, "scikit-survival").items():
                theirs[name].append((float(score), score.standard_error, *score.interval()))
    words = {"unit": unit, "censoring": censoring, "rounding": rounding, "weights_from": source}
    summary = {name: summarised(found[name], theirs[name], truth[name]) for name in truth}
    return {**words, "censored_by_horizon": round(float(np.mean(censored)), 3), **summary}


def summarised(found: list[Any], theirs: list[Any], truth: float) -> dict[str, float]:
    value, error, low, high = np.transpose(found)
    their_value, _, their_low, their_high = np.transpose(theirs)
    covered = (low <= truth) & (truth <= high)
    return {
        "coverage": round(float(covered.mean()), 4),
        "coverage_of_first_300": round(float(covered[:N_FIRST].mean()), 4),
        "mean_over_truth": round(float(value.mean() / truth), 4),
        "error_over_spread": round(float(np.sqrt(np.mean(error**2)) / value.std()), 3),
        "coverage_scikit_survival": round(
            float(((their_low <= truth) & (truth <= their_high)).mean()), 4
        ),
        "mean_over_truth_scikit_survival": round(float(their_value.mean() / truth), 4),
    }


if __name__ == "__main__":
    main()
