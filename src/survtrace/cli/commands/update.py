"""The command update: bring a model to another place by that place's own patients."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from survtrace.cli import screen
from survtrace.cli.options import (
    AS_FIT,
    Force,
    Json,
    Model,
    Quiet,
    Table,
    TableOptions,
    read_scored,
    reads_table,
    rows_as_in,
)
from survtrace.cli.outputs import require_free_model, save_model

if TYPE_CHECKING:
    import pandas as pd

    from survtrace import SurvTRACE


class How(StrEnum):
    """Ways of updating, the simpler first."""

    auto = "auto"
    none = "none"
    level = "level"
    slope = "slope"
    heads = "heads"
    whole = "whole"


@reads_table(AS_FIT)
def update(
    model: Model,
    table: Table,
    out: Annotated[Path, typer.Option(help="Folder for the updated model.")],
    way: Annotated[
        How,
        typer.Option(
            "--how",
            help="level: one factor for each cause; slope: patients also further apart or closer; "
            "heads, whole: trained further; auto: the simplest that held-out rows bear out.",
        ),
    ] = How.auto,
    folds: Annotated[int, typer.Option(min=2, help="Folds held out in turn to compare.")] = 5,
    seed: Annotated[int | None, typer.Option(help="Seed; by default that of the fit.")] = None,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
    *,
    how: TableOptions,
) -> None:
    """Bring a model to another place, by patients of that place; the old folder stays as it is.

    Brier: mean over causes of the integrated Brier score on rows that were held out, lower is
    better; O/E: events observed over expected, 1 is right.
    """
    from survtrace import load

    require_free_model(out, force=force, inputs=[table, model])
    est = load(model)
    had_intervals = est.interval_ is not None
    with screen.hushed(quiet), rows_as_in(table):
        X, y = read_scored(est, table, how)
        est.update(X, y, way.value, n_folds=folds, random_state=seed)
    save_model(est, out)
    record = est.updates_[-1]
    if json:
        screen.show_json({**record, "out": str(out)})
        return
    if record["scores"]:
        title = f"{record['subjects']:,} subjects, each predicted without it"
        screen.show_frame(score_frame(est, record), title=title)
    typer.echo(in_words(record))
    if had_intervals and est.interval_ is None:
        typer.echo("Intervals of one patient's incidence are not known after an update.")
    screen.say(f"wrote {out}", quiet=quiet)


def score_frame(est: SurvTRACE, record: dict[str, Any]) -> pd.DataFrame:
    """Put the scores of an update into a table for people, a row for each way."""
    import pandas as pd

    rows = []
    for score in record["scores"]:
        change, error = score["difference"], score["standard_error"]
        row = {
            "way": score["how"] + (" (chosen)" if score["how"] == record["how"] else ""),
            "Brier": f"{score['integrated_brier']:.4f}",
            "change": "" if score["how"] == "none" else f"{change:+.4f} (se {error:.4f})",
        }
        for cause, name in est.cause_names_.items():
            ratio = score["observed_expected"].get(str(cause))
            row[f"O/E {name}"] = "" if ratio is None else f"{ratio:.2f}"
        rows.append(row)
    return pd.DataFrame(rows)


def in_words(record: dict[str, Any]) -> str:
    """Say what an update did.

    Examples
    --------
    >>> in_words({"date": "2026-01-31", "how": "level", "asked": "auto", "subjects": 300,
    ...           "events": {"1": 40, "2": 20}})
    '2026-01-31: level (chosen by auto), by 300 subjects with 60 events'
    """
    chosen = " (chosen by auto)" if record["asked"] == "auto" else ""
    n_events = sum(record["events"].values())
    what = "nothing changed" if record["how"] == "none" else record["how"]
    return (
        f"{record['date']}: {what}{chosen}, by {record['subjects']:,} subjects with "
        f"{n_events:,} events"
    )
