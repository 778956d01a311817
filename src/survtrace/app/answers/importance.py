"""Read the importances that `survtrace explain` wrote, to show them."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from survtrace.errors import DataError


@dataclass
class Importance:
    """How much a covariate matters for a cause, with its interval."""

    cause: str
    covariate: str
    importance: float
    low: float | None
    high: float | None


def read_importance(path: str | Path) -> list[Importance]:
    r"""Read a table of importances; an empty cell of its interval is not known.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "importance.csv")
    ...     _ = path.write_text("cause,covariate,importance,low,high\n1,age,0.1,,0.2\n")
    ...     read_importance(path)
    [Importance(cause='1', covariate='age', importance=0.1, low=None, high=0.2)]
    """
    columns = [field.name for field in fields(Importance)]
    names, rows = _read_rows(Path(path))
    missing = [name for name in columns if name not in names]
    if missing:
        raise DataError(
            f"a table of importances has the columns {columns}; {path} lacks {missing}. "
            "Write it with `survtrace explain`."
        )
    try:
        return [
            Importance(
                str(row["cause"]),
                str(row["covariate"]),
                _number(row["importance"]),
                *(None if _is_empty(row[end]) else _number(row[end]) for end in ("low", "high")),
            )
            for row in rows
        ]
    except (TypeError, ValueError) as error:
        raise DataError(f"{path} holds importances that are no numbers ({error}).") from None


def _read_rows(path: Path) -> tuple[list[str], list[dict[str, Any]]]:
    """Read names and rows: CSV without pandas, which other formats need."""
    if path.suffix.lower() != ".csv":
        from survtrace.tables.files.formats import read_table

        table = read_table(path)
        names = [str(name) for name in table]
        return names, [dict(zip(names, row, strict=True)) for row in table.to_numpy(object)]
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            return list(reader.fieldnames or ()), list(reader)
    except OSError as error:
        raise DataError(f"{path} could not be read ({error.strerror}).") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path} could not be read as CSV in UTF-8 ({error}).") from None


def _is_empty(value: Any) -> bool:
    return value is None or value == "" or value != value


def _number(value: Any) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{value!r} is not finite")
    return number
