"""Groups of subjects by the values of a column: levels of a text, thirds of a number, centres."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from survtrace.errors import DataError, short
from survtrace.tables.covariates.covariate import nearest
from survtrace.tables.covariates.covariates import kind_of, open_table
from survtrace.tables.covariates.real_numbers import as_array, real_numbers
from survtrace.tables.outcome.alignment import align_rows

Floats = NDArray[np.float64]
FEW_VALUES = 5  # a number with so few distinct values is a code: each is a group
MOST_GROUPS = 50  # a text with more levels names subjects, not groups
MOST_MOVED = 0.02
MISSING = "missing"
NO_GROUP = object()


class Group(NamedTuple):
    """Some of the subjects: by which column, its name there, and who."""

    column: str
    name: str
    rows: NDArray[np.bool_]


def read_groups(
    table: Any,
    by: str | Sequence[str] | Mapping[str, ArrayLike] | None,
    centre: str | ArrayLike | None = None,
    cuts: Mapping[str, Sequence[float]] | None = None,
) -> list[Group]:
    """Split subjects by each column, in the order of its values; those without a value come last.

    Parameters
    ----------
    table
        The subjects' columns.
    by
        Names of columns, or values of each subject by name.
    centre
        A name, or values of each subject. Every value is a group, whatever its type.
    cuts
        Where to cut numbers, by column: ``{"age": [50, 65]}`` gives three groups. Without, numbers
        with more than 5 distinct values are cut into thirds, each from its lower bound on.

    Examples
    --------
    >>> table = {"age": [40.0, 50, 55, 60, 70, 80], "sex": ["f", "m", "f", "m", None, "f"]}
    >>> [(group.name, int(group.rows.sum())) for group in read_groups(table, ["age", "sex"])]
    ... # doctest: +NORMALIZE_WHITESPACE
    [('below 55', 2), ('55 to below 70', 2), ('70 or more', 2),
     ('f', 3), ('m', 2), ('missing', 1)]
    """
    if not (cuts is None or isinstance(cuts, Mapping)):
        raise DataError(
            f"cuts must be a mapping from columns to numbers; got {short(cuts)}. Write for example "
            "cuts={'age': [50, 65]}."
        )
    frame, groups, cuts = open_table(table), list[Group](), dict(cuts or {})
    columns, last = _columns(frame, by), {} if centre is None else _centre(frame, centre)
    for name, values in columns.items():
        if name not in last:  # said twice, it is the centre
            groups += _split(name, values, cuts.pop(name, None))
    if cuts:
        raise DataError(
            f"cuts must be of columns that subjects are grouped by; {sorted(cuts)} are not. Name "
            "them in by, too."
        )
    for name, values in last.items():
        groups += _levels(name, values)
    return groups


def group_columns(
    by: str | Sequence[str] | Mapping[str, ArrayLike] | None, centre: Any
) -> list[str]:
    """Return names of the columns of a table that are grouped by; refuse what can name none."""
    named = [by] if isinstance(by, str) else [] if by is None or isinstance(by, Mapping) else by
    if not (isinstance(named, Sequence) and all(isinstance(name, str) for name in named)):
        raise DataError(
            "by must be the name of a column, several, or a mapping from names to values of each "
            f"subject; got {short(by)}. Write for example by=['age', 'sex']."
        )
    return [*named, centre] if isinstance(centre, str) else [*named]


def _columns(frame: Any, by: Any) -> dict[str, Any]:
    if isinstance(by, Mapping):
        return {name: _as_series(values, name, frame) for name, values in by.items()}
    return {name: _column(frame, name) for name in group_columns(by, None)}


def _centre(frame: Any, centre: Any) -> dict[str, Any]:
    if isinstance(centre, str):
        return {centre: _column(frame, centre)}
    return {"centre": _as_series(centre, "centre", frame)}


def _column(frame: Any, name: str) -> Any:
    if name not in frame.columns:
        raise DataError(
            f"subjects are grouped by columns of the table; it has no {name!r}"
            f"{nearest([name], frame.columns)}. It has {list(frame.columns)}."
        )
    return frame[name]


def _as_series(values: Any, name: str, table: Any) -> Any:
    try:
        column = as_array(align_rows(table.to_native(), values, name))
    except DataError:
        raise
    except ValueError as error:
        raise DataError(
            f"groups must have one value for each subject; {name!r}: {error}."
        ) from None
    frame = open_table({name: column})
    if len(frame) != len(table):
        raise DataError(
            f"groups must have one value for each of the {len(table)} subjects; {name!r} has "
            f"{len(frame)}. Build it from the same table."
        )
    return frame[name]


def _split(name: str, series: Any, cuts: Sequence[float] | None) -> list[Group]:
    """Return groups of a column: its levels, or numbers between cuts."""
    if kind_of(series) == "numerical":
        numbers = pd.to_numeric(series.to_pandas()).to_numpy(np.float64, na_value=np.nan)
        n_values = len(np.unique(numbers[~np.isnan(numbers)]))
        if cuts is not None or n_values > FEW_VALUES:
            return _between(name, numbers, cuts)
    elif cuts is not None:
        raise DataError(f"cuts are for columns of numbers; {name!r} holds text. Leave them out.")
    groups = _levels(name, series)
    if len(groups) > MOST_GROUPS:
        raise DataError(
            f"subjects are grouped by a column of at most {MOST_GROUPS} different values; {name!r} "
            f"has {len(groups)}. Join some of them, or pass it as centre."
        )
    return groups


def _levels(name: str, series: Any) -> list[Group]:
    """Return one group for each value."""
    values = series.to_list()
    texts = np.array([_text(value) for value in values], dtype=object)
    distinct = dict(zip(texts, values, strict=True))
    is_missing = distinct.pop(MISSING, NO_GROUP) is not NO_GROUP  # also where a text says so
    names = sorted(distinct, key=lambda text: _order(distinct[text]))
    names = [level for level in _ordered(series) if level in distinct] or names
    names += [MISSING] if is_missing else []
    return [Group(name, text, np.asarray(texts == text, dtype=bool)) for text in names]


def _ordered(series: Any) -> list[str]:
    """Return levels of a column whose order the user has given."""
    kind: Any = series.to_native().dtype  # narwhals 1.30 does not tell pandas' order
    levels = kind.categories if getattr(kind, "ordered", False) else ()
    return [str(level) for level in levels]


def _text(value: Any) -> str:
    if value is None or value is pd.NA or value != value:
        return MISSING
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _order(value: Any) -> tuple[int, float, str]:
    """Order numbers by size, then texts by name."""
    try:
        return 0, float(value), ""
    except (TypeError, ValueError, OverflowError):  # also whole numbers beyond any float
        return 1, 0.0, str(value)


def _between(name: str, numbers: Floats, cuts: Sequence[float] | None) -> list[Group]:
    """Group numbers below, between and from the cuts on; by default thirds."""
    known = ~np.isnan(numbers)
    edges = _thirds(numbers[known]) if cuts is None else _edges(cuts)
    if not len(edges) or not np.isfinite(edges).all():
        raise DataError(f"cuts must be finite numbers; got {short(cuts)} for {name!r}.")
    number = np.searchsorted(edges, numbers, side="right")
    shown = [np.format_float_positional(edge, trim="-") for edge in edges]
    names = [f"below {shown[0]}"]
    names += [f"{low} to below {high}" for low, high in pairwise(shown)]
    names += [f"{shown[-1]} or more"]
    groups = [Group(name, text, known & (number == k)) for k, text in enumerate(names)]
    return [*groups, Group(name, MISSING, ~known)] if not known.all() else groups


def _edges(cuts: Any) -> Floats:
    try:
        return np.unique(real_numbers(cuts, "cuts"))
    except (TypeError, ValueError):
        return np.empty(0)


def _thirds(numbers: Floats) -> Floats:
    """Return cuts into thirds, with as few digits as move at most 2 % of the subjects.

    If more than a third have the smallest number, there are fewer cuts, and at least one.
    """
    edges = np.unique(np.quantile(numbers, [1 / 3, 2 / 3], method="higher"))
    edges = edges[edges > numbers.min()]
    if not len(edges):
        edges = numbers[numbers > numbers.min()].min(keepdims=True)
    below = (numbers[:, np.newaxis] < edges).mean(axis=0)
    for digits in range(2, 17):
        texts = [np.format_float_positional(x, digits, fractional=False) for x in edges]
        rounded = np.array([float(text) for text in texts])
        moved = (numbers[:, np.newaxis] < rounded).mean(axis=0) - below
        if np.abs(moved).max() <= MOST_MOVED:
            return rounded
    return edges
