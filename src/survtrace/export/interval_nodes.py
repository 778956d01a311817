"""Intervals of incidences and survival in ONNX, by the formulas of `inference.interval`."""

from __future__ import annotations

import numpy as np

from survtrace.export.curve_nodes import States, TimeNodes
from survtrace.export.graph import Value, concatenate
from survtrace.inference.interval import TINY, IntervalScale


def interval_nodes(
    scale: IntervalScale, level: float, at_cuts: States, at_times: States, at: TimeNodes
) -> tuple[Value, Value]:
    """Compute both ends for any cause and for each, (subject, state, time)."""
    n_states, n_intervals = np.shape(scale.floor)
    cuts, times = (_incidence(states.mean, n_states) for states in (at_cuts, at_times))
    ends = _bounds(scale, level, cuts, at_cuts.std)
    # The value at the start of an interval is that at the end of the one before it, or 0.
    at_begin = at.at.graph.constant(np.eye(n_intervals, k=1), np.float64) @ at.at
    low, high = (_between_cuts(times, cuts, end, at_begin, at.at) for end in ends)
    return _with_any_cause(low, n_states), _with_any_cause(high, n_states)


def _incidence(states: Value, n_states: int) -> Value:
    """Put the incidence of any cause in the place of survival."""
    return concatenate([1.0 - states.slice(1, 0, 1), states.slice(1, 1, n_states)], axis=1)


def _bounds(scale: IntervalScale, level: float, incidence: Value, std: Value | None) -> list[Value]:
    """Compute both ends at the cuts, as `IntervalScale.bounds` does."""
    inside = incidence.apply("Max", TINY).apply("Min", 1 - TINY)
    hazard = -(1.0 - inside).apply("Log")
    spread = np.square(scale.floor)
    deviations = scale.deviations(level)[:, None]
    if std is None:
        width = hazard.graph.constant(deviations * np.sqrt(spread), np.float64)
    else:
        apart = std / (hazard * (1.0 - inside)) * np.array(scale.factor)[:, None]
        width = (apart * apart + spread).apply("Sqrt") * deviations
    n_intervals = spread.shape[1]
    until = np.triu(np.ones((n_intervals, n_intervals)))
    ends = []
    for signed, limit in ((-width, "Min"), (width, "Max")):
        end = 1.0 - (-(hazard * signed.apply("Exp"))).apply("Exp")
        end = (incidence > 0.0).where(end, 0.0)
        # An end never falls: it is the largest of those until then, none of which is below 0.
        end = (end.unsqueeze(3) * until).max(2, keep=False)
        ends.append(end.apply(limit, incidence))
    return ends


def _between_cuts(times: Value, cuts: Value, end: Value, at_begin: Value, at: Value) -> Value:
    """Follow the prediction from one cut to the next, as `interval.between_cuts` does."""
    begin, step = cuts @ at_begin, cuts @ at - cuts @ at_begin
    low, high = end @ at_begin, end @ at
    made = times - begin
    share = (made / step.apply("Max", TINY)).apply("Max", 0.0).apply("Min", 1.0)
    return (step > TINY).where(low + share * (high - low), low + made)


def _with_any_cause(end: Value, n_states: int) -> Value:
    """Let any cause have struck at least as often as each; a single cause is any cause."""
    causes = end.slice(1, 1, n_states)
    any_cause = causes if n_states == 2 else end.max(1)
    return concatenate([any_cause, causes], axis=1)
