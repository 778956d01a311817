"""Read and write tables of any size in chunks; a file is on disk whole or not at all."""

from __future__ import annotations

import gzip
import io
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from survtrace.errors import (
    DataError,
    DataWarning,
    Words,
    kind_of_warning,
    row_span,
    rows_after,
    warn,
)
from survtrace.files import replacing
from survtrace.rules import read_path
from survtrace.tables.files.excel import EXCEL, read_sheet
from survtrace.tables.files.formats import (
    readable,
    require_columns,
    require_separated,
    require_suffix,
    require_table,
    unchanged,
)
from survtrace.tables.files.parquet import (
    arrow_chunks,
    arrow_schema,
    arrow_writer,
    count_parquet_rows,
    is_parquet,
    parquet_files,
)
from survtrace.tables.files.reading import Reading
from survtrace.tables.files.text_files import STANDARD, find_format, text_source, warn_of_format

Write = Callable[[pd.DataFrame], None]
N_ROWS = 16_384


def read_chunks(
    path: str | Path,
    columns: Sequence[str],
    *,
    verbatim: Sequence[str] = (),
    text: Sequence[str] = (),
    n_rows: int = N_ROWS,
    reading: Reading | None = None,
) -> Iterator[pd.DataFrame]:
    r"""Read some columns of a table (see `read_table`) in chunks of at most ``n_rows`` rows.

    ``verbatim`` columns stay as they are: texts ("007") or, of a file with types, values of their
    type, whatever a chunk holds. ``text`` columns stay texts where the file has no types.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "t.csv").write_text("id,age,sex\n007,61,f\n8,47,m\n9,55,f\n")
    ...     chunks = read_chunks(Path(folder, "t.csv"), ["id", "age"], verbatim=["id"], n_rows=2)
    ...     [chunk.to_numpy().tolist() for chunk in chunks]
    [[['007', 61], ['8', 47]], [['9', 55]]]
    """
    path, reading = require_table(path), reading or Reading()
    with readable(path), unchanged(parquet_files(path)):
        if is_parquet(path) or path.suffix.lower() == ".feather":
            require_columns(arrow_schema(path).names, columns)
            for chunk in arrow_chunks(path, list(columns), n_rows):
                yield as_frame(chunk, verbatim)
        elif path.suffix.lower() in EXCEL:
            table = read_sheet(path, reading)
            require_columns(table.columns, columns)
            for first in range(0, len(table), n_rows):
                yield table[list(columns)][first : first + n_rows]
        else:
            yield from _text_chunks(path, list(columns), [*verbatim, *text], n_rows, reading)


def column_names(path: str | Path, reading: Reading | None = None) -> list[str]:
    r"""Return the names of the columns of a table; of a text file only its first lines are read.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "t.csv").write_text("id,age\n007,61\n")
    ...     column_names(Path(folder, "t.csv"))
    ['id', 'age']
    """
    path, reading = require_table(path), reading or Reading()
    with readable(path):
        if is_parquet(path) or path.suffix.lower() == ".feather":
            return list(arrow_schema(path).names)
        if path.suffix.lower() in EXCEL:
            return list(read_sheet(path, reading).columns)
        return list(find_format(path, reading).names)


@contextmanager
def warnings_of_rows(first: int, n_rows: int, seen: set[str]) -> Iterator[None]:
    """Warn of each kind of thing once, not in every chunk; name the rows of an error.

    ``seen`` collects the kinds of warnings that were given.

    Examples
    --------
    >>> with warnings_of_rows(first=200, n_rows=100, seen=set()):
    ...     raise DataError("column 'age' is numerical")
    Traceback (most recent call last):
    survtrace.errors.DataError: in rows 200 to 299: column 'age' is numerical
    """
    rows = f"in {row_span(first, n_rows)}: " if first else ""
    try:
        with warnings.catch_warnings(record=True) as caught, rows_after(first):
            warnings.simplefilter("always", DataWarning)
            yield
    except DataError as error:
        in_command = f"{rows}{error.in_command}"
        raise DataError(f"{rows}{error}", in_command=in_command, answers=error.answers) from None
    for warning in caught:
        kind = kind_of_warning(str(warning.message))
        if kind not in seen:
            seen.add(kind)
            in_command = f"{rows}{getattr(warning.message, 'in_command', warning.message)}"
            message = Words(f"{rows}{warning.message}", in_command=in_command)
            warn(message, warning.category)


def count_rows(path: str | Path) -> int | None:
    """Count the rows of a table, where its file tells them; else None."""
    path = require_table(path)
    if not is_parquet(path):
        return None
    with readable(path):
        return count_parquet_rows(path)


def as_frame(batch: Any, verbatim: Sequence[str] = ()) -> pd.DataFrame:
    """Convert an Arrow table to a frame; ``verbatim`` columns keep their type."""
    frame: pd.DataFrame = batch.to_pandas(ignore_metadata=True)
    for name in verbatim:
        frame[name] = pd.arrays.ArrowExtensionArray(batch[name])
    return frame


@contextmanager
def write_chunks(path: str | Path) -> Iterator[Write]:
    r"""Yield a function that writes one chunk of a table after the other; ``-`` is standard output.

    The file appears under its name when all is written. If anything goes wrong before, Ctrl-C
    included, there is none, and one that was there before is left as it was.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with write_chunks(Path(folder, "t.csv")) as write:
    ...         write(pd.DataFrame({"age": [61]}))
    ...         write(pd.DataFrame({"age": [47]}))
    ...     Path(folder, "t.csv").read_text()
    'age\n61\n47\n'
    """
    path = read_path("the file to write", path)
    if str(path) == STANDARD:
        if sys.stdout is None:
            raise DataError("standard output is closed. Pass the path of a file to write.")
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8")  # as every file
        yield _text_writer(sys.stdout, ",")
        return
    require_suffix(path)
    with written_whole(path) as part, ExitStack() as stack:
        if path.suffix.lower() in (".parquet", ".feather"):
            yield _arrow_writer(part, path, stack)
        else:
            opened = partial(gzip.open, compresslevel=6) if path.suffix.lower() == ".gz" else open
            stream = stack.enter_context(opened(part, "wt", encoding="utf-8", newline=""))
            yield _text_writer(
                stream, "\t" if path.name.lower().endswith((".tsv", ".tsv.gz")) else ","
            )


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Yield a file to write to beside the path, put in its place at the end or else removed."""
    if os.path.isdir(path):
        raise DataError(f"{path} is a folder. Pass the path of a file to write.")
    try:
        with replacing(path) as part:
            yield part
    except OSError as error:
        reason = error.strerror or error
        raise DataError(f"{path} could not be written ({reason}). Choose another place.") from None


def _text_chunks(
    path: Path, columns: list[str], text: Sequence[str], n_rows: int, reading: Reading
) -> Iterator[pd.DataFrame]:
    source = text_source(path)
    found = find_format(source, reading)
    warn_of_format(source, found.warnings)
    require_separated(path, found.names, found.sep)
    types = dict.fromkeys(text, "string")
    with pd.read_csv(source, dtype=types, chunksize=n_rows, **found.options()) as chunks:
        for chunk in chunks:
            require_columns(chunk.columns, columns)
            yield chunk[columns]


def _text_writer(stream: Any, sep: str) -> Write:
    header = True

    def write(chunk: pd.DataFrame) -> None:
        nonlocal header
        chunk.to_csv(stream, sep=sep, header=header, index=False, lineterminator="\n")
        stream.flush()
        header = False

    return write


def _arrow_writer(part: Path, path: Path, stack: ExitStack) -> Write:
    """Return a function that writes chunks; the first decides the types of the columns."""
    with readable(path):
        import pyarrow
    file: Any = None
    schema: Any = None

    def write(chunk: pd.DataFrame) -> None:
        nonlocal file, schema
        if file is None:
            schema = pyarrow.Schema.from_pandas(chunk, preserve_index=False)
            file = stack.enter_context(arrow_writer(part, path.suffix.lower(), schema))
        file.write_table(pyarrow.Table.from_pandas(chunk, schema=schema, preserve_index=False))

    return write
