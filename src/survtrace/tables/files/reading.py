"""Describe how a table file is written: separator, decimal mark, encoding, sheet, markers."""

from __future__ import annotations

from dataclasses import dataclass

from survtrace.errors import SettingError, short


@dataclass(frozen=True)
class Reading:
    """The user's description of a file; what is None is found out from the file itself."""

    sep: str | None = None  # between the columns of a text file
    decimal: str | None = None  # "." or ","
    missing: tuple[str, ...] = ()  # further texts that mean "not known"
    encoding: str | None = None
    sheet: str | int | None = None  # of an Excel file: its name, or its number from 1

    def __post_init__(self) -> None:
        if self.sep is not None and (len(self.sep) != 1 or self.sep in '"\r\n\0'):
            seen = f"columns are separated by one character, such as , or ;; got {short(self.sep)}."
            raise SettingError(
                f"{seen} Pass for example sep=';'.", in_command=f"{seen} Say for example --sep ';'."
            )
