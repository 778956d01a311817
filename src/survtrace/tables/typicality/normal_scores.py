"""Say of each value how unusual it is alone: numbers on a normal scale, levels by their rarity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from survtrace.tables.covariates.encoding import MISSING, UNSEEN, Categories, Encoded, Encoding

Array = NDArray[np.float64]
MOST_KNOTS = 33  # of the middle of a number's distribution
SUBJECTS_PER_KNOT = 10  # a knot is a quantile: with fewer subjects it would be a subject's value
# Chances at which the knots beyond the outermost quantiles lie, where there are no values left.
TAIL_CHANCES = 10.0 ** -np.arange(1, 12.5, 0.5)
SHORTEST_TAIL = 0.05  # mean excess of a tail, in distances between the outermost quantiles
MOST_LEVELS = 12  # that have a bin of their own; all others share one
NO_BIN = -1  # what is missing or unseen has none


class Scores(NamedTuple):
    """What is known of some subjects, each of shape (subject, covariate).

    ``normal`` are numbers on a normal scale, NaN for levels and where missing. ``rarity`` is how
    unusual each value is alone, as the distance from 0 on that scale. ``bin`` cuts numbers at even
    quantiles and numbers the levels, the most frequent first.
    """

    normal: Array
    rarity: Array
    bin: NDArray[np.int64]


@dataclass(frozen=True)
class NormalScores:
    """The distribution of each covariate, as a few knots or as counts of levels.

    ``knots`` and ``scores`` have a row for each numerical covariate, ``rarity`` and ``bins`` an
    entry for each row of the embedding table. ``edges`` cut normal scores into bins.
    """

    knots: Array
    scores: Array
    rarity: Array
    bins: NDArray[np.int64]
    edges: Array

    @property
    def n_bins(self) -> int:
        """Count the bins of a covariate, at most."""
        return max(len(self.edges) + 1, MOST_LEVELS + 1)

    def read(self, encoding: Encoding, encoded: Encoded) -> Scores:
        """Look up the scores of some subjects."""
        rarity, bins = self.rarity.take(encoded.rows), self.bins.take(encoded.rows)
        normal = np.full(encoded.rows.shape, np.nan)
        numbers = encoding.numerical
        if not len(numbers):
            return Scores(normal, rarity, bins)
        # All numbers at once: of one subject, each step takes as long as for many.
        found, values = np.empty((len(normal), len(numbers))), encoded.values.T
        for k, j in enumerate(numbers.tolist()):
            found[:, k] = np.interp(values[j], self.knots[k], self.scores[k])
        alone, bin_of = np.abs(found), self.edges.searchsorted(found)
        missing = encoded.rows.take(numbers, axis=1) == encoding.missing_rows
        if missing.any():
            found[missing], alone[missing], bin_of[missing] = np.nan, 0.0, NO_BIN
        normal[:, numbers], rarity[:, numbers], bins[:, numbers] = found, alone, bin_of
        return Scores(normal, rarity, bins)


def learn_normal_scores(encoding: Encoding, encoded: Encoded, n_bins: int) -> NormalScores:
    """Learn the distribution of each covariate from some subjects."""
    first = encoding.first_rows
    rarity, bins = np.zeros(first[-1]), np.full(int(first[-1]), NO_BIN)
    curves = list[tuple[Array, Array]]()
    for j, column in enumerate(encoding.columns):
        rows = encoded.rows[:, j] - first[j]
        if isinstance(column, Categories):
            block = slice(first[j], first[j + 1])
            rarity[block], bins[block] = level_rarity(np.bincount(rows, minlength=column.n_rows))
        else:
            present = encoded.values[rows != MISSING, j]
            curves.append(number_curve(present.astype(np.float64)))
    length = max((len(x) for x, _ in curves), default=1)
    knots, scores = (
        np.array([np.pad(curve[k], (0, length - len(curve[k])), "edge") for curve in curves])
        for k in (0, 1)
    )
    edges = _normal_quantiles(np.arange(1, n_bins) / n_bins)
    return NormalScores(knots, scores, rarity, bins, edges)


def level_rarity(counts: NDArray[np.int64]) -> tuple[Array, NDArray[np.int64]]:
    """Compute how rare each level is, as a normal score, and its bin.

    The chance of a level is that of a level no more frequent; that of one that was never met is
    the share of the levels met once (Good 1953).

    Examples
    --------
    >>> rarity, bins = level_rarity(np.array([5, 0, 980, 20]))  # missing, unseen, two levels
    >>> rarity.round(2).tolist(), bins.tolist()
    ([0.0, 3.29, 0.0, 2.33], [-1, -1, 0, 1])
    """
    counts = counts.astype(np.float64)
    counts[[MISSING, UNSEEN]] = 0
    n = counts.sum()
    by_count, of_level = np.unique(counts, return_inverse=True)
    at_most = np.cumsum(np.bincount(of_level, counts))  # of levels as rare as each, or rarer
    unseen = (np.count_nonzero(counts == 1) + 1) / (n + 2)
    chance = np.where(by_count > 0, at_most / max(n, 1), unseen)[of_level]
    # A level that was met is no more unusual than one that never was.
    rarity = np.maximum(-_normal_quantiles(np.maximum(chance, 1 / (n + 2)) / 2), 0.0)
    rarity[MISSING] = 0.0  # of what is not known nothing can be unusual
    bins = np.full(len(counts), NO_BIN)
    met = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
    bins[met] = np.minimum(np.arange(len(met)), MOST_LEVELS)
    return rarity, bins


def number_curve(values: Array) -> tuple[Array, Array]:
    """Compute the curve from a number to its normal score, as knots between which it is a line.

    The middle follows the quantiles. Beyond the outermost ones, where there are too few values, it
    follows a generalised Pareto distribution with the mean and the variance of what lies there.

    Examples
    --------
    >>> x, score = number_curve(np.random.default_rng(0).normal(size=10_000))
    >>> np.interp([0.0, 1.0, 5.0], x, score).round(1).tolist()
    [0.0, 1.0, 4.5]
    """
    values = np.sort(values)
    n = len(values)
    if n == 0 or values[0] == values[-1]:
        return np.zeros(1), np.zeros(1)
    n_tail = max(1, int(min(max(10, 0.02 * n), n // 4)))
    low, high = values[min(n_tail, n - 1)], values[max(n - 1 - n_tail, 0)]
    if low > high:
        low = high = values[n // 2]
    n_knots = int(np.clip(n // SUBJECTS_PER_KNOT, 3, MOST_KNOTS))
    middle = values[(values >= low) & (values <= high)]
    x = np.unique(np.quantile(middle, np.linspace(0, 1, n_knots), method="nearest"))
    # The chance of a value that many share lies in the middle of its step.
    chance = (np.searchsorted(values, x, "left") + np.searchsorted(values, x, "right")) / (2 * n)
    shortest = SHORTEST_TAIL * max(high - low, (values[-1] - values[0]) / 50)
    above, above_chance = _tail(values[values > high] - high, n, shortest)
    below, below_chance = _tail(low - values[values < low], n, shortest)
    knots = np.concatenate([(low - below)[::-1], x, high + above])
    below_score, score, above_score = map(_normal_quantiles, (below_chance, chance, above_chance))
    scores = np.concatenate([below_score[::-1], score, -above_score])
    return knots, np.maximum.accumulate(scores)


def _normal_quantiles(chance: Array) -> Array:
    from scipy.special import ndtri  # here: what was learned is read without scipy

    quantiles: Array = ndtri(chance)
    return quantiles


def _tail(excess: Array, n: int, shortest: float) -> tuple[Array, Array]:
    """Compute knots of a tail: how far beyond the outermost quantile which chances lie.

    Shape and scale are those that mean and variance of the excesses give (Hosking, Wallis 1987).
    """
    chance = max(len(excess), 1) / (n + 1)
    mean, variance = (excess.mean(), excess.var()) if len(excess) > 1 else (0.0, 0.0)
    square = mean**2 / variance if variance > 0 else 1.0
    shape = float(max((1 - square) / 2, 0.0))  # below 1/2, from where on there is no variance
    scale = max(mean * (1 - shape), shortest)
    chances = TAIL_CHANCES[0.7 * chance > TAIL_CHANCES]
    if shape < 1e-6:
        return scale * np.log(chance / chances), chances
    return scale * ((chance / chances) ** shape - 1) / shape, chances
