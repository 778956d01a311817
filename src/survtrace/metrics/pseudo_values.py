"""What each subject contributes to Aalen-Johansen at a horizon: jackknife pseudo-values.

They stand in for the indicator "the event of the cause happened by the horizon", which is not
known of those censored before, so that an ordinary regression can be fitted (Andersen, Klein and
Rosthoj 2003).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from survtrace.errors import DataError, DataWarning, warn
from survtrace.metrics.event_table import event_table
from survtrace.metrics.inputs import (
    WAY_OUT,
    WAY_OUT_IN_COMMAND,
    Floats,
    pick_cause,
    read_moment,
    read_subjects,
)
from survtrace.metrics.nonparametric import aalen_johansen, kaplan_meier
from survtrace.tables.outcome.outcome import Outcome


def pseudo_values(y: Any, horizon: float, *, cause: Any = None) -> Floats:
    """Compute jackknife pseudo-values of the incidence of a cause by a horizon.

    With n subjects, that of subject i is n F - (n - 1) F_i, where F is the Aalen-Johansen estimate
    at the horizon and F_i the same without subject i. All F_i together take O(n log n). Without
    censoring before the horizon they are 0 or 1: whether the event happened.

    They are right on average for any covariates if censoring depends on none of them. They are
    NaN, with a warning, if follow-up ends before the horizon with some event-free.

    Subjects that enter late are refused: those seen are fitter than those they stand for, and a
    pseudo-value would describe the former.

    Examples
    --------
    >>> y = {"event": [1, 0, 2, 1], "duration": [1.0, 2.0, 3.0, 4.0]}
    >>> pseudo_values(y, horizon=4.0, cause=1).round(3)
    array([ 1. ,  0.5, -0.5,  1.5])
    """
    return read_pseudo_values(y, horizon, cause, "a pseudo-value")[1]


def read_pseudo_values(
    y: Any, horizon: float, cause: Any, score: str
) -> tuple[Outcome, Floats, int]:
    """Read the outcome, its pseudo-values, and the number of events by the horizon."""
    outcome, moment = read_subjects(y, score), read_moment(horizon)
    number = pick_cause(outcome, cause)
    if outcome.entry is not None:
        late = outcome.entry > 0
        seen = (
            f"{score} needs subjects that are observed from 0 on, since leaving one out tells "
            "what it contributes to those seen, not to those for whom it stands; "
            f"{late.sum()} of {len(outcome)} enter later."
        )
        raise DataError(f"{seen} {WAY_OUT}", in_command=f"{seen} {WAY_OUT_IN_COMMAND}")
    if len(outcome) < 2:
        raise DataError(f"{score} needs two or more subjects; got {len(outcome)}. Pass more.")
    n_events = int(((outcome.event == number) & (outcome.duration <= moment)).sum())
    last = outcome.duration.max()
    if moment > last and kaplan_meier(outcome).values[-1] > 0:
        warn(
            f"follow-up ends at {last:g}, before the horizon {moment:g}, with some event-free: "
            f"{score} is NaN. Choose an earlier horizon.",
            DataWarning,
        )
        return outcome, np.full(len(outcome), np.nan), n_events
    return outcome, _jackknife(outcome, moment, number), n_events


def _jackknife(outcome: Outcome, horizon: float, number: int) -> Floats:
    """Return the pseudo-value n F - (n - 1) F_i of every subject.

    Leaving out a subject that ends at t_k takes one from those at risk until then and nothing
    afterwards. So F_i is the incidence before t_k with one fewer at risk (a running sum, the same
    for all subjects), that of t_k without it, and what comes later: the share event-free after t_k
    times the incidence from there on, which is that of all subjects.
    """
    table = event_table(outcome)
    until = table.times <= horizon
    at_risk, every = table.at_risk[until], table.events[:, until].sum(axis=0)
    of_cause = table.events[number - 1, until]
    incidence = aalen_johansen(outcome).values[number - 1, until]
    total = incidence[-1] if len(incidence) else 0.0
    free_after = kaplan_meier(outcome).values[until]
    some = free_after > 0  # else nobody is at risk later, and nothing comes
    later = np.divide(total - incidence, free_after, out=np.zeros_like(incidence), where=some)
    fewer = np.maximum(at_risk - 1, 1.0)  # the last one alone: without it, nobody is at risk
    free_before = np.append(1.0, np.cumprod(1 - every / fewer))
    before = np.append(0.0, np.cumsum(free_before[:-1] * of_cause / fewer))
    k = np.searchsorted(table.times, outcome.duration)
    ends = outcome.duration <= horizon
    left_out = np.full(len(outcome), before[-1])  # of those who are followed beyond the horizon
    k, event = k[ends], outcome.event[ends]
    hit = free_before[k] * (of_cause[k] - (event == number)) / fewer[k]
    still_free = free_before[k] * (1 - (every[k] - (event > 0)) / fewer[k])
    left_out[ends] = before[k] + hit + still_free * later[k]
    n = len(outcome)
    return np.asarray(n * total - (n - 1) * left_out)
