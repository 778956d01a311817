"""The command validate: what reviewers ask of a model, on a table it has not learned from."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from survtrace.cli import screen
from survtrace.cli.options import (
    AS_FIT,
    About,
    Force,
    Json,
    Model,
    Quiet,
    Table,
    TableOptions,
    read_about,
    read_numbers,
    read_scored,
    reads_table,
    rows_as_in,
)
from survtrace.cli.outputs import require_free

if TYPE_CHECKING:
    import pandas as pd

    from survtrace.naming import Names
    from survtrace.report import ValidationSummary

SHOWN = ("observed", "expected", "O/E", "slope", "AUC", "IPA")
OF_GROUPS = ("O/E", "slope", "AUC")
AS_SHARES = ("observed", "expected")


@reads_table(AS_FIT)
def validate(
    model: Model,
    table: Table,
    out: Annotated[
        Path,
        typer.Option(help="A page (.html); or a folder for page, tables, figures and checklist."),
    ] = Path("validation"),
    horizon: Annotated[
        str | None,
        typer.Option(
            metavar="60", help="By when, or several; by default quartiles of event times."
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="sex,age", help="Columns to score groups by; numbers are cut into thirds."
        ),
    ] = None,
    centre: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column of centres: the spread between them."),
    ] = None,
    thresholds: Annotated[
        str | None,
        typer.Option(metavar="0.1,0.2", help="Predictions above which one would treat."),
    ] = None,
    landmark: Annotated[
        float | None,
        typer.Option(
            metavar="24",
            help="Predict at this time, from what is known then, for those under observation; "
            "--horizon counts from it.",
        ),
    ] = None,
    about: About = None,
    title: Annotated[str | None, typer.Option(help="Of the page.")] = None,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
    *,
    how: TableOptions,
) -> None:
    """Validate a model on subjects it has not seen, as reviewers ask (TRIPOD+AI).

    Calibration with a band, observed/expected ratio, slope, ICI, AUC, scaled Brier score and
    decision curves, for competing causes, by group and by centre, each with a 95 % interval; the
    model card, and a checklist filled from what is known that names what is not.
    """
    from survtrace import load
    from survtrace.model_card import warn_of_interrupted
    from survtrace.report import write_validation

    is_folder = out.suffix != ".html"
    require_free(out, force=force, inputs=[table, model], is_folder=is_folder)
    columns = [] if by is None else [name.strip() for name in by.split(",")]
    asked: dict[str, Any] = {"by": columns or None, "centre": centre, "landmark": landmark}
    asked["horizons"] = None if horizon is None else read_numbers(horizon, "--horizon")
    asked["thresholds"] = None if thresholds is None else read_numbers(thresholds, "--thresholds")
    est, said = load(model), read_about(about)
    with screen.hushed(quiet), rows_as_in(table):
        warn_of_interrupted(est)
        kept = [*columns, *([] if centre is None else [centre])]
        X, y = read_scored(est, table, how, keep=kept)
        found = write_validation(est, X, y, out, title=title, about=said, **asked)
    validation = found.validation
    if json:
        frames = ("counts", "scores", "groups", "differences", "spread", "decisions")
        tables = {name: screen.records(getattr(validation, name)) for name in frames}
        open_topics = [entry.topic for entry in found.checklist if entry.is_open]
        told = {"alerts": found.alerts, "remarks": found.remarks, "open": open_topics}
        screen.show_json({**tables, **told, "out": str(out)})
        return
    _show(found)
    # The page tells them, too; but who reads only the screen must not miss wrong units.
    for text in (*found.alerts, *found.remarks, *_why_not_scored(validation.scores)):
        screen.say(f"warning: {text}" if text in found.alerts else f"note: {text}", quiet=quiet)
    screen.say(f"wrote {out}", quiet=quiet)
    topics = [str(entry.topic) for entry in found.checklist if entry.is_open]
    if topics:
        n_open = f"{len(topics)} items of the checklist are yours to tell (--about TOPIC='...')"
        screen.say(f"{n_open}: {', '.join(topics)}", quiet=quiet)


def _show(found: ValidationSummary) -> None:
    """Print scores of everybody, of groups at the middle horizon, and over centres."""
    validation, names = found.validation, found.names
    who = f"{validation.counts['n'].iloc[0]:,} subjects"
    if validation.landmark is not None:
        when = names.time(f"{validation.landmark:.4g}")
        who += f" under observation at {when}, of {found.cohort.n_subjects:,}"
    title = f"Validation on {who}, with 95 % intervals"
    scores = _side_by_side(validation.scores, names, ["cause", "horizon"], SHOWN)
    screen.show_frame(scores, title=title)
    middle = found.middle_horizon
    groups = validation.groups
    groups = groups[(groups["column"] != validation.centre) & (groups["horizon"] == middle)]
    if len(groups):
        index = ["column", "group", "cause", "n", "events"]
        shown = _side_by_side(groups, names, index, OF_GROUPS)
        screen.show_frame(shown, title=f"By group, {names.time(f'{middle:.4g}')}")
    spread = validation.spread[validation.spread["score"].isin(OF_GROUPS)]
    if len(spread):
        screen.show_frame(_over_centres(spread, names), title="Over centres")


def _why_not_scored(scores: pd.DataFrame) -> list[str]:
    """Say why scores of everybody that the screen shows are missing, each reason once."""
    missing = scores[scores["score"].isin(SHOWN) & scores["value"].isna() & (scores["note"] != "")]
    return [
        f"{', '.join(dict.fromkeys(rows['score']))} not shown for some cause and horizon: {note}"
        for note, rows in missing.groupby("note", sort=False)
    ]


def _side_by_side(
    scores: pd.DataFrame, names: Names, index: list[str], columns: Sequence[str]
) -> pd.DataFrame:
    """Make a row for each cause, horizon and group, a column for each score that is shown."""
    some = scores[scores["score"].isin(columns)]
    shown = some.assign(
        cause=some["cause"].map(names.cause),
        horizon=some["horizon"].map(lambda time: names.time(f"{time:.4g}")),
        shown=[_cell(row) for row in some.itertuples()],
    )
    wide = shown.pivot_table("shown", index, "score", aggfunc="first", sort=False)
    return wide[list(columns)].reset_index()


def _over_centres(spread: pd.DataFrame, names: Names) -> pd.DataFrame:
    rows = [
        {
            "cause": names.cause(row["cause"]),
            "horizon": names.time(f"{row['horizon']:.4g}"),
            "score": row["score"],
            "centres": row["n_centres"],
            "mean": _with_interval(row["mean"], row["low"], row["high"]),
            "in a new centre": _span(row["new_low"], row["new_high"]),
        }
        for row in spread.to_dict(orient="records")
    ]
    import pandas as pd

    return pd.DataFrame(rows)


def _cell(row: Any) -> str:
    if row.score in AS_SHARES and not isnan(row.value):
        return f"{row.value:.1%}"
    return _with_interval(row.value, row.low, row.high)


def _span(low: Any, high: Any) -> str:
    return "-" if isnan(low) else f"{low:.2f}..{high:.2f}"


def _with_interval(value: Any, low: Any, high: Any) -> str:
    if isnan(value):
        return "-"
    return f"{value:.2f}" if isnan(low) else f"{value:.2f} ({_span(low, high)})"
