"""The values of one covariate: numbers, or places in a list of levels."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from survtrace.data.covariates import Covariate
from survtrace.data.magnitude import beyond_float, require_magnitude
from survtrace.errors import DataError


class Levels(NamedTuple):
    """A categorical column: each subject's place in a list of distinct texts, -1 if missing."""

    place: NDArray[np.int64]
    text: list[str]


Column = NDArray[np.float64] | Levels
TEXTS = (nw.String, nw.Categorical, nw.Enum)
CODED = (nw.Boolean, *TEXTS)


def read_column(table: nw.DataFrame[Any], covariate: Covariate, first_row: int = 0) -> Any:
    """Numbers or levels, as the covariate's kind says; ``first_row`` is that of a piece.

    Examples
    --------
    >>> table = nw.from_native(pd.DataFrame({"sex": ["f", None, "m"]}))
    >>> read_column(table, Covariate("sex", "categorical"))
    Levels(place=array([ 0, -1,  1]), text=['f', 'm'])
    """
    if covariate.kind == "categorical":
        return levels(table, covariate)
    try:
        values = numbers(table, covariate, first_row)
    except OverflowError:
        values = beyond_float(table[covariate.name].to_list())
    require_magnitude(values, covariate.name, first_row)
    return values


def numbers(
    table: nw.DataFrame[Any], covariate: Covariate, first_row: int = 0
) -> NDArray[np.float64]:
    """A numerical column as floats, NaN where missing.

    Examples
    --------
    >>> numbers(nw.from_native(pd.DataFrame({"age": [61, None]})), Covariate("age", "numerical"))
    array([61., nan])
    """
    series = table[covariate.name]
    if not series.dtype.is_float() and series.null_count() == len(series):
        return np.full(len(series), np.nan)
    if not (series.dtype.is_numeric() or series.dtype in (nw.Boolean, nw.Object, nw.Unknown)):
        raise DataError(
            f"column {covariate.name!r} is numerical; got {series.dtype}. "
            "Convert it to numbers, or name it in categorical= when fitting."
        )
    values = _as_floats(series)
    if values is None:
        raise DataError(
            f"column {covariate.name!r} is numerical; it holds values that are not numbers. "
            "Convert it to numbers, or name it in categorical= when fitting."
        )
    infinite = np.isinf(values)
    if infinite.any():
        raise DataError(
            f"numerical covariates must be finite; column {covariate.name!r} has "
            f"{infinite.sum()} infinite values (first: row "
            f"{first_row + np.flatnonzero(infinite)[0]}). "
            "Replace infinity by a missing value or a bound."
        )
    return values


def _as_floats(series: nw.Series[Any]) -> NDArray[np.float64] | None:
    if series.dtype.is_numeric():
        return series.cast(nw.Float64).to_numpy().astype(np.float64, copy=False)
    try:
        column = pd.to_numeric(pd.Series(series.to_list(), dtype=object))
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        return None


def levels(table: nw.DataFrame[Any], covariate: Covariate) -> Levels:
    """A categorical column as text levels in order of appearance; 1, 1.0 and "1" are one level.

    Examples
    --------
    >>> levels(nw.from_native(pd.DataFrame({"a": [2.0, 1.0, 2.0]})), Covariate("a", "categorical"))
    Levels(place=array([0, 1, 0]), text=['2', '1'])
    """
    place, distinct = _factorise(table[covariate.name])
    texts = [_text_of(level) for level in distinct]
    if None in texts or len(set(texts)) < len(texts):
        of_text, kept = pd.factorize(np.array([*texts, None], dtype=object))
        place, texts = of_text[place], kept.tolist()
    return Levels(place.astype(np.int64, copy=False), cast("list[str]", texts))


def _text_of(level: Any) -> str | None:
    if isinstance(level, float):
        if np.isnan(level):  # some frames tell "not a number" from "missing"; we do not
            return None
        level = int(level) if level.is_integer() else level
    return str(level)


def _factorise(series: nw.Series[Any]) -> tuple[NDArray[np.intp], list[Any]]:
    """Each row's place among the distinct values that occur, -1 if missing, and these values."""
    frame, dtype = series.implementation, series.dtype
    if frame.is_pandas():
        return _factorise_pandas(series.to_native())
    if frame.is_pyarrow():
        return _factorise_pandas(pd.Series(pd.arrays.ArrowExtensionArray(series.to_native())))
    if frame.is_polars() and (dtype.is_integer() or dtype.is_float() or dtype in CODED):
        return _factorise_polars(series)
    return _factorise_pandas(pd.Series(series.to_list(), dtype=object))


def _factorise_pandas(series: pd.Series[Any]) -> tuple[NDArray[np.intp], list[Any]]:
    values: Any = series.array
    if str(series.dtype).startswith("dictionary<"):  # it would name levels that do not occur
        import pyarrow

        values = pyarrow.array(values).to_pandas().array
    elif isinstance(series.dtype, np.dtype):
        values = series.to_numpy()
    place, distinct = pd.factorize(values)
    if distinct.dtype == object:  # whole numbers of any size among them, which no Series takes
        return place, distinct.tolist()
    return place, pd.Series(distinct).tolist()


def _factorise_polars(series: nw.Series[Any]) -> tuple[NDArray[np.intp], list[Any]]:
    """Texts by polars' own codes for them, numbers as they are."""
    known = series.drop_nulls()
    codes = known.cast(nw.Categorical) if known.dtype == nw.String else known
    found, distinct = pd.factorize(codes.to_native().to_physical().to_numpy())
    place = np.full(len(series), -1, dtype=np.intp)
    place[~series.is_null().to_numpy()] = found
    if known.dtype in TEXTS:
        return place, known.unique(maintain_order=True).to_list()
    return place, distinct.tolist()
