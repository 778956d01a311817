"""A table of patients from a file, and its columns by name."""

from __future__ import annotations

import sys
import warnings
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import pandas as pd

from survtrace.data.outcome import read_outcome
from survtrace.data.parquet import parquet_columns, parquet_pieces, parquet_schema
from survtrace.errors import DataError, DataWarning

SUFFIXES = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet", ".feather")
STANDARD = "-"  # standard input or output, as CSV
N_MANY = 100
# Of a text file: numbers to the last digit, and one type for a column, not one for each block.
EXACT: dict[str, Any] = {"float_precision": "round_trip", "low_memory": False}


def read_table(path: str | Path) -> pd.DataFrame:
    """Read a table by the ending of its name; ``-`` is CSV from standard input.

    Of a folder, the Parquet files in it and its subfolders, in the order of their names.

    Examples
    --------
    >>> read_table("nowhere.csv")
    Traceback (most recent call last):
    survtrace.errors.DataError: nowhere.csv does not exist. Pass the path of a table.
    """
    path = require_table(path)
    with readable(path):
        if path.is_dir():
            return _read_folder(path)
        if path.suffix == ".parquet":
            return pd.read_parquet(path)
        if path.suffix == ".feather":
            return pd.read_feather(path)
        table = pd.read_csv(text_source(path), sep=separator(path), **EXACT)
    require_separated(path, list(table.columns))
    return table


def _read_folder(path: Path) -> pd.DataFrame:
    import pyarrow

    names = parquet_columns(path)
    nothing = parquet_schema(path).empty_table().select(names).replace_schema_metadata()
    pieces = parquet_pieces(path, names, n_rows=2**20)
    return pyarrow.concat_tables([nothing, *pieces]).to_pandas()


def split_outcome(
    table: pd.DataFrame,
    duration: str,
    event: str,
    drop: Sequence[str] = (),
    categorical: Sequence[str] = (),
    censored: Sequence[Any] | None = None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Covariates and outcome of a table that holds both.

    Parameters
    ----------
    table
        A row for each subject.
    duration, event
        The columns of the outcome.
    drop
        Columns that are no covariates.
    categorical
        Covariates whose numbers are codes; they get a category dtype.
    censored
        Labels that mean censored, where the usual words do not. The outcome keeps them in its
        ``attrs``, beside the name of the event column, where `read_outcome` finds both.

    Examples
    --------
    >>> table = pd.DataFrame({"id": [1, 2], "age": [50, 60], "months": [3, 4], "died": [0, 1]})
    >>> X, y = split_outcome(table, duration="months", event="died", drop=["id"])
    >>> list(X.columns), list(y.columns)
    (['age'], ['event', 'duration'])
    """
    require_columns(table.columns, [duration, event, *drop, *categorical])
    X = table.drop(columns=[duration, event, *drop])
    X = X.astype({name: "category" for name in categorical if name in X})
    y = pd.DataFrame({"event": table[event], "duration": table[duration]})
    y.attrs["event_name"] = event
    if censored is not None:
        with warnings.catch_warnings(action="ignore", category=DataWarning):  # the fit warns
            read_outcome(y, censored=censored, zero_duration=0.0)  # refuses labels not there
        y.attrs["censored"] = list(censored)
    return X, y


def require_columns(columns: Iterable[str], names: Sequence[str], most: int = 30) -> None:
    """Refuse names that are no columns of a table, and say which may be meant.

    Examples
    --------
    >>> require_columns(["id", "months"], ["month"])
    Traceback (most recent call last):
    survtrace.errors.DataError: the table has no column 'month'; did you mean 'months'? \
It has ['id', 'months'].
    """
    known = [str(name) for name in columns]
    missing = [name for name in names if name not in known]
    if not missing:
        return
    near = get_close_matches(missing[0], known, n=1)
    meant = f"did you mean {near[0]!r}? It" if near else "it"
    shown = f"{known[:most]} and more" if len(known) > most else known
    raise DataError(
        f"the table has no column {', '.join(map(repr, missing))}; {meant} has {shown}."
    )


def likely_identifiers(X: pd.DataFrame) -> list[str]:
    """Columns that tell rows apart rather than describe them: texts or whole numbers, all distinct.

    Examples
    --------
    >>> X = pd.DataFrame({"name": [f"patient {i}" for i in range(200)], "age": [60.5] * 200})
    >>> likely_identifiers(X)
    ['name']
    """
    if len(X) < N_MANY:
        return []
    return [
        str(name)
        for name, column in X.items()
        if not pd.api.types.is_float_dtype(column) and column.is_unique
    ]


def require_table(path: str | Path) -> Path:
    """The path of a table that exists and whose ending we read, or of a folder."""
    path = Path(path)
    if str(path) != STANDARD and not path.is_dir():
        require_suffix(path)
        if not path.exists():
            raise DataError(f"{path} does not exist. Pass the path of a table.")
    return path


def require_suffix(path: Path) -> None:
    """Refuse a file whose ending names no kind of table we know."""
    if not path.name.endswith(SUFFIXES):
        raise DataError(f"a table must end in one of {', '.join(SUFFIXES)}; got {path.name}.")


def separator(path: Path) -> str:
    """What stands between the columns of a text file."""
    return "\t" if ".tsv" in path.suffixes else ","


def text_source(path: Path) -> Any:
    """What pandas reads text from: a path, or standard input."""
    return sys.stdin.buffer if str(path) == STANDARD else path


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Say in our words that a file could not be read."""
    try:
        yield
    except ImportError:
        raise DataError(
            f"{path.name} cannot be read or written without pyarrow, which is not installed. "
            "Install it with: pip install 'survtrace[parquet]'"
        ) from None
    except (ValueError, OSError, EOFError, zlib.error) as error:
        if isinstance(error, DataError):
            raise
        name = "standard input" if str(path) == STANDARD else path
        raise DataError(f"{name} could not be read as a table ({error}).") from None


def require_separated(path: Path, columns: Sequence[str]) -> None:
    """A single column with separators in its name was written by a program of other habits."""
    seen = next((mark for mark in (";", "\t", ",") if mark in str(columns[0])), None)
    if len(columns) == 1 and seen:
        raise DataError(
            f"the columns of {path.name} must be separated by {separator(path)!r}; they seem to be "
            f"separated by {seen!r}. Save the table anew, or end its name in .tsv for tabs."
        )
