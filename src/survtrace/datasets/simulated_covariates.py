"""Draw the covariates of simulated subjects: four numerical and fourteen categorical."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtri

Floats = NDArray[np.float64]


class Category(NamedTuple):
    """Labels of a categorical covariate, their shares, and how strongly severity orders them."""

    labels: tuple[str, ...]
    shares: tuple[float, ...]
    severity: float = 0.0


NUMERICAL = ("age", "tumor_size", "nodes_positive", "body_mass_index")

CATEGORICAL = {
    "sex": Category(("female", "male"), (0.80, 0.20)),
    "ethnicity": Category(("a", "b", "c", "d"), (0.70, 0.14, 0.10, 0.06)),
    "region": Category(
        ("north", "east", "south", "west", "centre", "islands"),
        (0.24, 0.20, 0.22, 0.18, 0.12, 0.04),
    ),
    "marital_status": Category(
        ("married", "single", "widowed", "separated"), (0.56, 0.18, 0.14, 0.12)
    ),
    "income_band": Category(
        ("1", "2", "3", "4", "5", "6", "7", "8"),
        (0.06, 0.10, 0.14, 0.18, 0.18, 0.15, 0.11, 0.08),
        -0.15,
    ),
    "smoking": Category(("never", "former", "current"), (0.55, 0.27, 0.18), 0.1),
    "diabetes": Category(("no", "yes"), (0.84, 0.16), 0.1),
    "histology": Category(
        ("ductal", "lobular", "mixed", "mucinous", "tubular", "rare"),
        (0.70, 0.12, 0.08, 0.04, 0.03, 0.03),
    ),
    "laterality": Category(("left", "right", "both"), (0.50, 0.48, 0.02)),
    "grade": Category(("I", "II", "III", "IV"), (0.22, 0.42, 0.33, 0.03), 0.6),
    "stage": Category(("I", "II", "III", "IV"), (0.48, 0.33, 0.13, 0.06), 0.7),
    "hormone_receptor": Category(("positive", "borderline", "negative"), (0.76, 0.04, 0.20), 0.35),
    "surgery": Category(
        ("conserving", "simple", "radical", "reconstructive", "none"),
        (0.52, 0.18, 0.16, 0.08, 0.06),
        0.4,
    ),
    "radiotherapy": Category(("no", "yes"), (0.48, 0.52), 0.2),
}


def draw_covariates(n_subjects: int, rng: np.random.Generator) -> pd.DataFrame:
    """Draw complete covariates; a hidden severity correlates some of them.

    Examples
    --------
    >>> X = draw_covariates(3, np.random.default_rng(0))
    >>> X.shape
    (3, 18)
    """
    severity = rng.standard_normal(n_subjects)
    columns: dict[str, Floats | pd.Series] = {}
    columns["age"] = np.clip(61 + 13 * rng.standard_normal(n_subjects), 20, 99).round()
    spread = 0.45 * severity + 0.55 * rng.standard_normal(n_subjects)
    columns["tumor_size"] = np.clip(20 * np.exp(spread), 1, 120).round()
    nodes = rng.poisson(np.exp(0.9 * severity - 0.5)).astype(np.float64)
    columns["nodes_positive"] = np.clip(nodes, 0, 25)
    columns["body_mass_index"] = np.clip(27 + 5 * rng.standard_normal(n_subjects), 15, 45).round(1)
    for name, category in CATEGORICAL.items():
        columns[name] = _draw_category(category, severity, rng)
    return pd.DataFrame(columns)


def _draw_category(category: Category, severity: Floats, rng: np.random.Generator) -> pd.Series:
    """Cut a normal score, correlated with severity, into the shares of the labels."""
    noise = np.sqrt(1 - category.severity**2) * rng.standard_normal(len(severity))
    borders: Floats = ndtri(np.cumsum(category.shares)[:-1])
    codes = np.searchsorted(borders, category.severity * severity + noise)
    labels = pd.CategoricalDtype(list(category.labels))
    return pd.Series(pd.Categorical.from_codes(codes, dtype=labels))


def hide_values(X: pd.DataFrame, share: float, rng: np.random.Generator) -> pd.DataFrame:
    """Make a share of every column's values missing, completely at random.

    Examples
    --------
    >>> X = pd.DataFrame({"age": [50.0, 60.0]})
    >>> hide_values(X, 1.0, np.random.default_rng(0))["age"].isna().tolist()
    [True, True]
    """
    if share == 0:
        return X
    return X.mask(rng.random(X.shape) < share)
