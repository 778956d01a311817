"""Commands that learn from a table: fit, compare, tune."""

from __future__ import annotations

import sys
import time
import warnings
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from survtrace.cli import screen
from survtrace.cli.holding_out import choose_held_out, next_command
from survtrace.cli.options import (
    Categorical,
    Drop,
    Duration,
    Event,
    Force,
    Gpu,
    Ids,
    Json,
    OutcomeColumns,
    Quiet,
    Ray,
    Table,
    TableOptions,
    Workers,
    first_rows,
    read_subjects,
    reads_table,
    rows_as_in,
)
from survtrace.cli.outputs import (
    beside,
    require_free,
    require_free_model,
    require_writable,
    save_model,
)
from survtrace.cli.settings import gather_settings
from survtrace.errors import DataWarning, SettingError, TrainingError, rows_named

if TYPE_CHECKING:
    import pandas as pd

    from survtrace import SurvTRACE

INTERRUPTED = 130


class Space(StrEnum):
    """Where tune searches."""

    paper = "paper"
    wide = "wide"


@reads_table()
def fit(
    table: Table,
    duration: Duration,
    event: Event,
    out: Annotated[Path, typer.Option(help="Folder for the model.")],
    hold_out: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Set a share of the subjects aside, such as 0.25, and write their rows beside the "
            "model, to evaluate it on.",
        ),
    ] = None,
    ids: Ids = None,
    drop: Drop = None,
    categorical: Categorical = None,
    config: Annotated[
        Path | None, typer.Option(help="Settings as JSON or TOML, such as tune's settings.json.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A setting of SurvTRACE; repeatable."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Same seed, same model; 0 if left out.")] = None,
    force: Force = False,
    stream: Annotated[
        bool, typer.Option("--stream", help="Never hold the Parquet file in memory as a whole.")
    ] = False,
    ray: Ray = False,
    workers: Workers = 2,
    gpu: Gpu = False,
    storage: Annotated[
        str | None,
        typer.Option(help="With --ray: folder that all machines see; a killed fit goes on."),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
    *,
    how: TableOptions,
) -> None:
    """Learn the hazard of each cause from a table and save the model to a folder.

    Every column that is not named below is a covariate: numbers, texts, with or without gaps.
    A folder of Parquet files is one table, which may be larger than memory. Ctrl-C ends the
    training; what was learned until then is saved beside --out, as MODEL.interrupted.
    """
    from survtrace import SurvTRACE, distributed

    chosen = gather_settings(config, settings or [], seed)
    require_free_model(out, force=force, inputs=[table, config])
    streamed = stream or table.is_dir()
    test_rows = None if hold_out is None else _held_out_path(out, table, streamed)
    require_free(test_rows, force=force, inputs=[table], option="the file of --hold-out")
    X: Any = table
    left_out = [*(ids or ()), *(drop or ())]
    y: Any = {"event": event, "duration": duration, "drop": left_out}
    held_out = None
    with rows_as_in(table):
        if streamed:
            chosen["categorical"] = [*(chosen.get("categorical") or ()), *(categorical or ())]
        else:
            from survtrace.data.tables import read_table, split_outcome

            frame = read_table(table)
            if hold_out is not None:
                held_out = choose_held_out(frame, hold_out, event, ids, seed or 0)
            X, y = split_outcome(frame, duration, event, left_out, categorical or ())
    if held_out is not None:
        _check_outcome(y, table, chosen)
        X, y = X[~held_out], y[~held_out]
    naming = rows_as_in(table) if held_out is None else rows_named("training row", 1)
    began = time.perf_counter()
    with screen.hushed(quiet), naming:
        _warn_of_identifiers(first_rows(table, y) if streamed else X)
        est = SurvTRACE(**chosen)
        if not streamed:
            require_writable(out, _model_bytes(est, X, y["event"].nunique()))
        try:
            if ray:
                distributed.fit(est, X, y, n_workers=workers, use_gpu=gpu, storage=storage)
            else:
                est.fit(X, y)
        except TrainingError:
            if getattr(est, "card_", None):
                _save(est, beside(out, ".interrupted"), table, held_out, quiet)
            raise
        est.card_["table"] = {"duration": duration, "event": event, "left_out": left_out}
        if est.card_["interrupted"]:
            _save(est, beside(out, ".interrupted"), table, held_out, quiet)
            sys.exit(INTERRUPTED)
        _save(est, out, table, held_out, quiet=True)
    seconds = time.perf_counter() - began
    learned = {**_summary(est), "seconds": seconds, "out": str(out)}
    if test_rows is not None and held_out is not None:
        learned |= {"held_out": str(test_rows), "held_out_rows": int(held_out.sum())}
    if json:
        screen.show_json(learned)
    elif not quiet:
        typer.echo(_in_words(learned))
    if test_rows is not None:
        screen.say(f"next: {next_command(out, test_rows)}", quiet=quiet)


@reads_table()
def compare(
    table: Table,
    duration: Duration,
    event: Event,
    ids: Ids = None,
    drop: Drop = None,
    categorical: Categorical = None,
    out: Annotated[Path, typer.Option(help="Folder for scores and tables.")] = Path("comparison"),
    splits: Annotated[
        int, typer.Option(min=1, help="Random splits, 30 % of the rows to score on.")
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

    require_writable(out / "scores.csv")
    with screen.hushed(quiet), rows_as_in(table):
        shown = compare_on_table(
            table,
            out,
            duration=duration,
            event=event,
            drop=[*(ids or ()), *(drop or ())],
            categorical=categorical or (),
            n_splits=splits,
        )
    if json:
        screen.show_json(screen.records(pd.read_csv(out / "comparison.csv")))
    else:
        typer.echo(shown)


@reads_table()
def tune(
    table: Table,
    duration: Duration,
    event: Event,
    ids: Ids = None,
    drop: Drop = None,
    categorical: Categorical = None,
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

    search = distributed.tune if ray else tuning.tune
    require_writable(out / "settings.json")
    with screen.hushed(quiet), rows_as_in(table):
        columns = OutcomeColumns(duration, event, [*(ids or ()), *(drop or ())])
        X, y = read_subjects(table, columns, how, categorical)
        best = search(X, y, out, space=space.value, n_trials=trials)
    screen.show_json(best)
    screen.say(f"wrote {out / 'settings.json'}, for survtrace fit --config", quiet=quiet)


def _held_out_path(out: Path, table: Path, streamed: bool) -> Path:
    """Where fit writes the rows it has set aside."""
    from survtrace.data.splitting import require_splittable, table_ending

    if streamed:
        raise SettingError(
            "--hold-out reads the whole table. Divide a table larger than memory with: survtrace "
            f"split {table} --out-train train.parquet --out-test test.parquet"
        )
    test_rows = beside(out, f"-held-out{table_ending(table)}")
    require_splittable(table, [test_rows])
    return test_rows


def _check_outcome(y: pd.DataFrame, table: Path, settings: dict[str, Any]) -> None:
    """Refuse a faulty outcome while its rows are still those of the file."""
    from survtrace.data.outcome import read_outcome

    with rows_as_in(table), warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # the fit says it again
        read_outcome(y, zero_duration=settings.get("zero_duration", "raise"))


def _save(est: SurvTRACE, out: Path, table: Path, held_out: Any, quiet: bool) -> None:
    """Save a model, and beside it the rows that were held out."""
    from survtrace.data.splitting import copy_rows, table_ending

    save_model(est, out)
    if not quiet:
        epochs = int(est.history_["epoch"].max()) + 1
        screen.say(f"interrupted after {epochs} epochs; what was learned is in {out}")
    if held_out is not None:
        copy_rows(table, {beside(out, f"-held-out{table_ending(table)}"): held_out})


def _model_bytes(est: SurvTRACE, X: pd.DataFrame, n_labels: int) -> int:
    """About how much room the parameters take on disk."""
    levels = int(X.select_dtypes(exclude="number").nunique().sum())
    embedding = (levels + 3 * X.shape[1]) * est.width
    layer = 4 * est.width**2 + 2 * est.width * est.hidden + 8 * est.hidden
    joined = X.shape[1] * est.width * est.hidden
    heads = (n_labels + 2) * (est.hidden**2 + est.hidden * (est.n_intervals + 2))
    return int(4 * est.n_members * (embedding + est.depth * layer + joined + heads))


def _warn_of_identifiers(X: pd.DataFrame) -> None:
    from survtrace.data.tables import likely_identifiers

    if names := likely_identifiers(X):
        warnings.warn(
            f"{names} differ in every row and look like identifiers, which teach nothing and whose "
            "texts the model would keep. Leave them out with --id.",
            DataWarning,
            stacklevel=2,
        )


def _summary(est: SurvTRACE) -> dict[str, Any]:
    """What there was to learn from, and how it went; losses are means over members."""
    best = est.history_.groupby("member")["validation_loss"].min()
    return {
        "rows": est.card_["n_subjects"],
        "covariates": est.n_features_in_,
        "events": est.card_["n_events"],
        "censored": est.card_["n_censored"],
        "members": est.n_members,
        "epochs": int(est.history_["epoch"].max()) + 1,
        "validation_loss": float(best.mean()),
    }


def _in_words(learned: dict[str, Any]) -> str:
    events = ", ".join(f"{n:,} of cause {cause}" for cause, n in learned["events"].items())
    held_out = (
        f"\nwrote {learned['held_out']}: {learned['held_out_rows']:,} rows it has not learned from"
        if "held_out" in learned
        else ""
    )
    return (
        f"subjects: {learned['rows']:,}; covariates: {learned['covariates']}; events: {events}; "
        f"{learned['censored']:,} censored\n"
        f"members: {learned['members']}; epochs: {learned['epochs']}; {learned['seconds']:.1f} s; "
        f"validation loss {learned['validation_loss']:.4f}\n"
        f"wrote {learned['out']}{held_out}"
    )
