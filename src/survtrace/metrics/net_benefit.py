"""Decision curves: what is gained by treating those whose predicted incidence exceeds a threshold.

Of those above the threshold, a share has the event by the horizon (Aalen-Johansen among them, so
that competing events and censoring count; van Geloven et al., BMJ 2022). Each of them gains 1, and
each of the others above the threshold loses threshold / (1 - threshold): who treats
above a risk of 10 % accepts nine needless treatments for one of somebody who has the event.

Where subjects enter late, the share above the threshold is that in the population they entered
from, as in `mean_incidence`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from survtrace.errors import DataWarning, warn
from survtrace.metrics.calibration import mean_incidence
from survtrace.metrics.inputs import (
    Floats,
    pick_cause,
    read_moment,
    read_probability,
    read_subjects,
    read_thresholds,
)
from survtrace.metrics.observed_incidence import observed_incidence
from survtrace.metrics.score import Score
from survtrace.tables.outcome.outcome import Outcome


@dataclass(frozen=True, eq=False)
class DecisionCurve:
    """Net benefit per subject at each threshold, of three ways to decide.

    Attributes
    ----------
    thresholds
        The predicted incidence above which one would treat.
    by_prediction
        Treat those above the threshold; a `Score` for each threshold, NaN where follow-up of
        those above ends before the horizon.
    treat_all
        Treat everybody.
    treat_none
        Treat nobody: 0.
    share_treated
        The share of subjects above each threshold.
    """

    thresholds: Floats
    by_prediction: tuple[Score, ...]
    treat_all: tuple[Score, ...]
    treat_none: tuple[Score, ...]
    share_treated: Floats


def net_benefit(
    y: Any, incidence: ArrayLike, horizon: float, thresholds: ArrayLike, *, cause: Any = None
) -> DecisionCurve:
    """Compute the net benefit of treating those above each threshold, all, and none.

    Parameters
    ----------
    y
        The outcome of the scored subjects, one row each; they may enter late.
    incidence
        Predicted incidence of the cause by the horizon, one for each subject.
    horizon
        The time by which events count.
    thresholds
        From 0 to below 1. Who is predicted exactly a threshold is not treated.
    cause
        Label of the cause; may be left out if there is one.

    Examples
    --------
    >>> y = {"event": [1, 0, 1, 2], "duration": [1.0, 6.0, 3.0, 2.0]}
    >>> curve = net_benefit(y, [0.8, 0.1, 0.3, 0.4], horizon=4.0, thresholds=[0.2, 0.5], cause=1)
    >>> [round(each, 4) for each in curve.by_prediction]
    [0.4375, 0.25]
    >>> [round(each, 4) for each in curve.treat_all]
    [0.375, 0.0]
    """
    outcome, time, levels, number = _read(y, horizon, thresholds, cause)
    predicted = read_probability(incidence, outcome, "incidence")
    everybody = np.full(len(outcome), 1.0)
    return DecisionCurve(
        levels,
        _benefits(outcome, number, time, levels, predicted),
        _benefits(outcome, number, time, levels, everybody),
        _benefits(outcome, number, time, levels, 0 * everybody),
        np.asarray((predicted > levels[:, np.newaxis]).mean(axis=1)),
    )


def net_benefit_difference(
    y: Any,
    incidence: ArrayLike,
    other_incidence: ArrayLike,
    horizon: float,
    thresholds: ArrayLike,
    *,
    cause: Any = None,
) -> tuple[Score, ...]:
    """Subtract the net benefit of another prediction for the same subjects, by threshold.

    Parameters
    ----------
    y, horizon, thresholds, cause
        As in `net_benefit`.
    incidence, other_incidence
        The two predictions. One of 1 for everybody treats all, one of 0 treats nobody.

    Examples
    --------
    >>> y = {"event": [1, 0, 1, 2], "duration": [1.0, 6.0, 3.0, 2.0]}
    >>> [gain] = net_benefit_difference(y, [0.8, 0.1, 0.3, 0.4], np.ones(4), 4.0, [0.2], cause=1)
    >>> round(gain, 4), round(gain.standard_error, 4)
    (0.0625, 0.0541)
    """
    outcome, time, levels, number = _read(y, horizon, thresholds, cause)
    first = read_probability(incidence, outcome, "incidence")
    second = read_probability(other_incidence, outcome, "other_incidence")
    pairs = zip(
        _benefits(outcome, number, time, levels, first),
        _benefits(outcome, number, time, levels, second),
        strict=True,
    )
    return tuple(one.minus(other) for one, other in pairs)


def _read(
    y: Any, horizon: float, thresholds: ArrayLike, cause: Any
) -> tuple[Outcome, float, Floats, int]:
    outcome, time = read_subjects(y, "a net benefit"), read_moment(horizon)
    return outcome, time, read_thresholds(thresholds), pick_cause(outcome, cause)


def _benefits(
    outcome: Outcome, cause: int, time: float, thresholds: Floats, predicted: Floats
) -> tuple[Score, ...]:
    # Who is above a higher threshold is above a lower one too: as many are the same subjects.
    sets: dict[int, _Treated] = {}
    scores = []
    for level in thresholds:
        treated = predicted > level
        if (n_treated := int(treated.sum())) not in sets:
            sets[n_treated] = _treated(outcome, cause, time, treated)
        scores.append(_benefit(sets[n_treated], level))
    unknown = np.flatnonzero(np.isnan(scores))
    if len(unknown):
        first = thresholds[unknown[0]]
        warn(
            f"net benefit is NaN at {len(unknown)} of {len(thresholds)} thresholds (first: "
            f"{first:g}, with {(predicted > first).sum()} subjects above): the incidence by "
            f"{time:g} among those above cannot be told, since follow-up ends earlier or too few "
            "have entered at the first events. Choose an earlier horizon or lower thresholds.",
            DataWarning,
        )
    return tuple(scores)


class _Treated(NamedTuple):
    """Who is treated, the share they are, and the incidence among them; None if nobody is."""

    rows: NDArray[np.bool_]
    share: Score
    observed: Score | None


def _treated(outcome: Outcome, cause: int, time: float, treated: NDArray[np.bool_]) -> _Treated:
    if not treated.any():
        return _Treated(treated, Score(0.0, np.zeros(len(outcome))), None)
    share = mean_incidence(outcome, treated.astype(np.float64), time)
    return _Treated(treated, share, observed_incidence(outcome.take(treated), cause, time))


def _benefit(treated: _Treated, threshold: float) -> Score:
    rows, share, observed = treated
    if observed is None:
        return share
    odds = threshold / (1 - threshold)
    gain = (1 + odds) * observed - odds  # of one who is treated
    influence = gain * share.influence
    influence[rows] += share * (1 + odds) * observed.influence
    return Score(share * gain, influence, gain * share.independent)
