"""Match the rows of two pandas tables by their labels, where their order differs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from survtrace.errors import DataError, DataWarning, short, warn
from survtrace.tables.table import is_pandas

if TYPE_CHECKING:
    import pandas as pd


def align_rows(X: Any, given: Any, name: str, *, table: str = "X") -> Any:
    """Bring a pandas frame, a Series or a mapping of these into the row order of X.

    ``name`` and ``table`` are what messages call the two. Equal labels, or no labels on one side:
    rows belong together by position. The same labels in another order: by label, with a warning.
    Other labels: `DataError`. A default index (0, 1, ...) only counts rows, which go by position
    then; unless the other side has the same numbers in another order, or a run of numbers that
    overlaps, where either could be meant: `DataError`.

    Examples
    --------
    >>> import warnings
    >>> import pandas as pd
    >>> X = pd.DataFrame({"age": [61, 47]}, index=["b", "a"])
    >>> with warnings.catch_warnings(action="ignore"):
    ...     align_rows(X, pd.Series([1, 2], index=["a", "b"]), "y").tolist()
    [2, 1]
    """
    if isinstance(given, Mapping):  # by the rows of X or, if X has no labels, of the first Series
        labelled = [values for values in given.values() if _index_of(values) is not None]
        if not labelled:
            return given
        rows = X if _index_of(X) is not None else labelled[0]
        return {key: align_rows(rows, values, f"{name}[{key!r}]") for key, values in given.items()}
    index, other = _index_of(X), _index_of(given)
    if index is None or other is None:
        return given
    order = _order(index, other, name, table)
    return given if order is None else given.iloc[order]


def _index_of(table: Any) -> pd.Index[Any] | None:
    return table.index if is_pandas(table, "DataFrame", "Series") else None


def _order(
    index: pd.Index[Any], other: pd.Index[Any], name: str, table: str
) -> NDArray[np.intp] | None:
    """Find the positions of the labels of X among the others; None to leave rows as they are."""
    if len(index) != len(other) or index.equals(other):
        return None
    if _is_default(index) or _is_default(other):
        if _may_be_labels(index) and _may_be_labels(other):
            raise DataError(
                f"{table} and {name} must have the same row labels; theirs are numbers that differ "
                "in order or by a few rows, and one of them may only count rows. To go by label, "
                f"pass {name}.loc[{table}.index]; to go by position, .reset_index(drop=True) on "
                "both."
            )
        return None
    repeated = [side for side, labels in ((table, index), (name, other)) if not labels.is_unique]
    absent = index[~index.isin(other)]
    if repeated or len(absent):
        seen = (
            f"labels of {' and '.join(repeated)} occur more than once"
            if repeated
            else f"{len(absent)} of {len(index)} labels of {table} are not among those of {name} "
            f"(first: {short(absent[0])})"
        )
        raise DataError(
            f"{table} and {name} must have the same row labels; {seen}. Build both from the same "
            "table, or go by position: .reset_index(drop=True) on both."
        )
    warn(
        f"the rows of {table} and {name} have the same labels in another order; {name} is taken "
        f"in the order of {table}.",
        DataWarning,
    )
    return np.asarray(other.get_indexer(index))


def _is_default(index: Any) -> bool:
    return is_pandas(index, "RangeIndex") and index.start == 0 and index.step == 1


def _may_be_labels(index: pd.Index[Any]) -> bool:
    """Check whether labels are 0, 1, ... in any order, or a run of numbers that starts in them."""
    if index.dtype.kind not in "iuf":
        return False
    labels = index.to_numpy()
    run = np.arange(len(index))
    shifted = abs(labels[0]) < len(index) and np.array_equal(labels, labels[0] + run)
    return bool(shifted or np.array_equal(np.sort(labels), run))
