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


def factorise_array(values: Any, **how: Any) -> tuple[NDArray[np.intp], Any]:
    r"""Code each value of an array as `pandas.factorize` does, and texts to their last letter.

    Where all objects are texts, pandas reads them up to the first NUL, and takes those with half a
    surrogate pair for one; beside anything else it compares them whole.

    Examples
    --------
    >>> factorise_array(np.array(["a", "a\0b", "a"], dtype=object))
    (array([0, 1, 0]), array(['a', 'a\x00b'], dtype=object))
    """
    import pandas as pd  # here: `factorise`, which predictions need, does without

    if isinstance(values, np.ndarray):  # pandas reads no numbers of another byte order
        values = values.astype(values.dtype.newbyteorder("="), copy=False)
    if values.dtype != object:
        return pd.factorize(values, **how)
    no_text: Any = object()
    codes, distinct = pd.factorize(np.append(values, no_text), **how)
    return codes[:-1], distinct[:-1]


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
