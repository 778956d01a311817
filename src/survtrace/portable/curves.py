"""Hazards become curves: the formulas of `survtrace.inference.curves`, in numpy.

That module explains them. Every curve is a function of the members' hazards, (member, subject,
cause, interval), and of where it is asked; its answer has an axis of members, of length 1 where the
curve is that of their average.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.polynomial.legendre import leggauss
from numpy.typing import NDArray

Array = NDArray[np.float64]
N_NODES = 8  # of Gauss-Legendre, between two ends
TINY = float(np.finfo(np.float64).tiny)
# Curves that average over members themselves, also of subjects event-free until a start.
OF_AVERAGE = ("cumulative_hazard", "crossing_time", "hazards")


class TimeIndex(NamedTuple):
    """Where a curve is asked: one row for all subjects, or one for each.

    ``points`` are times (of `crossing_time`: levels of survival), which lie in an interval between
    ``cuts`` and have a fraction of it behind them. With ``start``, (subject, 1), the subjects are
    those event-free until then.
    """

    interval: NDArray[np.intp]
    fraction: Array
    points: Array
    cuts: Array
    start: Array | None = None

    def of(self, subjects: slice) -> TimeIndex:
        """Take the times of some subjects, where each has its own."""
        start = None if self.start is None else self.start[subjects]
        if len(self.points) == 1:
            return self._replace(start=start)
        own = (self.interval[subjects], self.fraction[subjects], self.points[subjects])
        return TimeIndex(*own, self.cuts, start)


Curve = Callable[[Array, TimeIndex], Array]


def locate_times(times: Array, cuts: Array) -> TimeIndex:
    """Find the interval and fraction of each time; times outside the cuts stop at the ends.

    Examples
    --------
    >>> at = locate_times(np.array([[5.0, 20.0, 90.0]]), np.array([0.0, 10.0, 30.0]))
    >>> at.interval.tolist(), at.fraction.tolist()
    ([[0, 1, 1]], [[0.5, 0.5, 1.0]])
    """
    interval = cuts[1:-1].searchsorted(times, side="left")
    start = cuts[interval]
    fraction = (times - start) / (cuts[interval + 1] - start)
    return TimeIndex(interval, np.minimum(np.maximum(fraction, 0.0), 1.0), times, cuts)


def survival(hazard: Array, at: TimeIndex) -> Array:
    """Compute the probability of being event-free: (member, subject, time).

    Examples
    --------
    >>> at = locate_times(np.array([[5.0, 10.0]]), np.array([0.0, 10.0]))
    >>> survival(np.full((1, 1, 2, 1), 0.5), at).round(4)
    array([[[0.6065, 0.3679]]])
    """
    return np.exp(-_lived(hazard, at))


def incidence(hazard: Array, at: TimeIndex) -> Array:
    """Compute the probability that each cause has struck: (member, subject, cause, time)."""
    total = hazard.sum(axis=2)
    per_hazard = np.exp(-_before(total)) / np.maximum(total, TINY)
    gained = hazard * (per_hazard * -np.expm1(-total))[:, :, None]
    lived = _pick(per_hazard, at) * -np.expm1(-at.fraction * _pick(total, at))
    earlier = _pick(_before(gained), at)
    earlier += _pick(hazard, at) * lived[:, :, None]
    return earlier


def states(hazard: Array, at: TimeIndex) -> Array:
    """Compute the probability of each state: event-free, then each cause."""
    return np.concatenate([survival(hazard, at)[:, :, None], incidence(hazard, at)], axis=2)


def net_incidence(hazard: Array, at: TimeIndex) -> Array:
    """Compute the probability of each cause if the others did not exist."""
    lived = _pick(_before(hazard), at) + at.fraction[..., None, :] * _pick(hazard, at)
    return -np.expm1(-lived)


def after(hazard: Array, at: TimeIndex) -> tuple[Array, TimeIndex]:
    """Give the hazard that is left after the start, and where times fall in it."""
    assert at.start is not None
    cuts, start, ends = at.cuts, at.start, at.cuts[1:]
    left = np.maximum(ends - np.maximum(start, cuts[:-1]), 0.0) / np.diff(cuts)
    times = np.maximum(at.points, start)
    interval = locate_times(times, cuts).interval
    begin = np.maximum(cuts[interval], start)
    width = np.maximum(ends[interval] - begin, TINY)
    fraction = np.clip((times - begin) / width, 0.0, 1.0)
    own = TimeIndex(interval, fraction, times, np.maximum(cuts, start), start)
    return hazard * left[:, None], own


def member_shares(hazard: Array, at: TimeIndex) -> Array:
    """Compute each member's share of the survivors, by which conditional curves are averaged."""
    lived = _lived(hazard, at)
    shares = np.exp(lived.min(axis=0) - lived)
    return shares / shares.sum(axis=0)


def restricted_mean(hazard: Array, at: TimeIndex) -> Array:
    """Compute the area under the survival curve, which is constant outside the grid."""
    total, width = hazard.sum(axis=2), np.diff(at.cuts)
    entered = np.exp(-_before(total))
    earlier = _before(entered * width * _mean_decay(total))
    lived = at.fraction * _mean_decay(at.fraction * _pick(total, at))
    beyond = np.maximum(at.points - at.cuts[..., -1:], 0.0)
    on_grid = _pick(earlier, at) + _pick(entered * width, at) * lived
    begin = 0.0 if at.start is None else at.start
    before = np.minimum(at.points, at.cuts[..., :1]) - begin
    return on_grid + beyond * survival(hazard, at) + before


def cumulative_hazard(hazard: Array, at: TimeIndex) -> Array:
    """Compute the cumulative cause-specific hazard of the members' average curve."""
    cuts, first = at.cuts, at.cuts[:1]
    if at.start is not None:  # what was lived through before it does not count
        first = np.clip(at.start, cuts[0], cuts[-1])
    times = np.minimum(np.maximum(at.points, first), cuts[-1])
    steps = np.broadcast_to(np.maximum(cuts, first), (len(times), len(cuts)))
    ends = np.sort(np.concatenate([steps, times], axis=1), axis=1)
    nodes, mass = leggauss(N_NODES)
    half = np.diff(ends)[..., None] / 2
    points = (ends[:, :-1, None] + half) + half * nodes
    inside = locate_times(points.reshape(len(points), -1), cuts)
    rate = _pick(hazard / np.diff(cuts), inside)
    density = (member_shares(hazard, inside)[:, :, None] * rate).sum(axis=0)
    pieces = density.reshape(*density.shape[:2], *points.shape[1:])
    pieces = (pieces * (half * mass)[:, None]).sum(axis=-1)
    share = pieces / np.maximum(pieces.sum(axis=1, keepdims=True), TINY)
    exact = -_log_sum_exp(-_lived(hazard, locate_times(ends, cuts)))
    grown = _after_zero((share * np.diff(exact)[:, None]).cumsum(axis=-1))
    place = np.stack([a.searchsorted(b) for a, b in zip(ends, times, strict=True)])
    return _pick(grown[None], TimeIndex(place, times, times, cuts))


def crossing_time(hazard: Array, at: TimeIndex) -> Array:
    """Find when averaged survival has fallen to each level; infinite if it never does."""
    cuts, levels = at.cuts, at.points
    shape = (hazard.shape[1], levels.shape[1])
    low, high = np.full(shape, cuts[0]), np.full(shape, cuts[-1])
    if at.start is not None:
        low = np.maximum(low, at.start)
    never = _average_survival(hazard, high, at) > levels
    for _ in range(64):
        middle = (low + high) / 2
        alive = _average_survival(hazard, middle, at) > levels
        low, high = np.where(alive, middle, low), np.where(alive, high, middle)
    return np.where(never, np.inf, high)[None]


def hazards(hazard: Array, at: TimeIndex) -> Array:
    """Give the hazards themselves: (1, subject, member, cause, interval)."""
    return hazard.swapaxes(0, 1)[None]


def mean_curve(kind: str, hazard: Array, times: Array, cuts: Array) -> Array:
    """Compute a subject's curve of (member, cause, interval), members averaged."""
    curve: Curve = globals()[kind]
    mean: Array = curve(hazard[:, None], locate_times(times[None], cuts)).mean(axis=0)[0]
    return mean


def _average_survival(hazard: Array, times: Array, at: TimeIndex) -> Array:
    lived = _lived(hazard, locate_times(times, at.cuts))
    if at.start is None:
        mean: Array = np.exp(-lived).mean(axis=0)
        return mean
    before = _lived(hazard, locate_times(at.start, at.cuts))
    return np.exp(_log_sum_exp(-lived) - _log_sum_exp(-before))


def _lived(hazard: Array, at: TimeIndex) -> Array:
    """Sum the hazard of all causes lived through: (member, subject, time)."""
    total = hazard.sum(axis=2)
    return _pick(_before(total), at) + at.fraction * _pick(total, at)


def _before(per_interval: Array) -> Array:
    """Sum over the intervals before each one."""
    return _after_zero(per_interval[..., :-1].cumsum(axis=-1))


def _after_zero(sums: Array) -> Array:
    whole = np.zeros((*sums.shape[:-1], sums.shape[-1] + 1))
    whole[..., 1:] = sums
    return whole


def _pick(per_interval: Array, at: TimeIndex) -> Array:
    """Take values (member, subject, interval), or with causes between, at each time's interval."""
    if len(at.interval) == 1:
        return per_interval.take(at.interval[0], axis=-1)
    interval = at.interval[:, None] if per_interval.ndim == 4 else at.interval
    shape = (*per_interval.shape[:-1], interval.shape[-1])
    return np.take_along_axis(per_interval, np.broadcast_to(interval, shape), axis=-1)


def _log_sum_exp(x: Array) -> Array:
    """Compute log(sum(exp(x))) over members."""
    most = x.max(axis=0)
    return most + np.log(np.exp(x - most).sum(axis=0))


def _mean_decay(x: Array) -> Array:
    """Compute (1 - exp(-x)) / x, which is 1 at 0."""
    small = x < 1e-12
    return np.where(small, 1 - x / 2, -np.expm1(-x) / np.where(small, 1.0, x))
