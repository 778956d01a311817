"""Commands that bring their own data: demo, datasets, benchmark, figures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from survtrace.cli import screen
from survtrace.cli.catalogue import DATASETS, load_dataset
from survtrace.cli.options import Force, Json, Quiet
from survtrace.cli.outputs import require_free, require_writable
from survtrace.errors import require

FIGURES = "this command's figures need"
STUDIES = ("paper-single", "paper-competing", "ablation", "ips", "robust")


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the figures.")] = Path("demo"),
    quiet: Quiet = False,
) -> None:
    """Fit the embedded flchain cohort with default settings, print scores, write figures."""
    from rich.console import Console

    from survtrace.demo import run_demo

    require("matplotlib", "plots", FIGURES)  # before the fit
    require_writable(out / "curves.png")
    with screen.hushed(quiet):
        run_demo(out, Console())


def datasets(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="One of them; all are listed if left out.",
            autocompletion=lambda: list(DATASETS),
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Write it to a table, with its outcome; - is standard output."),
    ] = None,
    rows: Annotated[
        int, typer.Option(min=1, help="How many subjects, of the simulated cohorts.")
    ] = 10_000,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """List the cohorts that can be loaded, or write one to a file to try things out."""
    if name is None:
        listed = [{"name": each, **facts._asdict()} for each, facts in DATASETS.items()]
        if json:
            screen.show_json(listed)
            return
        import pandas as pd

        shown = pd.DataFrame(listed)
        shown["rows"] = ["any" if n is None else f"{n:,}" for n, *_ in DATASETS.values()]
        screen.show_frame(shown, caption="survtrace datasets NAME --out FILE writes one to a table")
        return
    from survtrace.tables.files.chunks import write_chunks

    require_free(out, force=force)
    X, y = load_dataset(name, rows)
    columns = [name for name in ("duration", "event", "entry", "id") if name in y]
    n_subjects = y["id"].nunique() if "id" in y else len(y)
    if out is not None:
        with write_chunks(out) as write:
            write(X.assign(**{name: y[name] for name in columns}))
        options = " ".join(f"--{name} {name}" for name in columns)
        content = f"{n_subjects:,} subjects, {X.shape[1]} covariates; {options}"
        screen.say(f"wrote {out}: {content}", quiet=quiet)
        return
    events = {str(cause): int(n) for cause, n in y["event"].value_counts().sort_index().items()}
    facts = {"name": name, "rows": len(X), "covariates": list(X.columns), "events": events}
    if json:
        screen.show_json(facts)
        return
    typer.echo(f"{name}: {DATASETS[name].what}; {n_subjects:,} subjects")
    typer.echo("event: " + ", ".join(f"{cause} ({n:,})" for cause, n in events.items()))
    typer.echo("covariates: " + ", ".join(map(str, X.columns)))
    screen.say(f"Write it to a file: survtrace datasets {name} --out {name}.csv", quiet=quiet)


def benchmark(
    study: Annotated[
        str,
        typer.Argument(
            metavar="STUDY",
            help=", ".join(STUDIES[:-1]) + f" or {STUDIES[-1]}.",
            autocompletion=lambda: list(STUDIES),
        ),
    ],
    out: Annotated[Path | None, typer.Option(help="Folder for scores and tables.")] = None,
    splits: Annotated[
        int | None, typer.Option(min=1, help="Only the first so many splits.")
    ] = None,
    processes: Annotated[int, typer.Option(min=1, help="Jobs at a time, one thread each.")] = 1,
    today: Annotated[bool, typer.Option("--today", help="Also run newer methods.")] = False,
    search: Annotated[
        bool, typer.Option("--search", help="Search the baselines' settings again.")
    ] = False,
    seer: Annotated[Path | None, typer.Option(help="A SEER export, one data set more.")] = None,
    quiet: Quiet = False,
) -> None:
    """Rerun a study: data sets x methods x splits; killed and started again, it goes on."""
    from survtrace.study.benchmark import run_study  # loads the baselines' libraries

    with screen.hushed(quiet):
        tables = run_study(
            study, out or Path(study), splits, processes, today=today, search=search, seer=seer
        )
    typer.echo(tables)


def figures(
    out: Annotated[Path, typer.Option(help="Folder for the figures.")] = Path("figures"),
    ablation: Annotated[Path | None, typer.Option(help="scores.csv of the study ablation.")] = None,
    quiet: Quiet = False,
) -> None:
    """Draw the paper's figures: attention and curves of METABRIC patients, and the ablation."""
    from survtrace.study.paper_figures import paper_figures

    require("matplotlib", "plots", FIGURES)
    require_writable(out / "figure.png")
    for path in paper_figures(out, ablation):
        screen.say(f"wrote {path}", quiet=quiet)
