"""Read a table of patients from a file, and split it by the names of its columns."""

from __future__ import annotations

import csv
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from stat import S_ISREG
from typing import Any

import narwhals as nw
import pandas as pd

from survtrace.errors import Answer, DataError, DataWarning, missing_extra
from survtrace.rules import near_name, read_path
from survtrace.tables.covariates.text_numbers import (
    BOTH,
    parse_distinct,
    parse_numbers,
    parted_thousands,
    two_readings,
)
from survtrace.tables.files.excel import EXCEL, read_sheet
from survtrace.tables.files.parquet import parquet_chunks, parquet_columns, parquet_schema
from survtrace.tables.files.reading import Reading
from survtrace.tables.files.text_files import (
    STANDARD,
    TextFormat,
    find_decimal,
    find_format,
    has_leading_zeros,
    text_source,
    warn_of_format,
)
from survtrace.tables.outcome.outcome import read_outcome

SUFFIXES = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet", ".feather")
READABLE = (*SUFFIXES, ".txt", ".txt.gz", *EXCEL)
DECIMALS = (
    Answer("if a comma stands before decimals", ("--decimal", ",")),
    Answer("if a point stands before decimals", ("--decimal", ".")),
)
HINTS = "survtrace"  # the key under which attrs of a frame tell the inspection about its file


def read_table(path: str | Path, reading: Reading | None = None) -> pd.DataFrame:
    """Read a table by the ending of its name; ``-`` is CSV from standard input.

    CSV, TSV or other text (also .gz), Parquet, Feather, Excel, or a folder of Parquet files, whose
    order is that of their names. Separator and encoding of a text file are found out, unless
    ``reading`` gives them. Texts stay texts: the inspection of the table reads them, by column.

    Examples
    --------
    >>> read_table("nowhere.csv")
    Traceback (most recent call last):
    survtrace.errors.DataError: nowhere.csv does not exist. Pass the path of a table.
    """
    path, reading = require_table(path), reading or Reading()
    found = ""
    with readable(path):
        if path.is_dir():
            table = _read_folder(path)
        elif path.suffix.lower() == ".parquet":
            table = pd.read_parquet(path)
        elif path.suffix.lower() == ".feather":
            table = pd.read_feather(path)
        elif path.suffix.lower() in EXCEL:
            table = read_sheet(path, reading)
        else:
            table, found = _read_text(path, reading)
    if reading.decimal or found or reading.missing:
        table.attrs[HINTS] = {"decimal": reading.decimal or found, "missing": list(reading.missing)}
    return table


def _read_text(path: Path, reading: Reading) -> tuple[pd.DataFrame, str]:
    """Read a text file; return the table and its decimal mark, as `common_decimal` finds it."""
    source = text_source(path)
    found = find_format(source, reading)
    table = pd.read_csv(source, **found.options())
    if str(path) != STANDARD and has_leading_zeros(path, found):
        table = _keep_texts(table, path, found, "iuf", _has_codes)
    if found.row_names:
        table = table.reset_index(drop=True)
    require_separated(path, list(table.columns), found.sep)
    format_warnings = list(found.warnings)
    if empty := [name for name in found.empty if name in table and table[name].isna().all()]:
        table = table.drop(columns=empty)
        format_warnings.append(f"{len(empty)} columns without name and values are left out")
    warn_of_format(source, format_warnings)
    decimal = find_decimal(nw.from_native(table))
    if "," in (decimal, reading.decimal) or decimal == BOTH:
        if str(path) != STANDARD:
            table = _keep_texts(table, path, found, "f", _may_group_thousands)
        if decimal == "," and any(_has_fractions(column) for _, column in table.items()):
            decimal = BOTH
    elif found.sep == ";" and not reading.decimal and str(path) != STANDARD:
        # Written where decimals have commas: if no column has fractions, 1.155 may be a thousand.
        texts = _keep_texts(table, path, found, "f", lambda column: bool(parted_thousands(column)))
        if not any(_has_fractions(column) for _, column in texts.items()):
            table = texts
    return table, decimal


def _has_fractions(column: pd.Series[Any]) -> bool:
    """Check whether a column of a text file was read as numbers with decimal points."""
    return column.dtype.kind == "f" and bool((column.dropna().head(500) % 1 != 0).any())


def _keep_texts(
    table: pd.DataFrame,
    path: Path,
    found: TextFormat,
    dtype_kinds: str,
    rule: Callable[[pd.Series[Any]], bool],
) -> pd.DataFrame:
    """Replace columns read as numbers by their texts in the file, where a rule asks for it."""
    names = [str(name) for name, dtype in table.dtypes.items() if dtype.kind in dtype_kinds]
    if not names or found.row_names:
        return table
    options: dict[str, Any] = found.options()
    texts = pd.read_csv(path, **options, usecols=names, dtype=dict.fromkeys(names, object))
    return table.assign(**{name: texts[name] for name in names if rule(texts[name])})


def _has_codes(column: pd.Series[Any]) -> bool:
    """Check whether a text of a column is a number with leading zeros, as "007" is."""
    return bool(column.str.fullmatch(r"\s*0[0-9]+\s*").eq(True).any())


def _may_group_thousands(column: pd.Series[Any]) -> bool:
    """Check whether each point in a column of texts may group thousands, as in "1.234"."""
    texts = [str(text).strip() for text in column.dropna().unique()]
    with_points = [text for text in texts if "." in text]
    return len(parse_distinct(with_points, ",").kinds) == len(with_points) > 0


def _read_folder(path: Path) -> pd.DataFrame:
    import pyarrow

    names = parquet_columns(path)
    nothing = parquet_schema(path).empty_table().select(names).replace_schema_metadata()
    chunks = parquet_chunks(path, names, n_rows=2**20)
    return pyarrow.concat_tables([nothing, *chunks]).to_pandas()


def split_outcome(
    table: pd.DataFrame,
    duration: str,
    event: str,
    drop: Sequence[str] = (),
    categorical: Sequence[str] = (),
    censored: Sequence[Any] | None = None,
    *,
    entry: str | None = None,
    id: str | None = None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Split a table into covariates and outcome.

    ``entry`` and ``id`` are columns of the outcome, as in `Surv.from_arrays`; ``drop`` names
    columns that are no covariates, ``categorical`` covariates whose numbers are codes, which get a
    category dtype. The labels that mean ``censored``, where the usual words do not, and the name of
    the event column are kept in the ``attrs`` of the outcome, where `read_outcome` finds them.

    Examples
    --------
    >>> table = pd.DataFrame({"id": [1, 2], "age": [50, 60], "months": [3, 4], "died": [0, 1]})
    >>> X, y = split_outcome(table, duration="months", event="died", drop=["id"])
    >>> list(X.columns), list(y.columns)
    (['age'], ['event', 'duration'])
    """
    beside = [name for name in (duration, event, entry, id) if name is not None]
    require_columns(table.columns, [*beside, *drop, *categorical])
    X = table.drop(columns=[*beside, *drop])
    X = X.astype({name: "category" for name in categorical if name in X})
    if categorical:
        X.attrs[HINTS] = {**X.attrs.get(HINTS, {}), "categorical": list(categorical)}
    y = pd.DataFrame({"event": table[event], "duration": _numbers_in(table, duration)})
    if entry is not None:
        y["entry"] = _numbers_in(table, entry)
    if id is not None:
        y["id"] = table[id]
    y.attrs["event_name"] = event
    if censored is not None:
        with warnings.catch_warnings(action="ignore", category=DataWarning):  # the fit warns
            read_outcome(y, censored=censored, zero_duration=0.0)  # refuses labels that are absent
        y.attrs["censored"] = list(censored)
    return X, y


def _numbers_in(table: pd.DataFrame, name: str) -> pd.Series[Any]:
    """Parse a column by the decimal mark of its file.

    It stays as it is if some texts are no numbers, have a unit, or are bounds ("12,5+"):
    `read_outcome` refuses them.
    """
    column, decimal = table[name], table.attrs.get(HINTS, {}).get("decimal")
    if column.dtype.kind != "O":
        return column
    if not decimal:
        if example := parted_thousands(column):
            raise ambiguous_decimals(name, example)
        return column
    read = parse_numbers(column, table=decimal)
    if read.ambiguous.any():
        raise ambiguous_decimals(name, str(column[read.ambiguous].iloc[0]).strip())
    clear = not (read.unreadable.any() or read.units or "bound" in read.changes)
    return pd.Series(read.numbers, column.index, name=name) if clear else column


def ambiguous_decimals(name: str, example: str) -> DataError:
    """Make the error that asks for the decimal mark of a column whose texts may be two numbers.

    Examples
    --------
    >>> print(ambiguous_decimals("months", "1,234"))
    column 'months': '1,234' can be 1.234 or 1234. Say which mark its decimals have: \
Reading(decimal=",") or Reading(decimal=".").
    """
    seen = f"column {name!r}: {two_readings(example)}. Say which mark its decimals have:"
    return DataError(
        f'{seen} Reading(decimal=",") or Reading(decimal=".").',
        in_command=f"{seen} --decimal , or --decimal .",
        answers=DECIMALS,
    )


def require_columns(columns: Iterable[str], names: Sequence[str], most: int = 30) -> None:
    """Refuse names that are no columns of a table, and suggest the nearest.

    Examples
    --------
    >>> require_columns(["id", "months"], ["month"])
    Traceback (most recent call last):
    survtrace.errors.DataError: the table has no column 'month'; did you mean 'months'? \
It has ['id', 'months'].
    """
    present = [str(name) for name in columns]
    missing = [name for name in names if name not in present]
    if not missing:
        return
    near = near_name(missing[0], present)
    question = f"did you mean {near!r}? It" if near else "it"
    shown = f"{present[:most]} and more" if len(present) > most else present
    raise DataError(
        f"the table has no column {', '.join(map(repr, missing))}; {question} has {shown}."
    )


def require_table(path: str | Path) -> Path:
    """Refuse the path of a table that does not exist or whose ending we do not read."""
    path = read_path("the table", path)
    try:
        is_folder, exists = path.is_dir(), path.exists()
    except OSError as error:  # a name that is too long, a folder that may not be looked into
        raise DataError(f"{path} cannot be read ({error.strerror}). Pass another path.") from None
    if str(path) != STANDARD and not is_folder:
        require_suffix(path, READABLE)
        if not exists:
            raise DataError(f"{path} does not exist. Pass the path of a table.")
        if not path.is_file():
            raise DataError(
                f"{path} is a pipe or a device, which cannot be read twice. Pass a file, or - and "
                "send the table to standard input."
            )
    return path


def require_suffix(path: Path, suffixes: tuple[str, ...] = SUFFIXES) -> None:
    """Refuse a file whose ending names no kind of table we know."""
    if not path.name.lower().endswith(suffixes):
        raise DataError(f"a table must end in one of {', '.join(suffixes)}; got {path.name}.")


@contextmanager
def unchanged(files: Sequence[Path]) -> Iterator[None]:
    """Refuse what was read of files that were written to meanwhile: half old, half new.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = Path(folder, "t.csv")
    ...     _ = table.write_text("age")
    ...     with unchanged([table]):
    ...         _ = table.write_text("age, sex")
    Traceback (most recent call last):
    survtrace.errors.DataError: ...t.csv was changed while it was read. Read it again when ...
    """
    before = [file_stamp(file) for file in files]
    yield
    for file, stamp in zip(files, before, strict=True):
        if file_stamp(file) != stamp:
            raise changed_meanwhile(file)


def file_stamp(file: Path) -> tuple[int, int] | None:
    """Return size and time of the last change of a regular file; None of others."""
    try:
        found = file.stat()
    except OSError:
        return None
    return (found.st_size, found.st_mtime_ns) if S_ISREG(found.st_mode) else None


def changed_meanwhile(file: Path) -> DataError:
    """Make the error for a file that was written to while it was read."""
    return DataError(
        f"{file} was changed while it was read. Read it again when nobody writes to it."
    )


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn errors of other libraries on a file into `DataError`."""
    try:
        yield
    except ImportError:
        needed, extra = (
            ("openpyxl", "excel") if path.suffix.lower() in EXCEL else ("pyarrow", "parquet")
        )
        purpose = f"{path.name} cannot be read or written without"
        raise missing_extra(needed, extra, purpose) from None
    except UnicodeDecodeError as error:
        seen = f"{path.name} could not be read as a table: some letters are not {error.encoding}."
        raise DataError(
            f"{seen} Say how it is encoded: read_table(path, Reading(encoding='cp1252')).",
            in_command=f"{seen} Say how it is encoded: --encoding cp1252.",
        ) from None
    except (ValueError, OSError, EOFError, zlib.error, csv.Error) as error:
        if isinstance(error, DataError):
            raise
        name = "standard input" if str(path) == STANDARD else path
        raise DataError(f"{name} could not be read as a table ({error}).") from None


def require_separated(path: Path, columns: Sequence[str], sep: str) -> None:
    """Refuse a single column with other separators in its name."""
    other = next((mark for mark in (";", "\t", ",", "|") if mark in str(columns[0])), None)
    if len(columns) == 1 and other:
        seen = (
            f"the columns of {path.name} must be separated by {sep!r}; they seem to be separated "
            f"by {other!r}. Say so:"
        )
        raise DataError(
            f"{seen} read_table(path, Reading(sep={other!r})).",
            in_command=f"{seen} --sep {other!r}.",
        )
