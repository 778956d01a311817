"""What was found in one column, and what will be done with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from survtrace.errors import Answer
from survtrace.inspection.dictionary import Entry
from survtrace.inspection.distinct import rows
from survtrace.tables.covariates.covariates import Covariate, Kind

Use = Literal["numerical", "categorical", "left out", "question"]


@dataclass(frozen=True)
class Finding:
    """One column: how it is read, what is in it, what becomes of it and why.

    Attributes
    ----------
    name
        Of the column.
    read_as
        The kind of values the table holds: "numbers", "text", "categories", "truth values",
        "dates".
    content
        Levels or range in words; never the values of identifiers, dates and free text.
    n_missing
        Rows without a value, those with a marker of missing values included.
    use
        What becomes of it; "question" if the user has to say something first.
    reason
        Why.
    role
        What a column that is left out holds: "identifier", "date", "text", "leak", "ignore".
    markers
        Texts that were read as missing, with the number of rows.
    changes
        Rows of numbers written as text that had to be understood, by kind.
    examples
        A text for each kind of change.
    warnings
        What looks wrong, for the user to judge.
    sentinels
        Numbers such as 999 that lie far from all others and may mean "not known", with the number
        of rows.
    answers
        Of a question: the options that settle it, one for each reading.
    covariate
        How the column is read; None if it is not used.
    asked
        Whether the user has said what to do with it, so that nothing needs to be reported.
    """

    name: str
    read_as: str
    content: str
    n_missing: int
    use: Use
    reason: str = ""
    role: str = ""
    markers: Mapping[str, int] = field(default_factory=dict)
    changes: Mapping[str, int] = field(default_factory=dict)
    examples: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    sentinels: Mapping[str, int] = field(default_factory=dict)
    answers: tuple[Answer, ...] = ()
    covariate: Covariate | None = None
    asked: bool = False

    def changes_in_words(self) -> str:
        """What was changed, in how many rows, with an example."""
        return ", ".join(
            f"{what} in {n:,} (such as {self.examples[what]!r})" for what, n in self.changes.items()
        )

    def sentinels_in_words(self, *, in_command: bool) -> list[str]:
        """What the numbers far from all others may mean, and how to say it."""
        return [
            f"{code} ({rows(n)}) lies far from all others: if it means 'not known', "
            + (
                f"say --missing {code}"
                if in_command
                else f'write columns={{{self.name!r}: {{"missing": ["{code}"]}}}}'
            )
            for code, n in self.sentinels.items()
        ]


def covariate_of(name: str, kind: Kind, entry: Entry, **written: Any) -> Covariate:
    """A covariate with what the data dictionary says of it."""
    said: dict[str, Any] = {"unit": entry.unit, "label": entry.label}
    if kind == "numerical":
        said |= {"low": entry.low, "high": entry.high}
    else:
        said |= {"levels": entry.levels}
    said |= {key: value for key, value in written.items() if value}
    if "missing" in said:
        said["missing"] = tuple(dict.fromkeys(said["missing"]))
    return Covariate(name, kind, **said)
