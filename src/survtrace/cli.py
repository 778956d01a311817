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
    study: Annotated[
        str, typer.Argument(help="paper-single, paper-competing, ablation, ips or robust.")
    ],
    out: Annotated[Path | None, typer.Option(help="Folder for scores and tables.")] = None,
    splits: Annotated[int | None, typer.Option(help="Only the first so many splits.")] = None,
    processes: Annotated[int, typer.Option(help="Jobs at a time, one thread each.")] = 1,
    today: Annotated[bool, typer.Option("--today", help="Today's peers too.")] = False,
    search: Annotated[
        bool, typer.Option("--search", help="Choose the rivals' settings anew.")
    ] = False,
    seer: Annotated[Path | None, typer.Option(help="A SEER export, one data set more.")] = None,
) -> None:
    """Rerun a study: data sets x methods x splits; killed and started again, it goes on.

    Example: survtrace benchmark paper-competing --out results --processes 2
    """
    from survtrace.study.benchmark import run_study  # loads the rivals' libraries

    tables = run_study(
        study, out or Path(study), splits, processes, today=today, search=search, seer=seer
    )
    typer.echo(tables)


@app.command()
def figures(
    out: Annotated[Path, typer.Option(help="Folder for the figures.")] = Path("figures"),
    ablation: Annotated[Path | None, typer.Option(help="scores.csv of the study ablation.")] = None,
) -> None:
    """Draw the paper's figures: attention and curves of METABRIC patients, and the ablation.

    Example: survtrace figures --out figures --ablation ablation/scores.csv
    """
    from survtrace.study.figures import paper_figures

    for path in paper_figures(out, ablation):
        typer.echo(f"wrote {path}")


@app.command()
def compare(
    table: Annotated[Path, typer.Argument(help="CSV, CSV.gz, Parquet or Feather.")],
    duration: Annotated[str, typer.Option(help="Column with the follow-up time.")],
    event: Annotated[str, typer.Option(help="Column with 0, or the cause.")],
    drop: Annotated[list[str] | None, typer.Option(help="Columns that are no covariates.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for scores and tables.")] = Path("comparison"),
    splits: Annotated[int, typer.Option(help="Random splits, 30 % to report on.")] = 5,
) -> None:
    """Is the transformer worth it on a table of one's own? Against Cox and Aalen-Johansen.

    Example: survtrace compare patients.csv --duration months --event cause --drop id
    """
    from survtrace.study.benchmark import compare_on_table

    shown = compare_on_table(
        table, out, duration=duration, event=event, drop=drop or [], n_splits=splits
    )
    Console().print(shown, markup=False)


@app.command()
def tune(
    table: Annotated[Path, typer.Argument(help="CSV, CSV.gz, Parquet or Feather; learning rows.")],
    duration: Annotated[str, typer.Option(help="Column with the follow-up time.")],
    event: Annotated[str, typer.Option(help="Column with 0, or the cause.")],
    drop: Annotated[list[str] | None, typer.Option(help="Columns that are no covariates.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for trials and settings.")] = Path("tuning"),
    trials: Annotated[int, typer.Option(help="Settings to try in all.")] = 30,
    space: Annotated[str, typer.Option(help="paper or wide.")] = "wide",
) -> None:
    """Search settings on inner folds; called again, the search goes on.

    Example: survtrace tune learning_rows.parquet --duration months --event cause --trials 50
    """
    from survtrace.data.tables import read_table, split_outcome
    from survtrace.tuning import tune as search

    X, y = split_outcome(read_table(table), duration, event, drop or [])
    best = search(X, y, out, space=space, n_trials=trials)
    Console().print_json(data=best)
    Console(stderr=True).print(f"wrote {out / 'settings.json'}")


def main() -> None:
    """Run the command; the user's mistakes end with their words and code 2, without a traceback."""
    try:
        app()
    except SurvtraceError as error:
        Console(stderr=True).print(f"[bold red]error:[/] {error}", highlight=False)
        sys.exit(2)
