"""Read a table from a sheet of an Excel file."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import pandas as pd

from survtrace.errors import DataError, DataWarning, warn
from survtrace.tables.covariates.covariate import require_distinct_names
from survtrace.tables.files.reading import Reading

EXCEL = (".xlsx", ".xlsm")
# What openpyxl raises on a file that is cut, or is something else; errors of XML are of syntax.
DAMAGED = (BadZipFile, LookupError, AttributeError, TypeError, SyntaxError)


def read_sheet(path: Path, reading: Reading) -> pd.DataFrame:
    """Read a sheet: its first row that is not empty has the names; dates become texts.

    As texts, the inspection of the table leaves dates out, as it does those of a text file.
    """
    import openpyxl  # noqa: F401  (so that our error names the extra, not that of pandas)

    try:
        with pd.ExcelFile(path, engine="openpyxl") as file:
            names = [str(name) for name in file.sheet_names]
            sheet = _sheet(names, reading.sheet, path)
            cells = pd.read_excel(file, sheet_name=sheet, header=None, dtype=object)
    except DAMAGED as error:
        raise ValueError(f"it is no whole Excel file: {error}") from None
    if reading.sheet is None and len(names) > 1:
        seen = f"{path.name} has the sheets {names}; {sheet!r} was read. Name another by"
        warn(DataWarning(f"{seen} Reading(sheet=...).", in_command=f"{seen} --sheet."))
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
    """Take the first row as names; drop rows and nameless columns without any value."""
    cells = cells.dropna(how="all")
    if not len(cells):
        raise DataError(f"{path.name} is empty. Pass a table with a row of column names.")
    header = [None if pd.isna(name) else str(name).strip() for name in cells.iloc[0]]
    table = cells.iloc[1:].reset_index(drop=True)
    used = [j for j, name in enumerate(header) if name or table.iloc[:, j].notna().any()]
    names = [header[j] or f"Unnamed: {j}" for j in used]
    require_distinct_names(names, path.name, "row")
    table = table.iloc[:, used].set_axis(names, axis=1)
    return table.map(_without_dates).infer_objects()


def _without_dates(value: Any) -> Any:
    if isinstance(value, dt.datetime):
        return value.date().isoformat() if value.time() == dt.time() else value.isoformat(" ")
    return value.isoformat() if isinstance(value, dt.date | dt.time) else value
