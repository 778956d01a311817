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

Integers = NDArray[np.int64]


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

    def __add__(self, other: PairTotals) -> PairTotals:
        return PairTotals(self.concordant + other.concordant, self.comparable + other.comparable)

    @property
    def weight(self) -> float:
        """Of all comparable pairs."""
        return float(self.comparable[0].sum())

    @property
    def share(self) -> float:
        """The share of concordant pairs; NaN if no pair is comparable."""
        return float(self.concordant[0].sum()) / self.weight if self.weight > 0 else np.nan

    def gaps(self, whole: PairTotals) -> Floats:
        """Each subject's part in the share of ``whole`` less what is expected of its pairs.

        Shape (2, n), as the case and as the control. A gap is proportional to the subject's
        weight, so it tells what an error of that weight does to the share.
        """
        if not whole.weight > 0:
            return np.zeros_like(self.comparable)
        return (self.concordant - whole.share * self.comparable) / whole.weight

    def score(self, weights: Weights | None = None, *parts: Part) -> Score:
        """The share of concordant pairs; NaN if no pair is comparable.

        ``parts`` are the gaps that are proportional to IPCW weights, so that their noise counts.
        At most as many disjoint pairs as there are cases, controls, or half of both together
        speak for a perfect score.

        Examples
        --------
        >>> ends_first, estimate = np.array([0, 1, 2]), np.array([0.9, 0.1, 0.4])
        >>> pair_totals(ends_first, estimate, np.ones(3), np.ones(3)).score()
        0.6666666666666666
        """
        if not self.weight > 0:
            return Score.undefined(self.comparable.shape[1])
        influence, independent = self.gaps(self).sum(axis=0), np.zeros(0)
        if weights is not None:
            more, independent = weights.noise(*parts)
            influence = influence + more
        paired = self.comparable > 0
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
