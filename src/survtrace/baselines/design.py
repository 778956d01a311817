"""A raw table becomes the matrix that the baselines' libraries want."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from survtrace.tables.covariates.covariates import infer_covariates, open_table
from survtrace.tables.covariates.encoding import Categories, learn_encoding


class Design:
    """Standardised numericals, one-hot categoricals, missing values as a level of their own.

    A column that is 0 for every training subject (nobody misses the value; an unseen level) is
    left out: no library can learn it, and a network would meet it with untrained parameters.

    Parameters
    ----------
    X
        Training rows.
    categorical
        Columns to treat as categorical whatever their dtype.
    pool_below
        The levels of a covariate with fewer training subjects share one column, which levels
        that are not seen in training get as well.
    max_columns
        Pool further levels, the rarest first, until there are no more columns than that (or
        nothing is left to pool).

    Attributes
    ----------
    n_pooled : int
        How many levels share a column with others.

    Examples
    --------
    >>> X = {"age": [40.0, 60.0, None], "sex": ["f", "m", "f"]}
    >>> Design(X).matrix(X).tolist()               # age missing, age, f, m
    [[0.0, -1.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0], [1.0, 0.0, 1.0, 0.0]]
    >>> X = {"town": ["a", "a", "a", "b", "c"]}
    >>> Design(X, pool_below=2).matrix(X).tolist()   # b and c pooled, a
    [[0.0, 1.0], [0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [1.0, 0.0]]
    """

    def __init__(
        self,
        X: Any,
        categorical: Sequence[str | int] | None = None,
        pool_below: int = 1,
        max_columns: int | None = None,
    ) -> None:
        table = open_table(X)
        self.encoding = learn_encoding(table, infer_covariates(table, categorical))
        self._column_of = np.arange(int(self.encoding.first_rows[-1]))
        self._columns = self._column_of
        counts = np.asarray(abs(self._sparse(table)).sum(axis=0)).ravel()
        levels, pools = self._levels()
        pooled = levels & (counts < pool_below)
        if max_columns is not None:
            # Pool the rarest levels that would be columns beyond the limit.
            free = levels & ~pooled & (counts > 0)
            n_others = int((counts[~levels] > 0).sum()) + len(np.unique(pools[levels]))
            rarest = np.flatnonzero(free)[np.argsort(counts[free], kind="stable")]
            pooled[rarest[: max(0, n_others + len(rarest) - max_columns)]] = True
        self.n_pooled = int((pooled & (counts > 0)).sum())
        self._column_of = np.where(pooled, pools, self._column_of)
        counts = np.asarray(abs(self._sparse(table)).sum(axis=0)).ravel()
        self._columns = np.flatnonzero(counts > 0)

    def matrix(self, X: Any) -> NDArray[np.float64]:
        """Make the matrix, shape (subject, column)."""
        return np.asarray(self._sparse(open_table(X)).toarray(), dtype=np.float64)

    def _sparse(self, table: Any) -> sparse.csr_matrix:
        encoded = self.encoding.encode(table)
        pooled = encoded._replace(rows=self._column_of[encoded.rows].astype(np.int32))
        return pooled.design(len(self._column_of))[:, self._columns]

    def _levels(self) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Find the rows that are levels, and the row "unseen" each may be pooled into."""
        first_rows = self.encoding.first_rows
        levels, pools = np.zeros(first_rows[-1], dtype=bool), np.zeros(first_rows[-1], np.int64)
        for first, column in zip(first_rows.tolist(), self.encoding.columns, strict=False):
            if isinstance(column, Categories):
                rows = slice(first + column.n_silent, first + column.n_rows)
                levels[rows], pools[rows] = True, first + column.n_silent - 1
        return levels, pools


def independent_columns(design: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return columns that say everything the others do, once a constant is taken out.

    For a regression without penalty, which cannot bear a one-hot block that sums to 1.

    Examples
    --------
    >>> independent_columns(np.array([[1.0, 0, 2], [0, 1, 5], [1, 0, 3]])).tolist()
    [0, 2]
    """
    centred = design - design.mean(axis=0)
    triangle, order = linalg.qr(centred, mode="r", pivoting=True)
    size = np.abs(np.diag(triangle))
    return np.sort(order[: int((size > 1e-8 * max(size.max(initial=0.0), 1e-300)).sum())])
