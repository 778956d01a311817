"""The times at which curves are asked, and what those beyond the grid get."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from survtrace.errors import DataError, DataWarning, short, warn
from survtrace.rules import check_value, one_of
from survtrace.tables.covariates.real_numbers import as_array, real_numbers

Array = NDArray[np.float64]


def numbers_or_nan(values: Any, name: str = "times") -> Array:
    """Convert values to floats; what is no number becomes NaN, which every method refuses."""
    try:
        numbers = real_numbers(values, name)
        is_truth = numbers.size > 0 and as_array(values).dtype == np.bool_
        return np.asarray(np.nan) if is_truth else numbers
    except DataError:
        raise
    except (TypeError, ValueError):
        return np.asarray(np.nan)


def read_times(
    times: ArrayLike | None, cuts: Array, extrapolate: str, after: ArrayLike | None = None
) -> tuple[Array, NDArray[np.bool_] | None]:
    """Read times, and tell a mask of those outside the grid that must become NaN (or None).

    Times are common to all subjects, or a row of them for each. ``after`` is when each subject, or
    all of them, are known to be event-free. A grid that begins late has nothing to say of the time
    before it, where nobody was observed.

    Examples
    --------
    >>> points, outside = read_times([[45, 55], [61, 71]], np.array([40.0, 70.0]), "nan")
    >>> points.shape, outside.tolist()
    ((2, 2), [[False, False], [False, True]])
    """
    check_value("extrapolate", extrapolate, one_of("constant", "nan", "raise"))
    points = np.atleast_1d(numbers_or_nan(cuts if times is None else times))
    if points.ndim > 2 or not (points >= 0).all():
        raise DataError(
            "times must be a flat sequence of numbers of zero or more, or a row of them for each "
            f"subject; got {short(times)}. Pass for example times=[12, 60]."
        )
    masks = [
        _outside(
            points > cuts[-1],
            f"beyond the grid, which ends at {cuts[-1]:g}",
            "earlier",
            extrapolate,
        ),
        _outside(
            points < cuts[0],
            f"before the grid, which begins at {cuts[0]:g}, when the first subject entered (times "
            "count from the same origin as duration and entry, not from now)",
            "later",
            extrapolate,
        ),
    ]
    if after is not None:
        starts = np.atleast_1d(numbers_or_nan(after, "conditional_after"))
        masks.append(_future_unknown(starts, points, cuts, extrapolate))
    found = [mask for mask in masks if mask is not None]
    return points, np.logical_or.reduce(np.broadcast_arrays(*found)) if found else None


def read_starts(after: ArrayLike, n_subjects: int) -> Array:
    """Read when each subject is known to be event-free, shape (subject,).

    Examples
    --------
    >>> read_starts(12, n_subjects=2)
    array([12., 12.])
    """
    start = numbers_or_nan(after, "conditional_after")
    if start.shape not in ((), (n_subjects,)) or not (np.isfinite(start) & (start >= 0)).all():
        raise DataError(
            "conditional_after must be a time of zero or more, or one for each of the "
            f"{n_subjects} subjects; got {short(after)}."
        )
    return np.full(n_subjects, start)


def require_row_each(points: Array, n_subjects: int) -> None:
    """Refuse times with two axes that have not a row for each subject."""
    if points.ndim == 2 and len(points) != n_subjects:
        raise DataError(
            f"times must be a flat sequence, or have a row for each of the {n_subjects} "
            f"subjects; got shape {points.shape}. Pass for example times=[12, 60]."
        )


def _outside(
    outside: NDArray[np.bool_], where: str, instead: str, extrapolate: str
) -> NDArray[np.bool_] | None:
    """Refuse times outside the grid, or warn of them, or give the mask of what becomes NaN."""
    if not outside.any():
        return None
    seen = f"{outside.sum()} of {outside.size} times lie {where}"
    if extrapolate == "raise":
        raise DataError(f"{seen}. Ask for {instead} times, or pass extrapolate='nan'.")
    if extrapolate == "nan":
        return outside
    warn(f"{seen}; curves are constant there.", DataWarning)
    return None


def _future_unknown(
    starts: Array, points: Array, cuts: Array, extrapolate: str
) -> NDArray[np.bool_] | None:
    """Say what becomes of subjects known to be event-free before or beyond the grid.

    Before it nobody was observed: what happens until its first cut is not known. Beyond it curves
    are constant, as those of everybody, and `read_times` says so where they are asked.
    """
    early = (starts >= 0) & (starts < cuts[0])
    if starts.ndim > 1 or not early.any():
        return None
    seen = (
        f"{early.sum()} of {early.size} times in conditional_after lie before the grid, which "
        f"begins at {cuts[0]:g}: nobody was observed earlier, so that the time until then is "
        "unknown"
    )
    if extrapolate == "raise":
        raise DataError(
            f"{seen}. Ask from {cuts[0]:g} on, or pass extrapolate='constant', which takes these "
            "subjects to be event-free until then."
        )
    if extrapolate == "nan":
        return np.asarray(early[:, None] & (points > starts[:, None]))
    warn(f"{seen}; these subjects are taken to be event-free until then.", DataWarning)
    return None
