"""Rows of two pandas tables, matched by their labels where these say that the order differs."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from survtrace.errors import DataError, DataWarning


def align_rows(X: Any, given: Any, name: str) -> Any:
    """Bring a pandas frame, a Series or a mapping of these into the order of the rows of X.

    Equal labels, or no labels on one side: rows belong together by position. The same labels in
    another order: by label, with a warning. Other labels: `DataError`. A default index (0, 1, ...)
    says nothing of its own, so that rows go by position; unless the other side has the same
    numbers in another order, where both could be meant: `DataError`.

    Examples
    --------
    >>> X = pd.DataFrame({"age": [61, 47]}, index=["b", "a"])
    >>> with warnings.catch_warnings(action="ignore"):
    ...     align_rows(X, pd.Series([1, 2], index=["a", "b"]), "y").tolist()
    [2, 1]
    """
    if isinstance(given, Mapping):
        return _align_mapping(X, given, name)
    index, other = _index_of(X), _index_of(given)
    if index is None or other is None:
        return given
    order = _order(index, other, name)
    return given if order is None else given.iloc[order]


def _align_mapping(X: Any, given: Mapping[Any, Any], name: str) -> Mapping[Any, Any]:
    """Each Series by the rows of X or, if X has no labels, by those of the first Series."""
    labelled = [values for values in given.values() if _index_of(values) is not None]
    if not labelled:
        return given
    rows = X if _index_of(X) is not None else labelled[0]
    return {key: align_rows(rows, values, f"{name}[{key!r}]") for key, values in given.items()}


def _index_of(table: Any) -> pd.Index[Any] | None:
    return table.index if isinstance(table, pd.DataFrame | pd.Series) else None


def _order(index: pd.Index[Any], other: pd.Index[Any], name: str) -> NDArray[np.intp] | None:
    """Positions of the labels of X among the others; None to leave rows where they are."""
    if len(index) != len(other) or index.equals(other):
        return None
    if _is_default(index) or _is_default(other):
        if _counts_rows(index) and _counts_rows(other):
            raise DataError(
                f"X and {name} must have their rows in the same order; their row labels are the "
                "same numbers in another order, and one of them may only count rows. To go by "
                f"label, pass {name}.loc[X.index]; to go by position, reset the index of both: "
                ".reset_index(drop=True)."
            )
        return None
    repeated = [side for side, labels in (("X", index), (name, other)) if not labels.is_unique]
    positions = None if repeated else other.get_indexer(index)
    if positions is None or (positions < 0).any():
        n_absent = int((~index.isin(other)).sum())
        seen = (
            f"labels of {' and '.join(repeated)} occur more than once"
            if repeated
            else f"{n_absent} of {len(index)} labels of X are not among those of {name} "
            f"(first: {index[positions < 0][0]!r})"
        )
        raise DataError(
            f"X and {name} must have the same row labels; {seen}. Build both from the same table, "
            "or go by position: .reset_index(drop=True) on both."
        )
    warnings.warn(
        f"the rows of X and {name} have the same labels in another order; {name} is taken in the "
        "order of X.",
        DataWarning,
        stacklevel=6,
    )
    return positions


def _is_default(index: pd.Index[Any]) -> bool:
    return isinstance(index, pd.RangeIndex) and index.start == 0 and index.step == 1


def _counts_rows(index: pd.Index[Any]) -> bool:
    """Whether the labels are the numbers 0, 1, ... in any order."""
    if index.dtype.kind not in "iuf":
        return False
    return bool(np.array_equal(np.sort(index.to_numpy()), np.arange(len(index))))
