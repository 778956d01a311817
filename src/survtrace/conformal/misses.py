"""How many subjects miss a bound where their predicted incidence reaches a value."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


class Misses:
    """How many subjects miss a bound that is placed at an incidence, and how many may.

    Parameters
    ----------
    at_end, at_last
        Predicted incidence of each subject at its duration, and at the last time it may be
        bounded by, where its bound is cut off.
    weight
        IPCW weight of subjects whose event is seen before that time; 0 for others.
    allowed
        The share of subjects that may miss their bound.

    Examples
    --------
    >>> at_end = np.arange(1, 101) / 100  # 100 events, predicted right
    >>> misses = Misses(at_end, np.ones(100), np.ones(100), allowed=0.2)
    >>> misses.allowed_incidence([1.0, 11.0])
    array([0.2, 0.1])
    """

    def __init__(self, at_end: Floats, at_last: Floats, weight: Floats, allowed: float) -> None:
        n, rows = len(at_end), np.flatnonzero(weight)
        rows = rows[np.argsort(at_end[rows], kind="stable")]
        self.incidence, self.missed = at_end[rows], np.cumsum(weight[rows])
        self.budget = allowed * (n + 1)
        # The same count among those whose bound at an incidence is not cut off.
        by_last = rows[np.argsort(at_last[rows], kind="stable")]
        cut_off = np.append(0.0, np.cumsum(weight[by_last]))
        cut_off = cut_off[np.searchsorted(at_last[by_last], self.incidence, side="right")]
        n_free = n - np.searchsorted(np.sort(at_last), self.incidence, side="right")
        too_many = self.missed - cut_off > allowed * (n_free + 1)
        self.ceiling = float(self.incidence[too_many].min(initial=np.inf))

    def allowed_incidence(self, weight: ArrayLike) -> Floats:
        """Find the largest incidence whose misses, with a new subject's weight, fit the budget."""
        n_within = np.searchsorted(self.missed, self.budget - np.asarray(weight), side="right")
        return np.minimum(np.append(self.incidence, np.inf)[n_within], self.ceiling)


def value_at(times: Floats, curves: Floats, t: Floats) -> Floats:
    """Interpolate each subject's curve at its own time, constant after the last one.

    Examples
    --------
    >>> value_at(np.array([0.0, 2.0]), np.array([[0.0, 0.5], [0.0, 0.8]]), np.array([1.0, 3.0]))
    array([0.25, 0.8 ])
    """
    after = np.clip(np.searchsorted(times, t, side="right"), 1, len(times) - 1)
    share = (np.minimum(t, times[-1]) - times[after - 1]) / (times[after] - times[after - 1])
    low, high = _beside(curves, after)
    return np.asarray(low + share * (high - low))


def crossing_time(times: Floats, curves: Floats, allowed: Floats) -> Floats:
    """Find when each subject's curve, interpolated, reaches what is allowed at the next time.

    The last of the times if it never does.

    Examples
    --------
    >>> curves = np.array([[0.0, 0.5], [0.0, 0.2]])
    >>> crossing_time(np.array([0.0, 2.0]), curves, np.full((2, 2), 0.25))
    array([1., 2.])
    """
    reached = curves >= allowed
    after = np.where(reached.any(axis=1), reached.argmax(axis=1), len(times))
    inside = np.clip(after, 1, len(times) - 1)
    low, high = _beside(curves, inside)
    most = allowed[np.arange(len(curves)), inside]
    share = np.divide(most - low, high - low, out=np.zeros_like(low), where=high > low)
    crossing = times[inside - 1] + np.clip(share, 0, 1) * np.diff(times)[inside - 1]
    return np.where(after == 0, 0.0, np.where(after == len(times), times[-1], crossing))


def _beside(curves: Floats, after: NDArray[np.int64]) -> tuple[Floats, Floats]:
    subject = np.arange(len(curves))
    return curves[subject, after - 1], curves[subject, after]
