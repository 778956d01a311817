"""Warn of numbers far from those of the training rows."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from survtrace.errors import DataWarning, warn
from survtrace.tables.covariates.encoding import Encoded, Encoding, Scale
from survtrace.tables.tasks import MANY_ROWS, Run, one_by_one, row_blocks

# How far beyond the training rows' 1 and 99 % quantiles, in distances between the two, and the
# share of ordinary rows that may lie there. A table gets a warning if it has five standard errors
# more: one row far out, some rows of a small table a little out, or many rows of a large one.
MARGINS = ((0.0, 0.02), (0.4, 0.002), (1.25, 0.0))
FEW_ROWS = 64  # of a table that is looked at as a whole
FEWEST_ROWS = 50  # to judge a share by that has no margin


def warn_of_far_values(encoding: Encoding, encoded: Encoded, run: Run = one_by_one) -> None:
    """Warn, once for all covariates, of numbers where predictions are a guess.

    Rows like the training rows give no warning, also if a few of them lie beyond. ``run`` may run
    the parts of a large table in threads.
    """
    first_rows = encoding.first_rows.tolist()  # those of missing values
    scales = [(j, first_rows[j], column, _bounds(column)) for j, column in _scales(encoding)]
    if not scales or not is_any_outside(encoded, innermost_bounds(encoding)):
        return
    blocks = row_blocks(len(encoded.rows))
    counts = np.zeros((len(blocks), len(scales), 1 + len(MARGINS)), dtype=np.int64)

    def count_block(k: int) -> None:
        rows, values = encoded.rows[blocks[k]], encoded.values[blocks[k]]
        for i, (j, missing, _, bounds) in enumerate(scales):
            is_present = rows[:, j] != missing
            beyond = _count_beyond(values[:, j], is_present, bounds)
            counts[k, i] = [int(np.count_nonzero(is_present)), *beyond]

    run = run if len(encoded.rows) > MANY_ROWS else one_by_one
    run(count_block, len(blocks))
    found = []
    for (j, _, column, _), (n, *beyond) in zip(scales, counts.sum(axis=0).tolist(), strict=True):
        if n_far := _first_surprise(n, beyond):
            covariate, alone = encoding.covariates[j], len(encoded.rows) == 1
            value = float(encoded.values[0, j]) * column.deviation + column.mean
            seen = f" ({value:g})" if alone else ""
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


class Bounds(NamedTuple):
    """Places of numerical covariates, and the standardised values that lie just outside."""

    places: NDArray[np.intp]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def innermost_bounds(encoding: Encoding) -> Bounds:
    """Collect the bounds without a margin of all covariates, to look at few rows in one step."""
    scales = _scales(encoding)
    bounds = np.array([_bounds(column)[0] for _, column in scales]).reshape(-1, 2)
    return Bounds(np.array([j for j, _ in scales], dtype=np.intp), *bounds.T)


def is_any_outside(encoded: Encoded, bounds: Bounds) -> bool:
    """Check whether a value lies outside; a table with many rows nearly always has some."""
    if len(encoded.rows) > FEW_ROWS:
        return True
    values = encoded.values.take(bounds.places, axis=1)
    return bool(((values < bounds.low) | (values > bounds.high)).any())


def _scales(encoding: Encoding) -> list[tuple[int, Scale]]:
    """List the numerical covariates of which a value can be far from the others."""
    return [
        (j, column)
        for j, column in enumerate(encoding.columns)
        if isinstance(column, Scale) and column.high > column.low and column.deviation > 0
    ]


def _count_beyond(
    scaled: NDArray[np.float32], is_present: NDArray[np.bool_], bounds: list[tuple[float, float]]
) -> list[int]:
    """Count the values outside of each pair of bounds, of which each encloses the one before."""
    counts = []
    for low, high in bounds:
        outside = (scaled < low) | (scaled > high)
        scaled, is_present = scaled[outside], is_present[outside]
        counts.append(int(np.count_nonzero(is_present)))
    return counts


def _first_surprise(n: int, beyond: list[int]) -> int:
    """Return how many of n values lie beyond the first margin that too many pass; 0 if none is."""
    for (margin, share), n_far in zip(MARGINS, beyond, strict=True):
        if margin == 0 and n < FEWEST_ROWS:
            continue
        if n_far > share * n + 5 * np.sqrt(share * n):
            return n_far
    return 0


@lru_cache(maxsize=4096)  # it takes longer than the rest of a prediction for one subject
def _bounds(column: Scale) -> list[tuple[float, float]]:
    """Compute the standardised values that lie just outside the quantiles, by each margin.

    Margins are in distances between the quantiles, on a scale that is even about the median and
    logarithmic far from it, so that the long tail of a skewed covariate is no surprise.
    """
    sides = (column.typical - column.low, column.high - column.typical)
    unit = max(min(sides), (column.high - column.low) / 20)
    low, high = np.arcsinh((np.array([column.low, column.high]) - column.typical) / unit)
    bounds = []
    for margin, _ in MARGINS:
        beyond = (margin + 1e-6) * (high - low)
        ends = column.typical + unit * np.sinh([low - beyond, high + beyond])
        below, above = ((ends - column.mean) / column.deviation).tolist()
        bounds.append((below, above))
    return bounds
