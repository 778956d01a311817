"""A curve that jumps at times and is constant between them, with its variance and interval."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import norm

from survtrace.errors import DataError, SettingError
from survtrace.metrics.inputs import Floats, checked_level, read_numbers

Scale = Literal["plain", "log", "log-log", "cloglog"]
BOUNDS = {"plain": (-np.inf, np.inf), "log": (0, np.inf), "log-log": (0, 1), "cloglog": (0, 1)}
ROUNDING = 1e-12  # a probability this near to 0 or 1 is 0 or 1


@dataclass(frozen=True, eq=False)
class StepFunction:
    """A curve that jumps at ``times`` and is constant between them.

    Attributes
    ----------
    times
        Where the curve jumps, increasing, shape (T,).
    values
        Its value from each of these times on; shape (T,), or (..., T) for several curves.
    initial
        Its value before the first of them.
    variance
        The variance of ``values``, of the same shape; None if unknown.
    scale
        The scale on which its interval is symmetric: "log-log" for a survival, "cloglog" for an
        incidence, "log" for a cumulative hazard, or "plain".

    Examples
    --------
    >>> curve = StepFunction(times=np.array([1.0, 2.0]), values=np.array([0.8, 0.5]), initial=1.0)
    >>> curve.at([0.5, 1.0, 9.0]), curve.before(1.0)
    (array([1. , 0.8, 0.5]), array(1.))
    """

    times: Floats
    values: Floats
    initial: float = 0.0
    variance: Floats | None = field(default=None, kw_only=True)
    scale: Scale = field(default="plain", kw_only=True)

    def at(self, t: ArrayLike) -> Floats:
        """Return the value at ``t``, a jump at ``t`` included."""
        return self._after_jumps(np.searchsorted(self.times, _moments(t), side="right"))

    def before(self, t: ArrayLike) -> Floats:
        """Return the value just before ``t``, a jump at ``t`` left out."""
        return self._after_jumps(np.searchsorted(self.times, _moments(t), side="left"))

    def standard_error(self, t: ArrayLike) -> Floats:
        """Return the standard error of the value at ``t``; 0 before the first jump.

        Examples
        --------
        >>> curve = StepFunction(np.array([1.0]), np.array([0.8]), variance=np.array([0.04]))
        >>> curve.standard_error([0.5, 1.0])
        array([0. , 0.2])
        """
        if self.variance is None:
            raise DataError(
                "a standard error needs a curve with a variance; this one has none. Take the "
                "curve from kaplan_meier, nelson_aalen or aalen_johansen, or pass variance=."
            )
        return np.sqrt(StepFunction(self.times, self.variance).at(t))

    def interval(
        self, t: ArrayLike, level: float = 0.95, scale: Scale | None = None
    ) -> tuple[Floats, Floats]:
        """Compute the ends of a pointwise confidence interval of the value at ``t``.

        Parameters
        ----------
        t
            When.
        level
            The chance to hold the truth at one time, in large samples.
        scale
            Where the interval is symmetric: "plain" (value +- z SE, cut at the bounds), "log",
            "log-log" (log(-log value), R's ``conf.type``) or "cloglog" (log(-log(1 - value)));
            None for the curve's own. NaN where that scale has no value: at 0, and for the last
            two at 1, so before the first event and where nobody remains.

        Examples
        --------
        >>> curve = StepFunction(
        ...     np.array([1.0]), np.array([0.8]), 1.0, variance=np.array([0.01]), scale="log-log"
        ... )
        >>> [round(float(end), 3) for end in curve.interval(1.0)]
        [0.512, 0.928]
        >>> [round(float(end), 3) for end in curve.interval(1.0, scale="plain")]
        [0.604, 0.996]
        """
        scale = self.scale if scale is None else scale
        if scale not in get_args(Scale):
            raise SettingError(f"scale must be one of {get_args(Scale)}; got {scale!r}.")
        reach = float(norm.ppf((1 + checked_level(level)) / 2)) * self.standard_error(t)
        low, high = _ends(self.at(t), reach, scale)
        return np.clip(low, *BOUNDS[self.scale]), np.clip(high, *BOUNDS[self.scale])

    def _after_jumps(self, n_jumps: Any) -> Floats:
        start = np.full((*self.values.shape[:-1], 1), self.initial)
        return np.asarray(np.concatenate([start, self.values], axis=-1)[..., n_jumps])


def _moments(t: ArrayLike) -> Floats:
    """Return times as numbers; a missing one would be taken for the latest."""
    times = read_numbers(t, "times")
    if np.isnan(times).any():
        raise DataError(
            f"times must not be missing; {np.isnan(times).sum()} of {times.size} are NaN. Drop "
            "them."
        )
    return times


def _ends(value: Floats, reach: Floats, scale: Scale) -> tuple[Floats, Floats]:
    """Return the ends of an interval around g(value), of reach * |g'(value)| on a scale g."""
    if scale == "plain":
        return value - reach, value + reach
    if scale == "cloglog":  # the complement's log-log
        low, high = _ends(1 - value, reach, "log-log")
        return 1 - high, 1 - low
    if scale == "log":
        value = np.where(value > 0, value, np.nan)
        return value * np.exp(-reach / value), value * np.exp(reach / value)
    value = np.where((value > ROUNDING) & (value < 1 - ROUNDING), value, np.nan)
    factor = np.exp(reach / (value * -np.log(value)))
    return value**factor, value ** (1 / factor)
