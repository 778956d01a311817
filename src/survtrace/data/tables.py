"""A table of patients from a file: CSV, Parquet or Feather."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from survtrace.errors import DataError

SUFFIXES = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet", ".feather")


def read_table(path: str | Path) -> pd.DataFrame:
    """Read a table by the ending of its name."""
    path = Path(path)
    if not path.exists():
        raise DataError(f"{path} does not exist. Pass the path of a table.")
    try:
        if path.name.endswith(".parquet"):
            return pd.read_parquet(path)
        if path.name.endswith(".feather"):
            return pd.read_feather(path)
        if path.name.endswith(SUFFIXES):
            return pd.read_csv(path, sep="\t" if ".tsv" in path.suffixes else ",")
    except (ValueError, OSError) as error:
        raise DataError(f"{path} could not be read as a table ({error}).") from None
    raise DataError(f"a table must end in one of {', '.join(SUFFIXES)}; got {path.name}.")


def split_outcome(
    table: pd.DataFrame, duration: str, event: str, drop: Sequence[str] = ()
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Covariates and outcome of a table that holds both.

    Examples
    --------
    >>> table = pd.DataFrame({"id": [1, 2], "age": [50, 60], "months": [3, 4], "died": [0, 1]})
    >>> X, y = split_outcome(table, duration="months", event="died", drop=["id"])
    >>> list(X.columns), list(y.columns)
    (['age'], ['event', 'duration'])
    """
    missing = [name for name in (duration, event, *drop) if name not in table]
    if missing:
        raise DataError(f"the table has no column {missing}; it has {list(table.columns)}.")
    y = pd.DataFrame({"event": table[event], "duration": table[duration]})
    return table.drop(columns=[duration, event, *drop]), y
