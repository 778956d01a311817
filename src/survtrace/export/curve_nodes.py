"""Hazards become curves at the times that are asked, in ONNX.

The formulas are those of `survtrace.portable.curves`, for subjects event-free until ``after``; with
0 that is everybody. A value at a time is a product with a matrix (interval, time) in place of a
look-up: 1 for the intervals before that of the time (`before`), 1 for its own (`at`), or the share
of each interval that lies between ``after`` and the time (`lived`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from survtrace.export.graph import Graph, Value, concatenate
from survtrace.portable.curves import TINY

Array = NDArray[np.float64]


@dataclass(frozen=True)
class TimeNodes:
    """Where curves are asked; all have an axis of subjects first, of length 1 if they agree."""

    before: Value  # (subject, interval, time), as the next two
    at: Value
    lived: Value
    left: Value  # share of each interval that lies after the start: (subject, 1, interval)
    is_valid: Value  # (subject, time)


@dataclass(frozen=True)
class MemberNodes:
    """What the curves of the members are made of, from the start on."""

    total: Value  # the hazard of all causes, (member, subject, 1, interval)
    total_left: Value  # what is left of it after the start
    per_hazard: Value  # survival at the start of each interval, over its hazard
    hazard_left: Value  # of each cause, (member, subject, cause, interval)
    gained: Value  # the incidence of each cause in each interval
    shares: Value  # of each member among the survivors at the start, (member, subject, 1, 1)


@dataclass(frozen=True)
class States:
    """The probability of each state, (subject, state, time): event-free first, then the causes."""

    mean: Value
    std: Value | None  # between members; None if there is only one


def time_nodes(graph: Graph, cuts: Array) -> TimeNodes:
    """Declare the inputs ``times`` and ``after``, and find the intervals that they lie in."""
    # Two names for their axes of subjects: runtimes take axes of one name to be of one length.
    asked = graph.input("times", np.float64, ("subject or 1", "time"), TIMES).unsqueeze(1)
    start = graph.input("after", np.float64, ("1 or subject",), AFTER).unsqueeze(1, 2)
    times = start.apply("Max", asked)  # (subject, 1, time)
    begin, end, width = cuts[:-1, None], cuts[1:, None], np.diff(cuts)[:, None]
    begin_left = start.apply("Max", begin)
    left = (end - begin_left).apply("Max", 0.0) / width
    lived = (times.apply("Min", end) - begin_left).apply("Max", 0.0) / width
    # The first interval begins and the last one ends nowhere: times outside the grid are in them.
    is_after_begin = times > np.concatenate([[[-np.inf]], cuts[1:-1, None]])
    is_after_end = times > np.concatenate([cuts[1:-1, None], [[np.inf]]])
    return TimeNodes(
        is_after_end.cast(np.float64),
        (is_after_begin & ~is_after_end).cast(np.float64),
        lived,
        left.transpose(0, 2, 1),
        ((start >= 0.0) & (start < np.inf) & (asked >= 0.0)).squeeze(1),
    )


def member_nodes(hazard: Value, at: TimeNodes, n_intervals: int) -> MemberNodes:
    """Compute the hazards left after the start, and what happens in each interval."""
    total, hazard_left = hazard.sum(2), hazard * at.left
    total_left = total * at.left
    earlier = np.triu(np.ones((n_intervals, n_intervals)), 1)
    entered = (-(total_left @ earlier)).apply("Exp")
    per_hazard = entered / total_left.apply("Max", TINY)
    # 1 - exp(-x) in place of expm1, which ONNX lacks: what is lost is 1e-16 of a probability.
    gained = hazard_left * (per_hazard * (1.0 - (-total_left).apply("Exp")))
    shares = (total * (at.left - 1.0)).sum(3).apply("Softmax", axis=0)
    return MemberNodes(total, total_left, per_hazard, hazard_left, gained, shares)


def states_at_times(members: MemberNodes, at: TimeNodes, n_members: int) -> States:
    """Compute survival and incidences at the times."""
    survival = (-(members.total @ at.lived)).apply("Exp")
    lived_in_interval = members.total @ (at.at * at.lived)
    rate = (members.hazard_left * members.per_hazard) @ at.at
    incidence = members.gained @ at.before + rate * (1.0 - (-lived_in_interval).apply("Exp"))
    return _averaged(survival, incidence, members.shares, n_members)


def states_at_cuts(members: MemberNodes, n_intervals: int, n_members: int) -> States:
    """Compute survival and incidences at the end of each interval."""
    until = np.triu(np.ones((n_intervals, n_intervals)))
    survival = (-(members.total_left @ until)).apply("Exp")
    return _averaged(survival, members.gained @ until, members.shares, n_members)


def _averaged(survival: Value, incidence: Value, shares: Value, n_members: int) -> States:
    """Average over members by their shares of the survivors; the deviation is that of all alike."""
    found = concatenate([survival, incidence], axis=2)
    mean = (found * shares).sum(0, keep=False)
    if n_members == 1:
        return States(mean, None)
    apart = found - found.mean(0)
    return States(mean, (apart * apart).mean(0, keep=False).apply("Sqrt"))


TIMES = (
    "when curves are asked, counted as the durations of the fit: one row for all subjects, or one "
    "for each"
)
AFTER = (
    "until when subjects are known to be event-free, from the same origin; 0 if that is not asked: "
    "one number for all subjects, or one for each"
)
