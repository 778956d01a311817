"""The times at which curves are asked, and what those beyond the grid get."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from survtrace.errors import DataError, DataWarning, SettingError, warn
from survtrace.tables.covariates.real_numbers import real_numbers

Array = NDArray[np.float64]


def numbers_or_nan(values: Any, name: str = "times") -> Array:
    """Floats; NaN, which every door refuses, for what is no number."""
    try:
        return real_numbers(values, name)
    except DataError:
        raise
    except (TypeError, ValueError):
        return np.asarray(np.nan)


def read_times(
    times: ArrayLike | None, cuts: Array, extrapolate: str
) -> tuple[Array, NDArray[np.bool_] | None]:
    """Read times, and tell a mask of those beyond the grid that must become NaN (or None)."""
    if extrapolate not in ("constant", "nan", "raise"):
        raise SettingError(
            f"extrapolate must be 'constant', 'nan' or 'raise'; got {extrapolate!r}."
        )
    points = np.atleast_1d(numbers_or_nan(cuts if times is None else times))
    if points.ndim != 1 or not (points >= 0).all():
        raise DataError(
            f"times must be a flat sequence of numbers of zero or more; got {times!r}. "
            "Pass for example times=[12, 60]."
        )
    beyond = points > cuts[-1]
    if not beyond.any():
        return points, None
    seen = f"{beyond.sum()} of {len(points)} times lie beyond the grid, which ends at {cuts[-1]:g}"
    if extrapolate == "raise":
        raise DataError(f"{seen}. Ask for earlier times, or pass extrapolate='nan'.")
    if extrapolate == "nan":
        return points, beyond
    warn(f"{seen}; curves are constant there.", DataWarning)
    return points, None
