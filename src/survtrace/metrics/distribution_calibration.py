"""Do predicted probabilities match observed frequencies over time? D-calibration (Haider, 2020).

If S is the true survival, S(T) is uniform over [0, 1]: subjects are counted in equal bins of that
interval, and the test asks whether the counts are too uneven to be chance. Of a subject that
enters late, S(T) / S(entry) is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import chi2, f

from survtrace.errors import DataError, row_name
from survtrace.metrics.censoring import (
    Part,
    Ties,
    Weights,
    read_weights,
    stood_for,
    usable_times,
)
from survtrace.metrics.inputs import (
    TOLERANCE,
    Floats,
    pick_cause,
    read_moment,
    read_outcome,
    read_probability,
    read_subjects,
)
from survtrace.rules import check_value, whole
from survtrace.tables.outcome.outcome import Outcome

FEWEST = 10  # events to be expected in a bin of a test


@dataclass(frozen=True, eq=False)
class DCalibration:
    """The result of a test for uniformity.

    Attributes
    ----------
    statistic
        Distance from uniformity, chi-square distributed if calibrated; infinite if events were
        seen where the prediction says that nothing can happen.
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


def d_calibration(
    y: Any,
    survival_at_duration: ArrayLike,
    bins: int = 10,
    *,
    survival_at_entry: ArrayLike | None = None,
) -> DCalibration:
    """Test whether predicted survival at each subject's duration is uniform, for any cause.

    A censored subject is spread evenly over all values below its own, where the survival at its
    event will be (Haider, 2020). That makes the counts more even than chance, so with censoring
    the test rejects the truth less often than it says, and misses more.

    Durations must be finer than the curves: where many are tied, as in whole years, survival at
    the end of the year is below that at the event, and the truth is rejected.

    Who enters late is known to be event-free then, so its survival counts from entry on. Of a
    subject with start-stop rows it is the product of what each row predicts for its own time.

    Parameters
    ----------
    y
        The outcome of the scored subjects.
    survival_at_duration
        Survival predicted for each subject (or row) at its own duration.
    bins
        Number of equal bins.
    survival_at_entry
        The same curve at its entry; needed if there is any.

    Examples
    --------
    >>> y = {"event": [1, 1, 1, 0], "duration": [1.0, 2.0, 3.0, 4.0]}
    >>> d_calibration(y, [0.9, 0.6, 0.1, 0.5], bins=2).proportions
    array([0.5, 0.5])
    """
    outcome, lower = read_outcome(y), _lower_edges(bins)
    values = read_probability(survival_at_duration, outcome, "survival_at_duration")
    if survival_at_entry is not None or outcome.entry is not None:
        values = _since_entry(values, survival_at_entry, outcome)
    values, had_event = _of_subjects(values, outcome)
    in_bin, n = _in_bin(values, lower), len(values)
    spread = _spread(np.zeros(n), values, lower)
    proportions = np.where(had_event[:, np.newaxis], in_bin, spread).mean(axis=0)
    statistic = n * bins * np.sum((proportions - 1 / bins) ** 2)
    p_value = float(chi2.sf(statistic, bins - 1))
    return DCalibration(float(statistic), p_value, proportions, bins - 1)


def _since_entry(values: Floats, survival_at_entry: ArrayLike | None, outcome: Outcome) -> Floats:
    """Compute the survival at the duration given survival at entry."""
    if survival_at_entry is None:
        raise DataError(
            "survival must be given at entry, too, where subjects enter late: it is uniform from "
            "entry on. Pass survival_at_entry=, the same curves at each subject's entry."
        )
    at_entry = read_probability(survival_at_entry, outcome, "survival_at_entry")
    rises = values > at_entry + TOLERANCE
    if rises.any():
        first = int(np.flatnonzero(rises)[0])
        raise DataError(
            f"survival must not rise from entry to duration; it does for {rises.sum()} of "
            f"{len(rises)} rows (first: {row_name(first)}, from {at_entry[first]:g} to "
            f"{values[first]:g}). Take both from the same curve."
        )
    return np.divide(values, at_entry, out=np.zeros(len(values)), where=at_entry > 0)


def _of_subjects(values: Floats, outcome: Outcome) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the product over each subject's rows, and whether it had an event."""
    had_event = outcome.event > 0
    if outcome.id is None:
        return values, had_event
    numbers, subject = np.unique(outcome.id, return_inverse=True)
    product = np.ones(len(numbers))
    np.multiply.at(product, subject, values)
    return product, np.bincount(subject, weights=had_event) > 0


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

    Where subjects enter late, events and expected parts have the weights of the Brier score.

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
    outcome = read_subjects(y, "the test of an incidence")
    horizon = read_moment(horizon)
    grid, lower = np.array([horizon]), _lower_edges(bins)
    hit = outcome.event == pick_cause(outcome, cause)
    at_end = read_probability(incidence_at_duration, outcome, "incidence_at_duration")
    at_horizon = read_probability(incidence_at_horizon, outcome, "incidence_at_horizon")
    weights = read_weights(y_train, outcome, ties)
    weights.require_start(horizon, "the test of an incidence")
    usable = usable_times(grid, outcome.duration, weights.censoring, "the test is NaN")
    if not stood_for(grid, usable, weights, "the test is NaN").all():
        return DCalibration(np.nan, np.nan, np.full(bins, np.nan), 0)
    weight, hit = weights.by(horizon)[:, np.newaxis], hit & (outcome.duration <= horizon)
    if outcome.entry is not None:
        weight = weight / weight.mean()
    in_bin = np.where(hit[:, np.newaxis], _in_bin(at_end, lower), 0.0)
    rest = np.where(hit[:, np.newaxis], 0.0, _spread(at_horizon, np.ones(len(outcome)), lower))
    proportions = (weight * (in_bin + rest)).mean(axis=0)
    below = np.clip(np.minimum(at_horizon[:, np.newaxis] - lower, 1 / bins), 0, None)
    seen, total = in_bin.sum(), (weight * in_bin).sum()
    groups = _pool(below.sum(axis=0) * (seen / total if seen else 1.0))
    counts = weight, in_bin @ groups, below @ groups
    if outcome.entry is None:
        gap, covariance = _gap_and_covariance(weights, *counts)
    else:
        gap, covariance = _late_gap_and_covariance(weights, *counts, horizon)
    statistic, freedom = _quadratic_form(gap, covariance)
    p_value = float(chi2.sf(statistic, freedom))
    if outcome.entry is not None and seen > freedom + 1:  # a covariance of the events: Hotelling's
        shrunk = statistic * (seen - freedom) / (freedom * (seen - 1))
        p_value = float(f.sf(shrunk, freedom, seen - freedom))
    return DCalibration(statistic, p_value, proportions, freedom)


def _gap_and_covariance(
    weights: Weights, weight: Floats, in_bin: Floats, expected: Floats
) -> tuple[Floats, Floats]:
    """Weighted events less what is expected of each subject, both (subject, bin); covariance."""
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
    return gap, covariance + np.inner(of_weights, of_weights)


def _late_gap_and_covariance(
    weights: Weights, weight: Floats, in_bin: Floats, expected: Floats, horizon: float
) -> tuple[Floats, Floats]:
    """Return the same where subjects enter late: what is expected of them is weighted as they are.

    The covariance is that of the influences, since the weights of those who are still followed
    vary as well.
    """
    terms = weight * (in_bin - expected)
    duration = weights.outcome.duration
    ended = duration <= horizon
    noise = [
        weights.noise(
            Part(np.where(ended, column, 0.0), duration, True),
            Part([column[~ended].sum()], [horizon], False),
        )
        for column in terms.T
    ]
    influence = terms + np.transpose([each[0] for each in noise])
    independent = [each[1] for each in noise]
    return terms.sum(axis=0), influence.T @ influence + np.inner(independent, independent)


def _pool(expected: Floats) -> Floats:
    """Return indicators, shape (bin, group), of neighbouring bins with enough events together."""
    group, number, total = np.zeros(len(expected), dtype=int), 0, 0.0
    for j, each in enumerate(expected):
        group[j] = number
        total += each
        if total >= FEWEST and expected[j + 1 :].sum() >= FEWEST:
            number, total = number + 1, 0.0
    return np.asarray(np.eye(number + 1)[group])


def _quadratic_form(gap: Floats, covariance: Floats) -> tuple[float, int]:
    """Return the chi-square statistic of a gap, and its degrees of freedom."""
    variances, directions = np.linalg.eigh(covariance)
    positive = variances > 1e-9 * max(variances[-1], 0.0)
    if not positive.any():  # nothing can happen, says the prediction
        return (np.inf if np.abs(gap).max() > 0 else 0.0), 1
    along = gap @ directions[:, positive]
    return float(np.sum(along**2 / variances[positive])), int(positive.sum())


def _lower_edges(bins: int) -> Floats:
    check_value("bins", bins, whole(2, 100_000))
    return np.arange(bins) / bins


def _in_bin(values: Floats, lower: Floats) -> Floats:
    """1 in the bin of each value, 0 elsewhere; the last bin includes 1."""
    place = np.maximum(np.searchsorted(lower, values, side="right") - 1, 0)
    return np.asarray(np.eye(len(lower))[place])


def _spread(low: Floats, high: Floats, lower: Floats) -> Floats:
    """Share of each interval [low, high] that falls in each bin; an empty one lies in one bin."""
    low, high = low[:, np.newaxis], high[:, np.newaxis]
    overlap = np.minimum(high, lower + 1 / len(lower)) - np.maximum(low, lower)
    point = _in_bin(high[:, 0], lower)
    length = high - low
    share = np.clip(overlap, 0, None) / np.where(length > 0, length, 1)
    return np.where(length > 0, share, point)
