"""How far predicted incidences lie from the smooth calibration curve: ICI, E50, E90, Emax.

Chance bends the curve, so that these distances are positive even for a calibrated prediction, and
too large on average for any. Their intervals count that. The lower end is found by test: it is the
distance of the least bent curve, among those between the calibrated one and the one found, of which
chance would make a distance as large as the one found in more than 2.5 %. So it is 0 if a
calibrated prediction might well look like this. The upper end is exceeded by 2.5 % of the curves
drawn around the one found; it is on the safe side, since chance has bent that one already.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from survtrace.metrics.calibration_regression import CalibrationSpline, read_calibration
from survtrace.metrics.inputs import Floats, checked_level

N_DRAWS, N_PLACES = 500, 101
SHRUNKEN = np.linspace(0.0, 1.0, 11)  # curves between the calibrated one and the one found


class CalibrationError(float):
    """A distance between predicted and observed incidence that has an interval.

    Parameters
    ----------
    value
        The distance.
    shrunken
        Distance of each curve between the calibrated one and the one found, increasing from 0.
    chance
        Of each of them, how often chance makes a distance as large as the one found.
    drawn
        Distances of curves drawn around the one found.

    Examples
    --------
    >>> error = CalibrationError(
    ...     0.05, np.array([0.0, 0.05]), np.array([0.005, 0.505]), np.linspace(0.02, 0.10, 801)
    ... )
    >>> [round(end, 3) for end in error.interval()]
    [0.002, 0.098]
    """

    shrunken: Floats
    chance: Floats
    drawn: Floats

    def __new__(
        cls, value: float, shrunken: Floats, chance: Floats, drawn: Floats
    ) -> CalibrationError:
        """Attach what the interval is found from."""
        error = super().__new__(cls, value)
        error.shrunken, error.chance, error.drawn = shrunken, chance, drawn
        return error

    def __reduce__(self) -> tuple[type[CalibrationError], tuple[float, Floats, Floats, Floats]]:
        return CalibrationError, (float(self), self.shrunken, self.chance, self.drawn)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Compute an interval, on the safe side; its lower end is 0 if chance explains all."""
        tail = (1 - checked_level(level)) / 2
        low = float(np.interp(tail, self.chance, self.shrunken, left=0.0))
        high = float(np.quantile(self.drawn, 1 - tail))
        return min(low, float(self)), max(high, float(self))


@dataclass(frozen=True)
class CalibrationErrors:
    """Distance between predicted and smoothly observed incidence, over the subjects.

    Chance makes them positive even for a calibrated prediction, the more so the fewer the events.
    Each of the first four has an ``interval()``.

    Attributes
    ----------
    ici
        The mean, the integrated calibration index (Austin and Steyerberg 2019).
    e50, e90
        The median, and what 90 % of the subjects do not exceed.
    emax
        The largest.
    ici_by_chance
        The ICI to be expected of a calibrated prediction, by the noise of the curve alone.
    """

    ici: CalibrationError
    e50: CalibrationError
    e90: CalibrationError
    emax: CalibrationError
    ici_by_chance: float


def calibration_errors(
    y: Any, incidence: ArrayLike, horizon: float, *, cause: Any = None, knots: int | None = None
) -> CalibrationErrors:
    """Summarise |predicted - smoothly observed|: mean, median, 90 % quantile, maximum (ICI, ...).

    Parameters
    ----------
    y, incidence, horizon, cause, knots
        As in `smooth_calibration_curve`.

    Examples
    --------
    >>> y = {"event": [1, 0, 1, 1, 0, 1], "duration": [5.0, 6.0, 1.0, 2.0, 7.0, 8.0]}
    >>> found = calibration_errors(y, [0.3, 0.2, 0.6, 0.5, 0.4, 0.1], horizon=5.5)
    >>> round(found.ici, 3), round(found.emax, 3)
    (0.163, 0.32)
    >>> found.ici.interval()[0]  # six subjects cannot tell it from chance
    0.0
    """
    predicted, pseudo, n_events = read_calibration(y, incidence, horizon, cause)
    spline = CalibrationSpline.fit(predicted, pseudo, n_events, knots)
    found = _summarise(spline.at(predicted)[0] - predicted)
    by_chance = float(np.sqrt(2 / np.pi) * spline.error_at(predicted).mean())
    shrunken, chance, drawn = _by_chance(spline, predicted)
    ici, e50, e90, emax = (
        CalibrationError(value, shrunken[:, j], chance[:, j], drawn[:, j])
        for j, value in enumerate(found.tolist())
    )
    return CalibrationErrors(ici, e50, e90, emax, by_chance)


def _by_chance(spline: CalibrationSpline, predicted: Floats) -> tuple[Floats, Floats, Floats]:
    """Compute what `CalibrationError` needs, a column for each summary.

    Curves are compared at quantiles of the prediction, which stand for all subjects.
    """
    if np.isnan(spline.coefficients).any():
        nothing = np.full((len(SHRUNKEN), 4), np.nan)
        return nothing, nothing, nothing
    places = np.quantile(predicted, np.linspace(0, 1, N_PLACES))
    draws = np.random.default_rng(0).normal(size=(N_DRAWS, len(spline.coefficients)))
    shrunken = _summarise(spline.shrunken(places, SHRUNKEN, 0 * draws[:1]))[:, 0]
    drawn = _summarise(spline.shrunken(places, SHRUNKEN, draws))
    chance = (drawn >= shrunken[-1]).mean(axis=1)
    return shrunken, np.maximum.accumulate(chance), drawn[-1]


def _summarise(gap: Floats) -> Floats:
    """Compute mean, median, 90 % quantile and maximum of the distances, along the last axis."""
    error = np.sort(np.abs(gap), axis=-1)  # numpy's quantiles take five times as long
    middle, most = (_quantile(error, share) for share in (0.5, 0.9))
    return np.stack([error.mean(axis=-1), middle, most, error[..., -1]], axis=-1)


def _quantile(ordered: Floats, share: float) -> Floats:
    """Interpolate between the neighbours, as numpy and R do, along the last axis."""
    place = share * (ordered.shape[-1] - 1)
    below = int(place)
    above = min(below + 1, ordered.shape[-1] - 1)
    return ordered[..., below] + (place - below) * (ordered[..., above] - ordered[..., below])
