"""How often 95 % intervals of scores for validation hold the truth.

Two competing causes, 500 subjects, of whom 19 ("moderate") or 46 % ("heavy") are censored by the
horizon, or of whom half enter late ("late entry"). Predictions know the hazards, but not quite.
The truth is the score of two million subjects followed to their event.

Run as: nice -n 10 python benchmarks/coverage_validation.py [repeats]
"""

from __future__ import annotations

import json
import sys
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from survtrace.errors import DataWarning
from survtrace.metrics import (
    Score,
    net_benefit,
    net_benefit_difference,
    observed_expected_ratio,
    scaled_brier_score,
)
from survtrace.tables.outcome.outcome import Outcome

RESULTS = Path(__file__).parent / "results" / "coverage_validation.json"
N_SUBJECTS, N_REPEATS, N_OF_TRUTH = 500, 300, 2_000_000
HORIZON, THRESHOLDS = 60.0, (0.1, 0.3, 0.5, 0.7)
CENSORED_BY = {"moderate": 180.0, "heavy": 75.0, "late entry": 180.0}
LATEST_ENTRY = 24.0


def main() -> None:
    n_repeats = int(sys.argv[1]) if len(sys.argv) > 1 else N_REPEATS
    first, event, x = latent(N_OF_TRUTH, np.random.default_rng(0))
    truth = {name: float(score) for name, score in scores(Outcome(first, event, (1, 2)), x).items()}
    report: dict[str, Any] = {"subjects": N_SUBJECTS, "repeats": n_repeats, "truth": truth}
    for kind in CENSORED_BY:
        found, censored = defaultdict(list), []
        for repeat in range(n_repeats):
            y, x = observed(N_SUBJECTS, kind, np.random.default_rng([14, repeat]))
            censored.append(np.mean((y.event == 0) & (y.duration <= HORIZON)))
            for name, score in scores(y, x).items():
                found[name].append((float(score), score.standard_error, *score.interval()))
        cells = {name: summarised(rows, truth[name]) for name, rows in found.items()}
        report[kind] = {"censored_by_horizon": round(float(np.mean(censored)), 3), **cells}
        for name, cell in cells.items():
            print(f"{kind:12} {name:42} {truth[name]:8.4f}", *cell.values())
    RESULTS.write_text(json.dumps(report, indent=1) + "\n")


def latent(n: int, rng: np.random.Generator) -> tuple[Any, Any, Any]:
    """When the first event comes, its cause, and the covariate."""
    x = rng.normal(size=n)
    hazards = np.stack([np.exp(0.8 * x) / 80, np.exp(-0.4 * x) / 200], axis=1)
    times = rng.exponential(1 / hazards)
    return times.min(axis=1), 1 + times.argmin(axis=1), x


def observed(n: int, kind: str, rng: np.random.Generator) -> tuple[Outcome, Any]:
    """So many subjects under observation, some of them censored."""
    first, cause, x = latent(3 * n, rng)
    late = (rng.random(3 * n) < 0.5) & (kind == "late entry")
    entry = np.where(late, rng.uniform(0, LATEST_ENTRY, 3 * n), 0.0)
    censoring = entry + rng.uniform(0, CENSORED_BY[kind], 3 * n)
    seen = np.flatnonzero(first > entry)[:n]
    event = np.where(first <= censoring, cause, 0)[seen]
    starts = entry[seen] if late.any() else None
    return Outcome(np.minimum(first, censoring)[seen], event, (1, 2), entry=starts), x[seen]


def incidence(x: Any, effect: float, months: float) -> Any:
    """Of cause 1 by the horizon, if its hazard were this."""
    own, other = np.exp(effect * x) / months, np.exp(-0.4 * x) / 200
    return own / (own + other) * (1 - np.exp(-(own + other) * HORIZON))


def scores(y: Outcome, x: Any) -> dict[str, Score]:
    too_high, too_flat = incidence(x, 0.8, 65), incidence(x, 0.3, 80)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        curve = net_benefit(y, too_high, HORIZON, THRESHOLDS, cause=1)
        gains = net_benefit_difference(y, too_high, too_flat, HORIZON, THRESHOLDS, cause=1)
    found: dict[str, Score] = {
        "observed/expected": observed_expected_ratio(y, too_high, HORIZON, cause=1),
        "scaled Brier": scaled_brier_score(y, too_high, HORIZON, cause=1),
    }
    for j, level in enumerate(THRESHOLDS):
        found[f"net benefit at {level}"] = curve.by_prediction[j]
        found[f"net benefit of treating all at {level}"] = curve.treat_all[j]
        found[f"difference of net benefits at {level}"] = gains[j]
    return found


def summarised(rows: list[Any], truth: float) -> dict[str, float]:
    value, error, low, high = np.transpose(rows)
    known = np.isfinite(value)
    covered = ((low <= truth) & (truth <= high))[known]
    return {
        "coverage": round(float(covered.mean()), 4),
        "bias_over_spread": round(float((value[known].mean() - truth) / value[known].std()), 3),
        "error_over_spread": round(
            float(np.sqrt(np.mean(error[known] ** 2)) / value[known].std()), 3
        ),
        "n_unknown": int((~known).sum()),
    }


if __name__ == "__main__":
    main()
