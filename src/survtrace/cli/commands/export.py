"""The command export: a model as a file that programs without survtrace can use."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from survtrace.cli import screen
from survtrace.cli.options import Json, Model, Quiet
from survtrace.cli.outputs import require_free


def export(
    model: Model,
    onnx: Annotated[
        Path, typer.Option("--onnx", metavar="FILE", help="ONNX file to write, such as model.onnx.")
    ],
    schema: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="JSON Schema of its inputs; by default model.schema.json beside model.onnx.",
        ),
    ] = None,
    level: Annotated[float, typer.Option(help="Level of the intervals, such as 0.95.")] = 0.95,
    intervals: Annotated[
        bool,
        typer.Option("--intervals/--no-intervals", help="Whether the file computes intervals."),
    ] = True,
    force: Annotated[
        bool, typer.Option("--force", help="Replace both files; never an input of the command.")
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a model as an ONNX file: raw numbers and category codes in, curves out.

    Any program with an ONNX runtime can use it, without survtrace or Python. The file appears only
    if it gives the model's numbers.
    """
    from survtrace.export.onnx_file import export_onnx, schema_beside

    schema = schema_beside(onnx) if schema is None else schema
    require_free(onnx, force=force, inputs=[model], option="--onnx")
    require_free(schema, force=force, inputs=[model], option="--schema")
    written = export_onnx(model, onnx, schema_path=schema, level=level if intervals else None)
    if json:
        screen.show_json({key: _plain(value) for key, value in asdict(written).items()})
    size = onnx.stat().st_size / 1e6
    screen.say(
        f"wrote {onnx} ({size:.1f} MB) and {schema}; run by {written.verified_by} it differs from "
        f"the model by {written.largest_difference:.0e} at most",
        quiet=quiet,
    )
    if intervals and written.level is None:
        screen.say("the file has no intervals: the model has not learned them", quiet=quiet)


def _plain(value: object) -> object:
    return str(value) if isinstance(value, Path) else value
