"""Describe how a table file is written: separator, decimal mark, encoding, sheet, markers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Reading:
    """The user's description of a file; what is None is found out from the file itself."""

    sep: str | None = None  # between the columns of a text file
    decimal: str | None = None  # "." or ","
    missing: tuple[str, ...] = ()  # further texts that mean "not known"
    encoding: str | None = None
    sheet: str | int | None = None  # of an Excel file: its name, or its number from 1
