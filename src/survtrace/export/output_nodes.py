"""All formulas of an ONNX file, from its inputs to its outputs."""

from __future__ import annotations

import numpy as np

from survtrace.export.curve_nodes import member_nodes, states_at_cuts, states_at_times, time_nodes
from survtrace.export.encoding_nodes import encode_nodes
from survtrace.export.graph import Graph, Value, concatenate
from survtrace.export.interval_nodes import interval_nodes
from survtrace.export.network_nodes import hazard_nodes
from survtrace.export.parameters import Parameters
from survtrace.portable import PortableSurvTRACE

WORDS = {
    "": "mean over members",
    "_std": "standard deviation between members; NaN if there is only one",
    "_low": "lower end of the interval that holds the truth with probability {level:g}",
    "_high": "upper end of the interval that holds the truth with probability {level:g}",
}


def declare_outputs(
    graph: Graph, model: PortableSurvTRACE, network: Parameters, level: float | None
) -> None:
    """Declare inputs and outputs of a model, and write the formulas between them."""
    n_states = 1 + len(model.causes_)
    for ending, states in _state_nodes(graph, model, network, level).items():
        words = WORDS[ending].format(level=level)
        survival, incidence = states.slice(1, 0, 1).squeeze(1), states.slice(1, 1, n_states)
        doc = f"probability to be event-free: {words}"
        graph.output(f"survival{ending}", survival, ("subject", "time"), doc)
        doc = f"probability that each cause has struck: {words}"
        graph.output(f"incidence{ending}", incidence, ("subject", n_states - 1, "time"), doc)


def _state_nodes(
    graph: Graph, model: PortableSurvTRACE, network: Parameters, level: float | None
) -> dict[str, Value]:
    """Compute all states, (subject, state, time), by the ending of the outputs' names."""
    n_intervals, n_states = len(model.time_grid_) - 1, 1 + len(model.causes_)
    n_members = network.n_members
    encoded = encode_nodes(graph, model.encoding_)
    at = time_nodes(graph, model.time_grid_)
    members = member_nodes(hazard_nodes(graph, network, encoded), at, n_intervals)
    states = states_at_times(members, at, n_members)
    found = {"": states.mean, "_std": states.mean * np.nan if states.std is None else states.std}
    if level is not None and model.interval_ is not None:
        at_cuts = states_at_cuts(members, n_intervals, n_members)
        low, high = interval_nodes(model.interval_, level, at_cuts, states, at)
        found["_low"] = _with_survival(low, high, n_states)
        found["_high"] = _with_survival(high, low, n_states)
    blank = _blank(members.total, encoded.is_valid, at.is_valid)
    return {ending: value + blank for ending, value in found.items()}


def _with_survival(end: Value, other: Value, n_states: int) -> Value:
    """Put an end of survival before those of the causes: 1 minus the other end of any cause."""
    return concatenate([1.0 - other.slice(1, 0, 1), end.slice(1, 1, n_states)], axis=1)


def _blank(total: Value, is_subject: Value, is_time: Value) -> Value:
    """Give NaN to what is refused, to add to the outputs: (subject, 1, time).

    The hazards of a subject may overflow though each of its covariates is allowed.
    """
    is_finite = total.sum(0, 2, 3, keep=False) < np.inf
    is_answered = (is_subject & is_finite).unsqueeze(1) & is_time
    return is_answered.where(total.graph.constant(0.0, np.float64), np.nan).unsqueeze(1)
