"""How often 95 % intervals of scores hold the truth where half of the subjects enter late.

Two competing causes; half of the population is observed from 0 on, the others from a time up to
month 48 on, if they are event-free then. So those who are seen are fitter than the population, of
which the scores speak. 500 subjects are seen; weights come from them ("scored") or from 500 others
("training"). The truth is the score of a million subjects seen from 0 on to their event. Pairs of
Antolini's concordance have no weights, so that it speaks of those at risk as they are seen: its
truth is that of 100,000 who enter and leave as the 500 do. So is that of start-stop rows, whose
covariate changes at visits. For comparison: the same subjects as if all had been seen from 0 on;
and 90 or 100 % of the population entering late, where some draws are refused, because an early
event had too few at risk (those that are not are therefore a little too good).

Run as: nice -n 10 python benchmarks/coverage_entry.py [repeats]
"""

from __future__ import annotations

import json
import sys
import warnings
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import norm

from survtrace.errors import DataError
from survtrace.metrics import (
    aalen_johansen,
    auc_at,
    bootstrap,
    brier_score_at,
    calibration_curve,
    concordance_antolini,
    concordance_cause_specific,
    concordance_paper,
    integrated_brier_score,
    mean_incidence,
)
from survtrace.tables.outcome.outcome import Outcome

RESULTS = Path(__file__).parent / "results" / "coverage_entry.json"
N_SUBJECTS, N_REPEATS, N_FIRST = 500, 600, 300
HORIZONS, GRID = (24.0, 48.0, 72.0), np.arange(6.0, 73.0, 6.0)
LATEST_ENTRY, VISITS = 48.0, 12.0
N_GROUPS = 4
HARDER = (0.9, 1.0)  # shares of the population that enter late


def main() -> None:
    n_repeats = int(sys.argv[1]) if len(sys.argv) > 1 else N_REPEATS
    truth = targets()
    found: dict[str, list[Any]] = defaultdict(list)
    entered_late, censored, n_refused = [], [], dict.fromkeys(HARDER, 0)
    for repeat in range(n_repeats):
        rng = np.random.default_rng([13, repeat])
        y, hazards = observed(N_SUBJECTS, rng)
        entered_late.append(np.mean(y.entry > 0))
        censored.append(np.mean(y.event == 0))
        for source, train in (("scored", None), ("training", observed(N_SUBJECTS, rng)[0])):
            for name, score in weighted(y, hazards, train).items():
                found[f"{name}, weights from {source}"].append(row(score, truth[name]))
        for name, score in weighted(replace(y, entry=None), hazards, None).items():
            found[f"{name}, entry ignored"].append(row(score, truth[name]))
        for name, score in unweighted(y, hazards).items():
            found[name].append(row(score, truth[name]))
        rows, estimate = start_stop(N_SUBJECTS, rng)
        for name, score in of_rows(rows, estimate).items():
            found[name].append(row(score, truth[name]))
        for name, drawn in curves(y, hazards, repeat).items():
            found[name] += drawn
        for late in HARDER:
            try:
                scores = weighted(*observed(N_SUBJECTS, rng, late), None)
            except DataError:
                n_refused[late] += 1
                continue
            for name, score in scores.items():
                found[f"{name}, {late:.0%} late"].append(row(score, truth[name]))
    cells = {name: summarised(values, n_repeats) for name, values in found.items()}
    report = {
        "subjects": N_SUBJECTS,
        "repeats": n_repeats,
        "entered_late": round(float(np.mean(entered_late)), 3),
        "censored": round(float(np.mean(censored)), 3),
        "refused": {f"{late:.0%} late": count for late, count in n_refused.items()},
        "scores": cells,
    }
    RESULTS.write_text(json.dumps(report, indent=1) + "\n")
    print("refused", report["refused"])
    for name, cell in cells.items():
        print(f"{name:50s}", *(f"{key} {value}" for key, value in cell.items()))


def draw(n: int, rng: np.random.Generator, even: bool = False) -> tuple[Any, Any, Any]:
    """Month and cause of the event of anybody in the population, and its hazards.

    ``even``: covariates at evenly spaced quantiles, so that the truth has less noise.
    """
    x = norm.ppf((np.arange(n) + 0.5) / n) if even else rng.normal(size=n)
    hazards = np.stack([np.exp(0.8 * x) / 90, np.exp(-0.4 * x) / 200], axis=1)
    latent = rng.exponential(1 / hazards)
    return latent.min(axis=1), 1 + latent.argmin(axis=1), hazards


def incidence(hazards: Any, times: Any) -> Any:
    total = hazards.sum(axis=1, keepdims=True)
    return hazards[:, :1] / total * (1 - np.exp(-total * np.asarray(times)))


def observed(n: int, rng: np.random.Generator, late: float = 0.5) -> tuple[Outcome, Any]:
    """So many subjects as they are seen: those who were event-free at their entry."""
    first, cause, hazards = draw(4 * n, rng)
    entry = np.where(rng.random(4 * n) < late, rng.uniform(0, LATEST_ENTRY, 4 * n), 0.0)
    leaves = entry + rng.uniform(12, 120, 4 * n)
    seen = np.flatnonzero(first > entry)[:n]
    duration = np.minimum(first, leaves)[seen]
    event = np.where(first <= leaves, cause, 0)[seen]
    return Outcome(duration, event, (1, 2), entry=entry[seen]), hazards[seen]


def start_stop(n: int, rng: np.random.Generator) -> tuple[Outcome, Any]:
    """Rows between visits, with an estimate that changes at each; hazards follow it."""
    level = rng.normal(size=n)
    entry = np.where(rng.random(n) < 0.5, 0.0, rng.uniform(0, LATEST_ENTRY, n))
    leaves = entry + rng.uniform(12, 120, n)
    columns: list[Any] = []
    alive, start = np.ones(n, dtype=bool), entry.copy()
    while alive.any():
        value = level + rng.normal(scale=0.7, size=n)
        latent = rng.exponential(90 * np.exp(-0.8 * value))
        stop = np.minimum(start + VISITS, leaves)
        event = start + latent <= stop
        stop = np.where(event, start + latent, stop)
        columns.append(
            np.stack([np.arange(n), start, stop, event, np.round(value, 1)], axis=1)[alive]
        )
        alive = alive & ~event & (stop < leaves)
        start = stop
    id, start, stop, event, value = np.concatenate(columns).T
    rows = Outcome(stop, event.astype(int), (1,), entry=start, id=id.astype(int))
    return rows, value


def weighted(y: Outcome, hazards: Any, train: Outcome | None) -> dict[str, Any]:
    of = {"cause": 1, "y_train": train}
    found: dict[str, Any] = {}
    for horizon in HORIZONS:
        at = incidence(hazards, [horizon])[:, 0]
        found[f"Brier at {horizon:g}"] = brier_score_at(y, at, horizon, **of)
        found[f"AUC at {horizon:g}"] = auc_at(y, at, horizon, **of)
    found["IBS"] = integrated_brier_score(y, incidence(hazards, GRID), GRID, **of)
    at, horizon = incidence(hazards, [48.0])[:, 0], 60.0
    found["C, cause-specific"] = concordance_cause_specific(y, at, horizon, **of)
    found["C, paper"] = concordance_paper(y, at, horizon, **of)
    found["mean incidence at 48"] = mean_incidence(y, at, 48.0, y_train=train)
    return found


def unweighted(y: Outcome, hazards: Any) -> dict[str, Any]:
    return {"C, Antolini": concordance_antolini(y, incidence(hazards, GRID), GRID, cause=1)}


def of_rows(rows: Outcome, estimate: Any) -> dict[str, Any]:
    constant = 1 / (1 + np.exp(-estimate))[:, np.newaxis]
    return {
        "C, Antolini, start-stop": concordance_antolini(rows, constant, [0.0]),
        "C, paper, start-stop": concordance_paper(rows, estimate, 60.0),
    }


def curves(y: Outcome, hazards: Any, seed: int) -> dict[str, list[Any]]:
    """Aalen-Johansen with a bootstrap interval, and the groups of a calibration curve."""
    drawn = bootstrap(_observed, y, n_resamples=100, random_state=seed)
    predicted, everybody = incidence(hazards, [48.0])[:, 0], incidence(POPULATION, [48.0])[:, 0]
    ends = drawn.estimate, drawn.standard_error, drawn.low, drawn.high
    found = {"observed incidence at 48": [(*ends, float(everybody.mean()))]}
    curve = calibration_curve(y, predicted, 48.0, cause=1, groups=N_GROUPS)
    edges = np.quantile(predicted, np.arange(1, N_GROUPS) / N_GROUPS)
    group = np.searchsorted(edges, everybody)
    exact_by_group = np.bincount(group, weights=everybody) / np.bincount(group)
    each = zip(curve.observed, curve.low, curve.high, exact_by_group, strict=True)
    found["calibration curve at 48, each group"] = [
        (value, (high - low) / 3.92, low, high, mean) for value, low, high, mean in each
    ]
    return found


def _observed(y: Outcome) -> float:
    return float(aalen_johansen(y, 1).at(48.0))


POPULATION = draw(100_000, np.random.default_rng(1), even=True)[2]


def targets() -> dict[str, float]:
    rng = np.random.default_rng(0)
    first, cause, hazards = draw(1_000_000, rng, even=True)
    whole = Outcome(first, cause, (1, 2))
    seen, seen_hazards = observed(100_000, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores = {
            **weighted(whole, hazards, None),
            **unweighted(seen, seen_hazards),
            **of_rows(*start_stop(150_000, rng)),
        }
    return {name: float(score) for name, score in scores.items()}


def row(score: Any, truth: float) -> tuple[float, ...]:
    return (float(score), score.standard_error, *score.interval(), truth)


def summarised(found: list[Any], n_repeats: int) -> dict[str, float]:
    value, error, low, high, truth = np.transpose(found)
    covered = (low <= truth) & (truth <= high)
    first = covered[: N_FIRST * len(covered) // n_repeats]
    return {
        "truth": round(float(truth.mean()), 4),
        "mean": round(float(value.mean()), 4),
        "spread": round(float((value - truth).std()), 4),
        "error_over_spread": round(float(np.sqrt(np.mean(error**2)) / (value - truth).std()), 3),
        "coverage": round(float(covered.mean()), 4),
        "coverage_of_first_300": round(float(first.mean()), 4),
    }


if __name__ == "__main__":
    main()
