"""Number the distinct values of a column in the order of their first row."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Classes of pandas for a missing value, by name: their objects come without importing pandas here.
MISSING_CLASSES = ("NAType", "NaTType")


def is_missing(value: Any) -> bool:
    """Check whether a value is None, NaN, or what pandas has for missing.

    Examples
    --------
    >>> is_missing(None), is_missing(float("nan")), is_missing("nan")
    (True, True, False)
    """
    if value is None or type(value).__name__ in MISSING_CLASSES:
        return True
    return isinstance(value, float | np.floating) and value != value


def factorise(values: Iterable[Any]) -> tuple[NDArray[np.intp], list[Any]]:
    """Code each value by the distinct ones, -1 if missing, as `pandas.factorize` does.

    Examples
    --------
    >>> factorise(["f", None, "m", "f"])
    (array([ 0, -1,  1,  0]), ['f', 'm'])
    """
    number = dict[Any, int]()
    codes = [-1 if is_missing(value) else number.setdefault(value, len(number)) for value in values]
    return np.array(codes, dtype=np.intp), list(number)
