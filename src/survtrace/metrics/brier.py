"""Squared error of predicted probabilities, corrected for censoring.

Weights are those of Graf (1999): 1 / G(t_i) for those who had an event by t, 1 / G(t) for those
followed beyond t, 0 for those censored before; G is right-continuous, as in scikit-survival.
At times after the last usable one of the censoring survival a score is NaN, and an integral ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from survtrace.data.outcome import Outcome
from survtrace.metrics.censoring import CensoringSurvival, read_censoring, usable_times
from survtrace.metrics.inputs import (
    Floats,
    pick_cause,
    read_outcome,
    read_probabilities,
    read_times,
)
from survtrace.metrics.score import Score

POINTWISE, INTEGRAL = "the score there is NaN", "the integral ends there"


def brier_score(
    y: Any, incidence: ArrayLike, times: ArrayLike, *, cause: Any = None, y_train: Any = None
) -> Floats:
    """Brier score of the cumulative incidence of a cause, at each time.

    Parameters
    ----------
    y
        The outcome of the scored subjects.
    incidence
        Predicted cumulative incidence of the cause, shape (subject, time).
    times
        When it was predicted.
    cause
        Label of the cause; may be left out if there is one.
    y_train
        Outcome whose censoring survival gives the weights, or a `CensoringSurvival`; by
        default ``y``.

    Examples
    --------
    >>> y = {"event": [1, 2, 0, 1], "duration": [1.0, 2.0, 3.0, 4.0]}
    >>> brier_score(y, np.full((4, 2), 0.5), times=[1.0, 2.0], cause=1)
    array([0.25, 0.25])
    """
    outcome, grid = read_outcome(y), read_times(times)
    hit = outcome.event == pick_cause(outcome, cause)
    predicted = read_probabilities(incidence, outcome, grid, "incidence")
    censoring = read_censoring(y_train, outcome)
    usable = usable_times(grid, outcome.duration, censoring, POINTWISE)
    return _pointwise(outcome, hit, predicted, grid, censoring, usable)


def integrated_brier_score(
    y: Any, incidence: ArrayLike, times: ArrayLike, *, cause: Any = None, y_train: Any = None
) -> Score:
    """Mean over time of `brier_score`, by the trapezoidal rule over increasing times.

    Examples
    --------
    >>> y = {"event": [1, 2, 0, 1], "duration": [1.0, 2.0, 3.0, 4.0]}
    >>> integrated_brier_score(y, np.full((4, 2), 0.5), times=[1.0, 2.0], cause=1)
    0.25
    """
    outcome, grid = read_outcome(y), read_times(times, at_least=2, increasing=True)
    hit = outcome.event == pick_cause(outcome, cause)
    predicted = read_probabilities(incidence, outcome, grid, "incidence")
    censoring = read_censoring(y_train, outcome)
    usable = usable_times(grid, outcome.duration, censoring, INTEGRAL)
    return _integral(outcome, hit, predicted[:, usable], grid[usable], censoring)


def brier_score_survival(
    y: Any, survival: ArrayLike, times: ArrayLike, *, y_train: Any = None
) -> Floats:
    """Brier score, at each time, of the probability of being free of events of any cause.

    Examples
    --------
    >>> y = {"event": [1, 0, 1], "duration": [1.0, 2.0, 3.0]}
    >>> brier_score_survival(y, [[0.9], [0.6], [0.9]], times=[1.0]).round(3)
    array([0.327])
    """
    outcome, grid = read_outcome(y), read_times(times)
    predicted = 1 - read_probabilities(survival, outcome, grid, "survival")
    censoring = read_censoring(y_train, outcome)
    usable = usable_times(grid, outcome.duration, censoring, POINTWISE)
    return _pointwise(outcome, outcome.event > 0, predicted, grid, censoring, usable)


def integrated_brier_score_survival(
    y: Any, survival: ArrayLike, times: ArrayLike, *, y_train: Any = None
) -> Score:
    """Mean over time of `brier_score_survival`, by the trapezoidal rule over increasing times.

    Examples
    --------
    >>> y = {"event": [1, 0, 1], "duration": [1.0, 2.0, 3.0]}
    >>> integrated_brier_score_survival(y, np.full((3, 2), 0.5), times=[1.0, 1.5])
    0.25
    """
    outcome, grid = read_outcome(y), read_times(times, at_least=2, increasing=True)
    predicted = 1 - read_probabilities(survival, outcome, grid, "survival")
    censoring = read_censoring(y_train, outcome)
    usable = usable_times(grid, outcome.duration, censoring, INTEGRAL)
    return _integral(outcome, outcome.event > 0, predicted[:, usable], grid[usable], censoring)


def _pointwise(
    outcome: Outcome,
    hit: NDArray[np.bool_],
    predicted: Floats,
    times: Floats,
    censoring: CensoringSurvival,
    usable: NDArray[np.bool_],
) -> Floats:
    errors = _errors(outcome, hit, predicted, times, censoring)
    return np.where(usable, [each.mean() for each in errors], np.nan)


def _integral(
    outcome: Outcome,
    hit: NDArray[np.bool_],
    predicted: Floats,
    times: Floats,
    censoring: CensoringSurvival,
) -> Score:
    """The mean over subjects of each subject's own integral, which gives the influences."""
    if len(times) < 2:
        return Score.undefined(len(outcome))
    steps = np.diff(times) / (times[-1] - times[0])
    shares = (np.append(steps, 0) + np.append(0, steps)) / 2
    total = np.zeros(len(outcome))
    errors = _errors(outcome, hit, predicted, times, censoring)
    for share, each in zip(shares, errors, strict=True):
        total += share * each
    return Score.of_mean(total)


def _errors(
    outcome: Outcome,
    hit: NDArray[np.bool_],
    predicted: Floats,
    times: Floats,
    censoring: CensoringSurvival,
) -> Iterator[Floats]:
    """The weighted squared error of each subject, one time after the other."""
    at_end = np.where(outcome.event > 0, censoring.inverse(outcome.duration), 0.0)
    for column, time in zip(predicted.T, times, strict=True):
        ended = outcome.duration <= time
        weight = np.where(ended, at_end, censoring.inverse(time))
        yield weight * ((hit & ended) - column) ** 2
