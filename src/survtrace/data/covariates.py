"""Which columns exist, and their kind, in token order."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

import narwhals as nw
import numpy as np
import pandas as pd
from scipy import sparse

from survtrace.errors import DataError, DataWarning, SettingError

Kind = Literal["numerical", "categorical"]


@dataclass(frozen=True)
class Covariate:
    """A column's name and kind."""

    name: str
    kind: Kind


def open_table(X: Any) -> nw.DataFrame[Any]:
    """Any accepted table of covariates as a frame; arrays get the names x0, x1, ...

    Examples
    --------
    >>> open_table(np.zeros((2, 3))).columns
    ['x0', 'x1', 'x2']
    """
    if sparse.issparse(X):
        raise DataError("X must be a dense table; got a sparse matrix. Pass X.toarray().")
    if isinstance(X, Mapping):
        try:
            X = pd.DataFrame(X)
        except OverflowError:  # whole numbers beyond any float, which are refused by name later
            X = pd.DataFrame({name: np.array(values, dtype=object) for name, values in X.items()})
    if isinstance(X, pd.DataFrame):
        X = X.set_axis([str(name) for name in X.columns], axis=1)
        _require_distinct(list(X.columns))
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    return frame if isinstance(frame, nw.DataFrame) else _table_of_array(X)


def _require_distinct(names: list[str]) -> None:
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise DataError(f"column names must differ; {repeated} occur more than once. Rename them.")


def _table_of_array(X: Any) -> nw.DataFrame[Any]:
    array = np.asarray(X)
    if array.dtype.kind == "c":
        raise DataError("X must hold real numbers; Complex data not supported. Split the parts.")
    if array.ndim != 2:
        raise DataError(
            f"X must be a table with a row for each subject; got shape {array.shape}. "
            "Expected 2D array; Reshape your data, for example X.reshape(-1, 1)."
        )
    frame = pd.DataFrame(array, columns=[f"x{j}" for j in range(array.shape[1])])
    if array.dtype == object:
        with suppress(OverflowError):  # whole numbers beyond any float are refused by name later
            frame = frame.infer_objects()
    return nw.from_native(frame)


def infer_covariates(
    table: nw.DataFrame[Any], categorical: Sequence[str | int] | None = None
) -> tuple[Covariate, ...]:
    """The kind of each column, from its dtype; ``categorical`` names or counts exceptions.

    Examples
    --------
    >>> table = open_table({"age": [61.0, 47.0], "sex": ["f", "m"], "stage": [1, 3]})
    >>> [covariate.kind for covariate in infer_covariates(table, categorical=["stage"])]
    ['numerical', 'categorical', 'categorical']
    """
    named = _names_of(categorical or (), table.columns)
    return tuple(
        Covariate(str(name), "categorical" if name in named else _kind_of(table[name]))
        for name in table.columns
    )


def select_columns(table: nw.DataFrame[Any], covariates: Sequence[Covariate]) -> nw.DataFrame[Any]:
    """The columns that were learned, by name; order and extra columns do not matter."""
    names = [covariate.name for covariate in covariates]
    seen = {str(name): name for name in table.columns}
    missing = [name for name in names if name not in seen]
    if missing or (len(seen) != len(names) and _are_positions(seen) and _are_positions(names)):
        raise DataError(
            f"X must have the {len(names)} columns seen in fit; missing: {missing}. "
            f"X has {len(seen)} features {list(seen)}, but SurvTRACE is expecting {len(names)} "
            "features as input. Add or rename them."
        )
    extra = [name for name in seen if name not in names]
    if extra:
        warnings.warn(f"columns not seen in fit are ignored: {extra}.", DataWarning, stacklevel=4)
    return table.select([seen[name] for name in names])


def _are_positions(names: Iterable[str]) -> bool:
    """Whether the names are only those that `open_table` gives to the columns of an array."""
    return all(name == f"x{j}" for j, name in enumerate(names))


def _names_of(categorical: Sequence[str | int], columns: list[str]) -> set[str]:
    if isinstance(categorical, str):
        raise SettingError(
            f"categorical must be a list of columns; got the text {categorical!r}. "
            f"Write categorical=[{categorical!r}]."
        )
    places = range(-len(columns), len(columns))
    names = {
        columns[c] if isinstance(c, (int, np.integer)) and c in places else str(c)
        for c in categorical
    }
    unknown = sorted(str(name) for name in names - set(columns))
    if unknown:
        raise SettingError(
            f"categorical must name columns of X; {unknown} are not among {columns}."
        )
    return names


def _kind_of(series: nw.Series[Any]) -> Kind:
    dtype = series.dtype
    if dtype.is_temporal():
        raise DataError(
            f"column {series.name!r} holds dates or times ({dtype}), which have no scale of "
            "their own. Convert it to a number, such as age in years, or drop it."
        )
    if dtype.is_nested():
        raise DataError(f"column {series.name!r} holds {dtype}; a covariate is one value a row.")
    if dtype.is_numeric():
        return "numerical"
    if dtype in (nw.Object, nw.Unknown):
        return _kind_of_objects(series)
    return "categorical"


def _kind_of_objects(series: nw.Series[Any]) -> Kind:
    kind = pd.api.types.infer_dtype(series.to_list(), skipna=True)
    if kind.startswith(("date", "time", "period")):
        raise DataError(
            f"column {series.name!r} holds dates or times ({kind}), which have no scale of "
            "their own. Convert it to a number, such as age in years, or drop it."
        )
    if kind in ("floating", "integer", "mixed-integer-float", "decimal", "empty"):
        return "numerical"
    return "categorical"
