"""Find out how a text file is written from its first lines: separator, encoding, columns."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, Any, cast

import narwhals as nw
import pandas as pd

from survtrace.errors import DataError, DataWarning, Words, warn
from survtrace.tables.covariates.covariate import require_distinct_names
from survtrace.tables.covariates.text_numbers import common_decimal
from survtrace.tables.files.reading import Reading

STANDARD = "-"  # standard input or output, as CSV
SEPARATORS = (",", ";", "\t", "|")
SAMPLE_BYTES = 2**18
SAMPLE_LINES = 50
FALLBACK = "cp1252"  # what Windows programs write in western Europe and America
# As pandas, less "None", which may be a level or mean that nothing happened.
NOT_THERE = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
    *("<NA>", "N/A", "NA", "NULL", "NaN", "n/a", "nan", "null"),
)
# From 3.1 on pandas always reads numbers to the last digit, and warns of this option.
OLD_PANDAS = tuple(int(part) for part in pd.__version__.split(".")[:2]) < (3, 1)
TO_THE_LAST_DIGIT: dict[str, Any] = {"float_precision": "round_trip"} if OLD_PANDAS else {}
# One type for a column, not one for each block.
EXACT: dict[str, Any] = {
    **TO_THE_LAST_DIGIT,
    "low_memory": False,
    "keep_default_na": False,
    "na_values": list(NOT_THERE),
}


@dataclass(frozen=True)
class TextFormat:
    """How a text file is to be read."""

    sep: str
    encoding: str
    names: tuple[str, ...]  # those of the header
    empty: tuple[str, ...] = ()  # columns without a name, empty in the first lines
    row_names: bool = False  # rows have a value more than the header, in front, as R writes them
    trailing: bool = False  # rows have an empty value more than the header, at the end
    warnings: tuple[str, ...] = ()

    def options(self) -> dict[str, Any]:
        """Return the options of `pandas.read_csv`."""
        options = {"sep": self.sep, "encoding": self.encoding, **EXACT}
        return {**options, "index_col": False} if self.trailing else options


def find_format(path: Path | StandardInput, reading: Reading) -> TextFormat:
    r"""Find out how a text file is written, where the user has not said so.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "t.csv").write_text("age;crp;\n61;1,5;\n47;0,3;\n")
    ...     found = find_format(Path(folder, "t.csv"), Reading())
    >>> found.sep, found.names, found.empty
    (';', ('age', 'crp', 'Unnamed: 2'), ('Unnamed: 2',))
    """
    if isinstance(path, StandardInput):
        start = path.start
    else:
        with open_bytes(path) as file:
            start = file.read(SAMPLE_BYTES)
    encoding, warnings = _encoding(start, path, reading)
    lines = _first_lines(start, encoding, path)
    sep = reading.sep or _separator(lines, path)
    rows = [row for row in csv.reader(lines, delimiter=sep) if row]
    if not rows:
        raise DataError(f"{path.name} is empty. Pass a table with a line of column names.")
    header, body = rows[0], rows[1:]
    require_distinct_names([n.strip() for n in header if n.strip()], path.name, "line")
    names = tuple(name if name else f"Unnamed: {j}" for j, name in enumerate(header))
    longer = bool(body) and all(len(row) == len(header) + 1 for row in body)
    trailing = longer and not any(row[-1].strip() for row in body)
    empty = tuple(
        name
        for j, name in enumerate(names)
        if not header[j].strip() and not any(row[j].strip() for row in body if j < len(row))
    )
    if all(len(row) >= len(header) for row in body[:-1]):
        warnings = (*warnings, *_cut_off(path, encoding, sep, len(header)))
    return TextFormat(sep, encoding, names, empty, longer and not trailing, trailing, warnings)


class StandardInput(io.RawIOBase):
    """Standard input whose first lines can be read twice."""

    name = "standard input"
    suffix = ""
    suffixes: tuple[str, ...] = ()

    def __init__(self) -> None:
        if sys.stdin is None:
            raise DataError("standard input is closed. Pass the path of a table.")
        stream: Any = sys.stdin.buffer
        self._stream = stream
        self.start = b""
        while self.start.count(b"\n") < 2 and (part := stream.read1(SAMPLE_BYTES)):
            self.start += part
        self._waiting = self.start

    def readable(self) -> bool:
        """Return True, as `io.RawIOBase` asks."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer, first with the bytes that were read before."""
        part = self._waiting[: len(buffer)] or self._stream.read1(len(buffer))
        self._waiting = self._waiting[len(part) :]
        buffer[: len(part)] = part
        return len(part)


def text_source(path: Path) -> Any:
    """Return what text is read from: a path, or standard input."""
    return StandardInput() if str(path) == STANDARD else path


def warn_of_format(path: Path | StandardInput, warnings: Sequence[str]) -> None:
    """Warn once of how a file was read."""
    if warnings:
        in_command = "; ".join(getattr(each, "in_command", each) for each in warnings)
        message = f"{path.name}: {'; '.join(warnings)}."
        warn(DataWarning(message, in_command=f"{path.name}: {in_command}."))


def find_decimal(table: nw.DataFrame[Any], n_rows: int = 500) -> str:
    """Find the decimal mark of the texts of a table (see `common_decimal`).

    Examples
    --------
    >>> from survtrace.tables.covariates.covariates import open_table
    >>> find_decimal(open_table({"crp": ["1,5", "<0,6"], "sex": ["f", "m"]}))
    ','
    """
    kinds = (nw.String, nw.Object, nw.Unknown)
    names = [name for name in table.columns if table[name].dtype in kinds]
    columns = (_first_present(table[name], n_rows) for name in names)
    return common_decimal([text for text in column if isinstance(text, str)] for column in columns)


def _first_present(series: nw.Series[Any], n_rows: int) -> list[Any]:
    try:
        return series.drop_nulls().head(n_rows).to_list()
    except Exception:  # what cannot be compared is refused by name where the column is read
        return series.to_list()


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file to read its bytes, unpacked where its name ends in .gz."""
    return cast("IO[bytes]", gzip.open(path)) if path.suffix.lower() == ".gz" else path.open("rb")


def _encoding(
    start: bytes, path: Path | StandardInput, reading: Reading
) -> tuple[str, tuple[str, ...]]:
    if reading.encoding is not None:
        try:
            codecs.lookup(reading.encoding)
        except LookupError:
            raise DataError(
                f"{reading.encoding!r} is no encoding that Python knows. Usual ones are utf-8, "
                "cp1252, latin-1."
            ) from None
        return reading.encoding, ()
    if start.startswith(codecs.BOM_UTF8):
        return "utf-8-sig", ()
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16", ()
    # A letter in another encoding may come late: 64 MiB are read.
    parts = [start] if isinstance(path, StandardInput) else _mebibytes(path, 64)
    with suppress(UnicodeDecodeError):
        decoder = codecs.getincrementaldecoder("utf-8")()
        for part in parts:
            decoder.decode(part)
        return "utf-8", ()
    seen = f"it is not UTF-8 and was read as {FALLBACK}; if letters look wrong, "
    warning = Words(f"{seen}pass Reading(encoding=...)", in_command=f"{seen}say --encoding NAME")
    return FALLBACK, (warning,)


def has_leading_zeros(path: Path, found: TextFormat) -> bool:
    """Check, by the bytes, whether some value of a file may begin with a zero and a digit."""
    if found.encoding == "utf-16":
        return True
    start = re.compile(rb'(?:^|[\n"' + re.escape(found.sep.encode()) + rb"])0[0-9]")
    end = b""
    for part in _mebibytes(path):
        if start.search(end + part):
            return True
        end = part[-2:]
    return False


def _mebibytes(path: Path, most: int | None = None) -> Iterator[bytes]:
    """Yield the bytes of a file, a MiB at a time."""
    with open_bytes(path) as file:
        yield from islice(iter(partial(file.read, 2**20), b""), most)


def _first_lines(start: bytes, encoding: str, path: Path | StandardInput) -> list[str]:
    text = codecs.getincrementaldecoder(encoding)(errors="replace").decode(start)
    lines = io.StringIO(text, newline="").readlines()
    if len(lines) > 2 and not lines[-1].endswith(("\n", "\r")):
        lines = lines[:-1]  # it may be cut
    if "\0" in text[:1000]:
        raise DataError(f"{path.name} could not be read as a table (it is no text file).")
    return lines[:SAMPLE_LINES]


def _cut_off(path: Path | StandardInput, encoding: str, sep: str, n_names: int) -> tuple[str, ...]:
    """Return a warning if the last line of a file has fewer values than its header has names."""
    if (
        isinstance(path, StandardInput)
        or path.suffix.lower() == ".gz"
        or encoding.startswith("utf-16")
    ):
        return ()
    with open(path, "rb") as file:
        file.seek(max(0, path.stat().st_size - SAMPLE_BYTES))
        lines = file.read().decode(encoding, errors="replace").splitlines()
    last = next((line for line in reversed(lines) if line.strip()), "")
    if last.count('"') % 2:  # the end of a text with line breaks
        return ()
    n_values = len(next(csv.reader([last], delimiter=sep), []))
    if not 0 < n_values < n_names or len(lines) < 3:
        return ()
    return (
        f"its last line has {n_values} of {n_names} values, as if the file had been cut off; the "
        "others are taken as missing",
    )


def _separator(lines: list[str], path: Path | StandardInput) -> str:
    """Choose the separator by which most lines have as many values as the header."""
    usual = "\t" if path.name.lower().endswith((".tsv", ".tsv.gz")) else ","
    best, best_score = usual, (0.0, 0)
    for sep in dict.fromkeys((usual, *SEPARATORS)):
        rows = [row for row in csv.reader(lines, delimiter=sep) if row]
        width = len(rows[0]) if rows else 0
        if width < 2:
            continue
        alike = sum(len(row) in (width, width + 1) for row in rows) / len(rows)
        score = (round(alike, 1), width)
        if score > best_score:
            best, best_score = sep, score
    return best
