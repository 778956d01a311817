"""The command that writes a model's risk explorer as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from survtrace.cli import screen
from survtrace.cli.options import Force, Model, Quiet
from survtrace.cli.outputs import require_free, require_page
from survtrace.errors import SettingError


def page(
    model: Model,
    out: Annotated[Path, typer.Option(help="The HTML file to write.")] = Path("calculator.html"),
    name: Annotated[
        str | None, typer.Option(help="Of the model, shown on the page; by default its folder's.")
    ] = None,
    unit: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=TEXT", help="Unit of a covariate, only shown; repeatable."),
    ] = None,
    time_unit: Annotated[str, typer.Option(help="Unit of durations, such as months.")] = "",
    importance: Annotated[
        Path | None, typer.Option(help="Table that explain --out wrote, shown on the page.")
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Write the risk explorer as one file with the model in it: it opens without a server.

    The file works in any browser, from a memory stick or an e-mail, and sends nothing. It holds
    the model and nothing of a single patient.
    """
    from survtrace.app import write_page
    from survtrace.model_card import warn_of_interrupted
    from survtrace.portable import load

    require_free(out, force=force, inputs=[model, importance])
    require_page(out)
    light = load(model)
    with screen.hushed(quiet):
        warn_of_interrupted(light)
    units = _units(unit or (), [str(each) for each in light.feature_names_in_])
    write_page(model, out, units=units, time_unit=time_unit, name=name, importance=importance)
    size = out.stat().st_size / 1e6
    screen.say(f"wrote {out} ({size:.1f} MB); open it in a browser", quiet=quiet)


def _units(texts: list[str] | tuple[()], names: list[str]) -> dict[str, str]:
    """Read --unit: names of covariates with their units."""
    units = {}
    for text in texts:
        name, equals, unit = (part.strip() for part in text.partition("="))
        if not equals or name not in names:
            raise SettingError(
                f"--unit takes NAME=TEXT with the name of a covariate, such as {names[0]}=mm; got "
                f"{text!r}. The covariates are {', '.join(names)}."
            )
        units[name] = unit
    return units
