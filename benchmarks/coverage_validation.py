"""How often 95 % intervals of scores for validation hold the truth.

Two competing causes, 500 subjects, of whom 19 ("moderate") or 46 % ("heavy") are censored by the
horizon, or of whom half enter late ("late entry"). Predictions know the hazards, but not quite.
The truth is the score of two million subjects followed to their event; for calibration by
regression, which late entry rules out, it follows from the hazards.

Run as: nice -n 10 python benchmarks/coverage_validation.py [repeats]
"""

from __future__ import annotations

import json
import sys
import warnings
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from survtrace.errors import DataWarning
from survtrace.metrics import (
    Score,
    calibration_errors,
    calibration_intercept_slope,
    net_benefit,
    net_benefit_difference,
    observed_expected_ratio,
    scaled_brier_score,
)
from survtrace.tables.outcome.outcome import Outcome

RESULTS = Path(__file__).parent / "results" / "coverage_validation.json"
N_SUBJECTS, N_REPEATS, N_OF_TRUTH = 500, 300, 2_000_000
HORIZON, THRESHOLDS = 60.0, (0.1, 0.3, 0.5, 0.7)
HAZARDS = {"calibrated": (0.8, 80), "too high": (0.8, 65), "too flat": (0.3, 80)}
CENSORED_BY = {"moderate": 180.0, "heavy": 75.0, "late entry": 180.0}
LATEST_ENTRY = 24.0


def main() -> None:
    n_repeats = int(sys.argv[1]) if len(sys.argv) > 1 else N_REPEATS
    first, event, x = latent(N_OF_TRUTH, np.random.default_rng(0))
    truth = {name: float(score) for name, score in scores(Outcome(first, event, (1, 2)), x).items()}
    truth |= distances(x) | {"intercept, calibrated": 0.0, "slope, calibrated": 1.0}
    report: dict[str, Any] = {"subjects": N_SUBJECTS, "repeats": n_repeats, "truth": truth}
    for kind in CENSORED_BY:
        found = defaultdict(list)
        with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
            repeats = list(pool.map(one, [kind] * n_repeats, range(n_repeats), chunksize=10))
        censored = [share for share, _ in repeats]
        for _, each in repeats:
            for name, row in each.items():
                found[name].append(row)
        cells = {name: summarised(rows, truth[name]) for name, rows in found.items()}
        report[kind] = {"censored_by_horizon": round(float(np.mean(censored)), 3), **cells}
        for name, cell in cells.items():
            print(f"{kind:12} {name:42} {truth[name]:8.4f}", *cell.values(), flush=True)
    RESULTS.write_text(json.dumps(report, indent=1) + "\n")


def one(kind: str, repeat: int) -> tuple[float, dict[str, Any]]:
    """The share censored; value, standard error and interval of each score."""
    y, x = observed(N_SUBJECTS, kind, np.random.default_rng([14, repeat]))
    each = scores(y, x) | (calibration(y, x) if y.entry is None else {})
    rows = {
        name: (float(score), getattr(score, "standard_error", np.nan), *score.interval())
        for name, score in each.items()
    }
    return float(np.mean((y.event == 0) & (y.duration <= HORIZON))), rows


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


def distances(x: Any) -> dict[str, float]:
    """True distances of each prediction."""
    found: dict[str, float] = {}
    for name, hazard in HAZARDS.items():
        gap = np.abs(incidence(x, *hazard) - incidence(x, 0.8, 80))
        middle, most = np.quantile(gap, [0.5, 0.9])
        values = {"ICI": gap.mean(), "E50": middle, "E90": most, "Emax": gap.max()}
        found |= {f"{score}, {name}": float(value) for score, value in values.items()}
    return found


def calibration(y: Outcome, x: Any) -> dict[str, Any]:
    line = calibration_intercept_slope(y, incidence(x, *HAZARDS["calibrated"]), HORIZON, cause=1)
    found: dict[str, Any] = {
        "intercept, calibrated": line.intercept,
        "slope, calibrated": line.slope,
    }
    for name, hazard in HAZARDS.items():
        errors = calibration_errors(y, incidence(x, *hazard), HORIZON, cause=1)
        values = {"ICI": errors.ici, "E50": errors.e50, "E90": errors.e90, "Emax": errors.emax}
        found |= {f"{score}, {name}": value for score, value in values.items()}
    return found


def summarised(rows: list[Any], truth: float) -> dict[str, float]:
    value, error, low, high = np.transpose(rows)
    known = np.isfinite(value)
    covered = ((low <= truth + 1e-12) & (truth <= high + 1e-12))[known]
    return {
        "coverage": round(float(covered.mean()), 4),
        "bias_over_spread": round(float((value[known].mean() - truth) / value[known].std()), 3),
        "error_over_spread": None
        if np.isnan(error[known]).any()
        else round(float(np.sqrt(np.mean(error[known] ** 2)) / value[known].std()), 3),
        "width": round(float((high - low)[known].mean()), 4),
        "n_unknown": int((~known).sum()),
    }


if __name__ == "__main__":
    main()
