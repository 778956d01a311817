"""Suggest the command after check: fit, with the options given and those found out."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from survtrace.cli.options import TableOptions
from survtrace.errors import Answer, DataError, DataWarning, warn

if TYPE_CHECKING:
    import narwhals as nw
    import pandas as pd
    from numpy.typing import NDArray

    from survtrace.inspection import Plan
    from survtrace.tables.outcome.outcome import Outcome

MOST_ROWS = 50  # of a subject on average, in a column that names subjects rather than places
TIME_UNITS = ("days", "weeks", "months", "years")


def subject_column(frame: pd.DataFrame, plan: Plan, ids: Sequence[str] | None) -> str | None:
    """Choose the column that names the subject: --id, or the likeliest identifier found."""
    from survtrace.inspection.texts import (
        is_named_like_a_patient,
        is_named_like_a_person,
        is_named_like_an_identifier,
    )

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
        key=lambda name: (
            is_named_like_a_patient(name),
            frame[name].duplicated().any(),
            is_named_like_an_identifier(name),
        ),
        default=None,
    )


def warn_of_divided_subjects(
    columns: Mapping[str, Sequence[Any]], held_out: NDArray[np.bool_]
) -> None:
    """Warn if a column that seems to name the subjects has the same one on both sides of a split.

    Examples
    --------
    >>> from survtrace.errors import keep_warnings
    >>> with keep_warnings() as kept:
    ...     warn_of_divided_subjects({"patient": [7, 8, 7, 9]}, np.array([0, 0, 1, 1]) == 1)
    >>> str(kept[0][0]).partition(".")[0]
    '1 of 2 rows that are set aside have a patient that occurs among the others, too'
    """
    from survtrace.tables.covariates.distinct_values import factorise_array

    for name, values in columns.items():
        codes, distinct = factorise_array(np.array([*values, None], dtype=object)[:-1])
        both = np.isin(codes[held_out], codes[~held_out]) & (codes[held_out] >= 0)
        if both.any() and MOST_ROWS * len(distinct) >= len(codes):
            warn(
                f"{both.sum():,} of {held_out.sum():,} rows that are set aside have a {name} that "
                "occurs among the others, too. If it names the subjects, say --id "
                f"{shlex.quote(name)}: each is then on one side, and none is both learned from and "
                "evaluated on.",
                DataWarning,
            )


def repeated_rows(
    frame: pd.DataFrame,
    subject: str | None,
    outcome: Outcome | None = None,
    has_entry: bool = False,
) -> list[str]:
    """Note which rows are copies, which subjects have several rows, and who entered late."""
    notes = []
    n_copies = 0
    with suppress(TypeError):  # of a list in a cell, which is no value to compare
        n_copies = int(frame.duplicated().sum())
    if n_copies:
        notes.append(f"{n_copies:,} of {len(frame):,} rows are copies of another row")
    if outcome is not None and outcome.entry is not None:
        return [*notes, *_entry_notes(outcome)]
    if subject is not None and (n_more := int(frame[subject].dropna().duplicated().sum())):
        note = (
            f"{n_more:,} of {len(frame):,} rows repeat a {subject} of another row; --id keeps "
            "all rows of a subject on one side when rows are held out"
        )
        asked = (
            "If each row is a part of the subject's time, name where it begins, too: --entry COLUMN"
        )
        notes.append(note if has_entry else f"{note}. {asked}")
    return notes


def _entry_notes(outcome: Outcome) -> list[str]:
    """Note who entered late, how many rows subjects have, and gaps between these."""
    from survtrace.errors import keep_warnings
    from survtrace.tables.outcome.outcome_warnings import warn_of_entry

    first, duration = outcome.first_entries, outcome.duration
    notes = []
    if outcome.id is not None:
        notes.append(f"{len(outcome):,} rows of {outcome.n_subjects:,} subjects (start-stop rows)")
    n_late = int((first > 0).sum())
    entries = "nobody entered late"
    if n_late:
        entries = (
            f"{n_late:,} of {len(first):,} subjects entered after 0: entries from {first.min():g} "
            f"to {first.max():g}, median {np.median(first):g}"
        )
    notes.append(
        f"{entries}; durations from {duration.min():g} to {duration.max():g}, median "
        f"{np.median(duration):g}. Entry and duration must count from the same origin"
    )
    with keep_warnings() as kept:
        warn_of_entry(outcome)
    return [*notes, *(str(message).removesuffix(".") for message, _ in kept)]


def ask_about_rows(frame: pd.DataFrame, how: TableOptions) -> None:
    """Ask about columns that look like the entry, or like the subject of start-stop rows.

    Only where no option names them: a column that is used as a covariate by mistake would tell the
    network how long the subject has lived.
    """
    from survtrace.inspection.entry_columns import find_entry

    if not how.duration:
        return
    duration = _numbers(frame, how.duration)
    settled = {*(how.use or ()), *(how.drop or ()), *(how.categorical or ()), *(how.ids or ())}
    settled |= {how.duration, how.event, how.entry, *(how.dictionary or {})}
    subjects = [*(how.ids or _subject_columns(frame, settled))]
    entries = [name for name in frame.columns if name not in settled]
    for name in [how.entry] if how.entry else entries:
        if frame[name].dtype.kind not in "fiu":
            continue
        values = _numbers(frame, name)
        for subject in [*subjects, None]:
            numbers = None if subject is None else _numbered(frame[subject])
            found = find_entry(str(name), values, duration, numbers)
            if found is None:
                continue
            if found.n_pairs and how.entry and not how.ids:
                seen = found.in_words(name, how.duration)
                _ask_about_subject(subject, f"{seen}, if they are those of one {subject}")
            elif not how.entry:
                options = () if how.ids or not found.n_pairs else ("--id", str(subject))
                _ask_about_entry(name, found.in_words(name, how.duration), options)


def _ask_about_entry(name: str, seen: str, options: tuple[str, ...]) -> None:
    raise DataError(
        f"{seen}. {name!r} may say from when on a row holds, or be a covariate.",
        answers=[
            Answer(f"if observation of a row begins at {name}", ("--entry", name, *options)),
            Answer(f"if {name} is a covariate", ("--use", name)),
            Answer(f"if {name} is neither", ("--drop", name)),
        ],
    )


def _ask_about_subject(name: str | None, seen: str) -> None:
    raise DataError(
        f"{seen}. Say whose rows they are.",
        answers=[
            Answer(f"if {name} names the subject", ("--id", str(name))),
            Answer("if each row is a subject of its own", ("--drop", str(name))),
        ],
    )


def _numbers(frame: pd.DataFrame, name: str) -> NDArray[np.float64]:
    import pandas as pd

    return pd.to_numeric(frame[name], errors="coerce").to_numpy(dtype=float)


def _numbered(column: pd.Series[Any]) -> NDArray[np.int64]:
    import pandas as pd

    return pd.factorize(column, use_na_sentinel=False)[0].astype(np.int64)


def _subject_columns(frame: pd.DataFrame, settled: set[str | None]) -> list[str]:
    """Return columns that are named like an identifier and occur in several rows."""
    from survtrace.inspection.texts import is_named_like_an_identifier

    named = [name for name in frame.columns if is_named_like_an_identifier(str(name))]
    return [
        name for name in named if name not in settled and 1 < frame[name].nunique() < len(frame)
    ]


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
    from survtrace.tables.covariates.columns import read_column
    from survtrace.tables.covariates.values import Levels

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
    return "\n".join(f"{each.when}:\n  {answered(command, each)}" for each in answers)


def answered(command: Sequence[str], answer: Answer) -> str:
    """Return a command with the options of an answer, an --id that it has already but once.

    Examples
    --------
    >>> command = ["survtrace", "fit", "trial.csv", "--id", "patient", "--out", "model"]
    >>> answered(command, Answer("", ("--entry", "since", "--id", "patient")))
    'survtrace fit trial.csv --out model --entry since --id patient'
    """
    kept = list(command)
    pairs = list(pairwise(kept))
    for pair in pairwise(answer.options):
        if pair[0] == "--id" and pair in pairs:
            del kept[(place := pairs.index(pair)) : place + 2]
    return shlex.join([*kept, *answer.options])


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
