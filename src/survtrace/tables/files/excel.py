"""A table from a sheet of an Excel file."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pandas as pd

from survtrace.errors import DataError, DataWarning, warn
from survtrace.tables.files.reading import Reading

EXCEL = (".xlsx", ".xlsm")


def read_sheet(path: Path, reading: Reading) -> pd.DataFrame:
    """Read a sheet: its first row that is not empty has the names; dates become texts.

    Dates are texts because they are to be left out where the table is inspected, as those of a
    text file are.
    """
    import openpyxl  # noqa: F401  (pandas would say in its own words that it is missing)

    with pd.ExcelFile(path, engine="openpyxl") as file:
        names = [str(name) for name in file.sheet_names]
        sheet = _sheet(names, reading.sheet, path)
        cells = file.parse(sheet, header=None, dtype=object)
    if reading.sheet is None and len(names) > 1:
        seen = f"{path.name} has the sheets {names}; {sheet!r} was read. Name another by"
        words = DataWarning(f"{seen} Reading(sheet=...).", in_command=f"{seen} --sheet.")
        warn(words)
    return _with_header(cells, path)


def _sheet(names: list[str], wanted: str | int | None, path: Path) -> str:
    if wanted is None:
        return names[0]
    if str(wanted) in names:
        return str(wanted)
    if str(wanted).isdigit() and 1 <= int(wanted) <= len(names):
        return names[int(wanted) - 1]
    raise DataError(f"{path.name} has no sheet {wanted!r}; it has {names}.")


def _with_header(cells: pd.DataFrame, path: Path) -> pd.DataFrame:
    """The first row as names; rows and nameless columns without any value are dropped."""
    cells = cells.dropna(how="all")
    if not len(cells):
        raise DataError(f"{path.name} is empty. Pass a table with a row of column names.")
    header = [None if pd.isna(name) else str(name).strip() for name in cells.iloc[0]]
    table = cells.iloc[1:].reset_index(drop=True)
    empty = [j for j, name in enumerate(header) if not name and table.iloc[:, j].isna().all()]
    kept = [j for j in range(len(header)) if j not in empty]
    names = [header[j] or f"Unnamed: {j}" for j in kept]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise DataError(
            f"column names must differ; {repeated} occur more than once in {path.name}. Rename "
            "them in its first row."
        )
    table = table.iloc[:, kept].set_axis(names, axis=1)
    return table.map(_without_dates).infer_objects()


def _without_dates(value: Any) -> Any:
    if isinstance(value, dt.datetime):
        return value.date().isoformat() if value.time() == dt.time() else value.isoformat(" ")
    return value.isoformat() if isinstance(value, dt.date | dt.time) else value
