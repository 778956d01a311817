"""Open a table of covariates, and find the kind of each column, in token order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import Any, Literal

import narwhals as nw
import numpy as np
import pandas as pd
from scipy import sparse

from survtrace.errors import DataError, DataWarning, SettingError, warn
from survtrace.tables.covariates.real_numbers import is_complex

Kind = Literal["numerical", "categorical"]


@dataclass(frozen=True)
class Covariate:
    """A column: its name, its kind, and how its values are written and to be shown."""

    name: str
    kind: Kind
    decimal: str = "."  # mark of numbers in text: "." or ","; "any" if each text is unambiguous
    thousands: bool = False  # "1,234" is 1234, where the decimal mark is a point; else refused
    missing: tuple[str, ...] = ()  # texts and numbers that mean "not known"
    unit: str = ""
    label: str = ""  # to show in place of the name
    low: float | None = None  # the smallest and largest number that are possible
    high: float | None = None
    in_text: bool = False  # the numbers of the training rows were written as text
    levels: tuple[str, ...] = ()  # a text that differs in case or spaces only is one of them

    @property
    def shown(self) -> str:
        """Format label and unit, for people.

        Examples
        --------
        >>> Covariate("bmi", "numerical", label="Body mass index", unit="kg/m2").shown
        'Body mass index (kg/m2)'
        """
        label = self.label or self.name
        return f"{label} ({self.unit})" if self.unit else label

    def as_dict(self) -> dict[str, Any]:
        """Return what differs from a plain column, as plain values for a file."""
        values = {field: getattr(self, field.name) for field in fields(self)[2:]}
        return {
            field.name: list(value) if isinstance(value, tuple) else value
            for field, value in values.items()
            if value != field.default
        }

    @classmethod
    def from_dict(cls, name: str, kind: Kind, plain: Mapping[str, Any]) -> Covariate:
        """Make the covariate that `as_dict` described."""
        values: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in plain.items()
        }
        return cls(name, kind, **values)


def open_table(X: Any) -> nw.DataFrame[Any]:
    """Open any accepted table of covariates as a frame; arrays get the names x0, x1, ...

    Examples
    --------
    >>> open_table(np.zeros((2, 3))).columns
    ['x0', 'x1', 'x2']
    """
    if sparse.issparse(X):
        raise DataError("X must be a dense table; got a sparse matrix. Pass X.toarray().")
    if isinstance(X, Mapping):
        X = _frame_of_mapping(X)
    if isinstance(X, pd.DataFrame):
        if not all(isinstance(name, str) for name in X.columns):  # new names cost a copy of all
            X = X.set_axis([str(name) for name in X.columns], axis=1)
        require_distinct_names(list(X.columns))
        _refuse_complex(X)
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    return frame if isinstance(frame, nw.DataFrame) else _table_of_array(X)


def require_distinct_names(names: Sequence[str], file: str = "", row: str = "") -> None:
    """Refuse names that occur more than once; those of a file stand in its first row."""
    repeated = sorted(name for name, n in Counter(names).items() if n > 1)
    if repeated:
        where, way_out = (f" in {file}", f" in its first {row}") if file else ("", "")
        raise DataError(
            f"column names must differ; {repeated} occur more than once{where}. Rename "
            f"them{way_out}."
        )


def _frame_of_mapping(X: Mapping[Any, Any]) -> pd.DataFrame:
    if X and all(np.ndim(values) == 0 for values in X.values()):
        raise DataError(
            "X must be a table with a row for each subject; got a mapping with one value for each "
            "column. One subject is a table of one row: pd.DataFrame([row])."
        )
    try:
        return pd.DataFrame(X)
    except OverflowError:  # whole numbers beyond any float, which are refused by name later
        return pd.DataFrame({name: np.array(values, dtype=object) for name, values in X.items()})
    except ValueError as error:
        raise DataError(
            f"X must be a table with a row for each subject; a mapping needs columns of one "
            f"length ({error}). Pass a frame."
        ) from None


def _refuse_complex(X: pd.DataFrame) -> None:
    """Refuse columns of complex numbers, whose imaginary part would be lost."""
    for name, column in X.items():
        doubtful = pd.api.types.is_complex_dtype(column)
        if column.dtype.kind == "O":
            doubtful = pd.api.types.infer_dtype(column) in ("complex", "mixed")
        if doubtful and is_complex(column.to_numpy()):
            raise _complex_numbers(name)


def _complex_numbers(name: Any) -> DataError:
    return DataError(
        f"covariates must be real numbers; column {name!r} holds complex numbers. Split the parts."
    )


def _table_of_array(X: Any) -> nw.DataFrame[Any]:
    if isinstance(X, Sequence) and X and all(isinstance(row, Mapping) for row in X):
        raise DataError(
            "X must be a table with a row for each subject; got a list of mappings. "
            "Make it a frame: pd.DataFrame(rows)."
        )
    if isinstance(X, np.ma.MaskedArray):
        masked: Any = X.astype(float if X.dtype.kind in "biuf" else object)
        X = masked.filled(np.nan)
    array = np.asarray(X)
    if array.dtype.kind == "c" or (array.dtype == object and is_complex(array)):
        raise DataError("X must hold real numbers; Complex data not supported. Split the parts.")
    if array.ndim != 2:
        raise DataError(
            f"X must be a table with a row for each subject; got shape {array.shape}. "
            "Expected 2D array; Reshape your data: X.reshape(1, -1) if it is one subject, "
            "X.reshape(-1, 1) if it is one covariate."
        )
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
    named = names_of(categorical or (), table.columns)
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
    names = [covariate.name for covariate in covariates]
    seen = {str(name): name for name in table.columns}
    missing = [name for name in names if name not in seen]
    if missing or (len(seen) != len(names) and are_positions(seen) and are_positions(names)):
        raise DataError(
            f"X must have the {len(names)} columns seen in fit; missing: {missing}"
            f"{nearest(missing, [name for name in seen if name not in names])}. "
            f"X has {len(seen)} features {list(seen)}, but SurvTRACE is expecting {len(names)} "
            "features as input. Add or rename them."
        )
    extra = [name for name in seen if name not in names and name not in left_out]
    if extra:
        warn(f"columns not seen in fit are ignored: {extra}.", DataWarning)
    return table.select([seen[name] for name in names])


def nearest(missing: Sequence[str], present: Sequence[str]) -> str:
    """Suggest, in brackets, names of a table for names it does not have.

    Examples
    --------
    >>> nearest(["age", "sex"], ["Age", "months"])
    " (is 'Age' meant to be 'age'?)"
    """
    lower = {name.casefold().strip(): name for name in present}
    pairs = []
    for name in missing:
        found = get_close_matches(name.casefold().strip(), lower, n=1, cutoff=0.7)
        pairs += [f"is {lower[found[0]]!r} meant to be {name!r}?"] if found else []
    return f" ({' '.join(pairs)})" if pairs else ""


def are_positions(names: Iterable[str]) -> bool:
    """Check whether the names are those that `open_table` gives to the columns of an array."""
    return all(name == f"x{j}" for j, name in enumerate(names))


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
        raise DataError(f"column {series.name!r} holds {dtype}; a covariate is one value a row.")
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
    odd = next((v for v in values if isinstance(v, list | dict | set | np.ndarray)), None)
    if odd is not None:
        raise DataError(
            f"column {series.name!r} holds a {type(odd).__name__} in a cell; a covariate is one "
            "value a row."
        )
    kind = pd.api.types.infer_dtype(values, skipna=True)
    if kind == "complex":
        raise _complex_numbers(series.name)
    if kind.startswith(("date", "time", "period")):
        raise _dates(series.name, kind)
    if kind in ("floating", "integer", "mixed-integer-float", "decimal", "empty"):
        return "numerical"
    return "categorical"
