"""Curves that observed outcomes draw by themselves: Kaplan-Meier, Nelson-Aalen, Aalen-Johansen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from survtrace.errors import DataError
from survtrace.metrics.inputs import Floats, read_outcome
from survtrace.tables.outcome.outcome import Outcome


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

    Examples
    --------
    >>> curve = StepFunction(times=np.array([1.0, 2.0]), values=np.array([0.8, 0.5]), initial=1.0)
    >>> curve.at([0.5, 1.0, 9.0]), curve.before(1.0)
    (array([1. , 0.8, 0.5]), array(1.))
    """

    times: Floats
    values: Floats
    initial: float = 0.0

    def at(self, t: ArrayLike) -> Floats:
        """The value at ``t``, a jump at ``t`` included."""
        return self._after_jumps(np.searchsorted(self.times, t, side="right"))

    def before(self, t: ArrayLike) -> Floats:
        """The value just before ``t``, a jump at ``t`` left out."""
        return self._after_jumps(np.searchsorted(self.times, t, side="left"))

    def _after_jumps(self, n_jumps: Any) -> Floats:
        start = np.full((*self.values.shape[:-1], 1), self.initial)
        return np.asarray(np.concatenate([start, self.values], axis=-1)[..., n_jumps])


@dataclass(frozen=True, eq=False)
class EventTable:
    """How many subjects are at risk, have an event, and are censored at each distinct duration.

    Attributes
    ----------
    times
        The distinct durations, shape (T,).
    at_risk
        Subjects whose duration is not below, shape (T,).
    events
        Events by cause, shape (K, T).
    censored
        Censored subjects, shape (T,).
    """

    times: Floats
    at_risk: Floats
    events: Floats
    censored: Floats


def event_table(outcome: Outcome) -> EventTable:
    """Count an outcome at its distinct durations; ties stay ties.

    Examples
    --------
    >>> table = event_table(read_outcome({"event": [1, 0, 2, 1], "duration": [1, 1, 1, 2]}))
    >>> table.at_risk, table.events.tolist()
    (array([4., 1.]), [[1.0, 1.0], [1.0, 0.0]])
    """
    if not len(outcome):
        raise DataError("an outcome must have at least one subject; got none. Check the selection.")
    times, place = np.unique(outcome.duration, return_inverse=True)
    n_kinds = len(outcome.causes) + 1
    cells = np.bincount(outcome.event * len(times) + place, minlength=n_kinds * len(times))
    counts = cells.reshape(n_kinds, len(times)).astype(np.float64)
    leaving = counts.sum(axis=0)
    return EventTable(times, leaving[::-1].cumsum()[::-1], counts[1:], counts[0])


def kaplan_meier(y: Any) -> StepFunction:
    """Survival until an event of any cause.

    Examples
    --------
    >>> kaplan_meier({"event": [1, 0, 1], "duration": [1.0, 2.0, 3.0]}).at([1, 2, 3])
    array([0.66666667, 0.66666667, 0.        ])
    """
    table = event_table(read_outcome(y))
    values = np.cumprod(1 - table.events.sum(axis=0) / table.at_risk)
    return StepFunction(table.times, values, initial=1.0)


def nelson_aalen(y: Any, cause: Any = None) -> StepFunction:
    """Cumulative hazard of one cause, or of all, with a cause axis, for ``None``.

    Examples
    --------
    >>> nelson_aalen({"event": [1, 0, 2], "duration": [1.0, 2.0, 3.0]}, cause=2).at([1, 3])
    array([0., 1.])
    """
    outcome = read_outcome(y)
    table = event_table(outcome)
    values = np.cumsum(table.events / table.at_risk, axis=-1)
    return StepFunction(table.times, _one_or_all(values, outcome, cause))


def aalen_johansen(y: Any, cause: Any = None) -> StepFunction:
    """Cumulative incidence of one cause, or of all, with a cause axis, for ``None``.

    Examples
    --------
    >>> y = {"event": [1, 0, 2], "duration": [1.0, 2.0, 3.0]}
    >>> aalen_johansen(y).at(3), kaplan_meier(y).at(3)
    (array([0.33333333, 0.66666667]), array(0.))
    """
    outcome = read_outcome(y)
    table = event_table(outcome)
    still_free = kaplan_meier(outcome).before(table.times)
    values = np.cumsum(still_free * table.events / table.at_risk, axis=-1)
    return StepFunction(table.times, _one_or_all(values, outcome, cause))


def _one_or_all(values: Floats, outcome: Outcome, cause: Any) -> Floats:
    return values if cause is None else values[outcome.cause_number(cause) - 1]
