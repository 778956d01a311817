"""Curves that observed outcomes draw by themselves: Kaplan-Meier, Nelson-Aalen, Aalen-Johansen.

A subject is at risk from its entry (exclusive) to its duration (inclusive), as in R's
``survfit(Surv(start, stop, event) ~ 1)``; variances are those that it gives by default.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from survtrace.errors import DataWarning, warn
from survtrace.metrics.event_table import EventTable, event_table
from survtrace.metrics.incidence_variance import jackknife_variance
from survtrace.metrics.inputs import Floats, joined, read_outcome
from survtrace.metrics.step_function import StepFunction
from survtrace.tables.outcome.outcome import Outcome


def kaplan_meier(y: Any) -> StepFunction:
    """Estimate survival until an event of any cause.

    Its variance is Greenwood's, S(t)^2 sum of d / (n (n - d)) over event times, and 0 where the
    curve is 0; intervals are log-log unless another scale is asked for.

    Examples
    --------
    >>> curve = kaplan_meier({"event": [1, 0, 1], "duration": [1.0, 2.0, 3.0]})
    >>> curve.at([1, 2, 3])
    array([0.66666667, 0.66666667, 0.        ])
    >>> [round(float(end), 3) for end in curve.interval(1.0)]
    [0.054, 0.945]
    """
    table = event_table(read_outcome(y))
    _warn_of_empty_start(table)
    return _survival(table)


def _survival(table: EventTable) -> StepFunction:
    at_risk = np.maximum(table.at_risk, 1.0)  # nobody at risk: no event either
    events = table.events.sum(axis=0)
    values = np.cumprod(1 - events / at_risk)
    left = np.maximum(at_risk - events, 1.0)  # nobody left: the survival is 0, too
    variance = values**2 * np.cumsum(events / (at_risk * left))
    return StepFunction(table.times, values, 1.0, variance=variance, scale="log-log")


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
    """Estimate the cumulative hazard of one cause, or of all (``None``), with a cause axis.

    Its variance is Aalen's, the sum of d / n^2 over event times; intervals are logarithmic unless
    another scale is asked for.

    Examples
    --------
    >>> curve = nelson_aalen({"event": [1, 0, 2], "duration": [1.0, 2.0, 3.0]}, cause=2)
    >>> curve.at([1, 3])
    array([0., 1.])
    >>> [round(float(end), 3) for end in curve.interval(3.0)]
    [0.141, 7.099]
    """
    outcome = read_outcome(y)
    table = event_table(outcome)
    at_risk = np.maximum(table.at_risk, 1.0)
    values = np.cumsum(table.events / at_risk, axis=-1)
    variance = np.cumsum(table.events / at_risk**2, axis=-1)
    values, variance = (_one_or_all(each, outcome, cause) for each in (values, variance))
    return StepFunction(table.times, values, variance=variance, scale="log")


def aalen_johansen(y: Any, cause: Any = None) -> StepFunction:
    """Estimate the cumulative incidence of one cause, or of all (``None``), with a cause axis.

    Its variance is the infinitesimal jackknife, the sum of squared influences of the subjects, as
    in R's multi-state ``survfit``; if nobody enters late, it is Greenwood's formula for several
    causes (Marubini and Valsecchi 1995). Intervals are cloglog, symmetric for log(-log(1 - F)),
    unless another scale is asked for.

    Examples
    --------
    >>> y = {"event": [1, 0, 2], "duration": [1.0, 2.0, 3.0]}
    >>> aalen_johansen(y).at(3), kaplan_meier(y).at(3)
    (array([0.33333333, 0.66666667]), array(0.))
    >>> [round(float(end), 3) for end in aalen_johansen(y, cause=1).interval(3.0)]
    [0.055, 0.946]
    """
    outcome = read_outcome(y)
    table = event_table(outcome)
    _warn_of_empty_start(table)
    still_free = _survival(table).before(table.times)
    at_risk = np.maximum(table.at_risk, 1.0)  # nobody at risk: no event either
    values = np.cumsum(still_free * table.events / at_risk, axis=-1)
    variance = np.zeros(values.shape)
    rows = joined(outcome)
    for k in range(len(values)) if cause is None else [outcome.cause_number(cause) - 1]:
        variance[k] = jackknife_variance(rows, table, k, values[k], still_free)
    values, variance = (_one_or_all(each, outcome, cause) for each in (values, variance))
    return StepFunction(table.times, values, variance=variance, scale="cloglog")


def _one_or_all(values: Floats, outcome: Outcome, cause: Any) -> Floats:
    return values if cause is None else values[outcome.cause_number(cause) - 1]
