"""What may be passed as a table of covariates, told without importing any library of frames."""

from __future__ import annotations

import sys
from os import PathLike
from typing import Any

# A pandas or polars frame, a mapping of columns or a 2-D array; or the path of a file.
Table = Any


def is_path(X: Any) -> bool:
    """Check whether a table is given by the path of its file.

    Examples
    --------
    >>> is_path("cohort.parquet"), is_path({"age": [61, 47]})
    (True, False)
    """
    return isinstance(X, str | PathLike)


def is_pandas(X: Any, *kinds: str) -> bool:
    """Check whether something is of one of the named classes of pandas.

    Where pandas has not been imported nothing is, and it need not be imported to say so.

    Examples
    --------
    >>> import pandas as pd
    >>> is_pandas(pd.Series([1]), "DataFrame"), is_pandas(pd.Series([1]), "DataFrame", "Series")
    (False, True)
    """
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(X, tuple(getattr(pandas, kind) for kind in kinds))
