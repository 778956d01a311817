"""Commands that learn from a table beside fit: compare, tune."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from survtrace.cli import screen
from survtrace.cli.options import (
    REQUIRED,
    Json,
    Quiet,
    Ray,
    Table,
    TableOptions,
    read_subjects,
    reads_table,
    rows_as_in,
)
from survtrace.cli.outputs import require_writable
from survtrace.errors import SettingError


class Space(StrEnum):
    """Where tune searches."""

    paper = "paper"
    wide = "wide"


@reads_table(REQUIRED, learning=True)
def compare(
    table: Table,
    out: Annotated[Path, typer.Option(help="Folder for scores and tables.")] = Path("comparison"),
    splits: Annotated[
        int, typer.Option(min=2, help="Random splits, 30 % of the rows to score on.")
    ] = 5,
    json: Json = False,
    quiet: Quiet = False,
    *,
    how: TableOptions,
) -> None:
    """Score SurvTRACE beside Cox and Aalen-Johansen on random splits of a table of your own.

    Called again with the same folder, it goes on where it was.
    """
    import pandas as pd

    from survtrace.study.benchmark import compare_on_table

    if how.entry:
        raise SettingError(
            "compare scores everybody from 0 on; got --entry. Fit with --hold-out, then: survtrace "
            "report MODEL TABLE --train TABLE."
        )
    require_writable(out / "scores.csv")
    with screen.hushed(quiet), rows_as_in(table):
        shown = compare_on_table(
            table,
            out,
            duration=how.outcome.duration,
            event=how.outcome.event,
            drop=how.outcome.left_out,
            categorical=how.categorical or (),
            reading=how.reading,
            censored=how.censored,
            columns=how.dictionary,
            n_splits=splits,
        )
    if json:
        screen.show_json(screen.records(pd.read_csv(out / "comparison.csv")))
    else:
        typer.echo(shown)


@reads_table(REQUIRED, learning=True)
def tune(
    table: Table,
    out: Annotated[Path, typer.Option(help="Folder for trials and settings.")] = Path("tuning"),
    trials: Annotated[int, typer.Option(min=1, help="Settings to try in all.")] = 30,
    space: Annotated[Space, typer.Option(help="The paper's grid, or that and more.")] = Space.wide,
    ray: Ray = False,
    quiet: Quiet = False,
    *,
    how: TableOptions,
) -> None:
    """Search settings on inner folds and print the best as JSON; called again, it goes on.

    Pass learning rows only. The best settings are kept in settings.json, for fit --config.
    """
    from survtrace import distributed, tuning
    from survtrace.inspection import clean_subjects
    from survtrace.tables.files.formats import read_table

    search = distributed.tune if ray else tuning.tune
    require_writable(out / "settings.json")
    with screen.hushed(quiet), rows_as_in(table):
        frame = read_table(table, how.reading)
        X, y = clean_subjects(
            *read_subjects(frame, how.outcome, how),
            categorical=how.categorical,
            columns=how.dictionary,
        )
        best = search(X, y, out, space=space.value, n_trials=trials)
    screen.show_json(best)
    screen.say(f"wrote {out / 'settings.json'}, for survtrace fit --config", quiet=quiet)
