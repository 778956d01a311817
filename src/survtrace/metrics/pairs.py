"""Weighted counts of concordant pairs in n log n steps."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from survtrace.metrics.censoring import Part, Weights
from survtrace.metrics.inputs import Floats
from survtrace.metrics.score import Score
from survtrace.tables.outcome.outcome import Outcome

Integers = NDArray[np.int64]
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class PairTotals:
    """For each subject, the weight of its pairs, as the case and as the control of the pair.

    Attributes
    ----------
    concordant
        Weight of the pairs in which the case has the higher estimate, equal estimates counting
        half; shape (2, n): row 0 as the case, row 1 as the control.
    comparable
        Weight of all its pairs, shape (2, n).
    """

    concordant: Floats
    comparable: Floats

    def without(self, other: PairTotals) -> PairTotals:
        """Take away pairs that are among these; what rounding leaves of none is 0."""
        return PairTotals(
            _difference(self.concordant, other.concordant, self.comparable),
            _difference(self.comparable, other.comparable, self.comparable),
        )

    def __add__(self, other: PairTotals) -> PairTotals:
        return PairTotals(self.concordant + other.concordant, self.comparable + other.comparable)

    @property
    def weight(self) -> float:
        """The weight of all comparable pairs."""
        return float(self.comparable[0].sum())

    @property
    def share(self) -> float:
        """The share of concordant pairs; NaN if no pair is comparable."""
        return float(self.concordant[0].sum()) / self.weight if self.weight > 0 else np.nan

    def gaps(self, whole: PairTotals) -> Floats:
        """Return each subject's part in the share of ``whole`` less what is expected of its pairs.

        Shape (2, n), as the case and as the control. A gap is proportional to the subject's
        weight, so it tells what an error of that weight does to the share.
        """
        if not whole.weight > 0:
            return np.zeros_like(self.comparable)
        return (self.concordant - whole.share * self.comparable) / whole.weight

    def score(
        self, weights: Weights | None = None, *parts: Part, id: Integers | None = None
    ) -> Score:
        """Return the share of concordant pairs; NaN if no pair is comparable.

        ``parts`` are the gaps that are proportional to IPCW weights, so that their noise counts.
        With ``id``, the number of each row's subject, influences are those of subjects.
        At most as many disjoint pairs as there are cases, controls, or half of both together
        speak for a perfect score.

        Examples
        --------
        >>> ends_first, estimate = np.array([0, 1, 2]), np.array([0.9, 0.1, 0.4])
        >>> pair_totals(ends_first, estimate, np.ones(3), np.ones(3)).score()
        0.6666666666666666
        """
        n = self.comparable.shape[1]
        subject = np.arange(n) if id is None else np.unique(id, return_inverse=True)[1]
        if not self.weight > 0:
            return Score.undefined(int(subject.max(initial=-1)) + 1)
        influence, independent = self.gaps(self).sum(axis=0), np.zeros(0)
        if weights is not None:
            more, independent = weights.noise(*parts)
            influence = influence + more
        paired = self.comparable > 0
        if id is not None:
            influence = np.bincount(subject, weights=influence)
            paired = np.stack([np.bincount(subject, weights=each) > 0 for each in paired])
        disjoint = min(*paired.sum(axis=1), paired.any(axis=0).sum() / 2)
        return Score(self.share, influence, independent, float(disjoint))


def pair_totals(
    key: Integers, estimate: Floats, case_weight: Floats, control_weight: Floats
) -> PairTotals:
    """Sum over all pairs in which the case's key is below the control's key.

    A pair (i, j) weighs ``case_weight[i] * control_weight[j]``; it is concordant if i has the
    higher estimate, and half concordant if the estimates are equal.
    """
    sweep = _compiled()
    rank = np.unique(estimate, return_inverse=True)[1]
    order = np.argsort(key, kind="stable")
    below, controls = sweep(order[::-1], key, rank, control_weight, case_weight > 0)
    above, cases = sweep(order, key, rank.max() - rank, case_weight, control_weight > 0)
    return PairTotals(
        np.stack([case_weight * below, control_weight * above]),
        np.stack([case_weight * controls, control_weight * cases]),
    )


def jointly_at_risk(
    outcome: Outcome, key: Integers, estimate: Floats, case_weight: Floats, control_weight: Floats
) -> PairTotals:
    """`pair_totals` without the pairs whose control enters at the case's duration or later.

    These are among the pairs in which the case's key is below the control's, since the control
    ends after it enters. So they are counted in the same way, by the control's entry, and taken
    away.

    Examples
    --------
    >>> entry = np.array([0.0, 0.0, 1.0])
    >>> y = Outcome(np.array([1.0, 2.0, 3.0]), np.array([1, 1, 0]), (1,), entry=entry)
    >>> ones = np.ones(3)
    >>> jointly_at_risk(y, np.arange(3), ones, np.array([1.0, 1, 0]), ones).comparable[0]
    array([1., 1., 0.])
    """
    totals = pair_totals(key, estimate, case_weight, control_weight)
    if outcome.entry is None:
        return totals
    n, nobody = len(outcome), np.zeros(len(outcome))
    rank = np.unique(np.concatenate([outcome.duration, outcome.entry]), return_inverse=True)[1]
    doubled = pair_totals(
        np.append(2 * rank[:n], 2 * rank[n:] + 1),  # a case's duration, a control's entry
        np.append(estimate, estimate),
        np.append(case_weight, nobody),
        np.append(nobody, control_weight),
    )
    rows = [(each[0, :n], each[1, n:]) for each in (doubled.concordant, doubled.comparable)]
    return totals.without(PairTotals(*(np.stack(each) for each in rows)))


def _difference(whole: Floats, part: Floats, scale: Floats) -> Floats:
    rest = whole - part
    return np.where(rest > ROUNDING * scale, rest, 0.0)


@cache
def _compiled() -> Any:
    """Compile `_sweep` when it is first needed: numba takes a third of a second to import."""
    from numba import njit

    return njit(cache=True)(_sweep)


def _sweep(
    order: Any, key: Any, rank: Any, weight: Any, asking: Any
) -> Any:  # pragma: no cover - compiled
    """Walk through the subjects; tell each the weight met before it at lower ranks and in all.

    Subjects of equal key do not meet each other. ``tree`` is a Fenwick tree over ranks.
    """
    n = len(order)
    n_ranks = rank.max() + 1
    tree, at_rank, met = np.zeros(n_ranks + 1), np.zeros(n_ranks), 0.0
    lower, total = np.zeros(n), np.zeros(n)
    start = 0
    while start < n:
        end = start
        while end < n and key[order[end]] == key[order[start]]:
            subject = order[end]
            if asking[subject]:
                below, place = 0.0, rank[subject]
                while place > 0:  # the tree's sum below a rank
                    below += tree[place]
                    place -= place & -place
                lower[subject] = below + 0.5 * at_rank[rank[subject]]
                total[subject] = met
            end += 1
        for number in range(start, end):
            subject = order[number]
            if weight[subject] > 0:
                place = rank[subject] + 1
                while place <= n_ranks:  # add to the tree at a rank
                    tree[place] += weight[subject]
                    place += place & -place
                at_rank[rank[subject]] += weight[subject]
                met += weight[subject]
        start = end
    return lower, total
