"""A raw table becomes the matrix that the rivals' libraries want."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from survtrace.data.covariates import infer_covariates, open_table
from survtrace.data.encoding import learn_encoding


class Design:
    """Standardised numericals, one-hot categoricals, missing values as a level of their own.

    A column that is 0 for every training subject (nobody misses the value; an unseen level) is
    left out: no library can learn it, and a network would meet it with untrained parameters.

    Examples
    --------
    >>> X = {"age": [40.0, 60.0, None], "sex": ["f", "m", "f"]}
    >>> Design(X).matrix(X).tolist()               # age missing, age, f, m
    [[0.0, -1.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0], [1.0, 0.0, 1.0, 0.0]]
    """

    def __init__(self, X: Any, categorical: Sequence[str | int] | None = None) -> None:
        table = open_table(X)
        self.encoding = learn_encoding(table, infer_covariates(table, categorical))
        self.columns = np.arange(int(self.encoding.first_rows[-1]))
        self.columns = np.flatnonzero(self.matrix(table).any(axis=0))

    def matrix(self, X: Any) -> NDArray[np.float64]:
        """Shape (subject, column)."""
        encoded = self.encoding.encode(open_table(X))
        design = encoded.design(int(self.encoding.first_rows[-1]))
        return np.asarray(design[:, self.columns].toarray(), dtype=np.float64)


def independent_columns(design: NDArray[np.float64]) -> NDArray[np.int64]:
    """Columns that say everything the others do, once a constant is taken out.

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
