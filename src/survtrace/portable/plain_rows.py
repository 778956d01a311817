"""Encode rows of plain values, as a request for one patient has them, without reading columns.

A column of one value costs numpy as much as one of a thousand. Here each value is looked up by
itself: a number that is possible, a level in the very words of the fit, or a missing value. All
else, and whatever is to be warned of or refused, is left to `survtrace.portable.rows`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from survtrace.tables.covariates.covariate import Covariate
from survtrace.tables.covariates.encoding import (
    MISSING,
    UNSEEN,
    Categories,
    Encoded,
    Encoding,
    Scale,
)
from survtrace.tables.covariates.magnitude import FARTHEST, LARGEST
from survtrace.tables.covariates.missing import is_plain_number
from survtrace.tables.covariates.values import read_levels, text_of

Token = tuple[int, float]  # a row of the embedding table, and the value that multiplies it
Lookup = Callable[[Any], Token | None]


class PlainRows:
    """Encodes a list of mappings by one look at each value.

    Examples
    --------
    >>> encoding = Encoding.from_dict({"sex": {"levels": ["f", "m"]}})
    >>> rows = PlainRows(encoding)
    >>> rows.encode([{"sex": "m"}, {"sex": None}]).rows.tolist()
    [[3], [0]]
    >>> rows.encode([{"sex": "male"}]) is None
    True
    """

    def __init__(self, encoding: Encoding) -> None:
        first_rows = encoding.first_rows.tolist()
        self._lookups = [
            (covariate.name, _lookup_of(covariate, column, first))
            for covariate, column, first in zip(
                encoding.covariates, encoding.columns, first_rows, strict=False
            )
        ]
        self._names = frozenset(name for name, _ in self._lookups)
        self._expected = self._names.union(encoding.left_out)

    def encode(self, X: Any) -> Encoded | None:
        """Encode rows as `encode_rows` does; None where a value is not plain."""
        if type(X) is not list or not X or not self._lookups:
            return None
        tokens = list[Token]()
        for row in X:
            if type(row) is not dict or not self._names <= row.keys() <= self._expected:
                return None
            for name, look_up in self._lookups:
                token = look_up(row[name])
                if token is None:
                    return None
                tokens.append(token)
        rows, values = zip(*tokens, strict=True)
        shape = (len(X), len(self._lookups))
        return Encoded(
            np.array(rows, dtype=np.int32).reshape(shape),
            np.array(values, dtype=np.float32).reshape(shape),
        )


def _lookup_of(covariate: Covariate, column: Scale | Categories, first_row: int) -> Lookup:
    if isinstance(column, Scale):
        return _number_lookup(covariate, column, first_row)
    return _level_lookup(covariate, column, first_row)


def _number_lookup(covariate: Covariate, column: Scale, first_row: int) -> Lookup:
    """Standardise a number as `standardise` does; Python's floats are those of numpy."""
    missing, present = (first_row + MISSING, 1.0), first_row + 1
    low = -LARGEST if covariate.low is None else max(covariate.low, -LARGEST)
    high = LARGEST if covariate.high is None else min(covariate.high, LARGEST)
    markers = frozenset(float(text) for text in covariate.missing if is_plain_number(text))
    mean, deviation = column.mean, column.deviation

    def look_up(value: Any) -> Token | None:
        if type(value) is float or type(value) is int:
            if low <= value <= high and value not in markers:
                scaled = (value - mean) / deviation if deviation else 0.0
                return (present, scaled) if -FARTHEST <= scaled <= FARTHEST else None
            return missing if value != value else None
        return missing if value is None else None

    return look_up


def _level_lookup(covariate: Covariate, column: Categories, first_row: int) -> Lookup:
    """Look up a level in a dict that the rules of `read_levels` and `rows_of` filled."""
    levels = column.levels
    codes, texts = read_levels(np.arange(len(levels)), levels, covariate)
    rows = (column.rows_of(texts)[codes]).tolist()
    tokens = {
        level: (first_row + row, 1.0)
        for level, row in zip(levels, rows, strict=True)
        if row != UNSEEN
    }
    missing = (first_row + MISSING, 1.0)

    def look_up(value: Any) -> Token | None:
        if type(value) is str:
            return tokens.get(value)
        if type(value) is float or type(value) is int:
            if value != value:
                return missing
            return tokens.get(str(text_of(value))) if -LARGEST <= value <= LARGEST else None
        return missing if value is None else None

    return look_up
