"""Raw rows become columns of numbers and levels, without a library of frames."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from survtrace.errors import DataError
from survtrace.tables.covariates.cells import require_plain_cells
from survtrace.tables.covariates.covariate import (
    Covariate,
    learned_names,
    require_distinct_names,
)
from survtrace.tables.covariates.distinct_values import factorise, is_missing
from survtrace.tables.covariates.encoding import Encoded, Encoding
from survtrace.tables.covariates.magnitude import LARGEST, require_magnitude
from survtrace.tables.covariates.real_numbers import (
    complex_numbers,
    dense_array,
    is_complex,
    not_computed,
    sparse_matrix,
)
from survtrace.tables.covariates.values import (
    Column,
    checked_numbers,
    numbers_in_text,
    read_levels,
)
from survtrace.tables.table import Table, is_pandas, is_path

NUMBERS, TIMES = "biuf", "mM"  # kinds of numpy's types
# All other cells are read by their text, as the estimator reads them.
NUMBER_TYPES = (int, float, bytes, Decimal, np.bool_, np.integer, np.floating)


def encode_rows(encoding: Encoding, X: Table) -> Encoded:
    """Encode raw rows as the estimator does; warn of unseen categories and extra columns.

    Examples
    --------
    >>> encoding = Encoding.from_dict({"sex": {"levels": ["f", "m"]}})
    >>> encode_rows(encoding, [{"sex": "m"}, {"sex": None}]).rows.tolist()
    [[3], [0]]
    """
    columns = open_rows(X)
    names = learned_names(columns, encoding.covariates, encoding.left_out)
    read = [
        read_column(columns[name], covariate)
        for name, covariate in zip(names, encoding.covariates, strict=True)
    ]
    n_subjects = _n_subjects(columns)
    if n_subjects == 0:
        raise DataError("X must have at least one subject; got 0 sample(s).")
    return encoding.encode_columns(read, n_subjects)


def open_rows(X: Table) -> dict[str, Any]:
    """Give the columns of a table by name: rows as mappings, columns, arrays or any frame.

    Examples
    --------
    >>> open_rows([{"age": 61, "sex": "f"}, {"age": 47}])
    {'age': [61, 47], 'sex': ['f', None]}
    """
    if isinstance(X, Mapping):
        return _columns_of_mapping(X)
    is_list = isinstance(X, Sequence) and not isinstance(X, memoryview)  # whose rows none can read
    if is_list and X and all(isinstance(row, Mapping) for row in X):
        names = dict.fromkeys(str(name) for row in X for name in row)
        return {name: [row.get(name) for row in X] for name in names}
    if is_path(X):
        raise DataError(
            f"survtrace.portable reads no files; got the path {str(X)!r}. Pass rows, or predict "
            "from a file by survtrace.load."
        )
    if isinstance(X, np.ndarray) and X.dtype.names:
        return {name: np.atleast_1d(X[name]) for name in X.dtype.names}
    kind = type(X)  # pandas gives columns as attributes of a frame, such as one called "collect"
    if hasattr(kind, "collect"):  # a frame of polars that has not been computed
        raise not_computed(X)
    if hasattr(X, "columns") and hasattr(X, "__getitem__"):
        # Of Arrow, the columns have no names.
        names = X.column_names if hasattr(kind, "column_names") else X.columns
        require_distinct_names([str(name) for name in names])
        return {str(name): X[name] for name in names}
    if hasattr(X, "toarray"):
        raise sparse_matrix()
    array = dense_array(X)
    return {f"x{j}": array[:, j] for j in range(array.shape[1])}


def _columns_of_mapping(X: Mapping[Any, Any]) -> dict[str, Any]:
    columns = {str(name): values for name, values in X.items()}
    if X and all(np.ndim(values) == 0 for values in X.values()):
        raise DataError(
            "X must be a table with a row for each subject; got a mapping with one value for each "
            "column. One subject is a table of one row: [row]."
        )
    lengths = {len(values) for values in columns.values() if np.ndim(values) > 0}
    if len(lengths) > 1 or any(np.ndim(values) != 1 for values in columns.values()):
        raise DataError(
            "X must be a table with a row for each subject; a mapping needs columns of one "
            f"length (got {sorted(lengths)}). Pass a frame."
        )
    return columns


def _n_subjects(columns: Mapping[str, Any]) -> int:
    return len(next(iter(columns.values()), ()))


def read_column(values: Any, covariate: Covariate) -> Column:
    """Read the raw values of a covariate as numbers or levels, by its kind.

    Examples
    --------
    >>> read_column([61, None, "47"], Covariate("age", "numerical"))
    array([61., nan, 47.])
    """
    if isinstance(values, np.ma.MaskedArray):
        masked: Any = values.astype(object)
        values = masked.filled(None)
    if not isinstance(values, np.ndarray | list):
        values = _values_of(values, covariate)
    if isinstance(values, list) or values.dtype == object:
        require_plain_cells(values, covariate.name)
    if covariate.kind == "categorical":
        return read_levels(*_factorised(values, covariate.name), covariate)
    try:
        numbers = _as_floats(values, covariate.name)
        if numbers is None:
            found = _factorised(values, covariate.name)
            numbers = numbers_in_text(*found, covariate)
        if _is_usual(numbers, covariate):
            return numbers
        numbers = checked_numbers(numbers, covariate)
    except OverflowError:  # a whole number that no float can hold: infinite, to be refused
        limit = sys.float_info.max
        too_large = [isinstance(value, int) and abs(value) > limit for value in values]
        numbers = np.where(too_large, np.inf, 0.0)
    require_magnitude(numbers, covariate.name)
    return numbers


def _values_of(column: Any, covariate: Covariate) -> NDArray[Any] | list[Any]:
    """Take the values out of a column of any library, dates that are categories as objects.

    Categories of pandas are taken by their codes: pandas itself writes the span from 50 to 60 as
    50.0 to 60.0 where another value is missing.
    """
    if is_pandas(column, "Series", "Categorical") and hasattr(column.dtype, "categories"):
        coded = column.cat if is_pandas(column, "Series") else column
        categories: Any = np.array([*coded.categories, None], dtype=object)
        return categories[coded.codes]  # code -1 is the last
    if hasattr(column, "to_pylist"):  # of Arrow
        return list(column.to_pylist())
    if not hasattr(column, "to_numpy"):
        return list(column)
    values: NDArray[Any] = column.to_numpy()
    dates = covariate.kind == "categorical" and values.dtype.kind in TIMES
    return list(column) if dates else values


def _is_usual(numbers: NDArray[np.float64], covariate: Covariate) -> bool:
    """Check by one step that there is nothing to refuse or to mark as missing."""
    is_plain = not covariate.missing and covariate.low is None and covariate.high is None
    return bool(is_plain and np.fmax.reduce(np.abs(numbers), initial=0.0) <= LARGEST)


def _as_floats(values: NDArray[Any] | list[Any], name: str) -> NDArray[np.float64] | None:
    """Convert a column of numbers to floats; None if it has texts."""
    if isinstance(values, np.ndarray):
        if values.dtype.kind in NUMBERS:
            return values.astype(np.float64)
        if values.dtype.kind in TIMES:
            raise DataError(
                f"column {name!r} is numerical; got {values.dtype}. "
                "Convert it to numbers, or name it in categorical= when fitting."
            )
        values = values.tolist()
    if is_complex(values):
        raise complex_numbers(name)
    cells = [np.nan if is_missing(value) else value for value in values]
    if not all(isinstance(cell, NUMBER_TYPES) for cell in cells):
        return None
    try:
        return np.array(cells, dtype=np.float64)
    except ValueError:  # bytes that are no number
        return None


def _factorised(values: NDArray[Any] | list[Any], name: str) -> tuple[NDArray[np.intp], list[Any]]:
    if is_complex(values):
        raise complex_numbers(name)
    if isinstance(values, np.ndarray):
        if values.dtype.kind == "M":  # else numpy would give days, or count nanoseconds
            values = values.astype("datetime64[us]")
        values = values.tolist()
    return factorise(values)
