"""Refuse cells of a table that hold no single number, text, truth value or date."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from survtrace.errors import DataError, row_name, short
from survtrace.tables.covariates.distinct_values import is_missing
from survtrace.tables.covariates.real_numbers import complex_numbers

PLAIN = (str, Real, Decimal, np.bool_)  # numbers of numpy are real ones of Python's, too
USUAL = frozenset({str, float, int, bool, type(None)})
DATES = (
    *(datetime.date, datetime.time, datetime.timedelta),
    *(np.datetime64, np.timedelta64),
)
# Classes of pandas by name, so that it need not be imported here.
PANDAS_DATES = ("Period", "Interval")


def require_plain_cells(values: Iterable[Any], name: str, first_row: int = 0) -> None:
    """Refuse cells that are none of one column: lists, bytes, objects; dates among numbers.

    Examples
    --------
    >>> require_plain_cells(["a", [1, 2]], "stage")
    Traceback (most recent call last):
    survtrace.errors.DataError: column 'stage' holds a list in a cell; a covariate is one value a \
row, a number or a text (1 of 2 cells are not; first: row 1, [1, 2]). Take the value out of it, \
or leave the column out.
    """
    cells = list(values)
    if all(type(value) in USUAL for value in cells):  # nearly always, and told at once
        return
    dates = [row for row, value in enumerate(cells) if is_date(value)]
    odd = list(_odd_cells(cells))
    if not odd and dates and len(dates) < sum(not is_missing(value) for value in cells):
        odd = dates
    if not odd:
        return
    value = cells[odd[0]]
    if isinstance(value, complex | np.complexfloating):
        raise complex_numbers(name)
    if isinstance(value, bytes):
        way_out = "Decode it, for example by .str.decode('utf-8')."
    elif is_date(value):
        way_out = "The column has numbers or texts, too: convert the dates, or leave them empty."
    else:
        way_out = "Take the value out of it, or leave the column out."
    raise DataError(
        f"column {name!r} holds a {type(value).__name__} in a cell; a covariate is one value a "
        f"row, a number or a text ({len(odd)} of {len(cells)} cells are not; first: "
        f"{row_name(first_row + odd[0])}, {short(value)}). {way_out}"
    )


def is_date(value: Any) -> bool:
    """Check whether a value is a date, a time, or a span of them.

    Examples
    --------
    >>> is_date(np.datetime64("2020-01-31")), is_date(2020)
    (True, False)
    """
    return isinstance(value, DATES) or type(value).__name__ in PANDAS_DATES


def _odd_cells(cells: list[Any]) -> Iterator[int]:
    for row, value in enumerate(cells):
        if is_missing(value) or is_date(value):
            continue
        # A signalling NaN cannot be compared; an infinite number is no measurement.
        no_number = isinstance(value, Decimal) and (value.is_snan() or value.is_infinite())
        if no_number or not isinstance(value, PLAIN):
            yield row
