"""Hold rows out of a fit: the command split, and the option fit --hold-out."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from survtrace.cli import screen
from survtrace.cli.commands.suggest import as_arguments
from survtrace.cli.options import Force, Json, Quiet, Table, TableOptions, reads_table
from survtrace.cli.outputs import require_free
from survtrace.errors import SettingError

if TYPE_CHECKING:
    import pandas as pd


@reads_table()
def split(
    table: Table,
    out_train: Annotated[Path, typer.Option(help="File for the rows to fit on.")],
    out_test: Annotated[Path, typer.Option(help="File for the rows to evaluate on.")],
    fraction: Annotated[float, typer.Option(help="Share of the subjects to evaluate on.")] = 0.25,
    event: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column of events: both files get the same share."),
    ] = None,
    subject: Annotated[
        str | None,
        typer.Option(
            "--id", metavar="COLUMN", help="Column of subjects: no subject gets into both files."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Same seed, same rows.")] = 0,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
    *,
    how: TableOptions,
) -> None:
    """Divide a table at random into rows to fit on and rows to evaluate on.

    Both files have the format of the table (CSV for Excel); rows keep their order and their text,
    character by character.
    """
    from survtrace.tables.files.splitting import (
        copy_rows,
        draw_held_out,
        read_verbatim,
        require_splittable,
    )

    if out_train.absolute() == out_test.absolute():
        raise SettingError(f"--out-train and --out-test must differ; both are {out_train}.")
    require_splittable(table, [out_train, out_test])
    require_free(out_train, force=force, inputs=[table], option="--out-train")
    require_free(out_test, force=force, inputs=[table], option="--out-test")
    names = [name for name in (event, subject) if name is not None]
    n_rows, columns = read_verbatim(table, list(dict.fromkeys(names)), how.reading)
    held_out = draw_held_out(
        n_rows,
        fraction,
        seed=seed,
        labels=None if event is None else columns[event],
        subjects=None if subject is None else columns[subject],
    )
    copy_rows(table, {out_train: ~held_out, out_test: held_out}, how.reading)
    n_test = int(held_out.sum())
    if json:
        sizes = {"train": n_rows - n_test, "test": n_test}
        screen.show_json({**sizes, "out_train": str(out_train), "out_test": str(out_test)})
    screen.say(f"wrote {out_train}: {n_rows - n_test:,} rows to fit on", quiet=quiet)
    screen.say(f"wrote {out_test}: {n_test:,} rows to evaluate on", quiet=quiet)


def choose_held_out(
    frame: pd.DataFrame, fraction: float, event: str, ids: Sequence[str] | None, seed: int
) -> NDArray[np.bool_]:
    """Draw the rows that fit holds out: the same share of each label, subjects whole."""
    from survtrace.tables.files.formats import require_columns
    from survtrace.tables.files.splitting import draw_held_out

    require_columns(frame.columns, [event, *(ids or ())])
    return draw_held_out(
        len(frame),
        fraction,
        seed=seed,
        labels=[None if label != label else str(label) for label in frame[event]],
        subjects=frame[ids[0]].tolist() if ids else None,
    )


def next_command(model: Path, held_out: Path, how: TableOptions) -> str:
    """Suggest the report on the rows held out, which are written as the table is."""
    options = as_arguments(TableOptions(sep=how.sep, encoding=how.encoding))
    command = ["survtrace", "report", str(model), str(held_out), *options]
    return shlex.join([*command, "--out", "report.html"])
