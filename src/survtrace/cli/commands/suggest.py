"""Which command comes after check: fit, with all that was said and found out."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from survtrace.cli.options import OutcomeColumns, TableOptions
from survtrace.errors import Answer, DataError

if TYPE_CHECKING:
    import narwhals as nw
    import pandas as pd

    from survtrace.inspection import Plan

TIME_UNITS = ("days", "weeks", "months", "years")


def subject_column(frame: pd.DataFrame, plan: Plan, ids: Sequence[str] | None) -> str | None:
    """The column that names the subject: as told, or the likeliest of the identifiers found."""
    from survtrace.inspection.texts import is_named_like_a_person, is_named_like_an_identifier

    if ids:
        return ids[0]
    found = [
        each.name
        for each in plan.findings
        if each.role == "identifier"
        and not each.name.startswith("Unnamed")
        and not is_named_like_a_person(each.name)
    ]
    return max(
        found,
        key=lambda name: (frame[name].duplicated().any(), is_named_like_an_identifier(name)),
        default=None,
    )


def repeated_rows(frame: pd.DataFrame, subject: str | None) -> list[str]:
    """What is to be said of subjects that have several rows."""
    remarks = []
    n_copies = int(frame.duplicated().sum())
    if n_copies:
        remarks.append(f"{n_copies:,} of {len(frame):,} rows are copies of another row")
    if subject is not None:
        names = frame[subject].dropna()
        n_more = int(names.duplicated().sum())
        if n_more:
            remarks.append(
                f"{n_more:,} of {len(frame):,} rows repeat a {subject} of another row; --id keeps "
                "all rows of a subject on one side when rows are held out"
            )
    return remarks


def sentinel_options(plan: Plan, table: nw.DataFrame[Any]) -> tuple[list[str], list[str]]:
    """Numbers such as 999 to be named by --missing, and what is to be said of those that cannot.

    The option holds for all columns: a number that is a value in another one is left alone.
    """
    options, remarks = [], []
    codes = dict.fromkeys(code for found in plan.findings for code in found.sentinels)
    for code in codes:
        holders = [found.name for found in plan.findings if code in found.sentinels]
        others = [
            found.name
            for found in plan.findings
            if found.covariate is not None
            and found.name not in holders
            and _has_value(table, found.covariate, code)
        ]
        if others:
            remarks.append(
                f"{code} may mean 'not known' in {', '.join(holders)}, but is a value of "
                f"{', '.join(others)}: name it in a dictionary, which --write drafts, instead of "
                "--missing"
            )
        else:
            options += ["--missing", code]
            remarks.append(
                f"--missing {code}: taken for 'not known' in {', '.join(holders)}; leave it out of "
                "the command if it is a value"
            )
    return options, remarks


def _has_value(table: nw.DataFrame[Any], covariate: Any, code: str) -> bool:
    from survtrace.tables.covariates.columns import Levels, read_column

    try:
        column = read_column(table, covariate)
    except (DataError, OverflowError):
        return False
    if isinstance(column, Levels):
        return code in column.text
    return bool(np.isin(column, float(code)).any())


def fit_command(
    table: Path,
    columns: OutcomeColumns,
    how: TableOptions,
    said: dict[str, Sequence[str] | None],
    found: Sequence[str] = (),
) -> list[str]:
    """The words of the fit: what the user has said, and then what was found out."""
    words = ["survtrace", "fit", str(table)]
    words += ["--duration", columns.duration, "--event", columns.event]
    words += as_options({**said, **table_options(how)})
    words += found
    if unit := time_unit(columns.duration):
        words += ["--time-unit", unit]
    if not table.is_dir() and str(table) != "-":
        words += ["--hold-out", "0.25"]
    return [*words, "--out", "model"]


def table_options(how: TableOptions) -> dict[str, Any]:
    """What was said of the table, by option."""
    return {f"--{name}": value for name, value in asdict(how).items()}


def as_options(said: dict[str, Any]) -> list[str]:
    """Options with their values, those that were not given left out."""
    words: list[str] = []
    for option, value in said.items():
        for each in value if isinstance(value, list | tuple) else [value]:
            words += [option, str(each)] if each is not None else []
    return words


def with_answers(words: Sequence[str], answers: Sequence[Answer]) -> str:
    """A command for each way to settle a question, with when it is the right one.

    Examples
    --------
    >>> words = ["survtrace", "fit", "trial.csv", "--out", "model"]
    >>> print(with_answers(words, [Answer("if 1 means censored", ("--censored", "1"))]))
    if 1 means censored:
      survtrace fit trial.csv --out model --censored 1
    """
    lines = [f"{each.when}:\n  {shlex.join([*words, *each.options])}" for each in answers]
    return "\n".join(lines)


def time_unit(name: str) -> str:
    """The unit of time that the name of a column speaks of, "" if it does not.

    Examples
    --------
    >>> [time_unit(name) for name in ("Follow-up (months)", "Jahre", "survival_days", "time")]
    ['months', 'years', 'days', '']
    """
    from survtrace.tables.covariates.units import same_unit

    words = (same_unit(word) for word in re.findall(r"[^\W\d_]{3,}", name))
    return next((word for word in words if word in TIME_UNITS), "")
