"""What is said of a table read in pieces: each thing once, and in which rows it is."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from survtrace.errors import (
    DataError,
    DataWarning,
    Words,
    kind_of_warning,
    row_span,
    rows_after,
    warn,
)


@contextmanager
def warnings_of_rows(first: int, n_rows: int, told: set[str]) -> Iterator[None]:
    """Warn of each thing once, not for every piece; say in which rows an error is.

    Examples
    --------
    >>> with warnings_of_rows(first=200, n_rows=100, told=set()):
    ...     raise DataError("column 'age' is numerical")
    Traceback (most recent call last):
    survtrace.errors.DataError: in rows 200 to 299: column 'age' is numerical
    """
    place = f"in {row_span(first, n_rows)}: " if first else ""
    try:
        with warnings.catch_warnings(record=True) as caught, rows_after(first):
            warnings.simplefilter("always", DataWarning)
            yield
    except DataError as error:
        raise DataError(
            f"{place}{error}", in_command=f"{place}{error.in_command}", answers=error.answers
        ) from None
    for warning in caught:
        kind = kind_of_warning(str(warning.message))
        if kind not in told:
            told.add(kind)
            in_command = f"{place}{getattr(warning.message, 'in_command', warning.message)}"
            words = Words(f"{place}{warning.message}", in_command=in_command)
            warn(words, warning.category)
