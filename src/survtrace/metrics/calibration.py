"""Do predicted probabilities match observed frequencies, on average and in groups?

Where subjects enter late, those seen are fitter than those they stand for. Observed frequencies
are Aalen-Johansen's, and predictions are averaged with the weights of the Brier score.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import trapezoid
from scipy.stats import norm

from survtrace.errors import DataError, DataWarning, warn
from survtrace.metrics.censoring import Part, Weights, read_weights, stood_for, usable_times
from survtrace.metrics.inputs import (
    Floats,
    pick_cause,
    read_moment,
    read_probabilities,
    read_probability,
    read_subjects,
    read_times,
)
from survtrace.metrics.nonparametric import aalen_johansen, kaplan_meier
from survtrace.metrics.score import Score
from survtrace.metrics.step_function import StepFunction
from survtrace.rules import between, check_value, whole
from survtrace.tables.outcome.outcome import Outcome


@dataclass(frozen=True, eq=False)
class CalibrationCurve:
    """Predicted against observed incidence in groups of subjects with similar predictions.

    Attributes
    ----------
    predicted
        Mean prediction of each group, increasing.
    observed
        Its Aalen-Johansen estimate; NaN if its follow-up ends too early to tell, or too few have
        entered at its first events.
    size
        Its number of subjects.
    low, high
        95 % interval of the observed incidence: Wilson's for as many complete subjects as have
        the Aalen-Johansen estimate's variance. It does not cover that groups are cut by the data.
    """

    predicted: Floats
    observed: Floats
    size: NDArray[np.int64]
    low: Floats
    high: Floats


def calibration_curve(
    y: Any, incidence: ArrayLike, time: float, *, cause: Any = None, groups: int = 10
) -> CalibrationCurve:
    """Compare mean predicted and observed incidence of a cause by a time, in equal groups.

    Groups are cut at quantiles of the prediction; subjects with equal predictions share a group,
    so there may be fewer than ``groups``.

    Examples
    --------
    >>> y = {"event": [1, 0, 1, 1], "duration": [5.0, 6.0, 1.0, 2.0]}
    >>> curve = calibration_curve(y, [0.1, 0.2, 0.8, 0.9], time=3.0, groups=2)
    >>> curve.predicted, curve.observed
    (array([0.15, 0.85]), array([0., 1.]))
    """
    outcome, moment = read_subjects(y, "a calibration curve"), read_moment(time)
    label = outcome.causes[pick_cause(outcome, cause) - 1]
    predicted = read_probability(incidence, outcome, "incidence")
    check_value("groups", groups, whole(1))
    edges = np.quantile(predicted, np.arange(1, groups) / groups)
    group = np.unique(np.searchsorted(edges, predicted), return_inverse=True)[1]
    size = np.bincount(group)
    members = [outcome.take(group == number) for number in range(len(size))]
    observed, low, high = np.array([_incidence_by(moment, each, label) for each in members]).T
    if n_unknown := int(np.isnan(observed).sum()):
        first = int(np.isnan(observed).argmax())
        warn(
            f"the observed incidence by {moment:g} is NaN in {n_unknown} of {len(size)} groups "
            f"(first: number {first + 1}, of {size[first]} subjects): their follow-up ends "
            "earlier with some event-free, or too few have entered at the first events. Choose an "
            "earlier time or fewer groups.",
            DataWarning,
        )
    mean = np.bincount(group, weights=predicted) / size
    if outcome.entry is not None:
        weight = _weights(outcome, moment).by(moment)
        total = np.bincount(group, weights=weight)  # 0 where nobody is left to stand for them
        weighted = np.bincount(group, weights=weight * predicted)
        mean = np.divide(weighted, total, out=np.full(len(size), np.nan), where=total > 0)
    return CalibrationCurve(mean, observed, size, low, high)


def mean_incidence(y: Any, incidence: ArrayLike, time: float, *, y_train: Any = None) -> Score:
    """Average the predicted incidence by a time over those whom the scored subjects stand for.

    The plain mean, unless subjects enter late.

    Parameters
    ----------
    y, y_train
        As in `brier_score`.
    incidence
        Incidence predicted for each subject.
    time
        When.

    Examples
    --------
    >>> y = {"event": [1, 0, 1, 1], "duration": [5.0, 6.0, 1.0, 2.0]}
    >>> mean_incidence(y, [0.1, 0.2, 0.8, 0.9], time=3.0)
    0.5
    """
    outcome, moment = read_subjects(y, "a mean incidence"), read_moment(time)
    predicted = read_probability(incidence, outcome, "incidence")
    if outcome.entry is None:
        return Score.of_mean(predicted, bounded=True)
    weights = _weights(outcome, moment, y_train)
    is_usable = np.array([moment <= weights.censoring.last_usable])
    if not stood_for(np.array([moment]), is_usable, weights, "the mean is NaN").all():
        return Score.undefined(len(outcome))
    weight = weights.by(moment)
    weight /= weight.sum()
    mean = float(weight @ predicted)
    terms, ended = weight * (predicted - mean), outcome.duration <= moment
    influence, independent = weights.noise(
        Part(np.where(ended, terms, 0.0), outcome.duration, True),
        Part([terms[~ended].sum()], [moment], False),
    )
    return Score(mean, terms + influence, independent, float((weight > 0).sum()))


def _weights(outcome: Outcome, until: float, y_train: Any = None) -> Weights:
    weights = read_weights(y_train, outcome)
    weights.require_start(until, "a mean incidence")
    usable_times(np.array([until]), outcome.duration, weights.censoring, "the mean is NaN")
    return weights


def aalen_johansen_calibration(
    y: Any, incidence: ArrayLike, times: ArrayLike, *, cause: Any = None, min_at_risk: float = 0.05
) -> float:
    """Average over time the squared gap between mean incidence and Aalen-Johansen.

    Parameters
    ----------
    y, incidence, cause
        As in `brier_score`.
    times
        When it was predicted, increasing; the mean is trapezoidal over their range.
    min_at_risk
        Times at which fewer than this share of the subjects is under observation are left out,
        with one warning: the observed curve is too noisy there.

    Examples
    --------
    >>> y = {"event": [1, 2, 1, 2], "duration": [1.0, 2.0, 3.0, 4.0]}
    >>> aalen_johansen_calibration(y, np.full((4, 2), 0.35), times=[1.0, 2.0], cause=1)
    0.009999999999999995
    """
    outcome = read_subjects(y, "calibration")
    grid = read_times(times, at_least=2, increasing=True)
    label = outcome.causes[pick_cause(outcome, cause) - 1]
    predicted = read_probabilities(incidence, outcome, grid, "incidence")
    usable = _enough_at_risk(outcome, grid, min_at_risk)
    mean = _means(outcome, predicted[:, usable], grid[usable])
    return _squared_gap(mean, grid[usable], aalen_johansen(outcome, label))


def kaplan_meier_calibration(
    y: Any, survival: ArrayLike, times: ArrayLike, *, min_at_risk: float = 0.05
) -> float:
    """Average over time the squared gap between mean predicted survival and Kaplan-Meier.

    As `aalen_johansen_calibration`, for survival until an event of any cause.

    Examples
    --------
    >>> y = {"event": [1, 0, 1, 1], "duration": [1.0, 2.0, 3.0, 4.0]}
    >>> kaplan_meier_calibration(y, np.full((4, 2), 0.75), times=[1.0, 2.0])
    0.0
    """
    outcome = read_subjects(y, "calibration")
    grid = read_times(times, at_least=2, increasing=True)
    predicted = read_probabilities(survival, outcome, grid, "survival")
    usable = _enough_at_risk(outcome, grid, min_at_risk)
    mean = _means(outcome, predicted[:, usable], grid[usable])
    return _squared_gap(mean, grid[usable], kaplan_meier(outcome))


def _incidence_by(time: float, outcome: Outcome, label: Any) -> tuple[float, float, float]:
    """Observed incidence by a time and its interval; NaN if follow-up ends with some remaining."""
    if outcome.entry is not None and read_weights(None, outcome).first_rare(time) is not None:
        return np.nan, np.nan, np.nan
    if time > outcome.duration.max() and kaplan_meier(outcome).values[-1] > 0:
        return np.nan, np.nan, np.nan
    curve = aalen_johansen(outcome, label)
    value, variance = float(curve.at(time)), float(curve.standard_error(time)) ** 2
    entered = True if outcome.entry is None else outcome.entry < time
    n_seen = float((entered & ((outcome.event > 0) | (outcome.duration >= time))).sum())
    n = value * (1 - value) / variance if variance > 1e-12 else max(n_seen, 1.0)
    square = norm.ppf(0.975) ** 2
    centre = (value + square / (2 * n)) / (1 + square / n)
    half = np.sqrt(square * (value * (1 - value) / n + square / (4 * n**2))) / (1 + square / n)
    return value, max(0.0, centre - half), min(1.0, centre + half)


def _means(outcome: Outcome, predicted: Floats, times: Floats) -> Floats:
    """Return the mean prediction at each time of those whom the subjects stand for."""
    if outcome.entry is None:
        return np.asarray(predicted.mean(axis=0))
    weights = _weights(outcome, times[-1])
    columns = zip(predicted.T, times, strict=True)
    return np.array([np.average(column, weights=weights.by(time)) for column, time in columns])


def _squared_gap(mean: Floats, times: Floats, observed: StepFunction) -> float:
    gap = mean - observed.at(times)
    return float(trapezoid(gap**2, times) / (times[-1] - times[0]))


def _enough_at_risk(outcome: Outcome, times: Floats, min_at_risk: float) -> NDArray[np.bool_]:
    """Mark the times at which enough subjects are under observation."""
    check_value("min_at_risk", min_at_risk, between(0, 1))
    min_at_risk = float(min_at_risk)
    followed = 1 - np.searchsorted(np.sort(outcome.duration), times) / len(outcome)
    if outcome.entry is not None:
        later = 1 - np.searchsorted(np.sort(outcome.entry), times) / len(outcome)
        followed = followed - later
    enough = followed >= min_at_risk
    if outcome.entry is not None:  # before the first entry there is nobody to average over
        enough &= followed > 0
    if enough.sum() < 2:
        raise DataError(
            f"at least two times must have a share of {min_at_risk:g} of the subjects under "
            f"observation; {enough.sum()} of {len(times)} have. Pass other times, or a lower "
            "min_at_risk."
        )
    if not enough.all():
        few = f"fewer than {min_at_risk:.0%}" if min_at_risk > 0 else "none"
        warn(
            f"{(~enough).sum()} of {len(times)} times are left out (first: "
            f"{times[~enough][0]:g}), at which {few} of {len(outcome)} subjects are under "
            "observation.",
            DataWarning,
        )
    return np.asarray(enough)
