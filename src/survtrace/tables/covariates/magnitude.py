"""Refuse numbers too large to compute with, before they become NaN."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from survtrace.errors import DataError, row_name

LARGEST = 1e20  # every whole number of 64 bits is smaller
SMALLEST = 1e-100  # the square of a smaller number is 0 in floats, or nearly
FARTHEST = 1e9  # standard deviations; the network multiplies values in float32, up to 3e38


def require_magnitude(values: NDArray[np.float64], name: str, first_row: int = 0) -> None:
    """Refuse values of a column beyond `LARGEST`; NaN is missing and passes.

    Examples
    --------
    >>> require_magnitude(np.array([61.0, 1e30]), "age")
    Traceback (most recent call last):
    survtrace.errors.DataError: numerical covariates must lie between -1e+20 and 1e+20; column \
'age' has 1 of 2 values beyond (first: row 1, 1e+30). Correct them, or make them missing.
    """
    beyond = np.abs(values) > LARGEST
    if beyond.any():
        first = int(np.flatnonzero(beyond)[0])
        seen = f", {values[first]:g}" if np.isfinite(values[first]) else ""
        raise DataError(
            f"numerical covariates must lie between -{LARGEST:g} and {LARGEST:g}; column {name!r} "
            f"has {beyond.sum()} of {len(values)} values beyond (first: "
            f"{row_name(first_row + first)}{seen}). Correct them, or make them missing."
        )


def without_underflow(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Make 0 what is nearer to 0 than `SMALLEST`: variances of such numbers underflow.

    Examples
    --------
    >>> without_underflow(np.array([0.5, 1e-320])).tolist()
    [0.5, 0.0]
    """
    tiny = (np.abs(values) < SMALLEST) & (values != 0)
    return np.where(tiny, 0.0, values) if tiny.any() else values


def is_within_reach(scaled: NDArray[np.float32]) -> bool:
    """Check whether standardised values are so near to the training rows that nothing overflows.

    Examples
    --------
    >>> is_within_reach(np.float32([0.5, -2.0])), is_within_reach(np.float32([1e10]))
    (True, False)
    """
    return bool((np.abs(scaled) <= FARTHEST).all())


def require_within_reach(scaled: NDArray[np.float32], name: str, first_row: int) -> None:
    """Refuse standardised values so far from the training rows that the network may overflow."""
    beyond = np.abs(scaled) > FARTHEST
    if beyond.any():
        first = int(np.flatnonzero(beyond)[0])
        raise DataError(
            f"numerical covariates must be of the size seen in fit; column {name!r} has "
            f"{beyond.sum()} of {len(scaled)} values more than {FARTHEST:g} standard deviations "
            f"from the mean of the training rows (first: {row_name(first_row + first)}). Correct "
            "them (is the unit that of the training rows?), or make them missing."
        )


def not_finite(row: int) -> DataError:
    """Make the error for a row whose predictions overflow."""
    return DataError(
        f"predictions must be finite; the network's are not for {row_name(row)}"
        ". Its covariates are too large for it: correct them, or leave them out as missing. "
        "If they are of the size seen in fit, the saved network is damaged: fit it again."
    )
