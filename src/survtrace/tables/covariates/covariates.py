"""Open a table of covariates, and find the kind of each column, in token order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from scipy import sparse

from survtrace.errors import DataError, SettingError
from survtrace.tables.covariates.cells import require_plain_cells
from survtrace.tables.covariates.covariate import (
    Covariate,
    Kind,
    learned_names,
    require_distinct_names,
    require_unicode,
)
from survtrace.tables.covariates.real_numbers import (
    as_array,
    complex_numbers,
    dense_array,
    is_complex,
    not_computed,
    sparse_matrix,
)


def open_table(X: Any) -> nw.DataFrame[Any]:
    """Open any accepted table of covariates as a frame; arrays get the names x0, x1, ...

    Examples
    --------
    >>> open_table(np.zeros((2, 3))).columns
    ['x0', 'x1', 'x2']
    """
    if sparse.issparse(X):
        raise sparse_matrix()
    if isinstance(X, Mapping):
        X = _frame_of_mapping(X)
    frame = open_frame(X)
    if frame is None:
        return _table_of_array(X)
    if isinstance(native := frame.to_native(), pd.DataFrame):
        _refuse_complex(native)
    return frame


def open_frame(X: Any) -> nw.DataFrame[Any] | None:
    """Open a frame of any library, its names as texts that differ; None for all else.

    Examples
    --------
    >>> open_frame(pd.DataFrame({0: [1.0]})).columns, open_frame([[1.0]])
    (['0'], None)
    """
    if isinstance(X, pd.DataFrame):
        require_unicode(X.columns)
        if not all(isinstance(name, str) for name in X.columns):  # new names cost a copy of all
            X = X.set_axis([str(name) for name in X.columns], axis=1)
        require_distinct_names(list(X.columns))
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        raise not_computed(X)
    return frame if isinstance(frame, nw.DataFrame) else None


def _frame_of_mapping(X: Mapping[Any, Any]) -> pd.DataFrame:
    require_unicode(X)
    if X and all(np.ndim(values) == 0 for values in X.values()):
        raise DataError(
            "X must be a table with a row for each subject; got a mapping with one value for each "
            "column. One subject is a table of one row: pd.DataFrame([row])."
        )
    require_same_labels(X, "X")
    try:
        X = {name: as_array(v) if hasattr(v, "detach") else v for name, v in X.items()}
        try:
            return pd.DataFrame(X)
        except OverflowError:  # whole numbers beyond any float, which are refused by name later
            objects = {name: np.array(values, dtype=object) for name, values in X.items()}
            return pd.DataFrame(objects, dtype=object)
    except Exception as error:  # whatever pandas makes of sets, functions, other objects
        raise DataError(
            f"X must be a table with a row for each subject; a mapping needs columns of one "
            f"length ({error}). Pass a frame."
        ) from None


def require_same_labels(columns: Mapping[Any, Any], table: str) -> None:
    """Refuse columns of pandas with other row labels: by position or label, some would mispair.

    Examples
    --------
    >>> require_same_labels({"a": pd.Series([1, 2]), "b": pd.Series([1, 2], index=[1, 2])}, "X")
    Traceback (most recent call last):
    survtrace.errors.DataError: columns of X must have the same row labels; those of 'b' are not \
those of 'a'. Pass a frame, or arrays in one order (.to_numpy()).
    """
    series = {name: each for name, each in columns.items() if isinstance(each, pd.Series)}
    first = next(iter(series), None)
    for name, each in series.items():
        if not each.index.equals(series[first].index):
            raise DataError(
                f"columns of {table} must have the same row labels; those of {name!r} are not "
                f"those of {first!r}. Pass a frame, or arrays in one order (.to_numpy())."
            )


def _refuse_complex(X: pd.DataFrame) -> None:
    """Refuse columns of complex numbers, whose imaginary part would be lost."""
    for name, column in X.items():
        doubtful = pd.api.types.is_complex_dtype(column)
        if column.dtype.kind == "O":
            doubtful = pd.api.types.infer_dtype(column) in ("complex", "mixed")
        if doubtful and is_complex(column.to_numpy()):
            raise complex_numbers(name)


def _table_of_array(X: Any) -> nw.DataFrame[Any]:
    if isinstance(X, list | tuple) and X and all(isinstance(row, Mapping) for row in X):
        raise DataError(
            "X must be a table with a row for each subject; got a list of mappings. "
            "Make it a frame: pd.DataFrame(rows)."
        )
    array = dense_array(X)
    frame = pd.DataFrame(array, columns=[f"x{j}" for j in range(array.shape[1])])
    if array.dtype == object:
        with suppress(OverflowError):  # whole numbers beyond any float are refused by name later
            frame = frame.infer_objects()
    return nw.from_native(frame)


def infer_covariates(
    table: nw.DataFrame[Any], categorical: Sequence[str | int] | None = None
) -> tuple[Covariate, ...]:
    """Infer the kind of each column from its dtype; ``categorical`` names or counts exceptions.

    Examples
    --------
    >>> table = open_table({"age": [61.0, 47.0], "sex": ["f", "m"], "stage": [1, 3]})
    >>> [covariate.kind for covariate in infer_covariates(table, categorical=["stage"])]
    ['numerical', 'categorical', 'categorical']
    """
    named = names_of(() if categorical is None else categorical, table.columns)
    return tuple(
        Covariate(str(name), "categorical" if name in named else kind_of(table[name]))
        for name in table.columns
    )


def select_columns(
    table: nw.DataFrame[Any], covariates: Sequence[Covariate], left_out: Sequence[str] = ()
) -> nw.DataFrame[Any]:
    """Select the columns that were learned, by name; order and extra columns do not matter.

    Columns that the fit left out may be there or not.
    """
    return table.select(learned_names(table.columns, covariates, left_out))


def names_of(categorical: Sequence[str | int], columns: list[str]) -> set[str]:
    """Return the names of columns given by name or number."""
    if isinstance(categorical, str):
        raise SettingError(
            f"categorical must be a list of columns; got the text {categorical!r}. "
            f"Write categorical=[{categorical!r}]."
        )
    indices = range(-len(columns), len(columns))
    names = {
        columns[c] if isinstance(c, (int, np.integer)) and c in indices else str(c)
        for c in categorical
    }
    unknown = sorted(str(name) for name in names - set(columns))
    if unknown:
        raise SettingError(
            f"categorical must name columns of X; {unknown} are not among {columns}."
        )
    return names


def kind_of(series: nw.Series[Any]) -> Kind:
    """Find the kind of a column by its type; refuse dates and lists."""
    dtype = series.dtype
    if dtype.is_temporal():
        raise _dates(series.name, dtype)
    if dtype.is_nested():
        raise DataError(
            f"column {series.name!r} holds {dtype}; a covariate is one value a row. Take the "
            "values apart, or leave the column out."
        )
    if dtype.is_numeric():
        return "numerical"
    if dtype in (nw.Object, nw.Unknown):
        return _kind_of_objects(series)
    return "categorical"


def _dates(name: str, dtype: Any) -> DataError:
    return DataError(
        f"column {name!r} holds dates or times ({dtype}), which have no scale of their own. "
        "Convert it to a number, such as age in years, or drop it."
    )


def _kind_of_objects(series: nw.Series[Any]) -> Kind:
    values = series.to_list()
    require_plain_cells(values, series.name)
    kind = pd.api.types.infer_dtype(values, skipna=True)
    if kind == "complex":
        raise complex_numbers(series.name)
    if kind.startswith(("date", "time", "period")):
        raise _dates(series.name, kind)
    if kind in ("floating", "integer", "mixed-integer-float", "decimal", "empty"):
        return "numerical"
    return "categorical"
