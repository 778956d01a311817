"""Suggest the command after check: fit, with the options given and those found out."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from survtrace.cli.options import TableOptions
from survtrace.errors import Answer, DataError

if TYPE_CHECKING:
    import narwhals as nw
    import pandas as pd

    from survtrace.inspection import Plan

TIME_UNITS = ("days", "weeks", "months", "years")


def subject_column(frame: pd.DataFrame, plan: Plan, ids: Sequence[str] | None) -> str | None:
    """Choose the column that names the subject: --id, or the likeliest identifier found."""
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
    """Note which rows are copies, and which subjects have several rows."""
    notes = []
    n_copies = int(frame.duplicated().sum())
    if n_copies:
        notes.append(f"{n_copies:,} of {len(frame):,} rows are copies of another row")
    if subject is not None and (n_more := int(frame[subject].dropna().duplicated().sum())):
        notes.append(
            f"{n_more:,} of {len(frame):,} rows repeat a {subject} of another row; --id keeps "
            "all rows of a subject on one side when rows are held out"
        )
    return notes


def sentinel_options(plan: Plan, table: nw.DataFrame[Any]) -> tuple[list[str], list[str]]:
    """Suggest --missing for numbers such as 999; return the options, and notes on each number.

    The option holds for all columns: a number that is a value in another one is left alone.
    """
    options, notes = [], []
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
            notes.append(
                f"{code} may mean 'not known' in {', '.join(holders)}, but is a value of "
                f"{', '.join(others)}: name it in a dictionary, which --write drafts, instead of "
                "--missing"
            )
        else:
            options += ["--missing", code]
            notes.append(
                f"--missing {code}: taken for 'not known' in {', '.join(holders)}; leave it out of "
                "the command if it is a value"
            )
    return options, notes


def _has_value(table: nw.DataFrame[Any], covariate: Any, code: str) -> bool:
    from survtrace.tables.covariates.columns import Levels, read_column

    try:
        column = read_column(table, covariate)
    except (DataError, OverflowError):
        return False
    if isinstance(column, Levels):
        return code in column.text
    return bool(np.isin(column, float(code)).any())


def fit_command(table: Path, how: TableOptions, found: Sequence[str] = ()) -> list[str]:
    """Return the fit command: the options that the user has given, then those found out."""
    command = ["survtrace", "fit", str(table), *as_arguments(how), *found]
    if unit := time_unit(how.outcome.duration):
        command += ["--time-unit", unit]
    if not table.is_dir() and str(table) != "-":
        command += ["--hold-out", "0.25"]
    return [*command, "--out", "model"]


def as_arguments(how: TableOptions) -> list[str]:
    """Convert options to arguments of a command, but for those not given."""
    arguments: list[str] = []
    for name, value in asdict(how).items():
        option = "--id" if name == "ids" else f"--{name}"
        for each in value if isinstance(value, list | tuple) else [value]:
            arguments += [option, str(each)] if each is not None else []
    return arguments


def with_answers(command: Sequence[str], answers: Sequence[Answer]) -> str:
    """Return a command for each answer to a question, with when it is the right one.

    Examples
    --------
    >>> command = ["survtrace", "fit", "trial.csv", "--out", "model"]
    >>> print(with_answers(command, [Answer("if 1 means censored", ("--censored", "1"))]))
    if 1 means censored:
      survtrace fit trial.csv --out model --censored 1
    """
    lines = [f"{each.when}:\n  {shlex.join([*command, *each.options])}" for each in answers]
    return "\n".join(lines)


def time_unit(name: str) -> str:
    """Find the unit of time in the name of a column, "" if there is none.

    Examples
    --------
    >>> [time_unit(name) for name in ("Follow-up (months)", "Jahre", "survival_days", "time")]
    ['months', 'years', 'days', '']
    """
    from survtrace.tables.covariates.units import same_unit

    units = (same_unit(word) for word in re.findall(r"[^\W\d_]{3,}", name))
    return next((unit for unit in units if unit in TIME_UNITS), "")
