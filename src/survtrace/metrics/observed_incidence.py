"""The Aalen-Johansen estimate at one time, as a score: with the influence of each subject on it."""

from __future__ import annotations

import numpy as np

from survtrace.metrics.censoring import read_weights
from survtrace.metrics.event_table import EventTable, event_table
from survtrace.metrics.inputs import Floats
from survtrace.metrics.score import Score
from survtrace.tables.outcome.outcome import Outcome


def observed_incidence(outcome: Outcome, cause: int, time: float) -> Score:
    """Estimate the incidence of a cause, given by its number, by a time.

    The sum of squared influences is the variance that R's ``survfit`` gives the estimate. NaN if
    follow-up ends before the time with some event-free, or if too few have entered at the first
    events.

    Examples
    --------
    >>> y = Outcome(np.array([1.0, 2.0, 3.0, 4.0]), np.array([1, 0, 2, 1]), (1, 2))
    >>> observed = observed_incidence(y, 1, time=3.0)
    >>> observed, round(observed.standard_error, 3)
    (0.25, 0.217)
    """
    table = event_table(outcome)
    if _unknown(outcome, table, time):
        return Score.undefined(len(outcome))
    until = table.times <= time
    times, at_risk = table.times[until], np.maximum(table.at_risk[until], 1.0)
    of_cause, of_all = table.events[cause - 1, until], table.events[:, until].sum(axis=0)
    free = np.append(1.0, np.cumprod(1 - of_all / at_risk))[:-1]
    curve = np.cumsum(free * of_cause / at_risk)
    value = float(curve[-1]) if len(curve) else 0.0
    # What an event at each time adds, and what it takes from all that follows. Where nobody is
    # left, nothing follows.
    adds = free / at_risk
    takes = (value - curve) / np.maximum(at_risk - of_all, 1.0)
    influence = _martingale(outcome, cause, times, adds, takes, at_risk, of_cause, of_all)
    has_entered = True if outcome.entry is None else outcome.entry < time
    n_seen = (has_entered & ((outcome.event > 0) | (outcome.duration >= time))).sum()
    return Score(value, influence, n_effective=max(float(n_seen), 1.0))


def _martingale(
    outcome: Outcome,
    cause: int,
    times: Floats,
    adds: Floats,
    takes: Floats,
    at_risk: Floats,
    of_cause: Floats,
    of_all: Floats,
) -> Floats:
    """Compute what each subject's event did, less what was expected while it was at risk."""
    expected = np.append(0.0, np.cumsum((adds * of_cause - takes * of_all) / at_risk))
    ended = np.searchsorted(times, outcome.duration, side="right")
    influence = -expected[ended]
    if outcome.entry is not None:
        influence += expected[np.searchsorted(times, outcome.entry, side="right")]
    if not len(times):
        return influence
    seen = (outcome.event > 0) & (outcome.duration <= times[-1])
    place = ended[seen] - 1
    influence[seen] += np.where(outcome.event[seen] == cause, adds[place], 0.0) - takes[place]
    return influence


def _unknown(outcome: Outcome, table: EventTable, time: float) -> bool:
    if outcome.entry is not None and read_weights(None, outcome).first_rare(time) is not None:
        return True
    all_end = (table.events.sum(axis=0) == table.at_risk) & (table.at_risk > 0)
    return bool(time > table.times[-1] and not all_end.any())
