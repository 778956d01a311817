"""The command `survtrace`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from survtrace import __version__
from survtrace.errors import SurvtraceError

app = typer.Typer(
    name="survtrace",
    help="Transformers for survival analysis with competing events.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@app.callback(invoke_without_command=True)
def version(
    show: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    """Transformers for survival analysis with competing events."""
    if show:
        typer.echo(__version__)
        raise typer.Exit


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the figures.")] = Path("demo"),
) -> None:
    """Fit the embedded flchain cohort with default settings, print scores, write figures.

    Example: survtrace demo --out demo
    """
    from survtrace.demo import run_demo

    run_demo(out, Console())


@app.command()
def benchmark(
    study: Annotated[str, typer.Argument(help="paper-single, paper-competing, ablation or ips.")],
    out: Annotated[Path | None, typer.Option(help="Folder for scores and tables.")] = None,
    splits: Annotated[int | None, typer.Option(help="Only the first so many splits.")] = None,
    processes: Annotated[int, typer.Option(help="Jobs at a time, one thread each.")] = 1,
) -> None:
    """Rerun a study: data sets x methods x splits; killed and started again, it goes on.

    Example: survtrace benchmark paper-competing --out results --processes 2
    """
    from survtrace.study.benchmark import run_study  # loads the rivals' libraries

    console = Console()
    console.print(run_study(study, out or Path(study), splits, processes), markup=False)


def main() -> None:
    """Run the command; the user's mistakes end with their words and code 2, without a traceback."""
    try:
        app()
    except SurvtraceError as error:
        Console(stderr=True).print(f"[bold red]error:[/] {error}", highlight=False)
        sys.exit(2)
