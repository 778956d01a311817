"""The command split: divide a table into rows to fit on and rows to evaluate on."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from survtrace.cli import screen
from survtrace.cli.commands.suggest import warn_of_divided_subjects
from survtrace.cli.options import Force, Json, Quiet, Table, TableOptions, reads_table
from survtrace.cli.outputs import require_free
from survtrace.errors import SettingError


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
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same rows.")] = 0,
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
    from survtrace.inspection.texts import is_named_like_a_patient
    from survtrace.tables.files.chunks import column_names
    from survtrace.tables.files.splitting import (
        copy_rows,
        draw_held_out,
        read_verbatim,
        require_splittable,
    )

    if os.path.realpath(out_train) == os.path.realpath(out_test):
        raise SettingError(f"--out-train and --out-test must differ; both are {out_train}.")
    require_splittable(table, [out_train, out_test])
    require_free(out_train, force=force, inputs=[table], option="--out-train")
    require_free(out_test, force=force, inputs=[table], option="--out-test")
    names = [name for name in (event, subject) if name is not None]
    likely = []
    if subject is None:
        likely = [
            each for each in column_names(table, how.reading) if is_named_like_a_patient(each)
        ]
    names += likely
    n_rows, columns = read_verbatim(table, list(dict.fromkeys(names)), how.reading)
    held_out = draw_held_out(
        n_rows,
        fraction,
        seed=seed,
        labels=None if event is None else columns[event],
        subjects=None if subject is None else columns[subject],
    )
    with screen.hushed(quiet):
        warn_of_divided_subjects({name: columns[name] for name in likely}, held_out)
    copy_rows(table, {out_train: ~held_out, out_test: held_out}, how.reading)
    n_test = int(held_out.sum())
    if json:
        sizes = {"train": n_rows - n_test, "test": n_test}
        screen.show_json({**sizes, "out_train": str(out_train), "out_test": str(out_test)})
    screen.say(f"wrote {out_train}: {n_rows - n_test:,} rows to fit on", quiet=quiet)
    screen.say(f"wrote {out_test}: {n_test:,} rows to evaluate on", quiet=quiet)
