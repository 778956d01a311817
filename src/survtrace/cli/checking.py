"""The command check: what each column of a table is, before anything is learned from it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from survtrace.cli import screen
from survtrace.cli.options import Drop, Ids, Json, Quiet, Table
from survtrace.errors import DataError, rows_named

if TYPE_CHECKING:
    import pandas as pd

    from survtrace.data.outcome import Outcome
    from survtrace.inspection import Finding, Plan

Sep = Annotated[str | None, typer.Option(metavar="MARK", help="What separates columns: , ; tab |")]
Decimal = Annotated[str | None, typer.Option(metavar="MARK", help="Decimal mark: . or ,")]
Missing = Annotated[
    list[str] | None,
    typer.Option(metavar="TEXT", help="Text or number that means not known; repeatable."),
]
Encoding = Annotated[
    str | None, typer.Option(metavar="NAME", help="Of the characters, such as cp1252.")
]
Sheet = Annotated[
    str | None, typer.Option(metavar="NAME", help="Sheet of an Excel file, by name or number.")
]
Columns = Annotated[
    Path | None,
    typer.Option(help="Data dictionary: CSV with name, kind, unit, label, levels, missing, ..."),
]
Use = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="Use this column whatever it looks like; repeatable."),
]
Censored = Annotated[
    list[str] | None,
    typer.Option(metavar="LABEL", help="Label of --event that means censored; repeatable."),
]
_DURATION = re.compile(
    r"time|duration|day|month|year|week|follow|surviv|tage|monat|jahr|dauer|(^|_)(t|os|pfs|dfs|rfs)($|_)",
    re.IGNORECASE,
)
_EVENT = re.compile(
    r"event|status|death|dead|died|decease|outcome|cens|cause|relapse|recur|vital|ereignis|tod",
    re.IGNORECASE,
)
MOST_LABELS = 20


def check(
    table: Table,
    duration: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column with the length of follow-up.")
    ] = None,
    event: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column with censored, or the cause.")
    ] = None,
    ids: Ids = None,
    drop: Drop = None,
    use: Use = None,
    sep: Sep = None,
    decimal: Decimal = None,
    missing: Missing = None,
    encoding: Encoding = None,
    sheet: Sheet = None,
    columns: Columns = None,
    censored: Censored = None,
    write: Annotated[
        Path | None, typer.Option(help="Draft a data dictionary, to be edited, for --columns.")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show what each column of a table is, what fit will do with it and why, and what looks wrong.

    Nothing is learned or changed. At the end stands the command that comes next.
    """
    from survtrace.data.covariates import open_table
    from survtrace.data.tables import require_columns
    from survtrace.inspection import plan_columns, read_dictionary

    said = {
        "--id": ids,
        "--drop": drop,
        "--use": use,
        "--sep": sep,
        "--decimal": decimal,
        "--missing": missing,
        "--encoding": encoding,
        "--sheet": sheet,
        "--columns": columns,
        "--censored": censored,
    }
    frame = _read(table, sep, decimal, missing, encoding, sheet)
    entries: dict[str, Any] = {**read_dictionary(columns)}
    entries |= {name: {"kind": "covariate"} for name in use or ()}
    duration = duration or _with_kind(entries, "duration")
    event = event or _with_kind(entries, "event")
    aside = [name for name in (*(ids or ()), *(drop or ()), duration, event) if name]
    require_columns(frame.columns, [*aside, *(use or ())])
    X = frame.drop(columns=list(dict.fromkeys(aside)))
    outcome, trouble = None, None
    if duration and event:
        is_text = not table.suffix.endswith(("parquet", "feather", "xlsx", "xlsm"))
        with rows_named("line", 2) if is_text else rows_named("row", 1):
            try:
                outcome = _read_outcome(frame, duration, event, censored)
            except DataError as error:
                trouble = error
    opened = open_table(X)
    plan = plan_columns(opened, outcome, columns=entries).with_idle(opened)
    if write is not None:
        _draft(plan, entries, write, duration, event, ids or ())
    shown = {
        "rows": len(frame),
        "columns": [_record(found) for found in plan.findings],
        "outcome": _labels(frame, duration, event, outcome),
        "next": _next_command(table, duration, event, frame, said, plan, write),
    }
    if json:
        screen.show_json(shown)
    else:
        _show(shown, plan, frame, duration, event)
    if trouble is not None:
        raise trouble
    plan.require_answers()
    if write is not None:
        screen.say(f"wrote {write}, for --columns", quiet=quiet)


def _read(
    table: Path,
    sep: str | None,
    decimal: str | None,
    missing: Sequence[str] | None,
    encoding: str | None,
    sheet: str | None,
) -> pd.DataFrame:
    """The table, or of a folder its first rows."""
    from survtrace.data.parquet import parquet_columns
    from survtrace.data.pieces import read_pieces
    from survtrace.data.reading import Reading
    from survtrace.data.tables import read_table

    sep = {"tab": "\t", r"\t": "\t"}.get(sep or "", sep)
    reading = Reading(sep, decimal, tuple(missing or ()), encoding, sheet)
    if table.is_dir():
        return next(read_pieces(table, parquet_columns(table)))
    return read_table(table, reading)


def _read_outcome(
    frame: pd.DataFrame, duration: str, event: str, censored: Sequence[str] | None
) -> Outcome:
    from survtrace.data.outcome import read_outcome
    from survtrace.data.tables import split_outcome

    _, y = split_outcome(frame, duration, event)
    told: dict[str, Any] = {"censored": list(censored)} if censored else {}
    return read_outcome(y, zero_duration="shift", **told)


def _with_kind(entries: dict[str, Any], kind: str) -> str | None:
    named = [name for name, entry in entries.items() if getattr(entry, "kind", "") == kind]
    return named[0] if len(named) == 1 else None


def _record(found: Finding) -> dict[str, Any]:
    """A finding as JSON has it."""
    return {
        "name": found.name,
        "read_as": found.read_as,
        "content": found.content,
        "missing": found.n_missing,
        "use": found.use,
        "reason": found.reason,
        "markers": dict(found.markers),
        "changes": dict(found.changes),
        "warnings": list(found.warnings),
    }


def _labels(
    frame: pd.DataFrame, duration: str | None, event: str | None, outcome: Outcome | None
) -> dict[str, Any]:
    """Column names of the outcome, and each label with its rows and what it means."""
    if not (duration and event):
        return {"duration": _candidates(frame, _DURATION), "event": _candidates(frame, _EVENT)}
    labels = frame[event].astype(object).where(frame[event].notna(), "(empty)").astype(str)
    counts = labels.value_counts()
    meant = {}
    if outcome is not None:
        codes = dict(zip(labels, outcome.event.tolist(), strict=True))
        meant = {
            label: "censored" if codes[label] == 0 else f"cause {outcome.causes[codes[label] - 1]}"
            for label in counts.index[:MOST_LABELS]
        }
    return {
        "duration": duration,
        "event": event,
        "labels": [
            {"label": label, "rows": int(counts[label]), "means": meant.get(label, "?")}
            for label in counts.index[:MOST_LABELS]
        ],
    }


def _candidates(frame: pd.DataFrame, name: re.Pattern[str]) -> list[str]:
    """Columns that may hold the duration, or the event, by their names and values."""
    wanted = [str(each) for each in frame.columns if name.search(str(each))]
    if name is _EVENT:
        few = [each for each in wanted if 2 <= frame[each].nunique(dropna=False) <= MOST_LABELS]
        return sorted(few, key=lambda each: frame[each].count(), reverse=True)
    from survtrace.data.text_numbers import parse_numbers

    found = []
    for each in wanted:
        column = frame[each]
        if column.dtype.kind == "O":
            read = parse_numbers(column.dropna().head(1000))
            numbers, clear = read.numbers, not read.unreadable.any()
        else:
            numbers, clear = column.dropna().to_numpy(), column.dtype.kind in "fiu"
        if clear and len(numbers) and (numbers >= 0).all() and column.nunique() > 5:
            found.append(each)
    return found


def _draft(
    plan: Plan,
    entries: dict[str, Any],
    path: Path,
    duration: str | None,
    event: str | None,
    ids: Sequence[str],
) -> None:
    """Write what was found as a dictionary; an existing file is not replaced."""
    from survtrace.inspection.dictionary import BETWEEN, write_dictionary

    if path.exists():
        raise DataError(f"{path} exists and is left alone. Choose another path for --write.")
    rows: list[dict[str, Any]] = []
    for found in plan.findings:
        row: dict[str, Any] = {"name": found.name, "kind": found.role or "ignore"}
        if found.role == "leak":
            row["kind"] = "ignore"
        if found.use == "question":
            row["kind"] = ""
        if (covariate := found.covariate) is not None:
            entry = entries.get(found.name)
            row |= {
                "kind": covariate.kind,
                "unit": covariate.unit,
                "label": covariate.label,
                "levels": BETWEEN.join(getattr(entry, "levels", ())),
                "missing": BETWEEN.join(dict.fromkeys([*covariate.missing, *found.markers])),
                "low": covariate.low,
                "high": covariate.high,
                "decimal": covariate.decimal if covariate.decimal == "," else "",
            }
        rows.append(row)
    for kind, names in (("identifier", ids), ("duration", [duration]), ("event", [event])):
        rows += [{"name": name, "kind": kind} for name in names if name]
    write_dictionary(rows, path)


def _next_command(
    table: Path,
    duration: str | None,
    event: str | None,
    frame: pd.DataFrame,
    said: dict[str, Any],
    plan: Plan,
    write: Path | None,
) -> str:
    """The command to run next, with all that was said."""
    if not (duration and event):
        durations = [duration] if duration else _candidates(frame, _DURATION)
        events = [event] if event else _candidates(frame, _EVENT)
        duration, event = (each[0] if each else "COLUMN" for each in (durations, events))
        command = "check"
    else:
        command = "fit"
    words = ["survtrace", command, str(table), "--duration", duration, "--event", event]
    if write is not None and said["--columns"] is None:
        said = {**said, "--columns": write}
    for option, value in said.items():
        for each in value if isinstance(value, list) else [value]:
            words += [option, str(each)] if each is not None else []
    if command == "fit":
        dates = [f.name for f in plan.findings if f.use == "question" and f.read_as == "dates"]
        for name in dates:
            words += ["--drop", name]
        words += ["--out", "model"]
    return shlex.join(words)


def _show(
    shown: dict[str, Any], plan: Plan, frame: pd.DataFrame, duration: str | None, event: str | None
) -> None:
    import pandas as pd

    rows = [
        {
            "column": found.name,
            "read as": found.read_as,
            "holds": found.content,
            "missing": str(found.n_missing or ""),
            "use": found.use,
            "why, and what looks wrong": _remarks(found),
        }
        for found in plan.findings
    ]
    caption = f"{len(frame):,} rows"
    screen.show_frame(pd.DataFrame(rows).astype(object), caption=caption)
    outcome = shown["outcome"]
    if duration and event:
        labels = pd.DataFrame(outcome["labels"]).astype(object)
        screen.show_frame(labels, title=f"{event} (duration: {duration})")
    else:
        for role in ("duration", "event"):
            names = ", ".join(outcome[role]) or "none found by name"
            typer.echo(f"columns that may be the {role}: {names}")
    typer.echo(f"next: {shown['next']}")


def _remarks(found: Finding) -> str:
    markers = ", ".join(f"{text!r} in {n:,}" for text, n in list(found.markers.items())[:5])
    parts = [
        found.reason,
        found.changes_in_words(),
        f"missing: {markers}" if markers else "",
        *found.warnings,
    ]
    return "; ".join(part for part in parts if part)
