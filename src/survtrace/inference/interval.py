"""Intervals of a subject's incidences and survival: how far the truth may be from a prediction.

On the scale log(-log(1 - incidence)) the error of a prediction has a standard deviation that grows
with the deviation between members: ``sqrt(floor^2 + (factor * deviation)^2)``. Floor, factor and
the quantiles of errors so standardised are learned for each state when an estimator is fitted
(`training.interval`).

An interval is computed at the cuts of the time grid and made to rise there; between cuts its ends
follow the prediction. So both ends are curves that never turn back, enclose the prediction, and are
the same whatever other times are asked.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from functools import cached_property
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from survtrace.errors import SettingError, short
from survtrace.rules import between, check_value, one_of
from survtrace.tables.table import Table

if TYPE_CHECKING:
    from survtrace.inference.predictor import Predictor

Array = NDArray[np.float64]
SIGNS = np.array([-1.0, 1.0])[:, None, None, None]  # of the lower end and the upper
TINY = 1e-12  # an incidence, or a step of one, below which nothing is divided by it


@dataclass(frozen=True)
class IntervalScale:
    """How errors are distributed, for each state: event-free first, then the causes.

    Attributes
    ----------
    floor
        The deviation of an error that does not depend on the subject, at each cut after the first.
    factor
        What the deviation between members is multiplied by.
    levels, quantiles
        Levels of intervals, and for each state how many such deviations cover that share.

    Examples
    --------
    >>> scale = IntervalScale([[0.1, 0.1]], [2.0], [0.5, 0.95], [[0.7, 2.0]])
    >>> incidence, std = np.array([[[0.0, 0.2, 0.4]]]), np.array([[[0.0, 0.01, 0.02]]])
    >>> low, high = scale.bounds(incidence, std, level=0.95)
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([[[0.0, 0.152, 0.308]]], [[[0.0, 0.26, 0.508]]])
    """

    floor: list[list[float]]
    factor: list[float]
    levels: list[float]
    quantiles: list[list[float]]

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, for a file."""
        return asdict(self)

    def bounds(self, incidence: Array, std: Array, level: float) -> Array:
        """Find both ends at the cuts, (end, subject, state, cut); the first state is any cause.

        Both are computed at once: of one subject every step takes as long as of many numbers.
        """
        inside = np.minimum(np.maximum(incidence[..., 1:], TINY), 1 - TINY)
        hazard = -np.log1p(-inside)
        # The deviation on the scale of log hazards, by the slope of that scale.
        deviation = std[..., 1:] / (hazard * (1 - inside))
        deviation[np.isnan(deviation)] = 0.0  # of one member
        floor, factor = self._floor_and_factor
        width = self.deviations(level)[:, None] * np.hypot(floor, factor * deviation)
        ends = np.zeros((2, *incidence.shape))
        ends[..., 1:] = -np.expm1(-hazard * np.exp(SIGNS * width))
        ends[..., 1:] *= incidence[..., 1:] > 0
        np.maximum.accumulate(ends, axis=-1, out=ends)
        np.minimum(ends[0], incidence, out=ends[0])
        np.maximum(ends[1], incidence, out=ends[1])
        return ends

    def deviations(self, level: float) -> Array:
        """Compute how many deviations cover a level: normal quantiles, times what was learned.

        At most those of the next level learned: no interval is wider than one of a higher level.
        """
        known, ratios = self._known_and_ratios
        wanted = _deviations_of_normal(level)
        found = np.array([wanted * np.interp(wanted, known, ratio) for ratio in ratios])
        following = known.searchsorted(wanted)
        if following == len(known):
            return found
        return np.minimum(found, known[following] * ratios[:, following])

    @cached_property
    def _floor_and_factor(self) -> tuple[Array, Array]:
        return np.array(self.floor), np.array(self.factor)[:, None]

    @cached_property
    def _known_and_ratios(self) -> tuple[Array, Array]:
        known = np.array([_deviations_of_normal(each) for each in self.levels])
        return known, np.asarray(self.quantiles) / known


def _deviations_of_normal(level: float) -> float:
    """Count the standard deviations that cover a level of a normal distribution."""
    # Of a level next to 1 the half is rounded to 1, where the distribution ends nowhere.
    return NormalDist().inv_cdf(min((1 + float(level)) / 2, math.nextafter(1.0, 0.0)))


def between_cuts(
    incidence: Array, at_cuts: Array, bound_at_cuts: Array, cuts: Array, times: Array
) -> Array:
    """Follow the prediction from one cut to the next: the share of its step that it has made.

    Parameters
    ----------
    incidence
        The prediction at the times, shape (subject, state, time).
    at_cuts, bound_at_cuts
        The prediction and one end of its interval at the cuts, shape (subject, state, cut); of
        several ends there is another axis before these.
    cuts, times
        Shape (cut,), and (time,) or (subject, time).

    Examples
    --------
    >>> at_cuts, high = np.array([[[0.0, 0.2, 0.4]]]), np.array([[[0.0, 0.3, 0.6]]])
    >>> incidence, times = np.array([[[0.1, 0.3]]]), np.array([5.0, 15.0])
    >>> between_cuts(incidence, at_cuts, high, np.array([0.0, 10.0, 20.0]), times).round(3)
    array([[[0.15, 0.45]]])
    """
    interval = cuts[1:-1].searchsorted(times, side="left")

    def pick(values: Array, k: int) -> Array:
        if times.ndim == 1:
            return values.take(interval + k, axis=-1)
        shape = (*values.shape[:-1], times.shape[-1])
        place = np.broadcast_to((interval + k)[:, None], shape)
        return np.take_along_axis(values, place, axis=-1)

    start, low = pick(at_cuts, 0), pick(bound_at_cuts, 0)
    step = pick(at_cuts, 1) - start
    share = np.minimum(np.maximum((incidence - start) / np.maximum(step, TINY), 0), 1)
    rising = low + share * (pick(bound_at_cuts, 1) - low)
    return np.where(step > TINY, rising, low + (incidence - start))


def require_interval(
    scale: IntervalScale | None, kind: str, level: float, cause: Any
) -> IntervalScale:
    """Refuse what no interval can be given for."""
    check_value("kind", kind, one_of("incidence", "survival"))
    if kind == "survival" and cause is not None:
        raise SettingError(
            f"kind='survival' is the probability of no event of any cause; got cause "
            f"{short(cause)}. Leave one of them out."
        )
    require_level(level)
    if scale is None:
        raise SettingError(
            "intervals need what a fit with intervals=True learns from a table in memory, with one "
            "row for each subject and ips='none', and are not known after an update; this "
            "estimator has not learned it, or was updated. Fit it again."
        )
    return scale


def require_level(level: float) -> None:
    """Refuse what is no level of an interval."""
    check_value("level", level, between(0, 1, above=True, below=True))


def interval_ends(
    predictor: Predictor,
    scale: IntervalScale,
    X: Table,
    cuts: Array,
    points: Array,
    after: ArrayLike | None,
    level: float,
) -> tuple[Array, Array]:
    """Return both ends for any cause and for each, shape (subject, state, time)."""
    mean, std = predictor.curve(X, "states", with_cuts(cuts, points), after=after, with_std=True)
    assert std is not None
    return ends_of_states(scale, mean, std, cuts, points, level)


def with_cuts(cuts: Array, points: Array) -> Array:
    """Put the cuts before the times that are asked for, as `ends_of_states` needs them."""
    if points.ndim == 1:
        return np.append(cuts, points)
    return np.concatenate([np.tile(cuts, (len(points), 1)), points], axis=1)


def ends_of_states(
    scale: IntervalScale, mean: Array, std: Array, cuts: Array, points: Array, level: float
) -> tuple[Array, Array]:
    """Find both ends for any cause and for each, from the states at `with_cuts` and deviations."""
    n_cuts = len(cuts)
    incidence = mean.copy()
    incidence[:, 0] = 1 - mean[:, 0]
    at_cuts, at_times = incidence[..., :n_cuts], incidence[..., n_cuts:]
    bounds = scale.bounds(at_cuts, std[..., :n_cuts], level)
    ends = between_cuts(at_times, at_cuts, bounds, cuts, points)
    # Any cause has struck at least as often as each of them.
    ends[:, :, 0] = ends[:, :, 1] if ends.shape[2] == 2 else ends.max(axis=2)
    return ends[0], ends[1]
