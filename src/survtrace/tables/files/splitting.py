"""Divide a table in a file into rows to fit on and rows to evaluate on, copied as they are."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from survtrace.errors import DataError, SettingError
from survtrace.tables.covariates.distinct_values import factorise_array
from survtrace.tables.files.chunks import N_ROWS, read_chunks, written_whole
from survtrace.tables.files.excel import EXCEL
from survtrace.tables.files.formats import (
    READABLE,
    read_table,
    readable,
    require_suffix,
    require_table,
)
from survtrace.tables.files.parquet import (
    arrow_chunks,
    arrow_schema,
    arrow_writer,
    count_parquet_rows,
    is_parquet,
)
from survtrace.tables.files.reading import Reading
from survtrace.tables.files.text_files import STANDARD, find_format, open_bytes

Mask = NDArray[np.bool_]


def draw_held_out(
    n_rows: int,
    fraction: float,
    *,
    seed: int = 0,
    labels: Sequence[Any] | None = None,
    subjects: Sequence[Any] | None = None,
) -> Mask:
    """Draw the rows to hold out of a fit: a mask with the same fraction of each label.

    A subject's rows stay together and count by the label (such as the event) of the last of them.
    ``subjects`` identifies the subject of each row; one without identifier is a subject by itself.

    Examples
    --------
    >>> draw_held_out(8, 0.25, labels=["0", "0", "0", "0", "1", "1", "1", "1"]).reshape(2, 4).sum(1)
    array([1, 1])
    """
    if not 0 < fraction < 1:
        raise SettingError(f"the share to hold out must lie between 0 and 1; got {fraction}.")
    subject: NDArray[np.int64] = np.arange(n_rows)
    if subjects is not None:
        subject, distinct = factorise_array(np.asarray(subjects, dtype=object))
        unnamed = subject < 0
        subject[unnamed] = len(distinct) + np.arange(unnamed.sum())
    n_subjects = int(subject.max(initial=-1)) + 1
    if n_subjects < 2:
        raise DataError(f"a split needs at least two subjects; got {n_subjects}.")
    label = np.zeros(n_subjects, dtype=np.int64)
    if labels is not None:
        label[subject] = factorise_array(np.asarray(labels, dtype=object), use_na_sentinel=False)[0]
    drawn = np.zeros(n_subjects, dtype=bool)
    rng, n_due = np.random.default_rng(seed), 0.0
    for each in np.unique(label):
        members = rng.permutation(np.flatnonzero(label == each))
        n_due += fraction * len(members)  # what rounding leaves of one label goes to the next
        n_drawn = round(n_due)
        n_due -= n_drawn
        drawn[members[:n_drawn]] = True
    if drawn.all() or not drawn.any():
        raise DataError(
            f"a share of {fraction} of {n_subjects} subjects leaves one side empty. Pass a larger "
            "table or another share."
        )
    return drawn[subject]


def read_verbatim(
    path: Path, names: Sequence[str], reading: Reading | None = None
) -> tuple[int, dict[str, list[Any]]]:
    """Count the rows of a table, and read some columns as they are written."""
    reading = reading or Reading()
    if not names:
        return _count_rows(path, reading), {}
    chunks = list(read_chunks(path, list(names), verbatim=list(names), reading=reading))
    return sum(map(len, chunks)), {
        name: [None if pd.isna(value) else value for chunk in chunks for value in chunk[name]]
        for name in names
    }


def copy_rows(path: str | Path, parts: Mapping[Path, Mask], reading: Reading | None = None) -> None:
    r"""Copy some rows of a table to each of several files of the same format, byte for byte.

    ``parts`` gives the mask of rows for each new file. Rows of an Excel file are written as CSV.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table, new = Path(folder, "t.csv"), Path(folder, "new.csv")
    ...     _ = table.write_text("id,age\n007,61.50\n008,47.00\n")
    ...     copy_rows(table, {new: np.array([True, False])})
    ...     new.read_text()
    'id,age\n007,61.50\n'
    """
    path, reading = require_splittable(path, list(parts)), reading or Reading()
    with ExitStack() as stack, readable(path):
        files = {stack.enter_context(written_whole(out)): mask for out, mask in parts.items()}
        if is_parquet(path) or path.suffix.lower() == ".feather":
            _copy_arrow(path, files, stack)
        elif path.suffix.lower() in EXCEL:
            frame = read_table(path, reading)
            _require_all(len(frame), files, path)
            for part, mask in files.items():
                frame[mask].to_csv(part, index=False)
        else:
            _copy_text(path, files, stack, _separator(path, reading))


def require_splittable(path: str | Path, parts: Sequence[Path]) -> Path:
    """Refuse standard input, and new files of another format than the table's."""
    if str(path) == STANDARD:
        raise DataError("standard input cannot be split. Write the table to a file first.")
    path = require_table(path)
    ending = table_ending(path)
    for out in parts:
        require_suffix(out, READABLE)
        if table_ending(out) != ending:
            raise DataError(
                f"the rows of {path.name} go to a file whose name ends in {ending}; got {out.name}."
            )
    return path


def table_ending(path: Path) -> str:
    """Return the suffix of files that take rows of a table: its own, .csv for Excel.

    Examples
    --------
    >>> table_ending(Path("patients.2024.csv.gz"))
    '.csv.gz'
    """
    if path.is_dir():
        return ".parquet"
    if path.suffix.lower() in EXCEL:
        return ".csv"
    ending = path.suffix.lower()
    return "".join(path.suffixes[-2:]).lower() if ending == ".gz" else ending


def _separator(path: Path, reading: Reading) -> str:
    """Find the separator of a text file whose lines can be split by their bytes."""
    found = find_format(path, reading)
    if found.encoding.lower().replace("_", "-").startswith(("utf-16", "utf-32", "utf16", "utf32")):
        raise DataError(
            f"{path.name} is written in {found.encoding}. Save it as UTF-8 to split it."
        )
    return found.sep


def _count_rows(path: Path, reading: Reading) -> int:
    if is_parquet(path):
        return count_parquet_rows(path)
    if path.suffix.lower() == ".feather":
        return sum(map(len, arrow_chunks(path, arrow_schema(path).names, N_ROWS)))
    if path.suffix.lower() in EXCEL:
        return len(read_table(path, reading))
    return sum(1 for _ in _records(path, _separator(path, reading))) - 1


def _copy_text(path: Path, files: Mapping[Path, Mask], stack: ExitStack, sep: str) -> None:
    opened = partial(gzip.open, compresslevel=6) if path.suffix.lower() == ".gz" else open
    streams = [(stack.enter_context(opened(part, "wb")), mask) for part, mask in files.items()]
    records = _records(path, sep)
    header = next(records, b"")
    for stream, _ in streams:
        stream.write(_ended(header))
    n_rows = -1
    for n_rows, record in enumerate(records):
        for stream, mask in streams:
            if n_rows < len(mask) and mask[n_rows]:
                stream.write(_ended(record))
    _require_all(n_rows + 1, files, path)


def _ended(record: bytes) -> bytes:
    return record if record.endswith((b"\n", b"\r")) else record + b"\n"


def _records(path: Path, sep: str) -> Iterator[bytes]:
    """Yield the records of a text file: lines, joined at quoted line breaks, but for blank ones."""
    blank = b" \r\n" if sep == "\t" else b" \t\r\n"
    mark = sep.encode()
    with open_bytes(path) as lines:
        record, inside = b"", False
        for line in lines:
            inside = _ends_inside_quotes(line, mark, inside)
            record += line
            if not inside:
                if record.strip(blank):
                    yield record
                record = b""
        if record.strip(blank):
            yield record


def _ends_inside_quotes(line: bytes, sep: bytes, inside: bool) -> bool:
    """Check whether a quoted field is still open at the end of a line, as pandas reads it.

    Examples
    --------
    >>> _ends_inside_quotes(b'1,"two', b",", False), _ends_inside_quotes(b'1,5" pipe', b",", False)
    (True, False)
    """
    if b'"' not in line:
        return inside
    index = 0
    while True:
        if inside:
            index = line.find(b'"', index) + 1
            if index == 0:
                return True
            if line[index : index + 1] == b'"':  # a doubled quote is a quote in the text
                index += 1
                continue
            inside = False
        elif line[index : index + 1] == b'"':
            inside, index = True, index + 1
            continue
        index = line.find(sep, index) + 1
        if index == 0:
            return False


def _copy_arrow(path: Path, files: Mapping[Path, Mask], stack: ExitStack) -> None:
    schema, suffix = arrow_schema(path), table_ending(path)
    writers = [stack.enter_context(arrow_writer(part, suffix, schema)) for part in files]
    first = 0
    for table in arrow_chunks(path, schema.names, N_ROWS):
        for writer, mask in zip(writers, files.values(), strict=True):
            rows = mask[first : first + len(table)]
            writer.write_table(table.replace_schema_metadata(schema.metadata).filter(rows))
        first += len(table)
    _require_all(first, files, path)


def _require_all(n_rows: int, files: Mapping[Path, Mask], path: Path) -> None:
    """Refuse a table whose rows were counted differently when they were drawn."""
    expected = len(next(iter(files.values())))
    if n_rows != expected:
        raise DataError(
            f"{path.name} has {n_rows:,} rows of text, of which {expected:,} were read as rows of "
            "a table; it cannot be split as it is. Save it as plain CSV or Parquet and try again."
        )
