"""Read the columns of a frame: numbers, or codes into a list of levels."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from survtrace.errors import DataError
from survtrace.tables.covariates.cells import require_plain_cells
from survtrace.tables.covariates.covariate import Covariate
from survtrace.tables.covariates.distinct_values import factorise_array
from survtrace.tables.covariates.magnitude import require_magnitude, without_underflow
from survtrace.tables.covariates.values import (
    Column,
    Levels,
    checked_numbers,
    merge_equal,
    numbers_in_text,
    read_levels,
    text_of,
)
from survtrace.tables.tasks import Run, map_in_order, one_by_one

TEXTS = (nw.String, nw.Categorical, nw.Enum)
CODED = (nw.Boolean, *TEXTS)
BEYOND_NUMPY = (nw.Int128, nw.UInt128)
ONE_KIND = ("string", "integer", "floating", "boolean", "mixed-integer-float", "empty")
FEW_LEVELS, N_HEAD = 64, 2**10


def read_columns(
    table: nw.DataFrame[Any],
    covariates: Sequence[Covariate],
    first_row: int = 0,
    run: Run = one_by_one,
) -> list[Column]:
    """Read the columns of several covariates; ``run`` may read them in threads."""
    return map_in_order(lambda each: read_column(table, each, first_row), covariates, run)


def read_column(table: nw.DataFrame[Any], covariate: Covariate, first_row: int = 0) -> Any:
    """Read numbers or levels, by the covariate's kind; ``first_row`` is that of a chunk.

    Examples
    --------
    >>> table = nw.from_native(pd.DataFrame({"sex": ["f", None, "m"]}))
    >>> read_column(table, Covariate("sex", "categorical"))
    Levels(codes=array([ 0, -1,  1]), text=['f', 'm'])
    """
    if covariate.kind == "categorical":
        return levels(table, covariate, first_row)
    try:
        values = numbers(table, covariate, first_row)
    except OverflowError:  # a whole number that no float can hold: infinite, to be refused
        found, limit = table.get_column(covariate.name).to_list(), sys.float_info.max
        too_large = [isinstance(value, int) and abs(value) > limit for value in found]
        values = np.where(too_large, np.inf, 0.0)
    require_magnitude(values, covariate.name, first_row)
    return without_underflow(values)


def plain_columns(table: nw.DataFrame[Any], covariates: Sequence[Covariate]) -> pd.DataFrame:
    """Convert covariates to plain numbers and categories, for methods that read no raw table.

    Examples
    --------
    >>> table = nw.from_native(pd.DataFrame({"crp": ["1,5", "<0,6"]}))
    >>> crp = Covariate("crp", "numerical", decimal=",", in_text=True)
    >>> plain_columns(table, [crp])["crp"].tolist()
    [1.5, 0.6]
    """
    columns: dict[str, Any] = {}
    for covariate in covariates:
        column = read_column(table, covariate)
        if isinstance(column, Levels):
            column = pd.Categorical.from_codes(column.codes, pd.Index(column.text))
        columns[covariate.name] = column
    native = table.to_native()
    index = native.index if isinstance(native, pd.DataFrame) else None
    return pd.DataFrame(columns, index=index)


def numbers(
    table: nw.DataFrame[Any], covariate: Covariate, first_row: int = 0
) -> NDArray[np.float64]:
    """Read a numerical column as floats, NaN where missing.

    Examples
    --------
    >>> numbers(nw.from_native(pd.DataFrame({"age": [61, None]})), Covariate("age", "numerical"))
    array([61., nan])
    """
    series = table.get_column(covariate.name)
    _require_plain(series)
    if not series.dtype.is_float() and series.null_count() == len(series):
        return np.full(len(series), np.nan)
    values = _as_floats(series)
    if values is None:
        if not (series.dtype in TEXTS or series.dtype in (nw.Object, nw.Unknown)):
            raise DataError(
                f"column {covariate.name!r} is numerical; got {series.dtype}. "
                "Convert it to numbers, or name it in categorical= when fitting."
            )
        values = numbers_in_text(*_factorise(series), covariate, first_row)
    return checked_numbers(values, covariate, first_row)


def _as_floats(series: nw.Series[Any]) -> NDArray[np.float64] | None:
    """Convert a column of numbers to floats; None if it has texts."""
    if series.dtype.is_numeric():
        with suppress(Exception):  # of the library, for integers of more bits than a float has
            return series.cast(nw.Float64).to_numpy().astype(np.float64, copy=False)
    elif series.dtype not in (nw.Boolean, nw.Object, nw.Unknown):
        return None
    values = series.to_list()
    if any(isinstance(value, str) for value in values):
        return None
    try:
        column = pd.to_numeric(pd.Series(values, dtype=object))
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        return None


def levels(table: nw.DataFrame[Any], covariate: Covariate, first_row: int = 0) -> Levels:
    """Read a categorical column as text levels in order of appearance; 1, 1.0, "1" are one level.

    Spaces around a text do not count; an empty text is missing.

    Examples
    --------
    >>> levels(nw.from_native(pd.DataFrame({"a": [2.0, 1.0, 2.0]})), Covariate("a", "categorical"))
    Levels(codes=array([0, 1, 0]), text=['2', '1'])
    """
    return read_levels(*_factorise(table.get_column(covariate.name)), covariate, first_row)


def text_levels(series: nw.Series[Any]) -> Levels:
    """Factorise a column of any type by its texts, spaces included; -1 where missing."""
    codes, distinct = _factorise(series)
    return merge_equal(codes, [text_of(level) for level in distinct])


def _factorise(series: nw.Series[Any]) -> tuple[NDArray[np.intp], list[Any]]:
    """Code each row by the distinct values that occur, -1 if missing; return codes and values."""
    frame, dtype = series.implementation, series.dtype
    _require_plain(series)
    if frame.is_pandas():
        return _factorise_pandas(series.to_native())
    if frame.is_pyarrow():
        return _factorise_pandas(pd.Series(pd.arrays.ArrowExtensionArray(series.to_native())))
    has_numbers = dtype.is_float() or (dtype.is_integer() and dtype not in BEYOND_NUMPY)
    if frame.is_polars() and (has_numbers or dtype in CODED):
        return _factorise_polars(series)
    return _factorise_pandas(pd.Series(series.to_list(), dtype=object))


def _require_plain(series: nw.Series[Any]) -> None:
    """Refuse cells that are no number, text or date, where the type of the column allows them."""
    dtype, native = series.dtype, series.to_native()
    if isinstance(native, pd.Series) and native.dtype == object:  # narwhals looks at 100 rows only
        doubtful = pd.api.types.infer_dtype(native, skipna=True) not in ONE_KIND
    else:
        doubtful = dtype in (nw.Object, nw.Unknown, nw.Binary) or dtype.is_nested()
    if doubtful:
        require_plain_cells(series.to_list(), series.name)


def _factorise_pandas(series: pd.Series[Any]) -> tuple[NDArray[np.intp], list[Any]]:
    values: Any = series.array
    if isinstance(values, pd.Categorical) and len(values.categories) <= FEW_LEVELS:
        codes, occurring = _by_appearance(values.codes, len(values.categories))
        return codes, values.categories[occurring].tolist()
    if str(series.dtype).startswith("dictionary<"):  # it would name levels that do not occur
        import pyarrow

        coded = pyarrow.array(values)
        if isinstance(coded, pyarrow.ChunkedArray):
            coded = coded.unify_dictionaries().combine_chunks()
        if len(coded.dictionary) <= FEW_LEVELS and not coded.dictionary.null_count:
            given = coded.indices.cast(pyarrow.int64()).fill_null(-1).to_numpy()
            codes, occurring = _by_appearance(given, len(coded.dictionary))
            return codes, coded.dictionary.take(pyarrow.array(occurring)).to_pylist()
        values = coded.cast(coded.type.value_type).to_pandas().to_numpy()
    elif isinstance(series.dtype, np.dtype) or getattr(series.dtype, "storage", "") == "python":
        values = series.to_numpy()
    codes, distinct = factorise_array(values)
    if distinct.dtype == object:  # whole numbers of any size among them, which no Series takes
        return codes, distinct.tolist()
    return codes, pd.Series(distinct).tolist()


def _by_appearance(
    codes: NDArray[np.integer[Any]], n_levels: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Number codes by their first appearance, -1 staying so; return also those that occur.

    As `pandas.factorize` does, which keeps the interpreter lock. The first rows nearly always have
    every level that is not rare.

    Examples
    --------
    >>> _by_appearance(np.array([2, -1, 0, 2]), n_levels=3)
    (array([ 0, -1,  1,  0]), array([2, 0]))
    """
    first = np.full(n_levels + 1, len(codes))  # row of each level; behind them, that of code -1
    seen, rows = np.unique(codes[:N_HEAD], return_index=True)
    first[seen] = rows
    for level in np.flatnonzero(first[:-1] == len(codes)) if len(codes) else ():
        is_here = codes == level
        row = int(is_here.argmax())
        first[level] = row if is_here[row] else len(codes)
    occurring = np.argsort(first[:-1], kind="stable")
    occurring = occurring[: np.count_nonzero(first[:-1] < len(codes))]
    number = np.full(n_levels + 1, -1)
    number[occurring] = np.arange(len(occurring))
    return np.take(number, codes, mode="wrap"), occurring  # so that code -1 is the last


def _factorise_polars(series: nw.Series[Any]) -> tuple[NDArray[np.intp], list[Any]]:
    """Factorise texts by the codes polars has for them, numbers as they are."""
    present = series.drop_nulls()
    physical = present.cast(nw.Categorical) if present.dtype == nw.String else present
    found, distinct = pd.factorize(physical.to_native().to_physical().to_numpy())
    codes = np.full(len(series), -1, dtype=np.intp)
    codes[~series.is_null().to_numpy()] = found
    if present.dtype in TEXTS:
        return codes, present.unique(maintain_order=True).to_list()
    return codes, distinct.tolist()
