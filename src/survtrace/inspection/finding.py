"""The findings on one column, and what will be done with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from survtrace.errors import Answer, Words
from survtrace.inspection.dictionary import Entry
from survtrace.inspection.distinct import rows
from survtrace.tables.covariates.covariate import Covariate, Kind

Use = Literal["numerical", "categorical", "left out", "question"]


@dataclass(frozen=True)
class Finding:
    """One column: how it is read, what is in it, what is done with it and why."""

    name: str
    read_as: str  # the values in the table: numbers, text, categories, truth values or dates
    content: str  # levels or range; never values of identifiers, dates and free text
    n_missing: int  # rows without a value, those with a marker of missing values included
    use: Use  # "question" if the user has to settle something first
    reason: str = ""
    role: str = ""  # of a column left out: identifier, date, text, leak or ignore
    markers: Mapping[str, int] = field(default_factory=dict)  # texts read as missing: rows
    changes: Mapping[str, int] = field(default_factory=dict)  # kinds of numbers in text: rows
    examples: Mapping[str, str] = field(default_factory=dict)  # a text for each kind of change
    warnings: tuple[str, ...] = ()
    sentinels: Mapping[str, int] = field(default_factory=dict)  # such as 999, far off: rows
    answers: tuple[Answer, ...] = ()  # to a question: the options that settle it
    settled_by: Words | None = None  # to a question: the fields of the dictionary that settle it
    covariate: Covariate | None = None  # None if the column is not used
    by_user: bool = False  # the user has decided what to do with it: nothing to report

    def changes_in_words(self) -> str:
        """Format what was changed, in how many rows, with an example."""
        return ", ".join(
            f"{what} in {n:,} (such as {self.examples[what]!r})" for what, n in self.changes.items()
        )

    def markers_in_words(self, most: int = 5) -> str:
        """Format the texts that were read as missing, with their rows."""
        shown = [f"{text!r} in {n:,}" for text, n in list(self.markers.items())[:most]]
        return ", ".join([*shown, *(["..."] if len(self.markers) > most else [])])

    def sentinels_in_words(self, *, in_command: bool) -> list[str]:
        """Format what numbers unlike all others may mean, and the way to declare it."""
        return [
            f"{code} ({rows(n)}) {_unlike(code)}: if it means 'not known', "
            + (
                f"say --missing {code}"
                if in_command
                else f'write columns={{{self.name!r}: {{"missing": ["{code}"]}}}}'
            )
            for code, n in self.sentinels.items()
        ]


def _unlike(code: str) -> str:
    return "is below 0" if -30 <= float(code) < 0 else "lies far from all others"


def covariate_of(name: str, kind: Kind, entry: Entry, **written: Any) -> Covariate:
    """Make a covariate with the fields of the data dictionary, and how it is written."""
    fields: dict[str, Any] = {"unit": entry.unit, "label": entry.label}
    if kind == "numerical":
        fields |= {"low": entry.low, "high": entry.high}
    else:
        fields |= {"levels": entry.levels}
    fields |= {key: value for key, value in written.items() if value}
    if "missing" in fields:
        fields["missing"] = tuple(dict.fromkeys(fields["missing"]))
    return Covariate(name, kind, **fields)


def answer_to_drop(name: str) -> Answer:
    """Make the answer to a question that leaves the column out."""
    return Answer(f"to leave {name!r} out", ("--drop", name))
