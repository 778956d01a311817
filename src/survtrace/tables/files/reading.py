"""How a table file is written: separator, decimal mark, encoding, sheet, missing markers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Reading:
    """What a user says about a file; None is found out from the file itself.

    Attributes
    ----------
    sep
        What separates the columns of a text file.
    decimal
        The decimal mark of its numbers, "." or ",".
    missing
        Further texts that mean "not known".
    encoding
        Of its characters.
    sheet
        Name or number (from 1) of a sheet of an Excel file.
    """

    sep: str | None = None
    decimal: str | None = None
    missing: tuple[str, ...] = ()
    encoding: str | None = None
    sheet: str | int | None = None
