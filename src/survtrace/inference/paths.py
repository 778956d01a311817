"""A path in place of a table: rows are read, and answered for, one chunk after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from survtrace.errors import DataError
from survtrace.tables.covariates.encoding import Encoding
from survtrace.tables.files.chunks import N_ROWS, read_chunks, warnings_of_rows
from survtrace.tables.files.reading import Reading
from survtrace.tables.files.text_levels import text_columns

T = TypeVar("T")
# A pandas or polars frame, a mapping of columns or a 2-D array; or the path of a file.
Table = Any


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
    warned = set[str]()
    for chunk in chunks:
        with warnings_of_rows(first, len(chunk), warned):
            answered = answer(chunk, first)
        yield answered
        first += len(chunk)


def times_of_rows(
    after: ArrayLike | None, first: int, n_rows: int, *, whole: bool = False
) -> ArrayLike | None:
    """Take the times of some subjects, where there is one for each; ``whole``: of all."""
    if after is None or np.ndim(after) != 1:
        return after
    times = np.asarray(after)
    if len(times) < first + n_rows or (whole and len(times) > n_rows):
        raise DataError(
            "conditional_after must be a time, or one for each subject of the file; got "
            f"{len(times)} times for {n_rows if whole else 'more'} subjects."
        )
    return times[first : first + n_rows]
