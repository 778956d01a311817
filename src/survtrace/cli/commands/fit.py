"""The command fit: learn from a table, write the model and the rows held out."""

from __future__ import annotations

import shlex
import sys
import time
import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from survtrace.cli import screen
from survtrace.cli.commands.suggest import (
    as_arguments,
    ask_about_rows,
    warn_of_divided_subjects,
)
from survtrace.cli.options import (
    REQUIRED,
    About,
    Force,
    Gpu,
    Json,
    OutcomeColumns,
    Quiet,
    Ray,
    Table,
    TableOptions,
    Workers,
    read_about,
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
from survtrace.errors import (
    DataWarning,
    NotEnoughMemoryError,
    SettingError,
    StorageError,
    TrainingError,
    rows_named,
)

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from survtrace import SurvTRACE
    from survtrace.tables.files.reading import Reading

INTERRUPTED = 130


@dataclass(frozen=True)
class Rows:
    """The rows that fit learns from, and a mask of those of the file that it holds out."""

    table: Path
    X: Any
    y: Any
    held_out: NDArray[np.bool_] | None = None
    reading: Reading | None = None

    def naming(self) -> AbstractContextManager[None]:
        """Let messages of the fit name rows as the file does, unless some are held out."""
        if self.held_out is None:
            return rows_as_in(self.table)
        return rows_named("training row", 1)


@reads_table(REQUIRED, learning=True)
def fit(
    table: Table,
    out: Annotated[Path, typer.Option(help="Folder for the model.")],
    hold_out: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Set a share of the subjects aside, such as 0.25, and write their rows beside the "
            "model, to evaluate it on.",
        ),
    ] = None,
    time_unit: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Unit of durations, such as months.")
    ] = None,
    time_name: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="What time is, where not that since 0: such as age."),
    ] = None,
    cause_name: Annotated[
        list[str] | None,
        typer.Option(metavar="LABEL=TEXT", help="How to call a cause; repeatable."),
    ] = None,
    about: About = None,
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

    Every column that is not named below is a covariate: numbers, texts, with or without gaps;
    survtrace check shows how each is read. A folder of Parquet files is one table, which may be
    larger than memory. Ctrl-C ends the training; what was learned until then is saved beside --out,
    as MODEL.interrupted.
    """
    from survtrace import SurvTRACE, distributed
    from survtrace.cohort.file_source import needs_whole_table

    chosen = gather_settings(config, settings or [], seed)
    chosen |= _named(how, time_unit, time_name, cause_name, about, chosen)
    require_free_model(out, force=force, inputs=[table, config, how.columns])
    columns = how.outcome
    began = time.perf_counter()
    with screen.hushed(quiet):
        est = SurvTRACE(**chosen)
        whole = hold_out is not None or how.missing or how.decimal or needs_whole_table(est)
        if stream or table.is_dir() or (ray and table.suffix.lower() == ".parquet" and not whole):
            rows = _rows_on_disk(table, columns, how, hold_out)
        else:
            rows = _rows_in_memory(table, columns, how, hold_out, seed or 0)
            room = _model_bytes(est, rows.X, len(set(rows.y["event"])))
            require_writable(out, room)
            test_rows = _test_path(out, rows)
            require_free(test_rows, force=force, inputs=[table], option="the file of --hold-out")
        try:
            with rows.naming():
                if ray:
                    distributed.fit(
                        est, rows.X, rows.y, n_workers=workers, use_gpu=gpu, storage=storage
                    )
                else:
                    est.fit(rows.X, rows.y)
        except (TrainingError, NotEnoughMemoryError, StorageError, SystemExit):
            if getattr(est, "card_", None):  # the best so far is kept
                _save_interrupted(est, out, rows, columns)
            raise
        if est.card_["interrupted"]:
            _save_interrupted(est, out, rows, columns)
            sys.exit(INTERRUPTED)
        learned = {**_summary(est), "seconds": time.perf_counter() - began}
        learned |= _save(est, out, rows, columns)
    if json:
        screen.show_json(learned)
    elif not quiet:
        typer.echo(_in_words(learned))
    if "held_out" in learned:
        # The rows held out are written as the table is.
        options = as_arguments(TableOptions(sep=how.sep, encoding=how.encoding))
        command = ["survtrace", "report", str(out), learned["held_out"], *options]
        screen.say(f"next: {shlex.join([*command, '--out', 'report.html'])}", quiet=quiet)


def _rows_on_disk(
    table: Path, columns: OutcomeColumns, how: TableOptions, hold_out: float | None
) -> Rows:
    if not table.is_dir() and table.suffix.lower() != ".parquet":
        raise SettingError(
            f"--stream: fit reads a Parquet file or a folder of them in chunks; got {table.name}. "
            "Leave --stream out, or write the table as Parquet."
        )
    if hold_out is not None:
        raise SettingError(
            "--hold-out reads the whole table. Divide a table larger than memory with: survtrace "
            f"split {table} --out-train train.parquet --out-test test.parquet"
        )
    if how.missing or how.decimal:
        raise SettingError(
            "--missing and --decimal are of text files. Say it of the columns of a Parquet file "
            "in a dictionary: --columns FILE, which survtrace check --write drafts."
        )
    roles: dict[str, Any] = {name: getattr(columns, name) for name in ("event", "duration")}
    roles |= {name: getattr(columns, name) for name in ("entry", "id") if getattr(columns, name)}
    roles["drop"] = list(columns.left_out)
    return Rows(table, table, roles | ({"censored": list(how.censored)} if how.censored else {}))


def _rows_in_memory(
    table: Path, columns: OutcomeColumns, how: TableOptions, hold_out: float | None, seed: int
) -> Rows:
    from survtrace.inspection.texts import is_named_like_a_patient
    from survtrace.tables.files.formats import read_table, require_columns
    from survtrace.tables.files.splitting import draw_held_out, require_splittable
    from survtrace.tables.outcome.outcome import read_outcome

    if hold_out is not None:
        require_splittable(table, [])
    with rows_as_in(table):
        frame = read_table(table, how.reading)
        require_columns(frame.columns, columns.named)
        ask_about_rows(frame, how)
        X, y = read_subjects(frame, columns, how)
        if hold_out is None:
            return Rows(table, X, y, None, how.reading)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # the fit says it again
            read_outcome(y, zero_duration="shift")  # while its rows are still those of the file
    require_columns(frame.columns, [columns.event, *(how.ids or ())])
    held_out = draw_held_out(
        len(frame),
        hold_out,
        seed=seed,
        labels=[None if label != label else str(label) for label in frame[columns.event]],
        subjects=frame[how.ids[0]].tolist() if how.ids else None,
    )
    if not how.ids:
        likely = [each for each in frame.columns if is_named_like_a_patient(str(each))]
        warn_of_divided_subjects({name: frame[name].tolist() for name in likely}, held_out)
    return Rows(table, X[~held_out], y[~held_out], held_out, how.reading)


def _named(
    how: TableOptions,
    time_unit: str | None,
    time_name: str | None,
    cause_names: Sequence[str] | None,
    about: Sequence[str] | None,
    chosen: dict[str, Any],
) -> dict[str, Any]:
    """Collect the settings that have an option beside --set."""
    found: dict[str, Any] = {}
    if how.categorical:
        found["categorical"] = [*(chosen.get("categorical") or ()), *how.categorical]
    if dictionary := how.dictionary:
        found["columns"] = dictionary
    if time_unit is not None:
        found["time_unit"] = time_unit
    if time_name is not None:
        found["time_name"] = time_name
    if cause_names:
        pairs = [each.partition("=") for each in cause_names]
        if not all(equals and text.strip() for _, equals, text in pairs):
            raise SettingError(
                f"--cause-name takes LABEL=TEXT, such as 1=relapse; got {list(cause_names)}."
            )
        found["cause_names"] = {label.strip(): text.strip() for label, _, text in pairs}
    if about:
        found["about"] = {**(chosen.get("about") or {}), **read_about(about)}
    return found


def _test_path(out: Path, rows: Rows) -> Path | None:
    """Return the path for the rows held out; None without any."""
    from survtrace.tables.files.splitting import table_ending

    if rows.held_out is None:
        return None
    return beside(out, f"-held-out{table_ending(rows.table)}")


def _save(est: SurvTRACE, out: Path, rows: Rows, columns: OutcomeColumns) -> dict[str, Any]:
    """Save a model, and beside it the rows held out; return their paths."""
    from survtrace.tables.files.splitting import copy_rows

    est.card_["table"] = {**asdict(columns), "left_out": list(columns.left_out)}
    est.encoding_ = est.encoding_.leaving_out(columns.named)
    save_model(est, out)
    test_rows = _test_path(out, rows)
    if test_rows is None or rows.held_out is None:
        return {"out": str(out)}
    copy_rows(rows.table, {test_rows: rows.held_out}, rows.reading)
    n_rows = int(rows.held_out.sum())
    return {"out": str(out), "held_out": str(test_rows), "held_out_rows": n_rows}


def _save_interrupted(est: SurvTRACE, out: Path, rows: Rows, columns: OutcomeColumns) -> None:
    """Save what was learned beside the path of a finished model."""
    folder = beside(out, ".interrupted")
    _save(est, folder, rows, columns)
    epochs = int(est.history_["epoch"].max()) + 1
    screen.say(f"interrupted after {epochs} epoch(s); what was learned is in {folder}")


def _model_bytes(est: SurvTRACE, X: pd.DataFrame, n_labels: int) -> int:
    """Estimate how much room the parameters take on disk."""
    levels = int(X.select_dtypes(exclude="number").nunique().sum())
    embedding = (levels + 3 * X.shape[1]) * est.width
    layer = 4 * est.width**2 + 2 * est.width * est.hidden + 8 * est.hidden
    joined = X.shape[1] * est.width * est.hidden
    heads = (n_labels + 2) * (est.hidden**2 + est.hidden * (est.n_intervals + 2))
    return int(4 * est.n_members * (embedding + est.depth * layer + joined + heads))


def _summary(est: SurvTRACE) -> dict[str, Any]:
    """Summarise the fit; losses are means over members."""
    best = est.history_.groupby("member")["validation_loss"].min()
    return {
        "rows": est.card_["n_rows"],
        "subjects": est.card_["n_subjects"],
        "covariates": est.n_features_in_,
        "events": est.card_["n_events"],
        "cause_names": {str(cause): name for cause, name in est.cause_names_.items()},
        "censored": est.card_["n_censored"],
        "members": est.n_members,
        "epochs": int(est.history_["epoch"].max()) + 1,
        "validation_loss": float(best.mean()),
    }


def _in_words(learned: dict[str, Any]) -> str:
    names = learned["cause_names"]
    events = ", ".join(f"{n:,} of {names[cause]}" for cause, n in learned["events"].items())
    held_out = (
        f"\nwrote {learned['held_out']}: {learned['held_out_rows']:,} rows it has not learned from"
        if "held_out" in learned
        else ""
    )
    return (
        f"subjects: {learned['subjects']:,}; covariates: {learned['covariates']}; events: "
        f"{events}; {learned['censored']:,} censored\n"
        f"members: {learned['members']}; epochs: {learned['epochs']}; {learned['seconds']:.1f} s; "
        f"validation loss {learned['validation_loss']:.4f}\n"
        f"wrote {learned['out']}{held_out}"
    )
