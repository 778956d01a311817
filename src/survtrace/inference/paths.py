"""A path in place of a table: rows are read, and answered for, one chunk after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from survtrace.errors import DataError
from survtrace.inference.unlike import Tally, counted
from survtrace.tables.covariates.encoding import Encoding
from survtrace.tables.files.chunks import N_ROWS, read_chunks, warnings_of_rows
from survtrace.tables.files.reading import Reading
from survtrace.tables.files.text_levels import text_columns

T = TypeVar("T")


def read_rows(
    path: str | Path,
    encoding: Encoding,
    more: Sequence[str] = (),
    *,
    verbatim: Sequence[str] = (),
    reading: Reading | None = None,
    n_rows: int = N_ROWS,
) -> Iterator[pd.DataFrame]:
    """Read the covariates, and some columns more, of a table with at least one row in chunks."""
    columns = list(dict.fromkeys([*verbatim, *encoding.names.tolist(), *more]))
    text, empty = text_columns(encoding), True
    chunks = read_chunks(
        path, columns, verbatim=verbatim, text=text, reading=reading, n_rows=n_rows
    )
    for chunk in filter(len, chunks):
        empty = False
        yield chunk
    if empty:
        raise DataError(f"{path} has no rows. Pass a table with at least one subject.")


def answer_chunks(
    chunks: Iterable[pd.DataFrame], answer: Callable[[pd.DataFrame, int], T], first: int = 0
) -> Iterator[T]:
    """Answer for each chunk and the number of its first row, which is ``first`` to begin with.

    What is warned of is said once, not for every chunk; an error says in which rows it is.
    """
    warned, tally = set[str](), Tally()
    for chunk in chunks:
        with warnings_of_rows(first, len(chunk), warned), counted(tally):
            answered = answer(chunk, first)
        yield answered
        first += len(chunk)
    tally.warn()


def times_of_rows(
    times: ArrayLike | None,
    first: int,
    n_rows: int,
    *,
    whole: bool = False,
    name: str = "conditional_after",
) -> ArrayLike | None:
    """Take the times of some subjects, where each has its own; ``whole``: of all.

    Of ``conditional_after`` that is an array with one axis, of ``times`` one with two.
    """
    if times is None or np.ndim(times) != (1 if name == "conditional_after" else 2):
        return times
    rows = np.asarray(times)
    if len(rows) < first + n_rows or (whole and len(rows) > n_rows):
        one, each = ("a time", "one") if name == "conditional_after" else ("flat", "a row")
        raise DataError(
            f"{name} must be {one}, or {each} for each subject of the file; got "
            f"{len(rows)} times for {n_rows if whole else 'more'} subjects."
        )
    return rows[first : first + n_rows]
