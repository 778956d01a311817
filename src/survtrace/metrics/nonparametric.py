"""Curves that observed outcomes draw by themselves: Kaplan-Meier, Nelson-Aalen, Aalen-Johansen.

A subject is at risk from its entry (exclusive) to its duration (inclusive), as in R's
``survfit(Surv(start, stop, event) ~ 1)``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from survtrace.errors import DataError, DataWarning, warn
from survtrace.metrics.inputs import Floats, joined, read_outcome
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
    """How many subjects are at risk, have an event, leave and enter at each distinct time.

    Attributes
    ----------
    times
        The distinct durations, and entries where some entered late, shape (T,).
    at_risk
        Subjects under observation just before: entry < time <= duration, shape (T,).
    events
        Events by cause, shape (K, T).
    censored
        Censored subjects, shape (T,).
    entered
        Subjects that enter just after, shape (T,); None if all are observed from 0 on.
    """

    times: Floats
    at_risk: Floats
    events: Floats
    censored: Floats
    entered: Floats | None = None


def event_table(outcome: Outcome) -> EventTable:
    """Count an outcome at its distinct times; ties stay ties, and a subject's rows are joined.

    Of an event, a censoring and an entry at the same time the event comes first and the entry
    last: who enters at t is not at risk at t.

    Examples
    --------
    >>> table = event_table(read_outcome({"event": [1, 0, 2, 1], "duration": [1, 1, 1, 2]}))
    >>> table.at_risk, table.events.tolist()
    (array([4., 1.]), [[1.0, 1.0], [1.0, 0.0]])
    >>> late = Outcome(np.array([2.0, 3.0]), np.array([1, 1]), (1,), entry=np.array([0.0, 2.0]))
    >>> event_table(late).times, event_table(late).at_risk, event_table(late).entered
    (array([0., 2., 3.]), array([0., 1., 1.]), array([1., 1., 0.]))
    """
    if not len(outcome):
        raise DataError("an outcome must have at least one subject; got none. Check the selection.")
    outcome = joined(outcome)
    duration, entry = outcome.duration, outcome.entry
    together = duration if entry is None else np.concatenate([duration, entry])
    times, place = np.unique(together, return_inverse=True)
    n_kinds, n_times, n = len(outcome.causes) + 1, len(times), len(outcome)
    cells = np.bincount(outcome.event * n_times + place[:n], minlength=n_kinds * n_times)
    counts = cells.reshape(n_kinds, n_times).astype(np.float64)
    at_risk = counts.sum(axis=0)[::-1].cumsum()[::-1]
    if entry is None:
        return EventTable(times, at_risk, counts[1:], counts[0])
    entered = np.bincount(place[n:], minlength=n_times).astype(np.float64)
    at_risk = at_risk - entered[::-1].cumsum()[::-1]  # who ends later, less who enters later
    return EventTable(times, at_risk, counts[1:], counts[0], entered)


def kaplan_meier(y: Any) -> StepFunction:
    """Survival until an event of any cause.

    Examples
    --------
    >>> kaplan_meier({"event": [1, 0, 1], "duration": [1.0, 2.0, 3.0]}).at([1, 2, 3])
    array([0.66666667, 0.66666667, 0.        ])
    """
    table = event_table(read_outcome(y))
    _warn_of_empty_start(table)
    return _survival(table)


def _survival(table: EventTable) -> StepFunction:
    at_risk = np.maximum(table.at_risk, 1.0)  # nobody at risk: no event either
    values = np.cumprod(1 - table.events.sum(axis=0) / at_risk)
    return StepFunction(table.times, values, initial=1.0)


def _warn_of_empty_start(table: EventTable) -> None:
    """Warn if everybody at risk has the event while others have yet to enter."""
    if table.entered is None:
        return
    over = np.flatnonzero((table.at_risk > 0) & (table.events.sum(axis=0) == table.at_risk))
    if len(over) and (n_later := table.entered[over[0] :].sum()):
        time, n_at_risk = table.times[over[0]], table.at_risk[over[0]]
        warn(
            f"survival falls to 0 at {time:g}, where all {n_at_risk:g} at risk have an event, "
            f"though {n_later:g} subjects enter then or later. Begin where more are at risk: "
            "survtrace.landmark(table, at=[...]) keeps those at risk at a time.",
            DataWarning,
        )


def nelson_aalen(y: Any, cause: Any = None) -> StepFunction:
    """Cumulative hazard of one cause, or of all, with a cause axis, for ``None``.

    Examples
    --------
    >>> nelson_aalen({"event": [1, 0, 2], "duration": [1.0, 2.0, 3.0]}, cause=2).at([1, 3])
    array([0., 1.])
    """
    outcome = read_outcome(y)
    table = event_table(outcome)
    values = np.cumsum(table.events / np.maximum(table.at_risk, 1.0), axis=-1)
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
    _warn_of_empty_start(table)
    still_free = _survival(table).before(table.times)
    at_risk = np.maximum(table.at_risk, 1.0)  # nobody at risk: no event either
    values = np.cumsum(still_free * table.events / at_risk, axis=-1)
    return StepFunction(table.times, _one_or_all(values, outcome, cause))


def _one_or_all(values: Floats, outcome: Outcome, cause: Any) -> Floats:
    return values if cause is None else values[outcome.cause_number(cause) - 1]
