"""The command check: show what each column of a table is, before a fit."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from survtrace.cli import screen
from survtrace.cli.commands import suggest
from survtrace.cli.options import (
    OPTIONAL,
    Json,
    Quiet,
    Table,
    TableOptions,
    reads_table,
    rows_as_in,
)
from survtrace.errors import Answer, DataError

if TYPE_CHECKING:
    import pandas as pd

    from survtrace.inspection import Finding, Plan
    from survtrace.tables.outcome.outcome import Outcome

_DURATION = re.compile(
    r"time|duration|day|month|year|week|follow|surviv|tage|monat|jahr|dauer|(^|_)(t|os|pfs|dfs|rfs)($|_)",
    re.IGNORECASE,
)
_EVENT = re.compile(
    r"event|status|death|dead|died|decease|outcome|cens|cause|relapse|recur|vital|ereignis|tod",
    re.IGNORECASE,
)
MOST_LABELS = 20


@reads_table(OPTIONAL, learning=True)
def check(
    table: Table,
    write: Annotated[
        Path | None, typer.Option(help="Draft a data dictionary, to be edited, for --columns.")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
    *,
    how: TableOptions,
) -> None:
    """Show what each column of a table is, what fit will do with it and why, and what looks wrong.

    Nothing is learned or changed. At the end stands the command that comes next.
    """
    from survtrace.inspection import plan_columns, read_dictionary
    from survtrace.tables.covariates.covariates import open_table
    from survtrace.tables.files.formats import require_columns, split_outcome
    from survtrace.tables.outcome.outcome import read_outcome

    with rows_as_in(table):
        frame = _read(table, how)
        entries = read_dictionary(how.dictionary)
        duration = how.duration or _with_kind(entries, "duration")
        event = how.event or _with_kind(entries, "event")
        entry = how.entry or _with_kind(entries, "entry")
        how = replace(how, duration=duration, event=event, entry=entry)
        outcomes = [name for name in (duration, event, entry) if name]
        no_covariates = [*outcomes, *(how.ids or ()), *(how.drop or ())]
        categorical = how.categorical or ()
        require_columns(frame.columns, [*no_covariates, *(how.use or ()), *categorical])
        outcome, outcome_error = None, None
        if duration and event:
            try:
                suggest.ask_about_rows(frame, how)
                _, y = split_outcome(frame, duration, event, entry=entry, id=how.outcome.id)
                outcome = read_outcome(y, censored=how.censored or None, zero_duration="shift")
            except DataError as error:
                outcome_error = error
        opened = open_table(frame.drop(columns=list(dict.fromkeys(no_covariates))))
        plan = plan_columns(opened, outcome, categorical=categorical, columns=entries)
        plan = plan.with_idle(opened)
    if write is not None:
        _draft(plan, entries, write, how)
        how = replace(how, columns=how.columns or write)
    subject = suggest.subject_column(frame, plan, how.ids)
    notes = suggest.repeated_rows(frame, subject, outcome, has_entry=entry is not None)
    found = ["--id", subject] if subject is not None and not how.ids else []
    if write is None and not table.is_dir():
        missing_options, missing_notes = suggest.sentinel_options(plan, opened)
        found, notes = [*found, *missing_options], [*notes, *missing_notes]
    if duration and event:
        command = suggest.fit_command(table, how, found)
    else:
        durations = [duration] if duration else _candidates(frame, _DURATION)
        events = [event] if event else _candidates(frame, _EVENT)
        likely = replace(how, duration=[*durations, "COLUMN"][0], event=[*events, "COLUMN"][0])
        command = ["survtrace", "check", str(table), *suggest.as_arguments(likely)]
    question = _question(outcome_error, plan)
    shown = {
        "rows": len(frame),
        "columns": [_record(each) for each in plan.findings],
        "outcome": _labels(frame, duration, event, outcome),
        "remarks": notes,
        "next": shlex.join(command) if question is None else None,
    }
    if question is not None:
        shown["answers"] = [
            {"when": each.when, "command": suggest.answered(command, each)}
            for each in question.answers
        ]
    if json:
        screen.show_json(shown)
    else:
        _show(shown, plan, duration, event)
    if write is not None:
        screen.say(f"wrote {write}, for --columns", quiet=quiet)
    if question is not None:
        message = question.in_command
        if question.answers:
            message = f"{message}\n{suggest.with_answers(command, question.answers)}"
        raise DataError(str(question), in_command=message)


def _question(outcome_error: DataError | None, plan: Plan) -> DataError | None:
    """Join the errors of outcome and columns, which the user has to settle before a fit."""
    try:
        plan.require_answers()
    except DataError as error:
        if outcome_error is None:
            return error
        both = [
            Answer(f"{first.when}, {then.when}", (*first.options, *then.options))
            for first in outcome_error.answers
            for then in error.answers
        ]
        in_command = f"{outcome_error.in_command}\n{error.in_command}"
        return DataError(f"{outcome_error}\n{error}", in_command=in_command, answers=both)
    return outcome_error


def _read(table: Path, how: TableOptions) -> pd.DataFrame:
    """Read the table, or of a folder its first rows; one without any is refused, as by `fit`."""
    from survtrace.tables.files.chunks import read_chunks
    from survtrace.tables.files.formats import read_table
    from survtrace.tables.files.parquet import parquet_columns

    if table.is_dir():
        frame = next(read_chunks(table, parquet_columns(table)), None)
    else:
        frame = read_table(table, how.reading)
    if frame is None or frame.empty:
        raise DataError(f"{table} has no rows. Pass a table with at least one subject.")
    return frame


def _with_kind(entries: dict[str, Any], kind: str) -> str | None:
    named = [name for name, entry in entries.items() if getattr(entry, "kind", "") == kind]
    return named[0] if len(named) == 1 else None


def _record(found: Finding) -> dict[str, Any]:
    """Convert a finding to what JSON holds."""
    names = ("use", "reason", "markers", "changes", "warnings", "sentinels")
    return {
        "name": found.name,
        "read_as": found.read_as,
        "content": found.content,
        "missing": found.n_missing,
        **{name: getattr(found, name) for name in names},
    }


def _labels(
    frame: pd.DataFrame, duration: str | None, event: str | None, outcome: Outcome | None
) -> dict[str, Any]:
    """List the columns of the outcome, and each label with its rows and meaning."""
    if not (duration and event):
        return {"duration": _candidates(frame, _DURATION), "event": _candidates(frame, _EVENT)}
    labels = frame[event].astype(object).where(frame[event].notna(), "(empty)").astype(str)
    counts = labels.value_counts()
    meanings = {}
    if outcome is not None:
        meaning = ["censored", *(f"cause {cause}" for cause in outcome.causes)]
        codes = zip(labels, outcome.event.tolist(), strict=True)
        meanings = {label: meaning[code] for label, code in codes}
    return {
        "duration": duration,
        "event": event,
        "labels": [
            {"label": label, "rows": int(counts[label]), "means": meanings.get(label, "?")}
            for label in counts.index[:MOST_LABELS]
        ],
    }


def _candidates(frame: pd.DataFrame, name: re.Pattern[str]) -> list[str]:
    """Find columns that may hold the duration, or the event, by their names and values."""
    named = [str(each) for each in frame.columns if name.search(str(each))]
    if name is _EVENT:
        few = [each for each in named if 2 <= frame[each].nunique(dropna=False) <= MOST_LABELS]
        return sorted(few, key=lambda each: frame[each].count(), reverse=True)
    from survtrace.tables.covariates.text_numbers import parse_numbers
    from survtrace.tables.outcome.outcome_columns import DURATION_NAMES

    found = []
    for each in named:
        column = frame[each]
        if column.dtype.kind == "O":
            read = parse_numbers(column.dropna().head(1000))
            numbers, clear = read.numbers, not read.unreadable.any()
        else:
            numbers, clear = column.dropna().to_numpy(), column.dtype.kind in "fiu"
        if clear and len(numbers) and (numbers >= 0).all() and column.nunique() > 5:
            found.append(each)
    return sorted(found, key=lambda each: each.lower() not in DURATION_NAMES)


def _draft(plan: Plan, entries: dict[str, Any], path: Path, how: TableOptions) -> None:
    """Write the findings as a data dictionary; an existing file is not replaced."""
    from survtrace.inspection.dictionary import BETWEEN, write_dictionary

    if path.exists():
        raise DataError(f"{path} exists and is left alone. Choose another path for --write.")
    rows: list[dict[str, Any]] = []
    for found in plan.findings:
        kind = "ignore" if found.role == "leak" else found.role or "ignore"
        kind = "" if found.use == "question" else kind
        row: dict[str, Any] = {"name": found.name, "kind": kind}
        if (covariate := found.covariate) is not None:
            entry = entries.get(found.name)
            row |= {
                "kind": covariate.kind,
                "unit": covariate.unit,
                "label": covariate.label,
                "levels": BETWEEN.join(getattr(entry, "levels", ())),
                "missing": BETWEEN.join(
                    dict.fromkeys([*covariate.missing, *found.markers, *found.sentinels])
                ),
                "low": covariate.low,
                "high": covariate.high,
                "decimal": covariate.decimal if covariate.decimal == "," else "",
            }
        rows.append(row)
    rows += [{"name": name, "kind": "identifier"} for name in how.ids or ()]
    roles = {"duration": how.duration, "event": how.event, "entry": how.entry}
    rows += [{"name": name, "kind": kind} for kind, name in roles.items() if name]
    write_dictionary(rows, path)


def _show(shown: dict[str, Any], plan: Plan, duration: str | None, event: str | None) -> None:
    import pandas as pd

    rows = [
        {
            "column": found.name,
            "read as": found.read_as,
            "holds": found.content,
            "missing": str(found.n_missing or ""),
            "use": found.use,
            "why, and what looks wrong": _reasons(found),
        }
        for found in plan.findings
    ]
    screen.show_frame(pd.DataFrame(rows).astype(object), caption=f"{shown['rows']:,} rows")
    outcome = shown["outcome"]
    if duration and event:
        labels = pd.DataFrame(outcome["labels"]).astype(object)
        screen.show_frame(labels, title=f"{event} (duration: {duration})")
    else:
        for role in ("duration", "event"):
            names = ", ".join(outcome[role]) or "none found by name"
            typer.echo(f"columns that may be the {role}: {names}")
    for note in shown["remarks"]:
        typer.echo(f"note: {note}")
    if shown["next"] is not None:
        typer.echo(f"next: {shown['next']}")


def _reasons(found: Finding) -> str:
    parts = [
        found.reason,
        found.changes_in_words(),
        f"missing: {found.markers_in_words()}" if found.markers else "",
        *found.warnings,
        *found.sentinels_in_words(in_command=True),
    ]
    return "; ".join(part for part in parts if part)
