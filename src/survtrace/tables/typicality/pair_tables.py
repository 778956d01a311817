"""Count pairs of covariates in bins: which combinations are rarer than each value alone says."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from survtrace.tables.typicality.normal_scores import NO_BIN

Array = NDArray[np.float64]
Bins = NDArray[np.int64]
MOST_PAIRS = 64  # the most dependent ones; between others nothing is impossible
MOST_COLUMNS = 256  # among which pairs are looked for
MOST_SUMS = 2e9  # products of the counts that find them; of more, fewer subjects are counted
COARSE_BINS = 4  # by which they are found in a wide table
# Standard errors by which a pair depends: so many that hardly any is chosen by chance. Pairs are
# chosen by the very subjects that are then judged, who would look too usual.
CLEARLY = 6.0
PRIOR = 1.0  # subjects added to each count, so that a cell of few says little


@dataclass(frozen=True)
class PairTables:
    """How much rarer each combination of two bins is than if they were independent.

    ``tables`` has the logarithm of expected over observed counts, (pair, bin, bin); its last row
    and column, of what is missing or unseen, have the mean over subjects: nothing unusual.
    """

    columns: NDArray[np.int64]
    tables: Array

    def read(self, bins: Bins) -> Array:
        """Look up each pair of some subjects, shape (subject, pair)."""
        first, second = self.columns.reshape(-1, 2).T
        return self.tables[np.arange(len(first)), bins[:, first], bins[:, second]]  # NO_BIN: last


def find_pairs(bins: Bins) -> NDArray[np.int64]:
    """Find the pairs of covariates that depend on each other most clearly, shape (pair, 2).

    The likelihood ratio of each table of counts is compared with what chance gives.

    Examples
    --------
    >>> first = np.arange(60) % 2
    >>> find_pairs(np.stack([first, 1 - first, np.arange(60) // 30], axis=1)).tolist()
    [[0, 1]]
    """
    bins = bins[:, :MOST_COLUMNS]
    n, n_columns = bins.shape
    n_bins = int(bins.max(initial=0)) + 1
    if n_columns > 64 and n_bins > COARSE_BINS:
        bins = np.where(bins == NO_BIN, NO_BIN, bins * COARSE_BINS // n_bins)
        n_bins = COARSE_BINS
    most = int(max(500, MOST_SUMS / (n_columns * n_bins) ** 2))
    bins = bins[:: -(-n // most)]
    is_in = (bins[:, :, None] == np.arange(n_bins)).astype(np.float32)
    flat = is_in.reshape(len(bins), -1)
    counts = (flat.T @ flat).reshape(n_columns, n_bins, n_columns, n_bins).astype(np.float64)
    ratio, free = _likelihood_ratio(counts.transpose(0, 2, 1, 3))
    clear = np.where(free > 0, (ratio - free) / np.sqrt(2 * np.maximum(free, 1)), -np.inf)
    first, second = np.triu_indices(n_columns, 1)
    order = np.argsort(-clear[first, second], kind="stable")[:MOST_PAIRS]
    chosen = order[clear[first, second][order] > CLEARLY]
    return np.stack([first[chosen], second[chosen]], axis=1)


def _likelihood_ratio(counts: Array) -> tuple[Array, Array]:
    """Compute twice the log likelihood ratio of each table against independence, and its df."""
    by_row, by_column = counts.sum(axis=3), counts.sum(axis=2)
    free = (np.count_nonzero(by_row, axis=2) - 1) * (np.count_nonzero(by_column, axis=2) - 1)
    ratio = (
        _entropy_sum(counts, (2, 3)) + _entropy_sum(counts.sum(axis=(2, 3)), ())
        - _entropy_sum(by_row, (2,)) - _entropy_sum(by_column, (2,))
    )  # fmt: skip
    return 2 * ratio, free


def _entropy_sum(counts: Array, axes: tuple[int, ...]) -> Array:
    """Sum of n log n over some axes."""
    terms: Array = counts * np.log(np.maximum(counts, 1))
    return terms.sum(axis=axes) if axes else terms


def count_pairs(bins: Bins, columns: NDArray[np.int64], n_bins: int) -> Array:
    """Count the subjects of each pair of bins, shape (pair, bin, bin)."""
    counts = np.empty((len(columns), n_bins, n_bins))
    for k, (i, j) in enumerate(columns.tolist()):
        first, second = bins[:, i], bins[:, j]
        known = (first != NO_BIN) & (second != NO_BIN)
        cell = first[known] * n_bins + second[known]
        counts[k] = np.bincount(cell, minlength=n_bins**2).reshape(n_bins, n_bins)
    return counts


def pair_tables(counts: Array, columns: NDArray[np.int64], n_subjects: int) -> PairTables:
    """Turn counts into how much rarer each combination is than expected.

    ``n_subjects`` is the size of the whole table: by shares, and with a prior that is the same
    share, the tables of a part of it are on the same scale.
    """
    n = np.maximum(counts.sum(axis=(1, 2), keepdims=True), 1)
    share, prior = counts / n, PRIOR / n_subjects
    expected = share.sum(axis=1, keepdims=True) * share.sum(axis=2, keepdims=True)
    surprise = np.log((expected + prior) / (share + prior))
    mean = (surprise * share).sum(axis=(1, 2), keepdims=True)
    tables = np.broadcast_to(mean, (len(counts), *(size + 1 for size in counts.shape[1:]))).copy()
    tables[:, :-1, :-1] = surprise
    return PairTables(columns, tables)
