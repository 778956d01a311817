"""Compute the log hazards of simulated subjects from their covariates, cause by cause."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from survtrace.datasets.simulated_covariates import CATEGORICAL

Floats = NDArray[np.float64]

# Centre and unit of each numerical covariate.
SCALES = {
    "age": (61.0, 13.0),
    "tumor_size": (20.0, 20.0),
    "nodes_positive": (0.0, 5.0),
    "body_mass_index": (27.0, 5.0),
}

# The hazard of every cause is constant between these months; effects drift from early to late.
CUTS = np.array([0.0, 6.0, 12.0, 30.0, 54.0, 84.0])
DRIFT = np.array([0.0, 0.1, 0.35, 0.65, 0.9, 1.0])
BASELINE = {
    1: np.array([0.6, 0.9, 1.3, 1.1, 0.8, 0.7]),
    2: np.array([1.1, 0.8, 0.8, 1.0, 1.2, 1.4]),
}

LINEAR_EFFECTS = {
    1: {"age": 0.15, "tumor_size": 0.35, "nodes_positive": 0.3, "grade": 0.3, "stage": 0.5},
    2: {"age": 0.9, "body_mass_index": 0.2, "sex": 0.4, "smoking": 0.4, "diabetes": 0.5},
}


def log_hazards(X: pd.DataFrame, n_causes: int, linear: bool) -> Floats:
    """Compute log hazards up to a constant, shape (subject, cause, interval).

    Causes 1 and 2 resemble a death from the tumor and from the heart; the effects of a further
    cause are drawn by its number, so that cause 3 is the same in every cohort.

    Examples
    --------
    >>> from survtrace.datasets.simulated_covariates import draw_covariates
    >>> X = draw_covariates(5, np.random.default_rng(0))
    >>> log_hazards(X, n_causes=3, linear=False).shape
    (5, 3, 6)
    """
    z = _on_one_scale(X)
    result = np.empty((len(X), n_causes, len(CUTS)))
    for cause in range(1, n_causes + 1):
        if linear:
            early, late = _linear_scores(z, cause)
        elif cause > 2:
            early, late = _drawn_scores(z, cause)
        else:
            early, late = _tumor_scores(z) if cause == 1 else _heart_scores(z)
        drifting = early[:, None] + DRIFT * (late - early)[:, None]
        result[:, cause - 1] = drifting + np.log(BASELINE.get(cause, np.ones(len(CUTS))))
    return result


def _on_one_scale(X: pd.DataFrame) -> dict[str, Floats]:
    """Standardise numerical covariates, and convert categorical ones to their codes."""
    z: dict[str, Floats] = {}
    for name in CATEGORICAL:
        z[name] = X[name].cat.codes.to_numpy().astype(np.float64)
    for name, (centre, unit) in SCALES.items():
        z[name] = (X[name].to_numpy(dtype=np.float64) - centre) / unit
    return z


def _linear_scores(z: dict[str, Floats], cause: int) -> tuple[Floats, Floats]:
    """Compute one linear score, early and late: proportional hazards."""
    drawn = np.random.default_rng(cause).normal(0, 0.25, len(z))
    effects = LINEAR_EFFECTS.get(cause) or dict(zip(sorted(z), drawn.tolist(), strict=True))
    score = np.sum([effect * z[name] for name, effect in effects.items()], axis=0)
    return score, score


def _tumor_scores(z: dict[str, Floats]) -> tuple[Floats, Floats]:
    """Score deaths from the tumor; hazards cross: receptor-negative tumors kill early or never."""
    negative = z["hormone_receptor"] == 2
    untreated = z["surgery"] == 4
    spread = (
        0.7 * z["stage"]
        + 0.6 * np.sqrt(z["nodes_positive"])
        + 0.6 * np.tanh(z["tumor_size"]) * (1 + negative)
        + 0.5 * z["age"] ** 2
    )
    early = spread + negative * (1.2 + 0.4 * z["grade"]) + 0.8 * untreated
    late = 0.6 * spread - 1.6 * negative + 0.4 * z["grade"] * ~negative
    return early, late - 0.6 * z["radiotherapy"] * (z["stage"] < 2)


def _heart_scores(z: dict[str, Floats]) -> tuple[Floats, Floats]:
    """Score deaths from the heart: smoking harms the young most, left radiotherapy late."""
    frailty = (
        1.1 * z["age"]
        + 0.8 * z["smoking"] * (1 - np.tanh(z["age"]))
        + 0.35 * z["body_mass_index"] ** 2
        + 0.5 * z["diabetes"] * (1 + 0.6 * z["sex"])
        + 0.5 * (z["marital_status"] == 2)
        - 0.12 * z["income_band"]
    )
    left_side = (z["laterality"] != 1) & (z["radiotherapy"] == 1)
    return frailty + 0.5 * (z["surgery"] == 2) + 0.2 * z["stage"], frailty + 1.3 * left_side


def _drawn_scores(z: dict[str, Floats], cause: int) -> tuple[Floats, Floats]:
    score, _ = _linear_scores(z, cause)
    wave = np.sin(2 * z["age"] + cause) + np.cos(z["body_mass_index"] * z["stage"])
    return score + 0.6 * wave, score - 0.3 * wave
