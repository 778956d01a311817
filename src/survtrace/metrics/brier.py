"""Squared error of predicted probabilities, corrected for censoring.

Every function takes the parameters that `brier_score` describes, as far as it has them.

Weights are those of Graf (1999) as riskRegression and pec compute them: 1 / G(t_i-) for those who
had an event by t, 1 / G(t) for those followed beyond t, 0 for those censored before. With
``ties="scikit-survival"`` an event weighs 1 / G(t_i). At times after the last usable one of the
censoring survival a score is NaN, and an integral ends.

Where subjects enter late, G is the chance to be under observation, those who enter after t have no
weight at t, and weights are divided by their sum. The score is that of predictions from 0 on in
the population that subjects entered from, as long as entry and censoring are independent. Where
weights sum to 0, as before the first entry, a score is NaN, and an integral leaves the time out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from survtrace.metrics.censoring import (
    Part,
    Ties,
    Weights,
    read_weights,
    stood_for,
    usable_times,
)
from survtrace.metrics.inputs import (
    Floats,
    pick_cause,
    read_moment,
    read_probabilities,
    read_subjects,
    read_times,
)
from survtrace.metrics.score import Score


def brier_score(
    y: Any,
    incidence: ArrayLike,
    times: ArrayLike,
    *,
    cause: Any = None,
    y_train: Any = None,
    ties: Ties = "left-limit",
) -> Floats:
    """Compute the Brier score of the cumulative incidence of a cause, at each time.

    Parameters
    ----------
    y
        The outcome of the scored subjects, one row each; they may enter late.
    incidence
        Predicted cumulative incidence of the cause, shape (subject, time).
    times
        When it was predicted.
    cause
        Label of the cause; may be left out if there is one.
    y_train
        Outcome whose censoring survival gives the weights, or a `CensoringSurvival`; by
        default ``y``.
    ties
        ``"left-limit"`` weights an event at t by 1 / G(t-), as riskRegression and pec;
        ``"scikit-survival"`` by 1 / G(t), which is not proper where others were censored at t.

    Examples
    --------
    >>> y = {"event": [1, 2, 0, 1], "duration": [1.0, 2.0, 3.0, 4.0]}
    >>> brier_score(y, np.full((4, 2), 0.5), times=[1.0, 2.0], cause=1)
    array([0.25, 0.25])
    """
    return _pointwise(_read(y, incidence, times, y_train, ties, cause=cause))


def brier_score_at(
    y: Any,
    incidence: ArrayLike,
    time: float,
    *,
    cause: Any = None,
    y_train: Any = None,
    ties: Ties = "left-limit",
) -> Score:
    """Compute the `brier_score` at one time, with its standard error.

    Examples
    --------
    >>> y = {"event": [1, 2, 0, 1], "duration": [1.0, 2.0, 3.0, 4.0]}
    >>> score = brier_score_at(y, [0.6, 0.2, 0.3, 0.1], time=2.0, cause=1)
    >>> score, round(score.standard_error, 3)
    (0.07500000000000001, 0.028)
    """
    scored = _read(y, incidence, [read_moment(time)], y_train, ties, cause=cause)
    return _mean(scored, np.ones(1)) if scored.usable.all() else scored.undefined()


def integrated_brier_score(
    y: Any,
    incidence: ArrayLike,
    times: ArrayLike,
    *,
    cause: Any = None,
    y_train: Any = None,
    ties: Ties = "left-limit",
) -> Score:
    """Average `brier_score` over time, by the trapezoidal rule over increasing times.

    Examples
    --------
    >>> y = {"event": [1, 2, 0, 1], "duration": [1.0, 2.0, 3.0, 4.0]}
    >>> integrated_brier_score(y, np.full((4, 2), 0.5), times=[1.0, 2.0], cause=1)
    0.25
    """
    return _integral(_read(y, incidence, times, y_train, ties, cause=cause, integrated=True))


def integrated_brier_scores(
    y: Any, incidence: Floats, times: ArrayLike, causes: Sequence[Any], *, y_train: Any = None
) -> list[Score]:
    """Compute `integrated_brier_score` of each cause, from incidences (subject, cause, time).

    Examples
    --------
    >>> y = {"event": [1, 2, 0, 1], "duration": [1.0, 2.0, 3.0, 4.0]}
    >>> integrated_brier_scores(y, np.full((4, 2, 2), 0.5), [1.0, 2.0], causes=[1, 2])
    [0.25, 0.25]
    """
    return [
        integrated_brier_score(y, incidence[:, k], times, cause=cause, y_train=y_train)
        for k, cause in enumerate(causes)
    ]


def brier_score_survival(
    y: Any, survival: ArrayLike, times: ArrayLike, *, y_train: Any = None, ties: Ties = "left-limit"
) -> Floats:
    """Compute the Brier score, at each time, of the probability of being free of any event.

    Examples
    --------
    >>> y = {"event": [1, 0, 1], "duration": [1.0, 2.0, 3.0]}
    >>> brier_score_survival(y, [[0.9], [0.6], [0.9]], times=[1.0]).round(3)
    array([0.327])
    """
    return _pointwise(_read(y, survival, times, y_train, ties, name="survival"))


def integrated_brier_score_survival(
    y: Any, survival: ArrayLike, times: ArrayLike, *, y_train: Any = None, ties: Ties = "left-limit"
) -> Score:
    """Average `brier_score_survival` over time, by the trapezoidal rule over increasing times.

    Examples
    --------
    >>> y = {"event": [1, 0, 1], "duration": [1.0, 2.0, 3.0]}
    >>> integrated_brier_score_survival(y, np.full((3, 2), 0.5), times=[1.0, 1.5])
    0.25
    """
    return _integral(_read(y, survival, times, y_train, ties, name="survival", integrated=True))


class _Scored(NamedTuple):
    """Subjects and their predictions: who has had the event, when it is asked and can be scored."""

    weights: Weights
    hit: NDArray[np.bool_]
    predicted: Floats
    times: Floats
    usable: NDArray[np.bool_]

    def undefined(self) -> Score:
        return Score.undefined(len(self.weights.outcome))

    def only_usable(self) -> _Scored:
        """Leave out the times that cannot be scored."""
        times, predicted = self.times[self.usable], self.predicted[:, self.usable]
        return self._replace(times=times, predicted=predicted, usable=self.usable[self.usable])

    def errors(self) -> Iterator[tuple[float, Floats]]:
        """Yield the weighted squared error of each subject, one time after the other.

        Where subjects enter late, their weights are divided by their sum, and the first number is
        the score; what follows is by how much each subject's error exceeds it, mean 0. Else it
        is 0.
        """
        outcome, censoring = self.weights.outcome, self.weights.censoring
        at_end = np.where(outcome.event > 0, self.weights.of_events(), 0.0)
        for column, time in zip(self.predicted.T, self.times, strict=True):
            ended = outcome.duration <= time
            weight = np.where(ended, at_end, censoring.inverse(time))
            error = ((self.hit & ended) - column) ** 2
            if outcome.entry is None:
                yield 0.0, weight * error
            else:
                weight = np.where(self.weights.has_entered(time), weight, 0.0)
                weight *= len(outcome) / weight.sum()
                score = float((weight * error).mean())
                yield score, weight * (error - score)


def _read(
    y: Any,
    predicted: ArrayLike,
    times: ArrayLike,
    y_train: Any,
    ties: Ties,
    *,
    name: str = "incidence",
    cause: Any = None,
    integrated: bool = False,
) -> _Scored:
    """Check what a score is given; survival becomes the incidence of any cause."""
    outcome = read_subjects(y, "a Brier score")
    grid = read_times(times, at_least=2, increasing=True) if integrated else read_times(times)
    by_cause = name == "incidence"
    hit = outcome.event == pick_cause(outcome, cause) if by_cause else outcome.event > 0
    values = read_probabilities(predicted, outcome, grid, name)
    weights = read_weights(y_train, outcome, ties)
    weights.require_start(grid.max(), "a Brier score")
    consequence = "the integral ends there" if integrated else "the score there is NaN"
    usable = usable_times(grid, outcome.duration, weights.censoring, consequence)
    consequence = "the integral leaves them out" if integrated else "the score there is NaN"
    usable = stood_for(grid, usable, weights, consequence)
    return _Scored(weights, hit, values if by_cause else 1 - values, grid, usable)


def _pointwise(scored: _Scored) -> Floats:
    means = np.full(len(scored.times), np.nan)
    means[scored.usable] = [base + each.mean() for base, each in scored.only_usable().errors()]
    return means


def _integral(scored: _Scored) -> Score:
    scored = scored.only_usable()
    times = scored.times
    if len(times) < 2:
        return scored.undefined()
    steps = np.diff(times) / (times[-1] - times[0])
    shares = (np.append(steps, 0) + np.append(0, steps)) / 2
    return _mean(scored, shares)


def _mean(scored: _Scored, shares: Floats) -> Score:
    """Average over subjects each one's sum over times, times weighted by their shares."""
    weights, times = scored.weights, scored.times
    duration, n = weights.outcome.duration, len(weights.outcome)
    total, of_events, of_followed = np.zeros(n), np.zeros(n), np.zeros(len(times))
    level = 0.0
    for j, (share, time, (base, each)) in enumerate(
        zip(shares, times, scored.errors(), strict=True)
    ):
        level += share * base
        each *= share
        total += each
        of_followed[j] = each.sum()
        each *= duration <= time
        of_followed[j] -= each.sum()
        of_events += each
    influence, independent = weights.noise(
        Part(of_events / n, duration, weights.left_limit), Part(of_followed / n, times, False)
    )
    mean = total.mean()
    followed = weights.has_entered(times[0]) & (duration > times[0])
    n_seen = ((weights.outcome.event > 0) | followed).sum()
    return Score(level + mean, (total - mean) / n + influence, independent, max(float(n_seen), 1.0))
