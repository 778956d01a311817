"""Do predicted probabilities match observed frequencies: on average, in groups, over time?

D-calibration (Haider, 2020) is the test over time. If S is the true survival, S(T) is uniform over
[0, 1]: subjects are counted in equal bins of that interval, and the test asks whether the counts
are too uneven to be chance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import trapezoid
from scipy.stats import chi2, norm

from survtrace.errors import DataError, DataWarning, SettingError, warn
from survtrace.metrics.censoring import Part, Ties, Weights, read_weights, usable_times
from survtrace.metrics.inputs import (
    Floats,
    pick_cause,
    read_outcome,
    read_probabilities,
    read_probability,
    read_times,
)
from survtrace.metrics.nonparametric import StepFunction, aalen_johansen, event_table, kaplan_meier
from survtrace.tables.outcome.outcome import Outcome

FEWEST = 10  # events to be expected in a bin of a test


@dataclass(frozen=True, eq=False)
class CalibrationCurve:
    """Predicted against observed incidence in groups of subjects with similar predictions.

    Attributes
    ----------
    predicted
        Mean prediction of each group, increasing.
    observed
        Its Aalen-Johansen estimate; NaN if its follow-up ends too early to tell.
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
    outcome, moment = read_outcome(y), read_times([time])[0]
    label = outcome.causes[pick_cause(outcome, cause) - 1]
    predicted = read_probability(incidence, outcome, "incidence")
    if groups < 1:
        raise SettingError(f"groups must be 1 or more; got {groups}.")
    edges = np.quantile(predicted, np.arange(1, groups) / groups)
    group = np.unique(np.searchsorted(edges, predicted), return_inverse=True)[1]
    size = np.bincount(group)
    members = [outcome.take(group == number) for number in range(len(size))]
    observed, low, high = np.array([_incidence_by(moment, each, label) for each in members]).T
    mean = np.bincount(group, weights=predicted) / size
    return CalibrationCurve(mean, observed, size, low, high)


def aalen_johansen_calibration(
    y: Any, incidence: ArrayLike, times: ArrayLike, *, cause: Any = None, min_at_risk: float = 0.05
) -> float:
    """Squared gap between mean predicted incidence and Aalen-Johansen, averaged over time.

    Parameters
    ----------
    y, incidence, cause
        As in `brier_score`.
    times
        When it was predicted, increasing; the mean is trapezoidal over their range.
    min_at_risk
        The average ends, with one warning, where fewer than this share of the subjects is still
        followed, because the observed curve is too noisy there.

    Examples
    --------
    >>> y = {"event": [1, 2, 1, 2], "duration": [1.0, 2.0, 3.0, 4.0]}
    >>> aalen_johansen_calibration(y, np.full((4, 2), 0.35), times=[1.0, 2.0], cause=1)
    0.009999999999999995
    """
    outcome, grid = read_outcome(y), read_times(times, at_least=2, increasing=True)
    label = outcome.causes[pick_cause(outcome, cause) - 1]
    predicted = read_probabilities(incidence, outcome, grid, "incidence")
    usable = _enough_at_risk(outcome, grid, min_at_risk)
    return _squared_gap(predicted[:, usable], grid[usable], aalen_johansen(outcome, label))


def kaplan_meier_calibration(
    y: Any, survival: ArrayLike, times: ArrayLike, *, min_at_risk: float = 0.05
) -> float:
    """Squared gap between mean predicted survival and Kaplan-Meier, averaged over time.

    As `aalen_johansen_calibration`, for survival until an event of any cause.

    Examples
    --------
    >>> y = {"event": [1, 0, 1, 1], "duration": [1.0, 2.0, 3.0, 4.0]}
    >>> kaplan_meier_calibration(y, np.full((4, 2), 0.75), times=[1.0, 2.0])
    0.0
    """
    outcome, grid = read_outcome(y), read_times(times, at_least=2, increasing=True)
    predicted = read_probabilities(survival, outcome, grid, "survival")
    usable = _enough_at_risk(outcome, grid, min_at_risk)
    return _squared_gap(predicted[:, usable], grid[usable], kaplan_meier(outcome))


def _incidence_by(time: float, outcome: Outcome, label: Any) -> tuple[float, float, float]:
    """Observed incidence by a time and its interval; NaN if follow-up ends with some remaining."""
    if time > outcome.duration.max() and kaplan_meier(outcome).values[-1] > 0:
        return np.nan, np.nan, np.nan
    value = float(aalen_johansen(outcome, label).at(time))
    variance = _variance(time, outcome, label)
    n_seen = float(((outcome.event > 0) | (outcome.duration >= time)).sum())
    n = value * (1 - value) / variance if variance > 1e-12 else max(n_seen, 1.0)
    square = norm.ppf(0.975) ** 2
    centre = (value + square / (2 * n)) / (1 + square / n)
    half = np.sqrt(square * (value * (1 - value) / n + square / (4 * n**2))) / (1 + square / n)
    return value, max(0.0, centre - half), min(1.0, centre + half)


def _variance(time: float, outcome: Outcome, label: Any) -> float:
    """Variance of the Aalen-Johansen estimate at a time (Marubini and Valsecchi 1995)."""
    table, curve = event_table(outcome), aalen_johansen(outcome, label)
    until = table.times <= time
    at_risk, of_cause = table.at_risk[until], table.events[outcome.cause_number(label) - 1, until]
    every = table.events[:, until].sum(axis=0)
    free = kaplan_meier(outcome).before(table.times[until])
    rest = curve.at(time) - curve.at(table.times[until])
    left = np.maximum(at_risk - every, 1.0)  # nobody left: the rest is 0, too
    parts = (
        rest**2 * every / (at_risk * left)
        + free**2 * of_cause * (at_risk - of_cause) / at_risk**3
        - 2 * rest * free * of_cause / at_risk**2
    )
    return float(parts.sum())


def _squared_gap(predicted: Floats, times: Floats, observed: StepFunction) -> float:
    gap = predicted.mean(axis=0) - observed.at(times)
    return float(trapezoid(gap**2, times) / (times[-1] - times[0]))


def _enough_at_risk(outcome: Outcome, times: Floats, min_at_risk: float) -> NDArray[np.bool_]:
    """Mark the times at which enough subjects are still followed."""
    followed = 1 - np.searchsorted(np.sort(outcome.duration), times) / len(outcome)
    enough = followed >= min_at_risk
    if enough.sum() < 2:
        raise DataError(
            f"at least two times must have a share of {min_at_risk:g} of the subjects still "
            f"followed; {enough.sum()} of {len(times)} have. Pass earlier times, or a lower "
            "min_at_risk."
        )
    if not enough.all():
        warn(
            f"{(~enough).sum()} of {len(times)} times are left out: after {times[enough][-1]:g} "
            f"fewer than {min_at_risk:.0%} of {len(outcome)} subjects are still followed.",
            DataWarning,
        )
    return np.asarray(enough)


@dataclass(frozen=True, eq=False)
class DCalibration:
    """The result of a test for uniformity.

    Attributes
    ----------
    statistic
        Distance from uniformity, chi-square distributed if calibrated.
    p_value
        The chance of a larger one; small values speak against calibration.
    proportions
        Share of the subjects in each bin, 1 / bins each if calibrated.
    freedom
        Degrees of freedom of the statistic.
    """

    statistic: float
    p_value: float
    proportions: Floats
    freedom: int


def d_calibration(y: Any, survival_at_duration: ArrayLike, bins: int = 10) -> DCalibration:
    """Test whether predicted survival at each subject's duration is uniform, for any cause.

    A censored subject is spread evenly over all values below its own, where the survival at its
    event will be (Haider, 2020). That makes the counts more even than chance, so with censoring
    the test rejects the truth less often than it says, and misses more.

    Durations must be finer than the curves: where many are tied, as in whole years, survival at
    the end of the year is below that at the event, and the truth is rejected.

    Parameters
    ----------
    y
        The outcome of the scored subjects.
    survival_at_duration
        Survival predicted for each subject at its own duration.
    bins
        Number of equal bins.

    Examples
    --------
    >>> y = {"event": [1, 1, 1, 0], "duration": [1.0, 2.0, 3.0, 4.0]}
    >>> d_calibration(y, [0.9, 0.6, 0.1, 0.5], bins=2).proportions
    array([0.5, 0.5])
    """
    outcome, lower = read_outcome(y), _lower_edges(bins)
    values = read_probability(survival_at_duration, outcome, "survival_at_duration")
    in_bin = _in_bin(values, lower)
    spread = _spread(np.zeros(len(outcome)), values, lower)
    proportions = np.where(outcome.event[:, np.newaxis] > 0, in_bin, spread).mean(axis=0)
    statistic = len(outcome) * bins * np.sum((proportions - 1 / bins) ** 2)
    p_value = float(chi2.sf(statistic, bins - 1))
    return DCalibration(float(statistic), p_value, proportions, bins - 1)


def d_calibration_incidence(
    y: Any,
    incidence_at_duration: ArrayLike,
    incidence_at_horizon: ArrayLike,
    horizon: float,
    *,
    cause: Any = None,
    bins: int = 10,
    y_train: Any = None,
    ties: Ties = "left-limit",
) -> DCalibration:
    """Test whether predicted incidence of a cause is uniform, up to a horizon.

    With the true incidence F, a subject has the event by the horizon with F(T) in a bin with
    probability equal to the part of the bin below its F(horizon). So the events in each bin, with
    their IPCW weights, are compared with the sum of these parts; that tests level and shape of the
    incidence at once. Neighbouring bins are taken together until ten events are expected to be
    seen in each, and the variance is that under calibration, not that of the counts: with few
    events a bin, a variance estimated from the counts would reject the truth too often.

    The proportions also count those known to stay free of the event until the horizon, evenly over
    [F(horizon), 1]. As for `d_calibration`, durations must not be coarser than the curves.

    Parameters
    ----------
    y, cause, y_train, ties
        As in `brier_score`.
    incidence_at_duration, incidence_at_horizon
        Incidence of the cause predicted for each subject at its own duration, and at the horizon.
    horizon
        Where follow-up ends for this test.
    bins
        Number of equal bins.

    Examples
    --------
    >>> y = {"event": [1, 1, 2, 2], "duration": [1.0, 2.0, 3.0, 4.0]}
    >>> result = d_calibration_incidence(
    ...     y, [0.2, 0.4, 0.5, 0.5], np.full(4, 0.5), horizon=4.0, cause=1, bins=2
    ... )
    >>> result.proportions, round(result.p_value, 6)
    (array([0.5, 0.5]), 1.0)
    """
    outcome, grid, lower = read_outcome(y), read_times([horizon]), _lower_edges(bins)
    hit = outcome.event == pick_cause(outcome, cause)
    at_end = read_probability(incidence_at_duration, outcome, "incidence_at_duration")
    at_horizon = read_probability(incidence_at_horizon, outcome, "incidence_at_horizon")
    weights = read_weights(y_train, outcome, ties)
    if not usable_times(grid, outcome.duration, weights.censoring, "the test is NaN").all():
        return DCalibration(np.nan, np.nan, np.full(bins, np.nan), 0)
    weight, hit = weights.by(horizon)[:, np.newaxis], hit & (outcome.duration <= horizon)
    in_bin = np.where(hit[:, np.newaxis], _in_bin(at_end, lower), 0.0)
    rest = np.where(hit[:, np.newaxis], 0.0, _spread(at_horizon, np.ones(len(outcome)), lower))
    proportions = (weight * (in_bin + rest)).mean(axis=0)
    below = np.clip(np.minimum(at_horizon[:, np.newaxis] - lower, 1 / bins), 0, None)
    return _test_counts(weights, weight, in_bin, below, proportions)


def _test_counts(
    weights: Weights, weight: Floats, in_bin: Floats, expected: Floats, proportions: Floats
) -> DCalibration:
    """Compare weighted events with what is expected of each subject, both (subject, bin)."""
    seen, total = in_bin.sum(), (weight * in_bin).sum()
    groups = _pool(expected.sum(axis=0) * (seen / total if seen else 1.0))
    in_bin, expected = in_bin @ groups, expected @ groups
    counted = weight * in_bin
    gap = (counted - expected).sum(axis=0)
    any_seen = in_bin.sum(axis=0) > 0
    squared, ones = (weight * counted).sum(axis=0), np.ones(len(gap))
    mean_weight = np.divide(squared, counted.sum(axis=0), out=ones, where=any_seen)
    covariance = np.diag(expected.sum(axis=0) * mean_weight) - expected.T @ expected
    duration = weights.outcome.duration
    of_weights = [
        weights.noise(Part(column, duration, weights.left_limit))[1] for column in counted.T
    ]
    covariance += np.inner(of_weights, of_weights)
    statistic, freedom = _quadratic_form(gap, covariance)
    return DCalibration(statistic, float(chi2.sf(statistic, freedom)), proportions, freedom)


def _pool(expected: Floats) -> Floats:
    """Indicators, shape (bin, group), of neighbouring bins with enough events together."""
    group, number, total = np.zeros(len(expected), dtype=int), 0, 0.0
    for j, each in enumerate(expected):
        group[j] = number
        total += each
        if total >= FEWEST and expected[j + 1 :].sum() >= FEWEST:
            number, total = number + 1, 0.0
    return np.asarray(np.eye(number + 1)[group])


def _quadratic_form(gap: Floats, covariance: Floats) -> tuple[float, int]:
    """The chi-square statistic of a gap, and its degrees of freedom."""
    variances, directions = np.linalg.eigh(covariance)
    positive = variances > 1e-9 * max(variances[-1], 0.0)
    if not positive.any():  # nothing can happen, says the prediction
        return (np.inf if np.abs(gap).max() > 0 else 0.0), 1
    along = gap @ directions[:, positive]
    return float(np.sum(along**2 / variances[positive])), int(positive.sum())


def _lower_edges(bins: int) -> Floats:
    if bins < 2:
        raise SettingError(f"bins must be 2 or more; got {bins}.")
    return np.arange(bins) / bins


def _in_bin(values: Floats, lower: Floats) -> Floats:
    """1 in the bin of each value, 0 elsewhere; the last bin includes 1."""
    place = np.clip(np.searchsorted(lower, values, side="right") - 1, 0, len(lower) - 1)
    return np.asarray(np.eye(len(lower))[place])


def _spread(low: Floats, high: Floats, lower: Floats) -> Floats:
    """Share of each interval [low, high] that falls in each bin; an empty one lies in one bin."""
    low, high = low[:, np.newaxis], high[:, np.newaxis]
    overlap = np.minimum(high, lower + 1 / len(lower)) - np.maximum(low, lower)
    point = _in_bin(high[:, 0], lower)
    length = high - low
    share = np.clip(overlap, 0, None) / np.where(length > 0, length, 1)
    return np.where(length > 0, share, point)
