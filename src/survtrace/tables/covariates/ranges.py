"""Warn of numbers far from those of the training rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from survtrace.errors import DataWarning, warn
from survtrace.tables.covariates.encoding import Encoded, Encoding, Scale

# How far beyond the training rows' 1 and 99 % quantiles, in distances between the two, and the
# share of ordinary rows that may lie there. A table gets a warning if it has five standard errors
# more: one row far out, some rows of a small table a little out, or many rows of a large one.
MARGINS = ((0.0, 0.02), (0.4, 0.002), (1.25, 0.0))
FEWEST_ROWS = 50  # to judge a share by that has no margin


def warn_of_far_values(encoding: Encoding, encoded: Encoded) -> None:
    """Warn, once for all covariates, of numbers where predictions are a guess.

    Rows like the training rows give no warning, also if a few of them lie beyond.
    """
    found, missing = [], encoding.first_rows
    for j, (covariate, column) in enumerate(
        zip(encoding.covariates, encoding.columns, strict=True)
    ):
        if isinstance(column, Scale) and column.high > column.low:
            scaled = encoded.values[encoded.rows[:, j] != missing[j], j].astype(np.float64)
            values = scaled * column.deviation + column.mean
            if n_far := _count_far(column, values):
                seen = f" ({values[0]:g})" if len(encoded.rows) == 1 else ""
                unit = f" {covariate.unit}" if covariate.unit else ""
                found.append(
                    f"{covariate.label or covariate.name}{seen} lies outside {column.low:.4g} to "
                    f"{column.high:.4g}{unit} for {n_far:,} of {len(encoded.rows):,} subject(s)"
                )
    if found:
        warn(
            f"{'; '.join(found)}: nearly all training rows are inside, and predictions are a guess "
            "outside.",
            DataWarning,
        )


def _count_far(column: Scale, values: NDArray[np.float64]) -> int:
    """Count the values beyond the first margin that too many of them pass; 0 if none is."""
    beyond = _beyond(column, values)
    n = len(beyond)
    for margin, share in MARGINS:
        if margin == 0 and n < FEWEST_ROWS:
            continue
        n_far = int(np.count_nonzero(beyond > margin + 1e-6))
        if n_far > share * n + 5 * np.sqrt(share * n):
            return n_far
    return 0


def _beyond(column: Scale, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Measure how far values lie outside the quantiles, relative to the distance between these.

    Measured on a scale that is even about the median and logarithmic far from it, so that the long
    tail of a skewed covariate is no surprise.
    """
    sides = (column.typical - column.low, column.high - column.typical)
    unit = max(min(sides), (column.high - column.low) / 20)
    points = np.array([column.low, column.high, *values])
    low, high, *_ = codes = np.arcsinh((points - column.typical) / unit)
    return np.asarray(np.maximum(low - codes[2:], codes[2:] - high) / (high - low))
