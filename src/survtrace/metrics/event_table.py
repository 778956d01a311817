"""Count who is at risk, has an event, leaves and enters at each distinct time of an outcome."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from survtrace.errors import DataError
from survtrace.metrics.inputs import Floats, joined
from survtrace.tables.outcome.outcome import Outcome


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
    >>> from survtrace.metrics.inputs import read_outcome
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
