"""Variance of the Aalen-Johansen incidence by the infinitesimal jackknife, in n log n steps.

A subject at risk has the influence (event - hazard) / n on the hazard of cause j at s. With that
hazard the incidence F(t) moves by (1 - F(t)) b(s) + a_j(s), where b = n / (n - d) and
a_j = S(s-) [j is the cause] - b (1 - F(s)). So a subject's influence on F(t) is A + (1 - F(t)) B:
sums over s up to t whose terms do not depend on t, so that A A, A B and B B, summed over subjects,
give the variance at every t.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from survtrace.metrics.event_table import EventTable
from survtrace.metrics.inputs import Floats
from survtrace.tables.outcome.outcome import Outcome


def jackknife_variance(
    outcome: Outcome, table: EventTable, cause: int, incidence: Floats, still_free: Floats
) -> Floats:
    """Sum the squared influences of subjects on the incidence of a cause, at each time.

    Parameters
    ----------
    outcome
        One row for each time under observation, those of a subject in order; their influences
        are added before they are squared.
    table
        Its counts at T times.
    cause
        Index of the cause, from 0.
    incidence
        Its Aalen-Johansen estimate, shape (T,).
    still_free
        Survival just before each time, shape (T,).

    Examples
    --------
    >>> from survtrace.metrics.event_table import event_table
    >>> outcome = Outcome(np.array([1.0, 2.0]), np.array([1, 0]), (1,))
    >>> jackknife_variance(
    ...     outcome, event_table(outcome), 0, np.array([0.5, 0.5]), np.array([1.0, 0.5])
    ... )
    array([0.125, 0.125])
    """
    terms = _terms(table, cause, incidence, still_free)
    if outcome.entry is None:
        aa, ab, bb = _products_from_counts(table, terms)
    else:
        aa, ab, bb = _products_by_subject(outcome, table, terms)
    free = 1 - incidence
    return np.maximum(aa + 2 * free * ab + free**2 * bb, 0.0)


def _terms(table: EventTable, cause: int, incidence: Floats, still_free: Floats) -> Floats:
    """Return the terms a_j(s) of A and b(s) of B, shape (2, cause, time)."""
    left = table.at_risk - table.events.sum(axis=0)
    b = np.where(left > 0, table.at_risk / np.maximum(left, 1.0), 0.0)  # nobody left: F stays
    a = np.tile(-b * (1 - incidence), (len(table.events), 1))
    a[cause] += still_free
    return np.stack([a, np.broadcast_to(b, a.shape)])


def _products_from_counts(table: EventTable, terms: Floats) -> list[Floats]:
    """Sum A A, A B and B B over subjects, none of whom enters late.

    All who are at risk were so before and have moved alike, and their influences at s sum to 0:
    products of different times cancel. What is left is Greenwood's formula for several causes.
    """
    a, b = terms
    at_risk = table.at_risk
    means = (terms * table.events).sum(axis=1) / at_risk
    pairs = ((a, a, 0, 0), (a, b, 0, 1), (b, b, 1, 1))
    return [
        np.cumsum(((p * q * table.events).sum(axis=0) / at_risk - means[i] * means[j]) / at_risk)
        for p, q, i, j in pairs
    ]


def _products_by_subject(outcome: Outcome, table: EventTable, terms: Floats) -> list[Floats]:
    """Sum A A, A B and B B over subjects.

    A and B stand still when a subject leaves. Until then they fall by the same amount for all at
    risk, so each is an offset, known at its entry, less what all have passed.
    """
    at_risk = np.maximum(table.at_risk, 1.0)
    passed = np.cumsum((terms * table.events).sum(axis=1) / at_risk**2, axis=-1)
    passed = np.concatenate([np.zeros((2, 1)), passed], axis=-1)  # after so many times, (2, T + 1)
    start = np.searchsorted(table.times, np.asarray(outcome.entry), side="right")
    end = np.searchsorted(table.times, outcome.duration, side="right")
    at_event = terms[:, outcome.event - 1, end - 1] / at_risk[end - 1] * (outcome.event > 0)
    gained = at_event - passed[:, end] + passed[:, start]
    earlier = _sum_of_earlier_rows(gained, outcome)
    offset, final = passed[:, start] + earlier, gained + earlier

    def so_far(place: NDArray[np.int64], values: Floats) -> Floats:
        return np.bincount(place, weights=values, minlength=passed.shape[1]).cumsum()[1:]

    def of_those_at_risk(values: Floats) -> Floats:
        return so_far(start, values) - so_far(end, values)

    def sum_of_products(i: int, j: int) -> Floats:
        left = so_far(end, final[i] * final[j]) - so_far(start, earlier[i] * earlier[j])
        p, q = passed[i, 1:], passed[j, 1:]
        crossed = p * of_those_at_risk(offset[j]) + q * of_those_at_risk(offset[i])
        squared = p * q * of_those_at_risk(np.ones(len(outcome)))
        return left + squared - crossed + of_those_at_risk(offset[i] * offset[j])

    return [sum_of_products(i, j) for i, j in ((0, 0), (0, 1), (1, 1))]


def _sum_of_earlier_rows(values: Floats, outcome: Outcome) -> Floats:
    """Sum over a subject's earlier rows, for those who left and came back."""
    if outcome.goes_on is None or not outcome.goes_on.any():
        return np.zeros(values.shape)
    row = np.arange(len(outcome))
    first = np.maximum.accumulate(np.where(np.append(True, ~outcome.goes_on[:-1]), row, 0))
    before = np.cumsum(values, axis=-1) - values
    return np.asarray(before - before[:, first])
