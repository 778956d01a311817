"""Tables of any size: read in pieces, written in pieces, on disk whole or not at all."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from survtrace.errors import DataError
from survtrace.files import replacing
from survtrace.tables.files.excel import EXCEL, read_sheet
from survtrace.tables.files.formats import (
    readable,
    require_columns,
    require_separated,
    require_suffix,
    require_table,
    separator,
)
from survtrace.tables.files.parquet import (
    count_parquet_rows,
    is_parquet,
    parquet_chunks,
    parquet_schema,
)
from survtrace.tables.files.reading import Reading
from survtrace.tables.files.text_files import STANDARD, find_format, remark, text_source

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
    r"""Some columns of a table, so many rows at a time; ``-`` is CSV from standard input.

    Parameters
    ----------
    path
        As in `read_table`.
    columns
        Those wanted.
    verbatim
        Columns that stay as they are: in their spelling ("007") or, of a file with types, in their
        type, whatever a piece holds.
    text
        Columns that keep their spelling, where the file has no types.
    n_rows
        Most rows of a piece.
    reading
        What is known of how the file is written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "t.csv").write_text("id,age,sex\n007,61,f\n8,47,m\n9,55,f\n")
    ...     pieces = read_chunks(Path(folder, "t.csv"), ["id", "age"], verbatim=["id"], n_rows=2)
    ...     [piece.to_numpy().tolist() for piece in pieces]
    [[['007', 61], ['8', 47]], [['9', 55]]]
    """
    path, reading = require_table(path), reading or Reading()
    with readable(path):
        if is_parquet(path) or path.suffix == ".feather":
            yield from _arrow_pieces(path, list(columns), verbatim, n_rows)
        elif path.suffix in EXCEL:
            yield from _sheet_pieces(path, list(columns), n_rows, reading)
        else:
            yield from _text_pieces(path, list(columns), [*verbatim, *text], n_rows, reading)


def count_rows(path: str | Path) -> int | None:
    """How many rows a table has, where its file says so."""
    path = require_table(path)
    if not is_parquet(path):
        return None
    with readable(path):
        return count_parquet_rows(path)


def as_frame(batch: Any, verbatim: Sequence[str] = ()) -> pd.DataFrame:
    """An Arrow table as a frame; columns that stay verbatim keep their type."""
    piece: pd.DataFrame = batch.to_pandas(ignore_metadata=True)
    for name in verbatim:
        piece[name] = pd.arrays.ArrowExtensionArray(batch[name])
    return piece


@contextmanager
def write_chunks(path: str | Path) -> Iterator[Write]:
    r"""A function that writes one piece of a table after the other; ``-`` is standard output.

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
    path = Path(path)
    if str(path) == STANDARD:
        yield _text_writer(sys.stdout, ",")
        return
    require_suffix(path)
    with written_whole(path) as part, ExitStack() as stack:
        if path.suffix in (".parquet", ".feather"):
            yield _arrow_writer(part, path, stack)
        else:
            opened = partial(gzip.open, compresslevel=6) if path.suffix == ".gz" else open
            stream = stack.enter_context(opened(part, "wt", encoding="utf-8", newline=""))
            yield _text_writer(stream, separator(path))


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """A file to write to beside the path, put in its place at the end or else removed."""
    if path.is_dir():
        raise DataError(f"{path} is a folder. Pass the path of a file to write.")
    try:
        with replacing(path) as part:
            yield part
    except OSError as error:
        reason = error.strerror or error
        raise DataError(f"{path} could not be written ({reason}). Choose another place.") from None


def _text_pieces(
    path: Path, columns: list[str], text: Sequence[str], n_rows: int, reading: Reading
) -> Iterator[pd.DataFrame]:
    source = text_source(path)
    found = find_format(source, reading)
    remark(source, found.remarks)
    require_separated(path, found.names, found.sep)
    with pd.read_csv(
        source,
        dtype=dict.fromkeys(text, "string"),
        chunksize=n_rows,
        **found.options(),
    ) as pieces:
        for piece in pieces:
            require_columns(piece.columns, columns)
            yield piece[columns]


def _sheet_pieces(
    path: Path, columns: list[str], n_rows: int, reading: Reading
) -> Iterator[pd.DataFrame]:
    table = read_sheet(path, reading)
    require_columns(table.columns, columns)
    for first in range(0, len(table), n_rows):
        yield table[columns][first : first + n_rows]


def _arrow_pieces(
    path: Path, columns: list[str], verbatim: Sequence[str], n_rows: int
) -> Iterator[pd.DataFrame]:
    batches = _parquet_batches if is_parquet(path) else _feather_batches
    for batch in batches(path, columns, n_rows):
        yield as_frame(batch, verbatim)


def _parquet_batches(path: Path, columns: list[str], n_rows: int) -> Iterator[Any]:
    require_columns(parquet_schema(path).names, columns)
    return parquet_chunks(path, columns, n_rows)


def _feather_batches(path: Path, columns: list[str], n_rows: int) -> Iterator[Any]:
    import pyarrow

    with pyarrow.memory_map(str(path)) as source:
        file = pyarrow.ipc.open_file(source)
        require_columns(file.schema.names, columns)
        for number in range(file.num_record_batches):
            batch = file.get_batch(number).select(columns)
            for first in range(0, len(batch), n_rows):
                yield batch.slice(first, n_rows)


def _text_writer(stream: Any, sep: str) -> Write:
    header = True

    def write(piece: pd.DataFrame) -> None:
        nonlocal header
        piece.to_csv(stream, sep=sep, header=header, index=False, lineterminator="\n")
        stream.flush()
        header = False

    return write


def _arrow_writer(part: Path, path: Path, stack: ExitStack) -> Write:
    """The first piece says of which types the columns are."""
    with readable(path):
        import pyarrow
        from pyarrow import parquet
    file: Any = None
    schema: Any = None

    def write(piece: pd.DataFrame) -> None:
        nonlocal file, schema
        if file is None:
            schema = pyarrow.Schema.from_pandas(piece, preserve_index=False)
            to_file = parquet.ParquetWriter if path.suffix == ".parquet" else pyarrow.ipc.new_file
            file = stack.enter_context(to_file(str(part), schema))
        file.write_table(pyarrow.Table.from_pandas(piece, schema=schema, preserve_index=False))

    return write
