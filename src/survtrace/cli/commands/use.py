"""Commands that use a model: predict, evaluate, explain, report, serve."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from survtrace.cli import screen
from survtrace.cli.options import (
    AS_FIT,
    Force,
    Gpu,
    Json,
    Keep,
    Model,
    Quiet,
    Ray,
    Table,
    TableOptions,
    Workers,
    read_numbers,
    read_scored,
    reads_table,
    rows_as_in,
)
from survtrace.cli.outputs import STANDARD, require_free, require_page
from survtrace.errors import DataWarning, SettingError, warn

if TYPE_CHECKING:
    import pandas as pd

    from survtrace import SurvTRACE


@reads_table()
def predict(
    model: Model,
    table: Table,
    times: Annotated[
        str,
        typer.Option(
            metavar="12,60",
            help="Times to predict at, counted from the same origin as --duration in fit; with "
            "--after also +12,+60, counted from there.",
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            help="CSV, TSV (both also .gz), Parquet or Feather; - is standard output. With --ray, "
            "a new folder."
        ),
    ] = STANDARD,
    ids: Keep = None,
    after: Annotated[
        str | None,
        typer.Option(
            metavar="TIME|COLUMN",
            help="When each subject is known to be event-free, such as its age now: predict what "
            "happens from then on.",
        ),
    ] = None,
    survival_only: Annotated[
        bool, typer.Option("--survival-only/--causes", help="Leave out each cause's incidence.")
    ] = False,
    std: Annotated[
        bool, typer.Option("--std", help="Also the standard deviation between members.")
    ] = False,
    typicality: Annotated[
        bool,
        typer.Option(
            "--typicality",
            help="Also how usual each subject is: the share of the patients learned from who are "
            "at least as unusual.",
        ),
    ] = False,
    ray: Ray = False,
    workers: Workers = 2,
    gpu: Gpu = False,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
    *,
    how: TableOptions,
) -> None:
    """Write each subject's probabilities at given times; tables of any size, in little memory.

    Rows keep their order; the columns of --id come first, then survival_12, incidence_1_12, ...
    (of --times +12: survival_+12, incidence_1_+12, ...).
    """
    from survtrace import distributed, load
    from survtrace.streaming import predict_file
    from survtrace.tables.files.chunks import count_rows

    if json and out == STANDARD:
        raise SettingError("--json would mingle with the table on standard output; pass --out.")
    if ray and out == STANDARD:
        raise SettingError("--ray writes a folder of Parquet files; pass its path as --out.")
    require_free(out, force=force, inputs=[table, model], is_folder=ray)
    points = read_numbers(times, "--times")
    question: dict[str, Any] = {"keep": ids or (), "causes": not survival_only, "std": std}
    question["typicality"] = typicality
    question |= _conditions(times, points, after)
    est, total = load(model), count_rows(table)
    began = time.perf_counter()
    with screen.hushed(quiet), screen.counting(total, quiet=quiet) as advance, rows_as_in(table):
        _warn_of_late_start(float(est.time_grid_[0]), after)
        if ray:
            rows = distributed.predict_files(
                est, table, out, points, n_workers=workers, use_gpu=gpu, **question
            )
        else:
            rows = predict_file(
                est, table, out, points, reading=how.reading, advance=advance, **question
            )
    seconds = time.perf_counter() - began
    if json:
        rate = {"rows": rows, "seconds": seconds, "rows_per_second": rows / seconds}
        screen.show_json({**rate, "out": str(out)})
    words = f"{rows:,} rows in {seconds:.1f} s, {rows / seconds:,.0f} rows per second"
    if est.time_unit_:
        words += f"; times are in {est.time_unit_}"
    screen.say(words if out == STANDARD else f"{words}; wrote {out}", quiet=quiet)


@reads_table(AS_FIT)
def evaluate(
    model: Model,
    table: Table,
    horizons: Annotated[
        str | None,
        typer.Option(metavar="12,60", help="When to score; by default quartiles of event times."),
    ] = None,
    landmark: Annotated[
        str | None,
        typer.Option(
            metavar="24,60",
            help="Predict at these times, from what is known then, for those under observation; "
            "--horizons count from each. The way to score several rows of a subject.",
        ),
    ] = None,
    train: Annotated[
        Path | None,
        typer.Option(
            metavar="TABLE",
            help="Table whose censoring gives the weights; by default what the model learned from.",
        ),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
    *,
    how: TableOptions,
) -> None:
    """Score a model on subjects it has not seen, each cause with 95 % intervals.

    C: cause-specific concordance, AUC: both higher is better; Brier and IBS (integrated): lower is
    better; predicted beside observed (Aalen-Johansen) incidence: the closer the better.
    """
    from survtrace import load
    from survtrace.evaluation import evaluate as score
    from survtrace.model_card import warn_of_interrupted

    points = None if horizons is None else read_numbers(horizons, "--horizons")
    landmarks = None if landmark is None else read_numbers(landmark, "--landmark")
    est = load(model)
    with screen.hushed(quiet), rows_as_in(table):
        warn_of_interrupted(est)
        X, y = read_scored(est, table, how)
        y_train = None if train is None else read_scored(est, train, how)[1]
        scores = score(est, X, y, horizons=points, landmarks=landmarks, y_train=y_train)
    if json:
        screen.show_json(screen.records(scores))
        return
    n_subjects = y["id"].nunique() if "id" in y else len(y)
    whom = f"{n_subjects:,} subjects" if landmark is None else "those observed at each landmark"
    title = f"Scores on {whom}, with 95 % intervals"
    screen.show_frame(_side_by_side(est, scores), title=title)


@reads_table(AS_FIT)
def explain(
    model: Model,
    table: Table,
    repeats: Annotated[int, typer.Option(min=1, help="Shuffles of each covariate.")] = 5,
    landmark: Annotated[
        float | None,
        typer.Option(
            metavar="24",
            help="Predict at this time, from what is known then, for those under observation.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the shuffles.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Table for the importances.")] = None,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
    *,
    how: TableOptions,
) -> None:
    """Measure which covariates the predictions rely on, and show where the network looked.

    Importance: how much each cause's Brier score rises when a covariate is shuffled.
    """
    import pandas as pd

    from survtrace import load
    from survtrace.explain import covariate_relevance, faithfulness, permutation_importance
    from survtrace.model_card import warn_of_interrupted
    from survtrace.tables.files.chunks import write_chunks
    from survtrace.tables.landmarks import after_landmark
    from survtrace.tables.outcome import pairing

    require_free(out, force=force, inputs=[table, model])
    est = load(model)
    with screen.hushed(quiet), rows_as_in(table):
        warn_of_interrupted(est)
        X, y = read_scored(est, table, how)
        shuffled: dict[str, Any] = {"n_repeats": repeats, "random_state": seed}
        importance = permutation_importance(est, X, y, landmark=landmark, **shuffled)
        if landmark is not None:
            X = X.iloc[after_landmark(pairing.read_scored(est, X, y)[1], landmark)[0]]
        relevance = covariate_relevance(est, X)
        agreement = faithfulness(relevance, importance)
    if out is not None:
        with write_chunks(out) as write:
            write(importance)
        screen.say(f"wrote {out}", quiet=quiet)
    if json:
        tables = {"importance": importance, "relevance": relevance, "faithfulness": agreement.table}
        screen.show_json({name: screen.records(frame) for name, frame in tables.items()})
        return
    shown = {
        "cause": importance["cause"].map(est.cause_names_),
        "covariate": importance["covariate"],
        "importance x 1000": _with_interval(importance, "importance", 1000, 2),
        "attention": importance["covariate"].map(relevance.set_index("covariate")["relevance"]),
    }
    screen.show_frame(pd.DataFrame(shown).round({"attention": 3}))
    typer.echo("\n".join(agreement.sentences(est.cause_names_)))


@reads_table(AS_FIT)
def report(
    model: Model,
    table: Table,
    out: Annotated[Path, typer.Option(help="The page to write.")] = Path("report.html"),
    title: Annotated[str | None, typer.Option(help="Of the page.")] = None,
    train: Annotated[
        Path | None,
        typer.Option(
            metavar="TABLE",
            help="What the model learned from; Aalen-Johansen and Cox are then fitted to it, too.",
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="sex,age", help="Columns to score groups by; by default age and categories."
        ),
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
    *,
    how: TableOptions,
) -> None:
    """Write a page on how a model does on subjects it has not seen; it opens offline and prints."""
    from survtrace import load
    from survtrace.model_card import warn_of_interrupted
    from survtrace.report import write_report

    require_free(out, force=force, inputs=[table, model, train])
    require_page(out)
    est = load(model)
    with screen.hushed(quiet), rows_as_in(table):
        warn_of_interrupted(est)
        groups = None if by is None else [name.strip() for name in by.split(",")]
        X, y = read_scored(est, table, how, keep=groups or ())
        learned = None if train is None else read_scored(est, train, how)
        path = write_report(est, X, y, out, title=title, train=learned, by=groups)
    screen.say(f"wrote {path}", quiet=quiet)


def serve(
    model: Model,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on.")] = 8000,
    token: Annotated[
        str | None, typer.Option(envvar="SURVTRACE_TOKEN", help="Token that visitors must have.")
    ] = None,
    importance: Annotated[
        Path | None, typer.Option(help="Table that explain --out wrote, shown on the page.")
    ] = None,
    time_unit: Annotated[str, typer.Option(help="Unit of durations, such as months.")] = "",
    workers: Annotated[int, typer.Option(min=1, help="Processes that answer.")] = 1,
    log: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="File to add a line to for each request, - for standard error."
        ),
    ] = None,
) -> None:
    """Open the model in a browser: a page and an API, for this machine only unless told so."""
    from survtrace.app import serve as run

    run(
        model,
        host=host,
        port=port,
        # To typer an empty variable is none, by which the server would be open to anybody.
        token=os.environ.get("SURVTRACE_TOKEN") if token is None else token,
        importance=importance,
        time_unit=time_unit,
        workers=workers,
        log=log,
    )


def _warn_of_late_start(first: float, after: str | None) -> None:
    """Warn that curves are those from the first entry on, where no subject's own time is given."""
    if first > 0 and after is None:
        warn(
            f"the curves begin at {first:g}, when the first subject entered, and --after is not "
            f"given: they are those of somebody event-free at {first:g}. To ask from a time of "
            "each row's own on, such as its age now, say --after COLUMN.",
            DataWarning,
        )


def _conditions(times: str, points: list[float], after: str | None) -> dict[str, Any]:
    """Read --after, a time or a column, and whether --times count from there."""
    marked = [each.strip().startswith("+") for each in times.split(",")]
    if any(marked) and (after is None or not all(marked)):
        raise SettingError(
            f"--times with a + count from --after, all of them or none; got {times!r}"
            + (" without --after." if after is None else ".")
        )
    if after is None:
        return {}
    try:
        since = float(after)
    except ValueError:
        return {"after": after, "from_after": any(marked)}
    if not since >= 0:
        raise SettingError(f"--after must be a time of zero or more, or a column; got {after}.")
    if not any(marked) and max(points) <= since:
        raise SettingError(
            f"--times must be later than --after {after}; got {times}. They count from the same "
            f"origin; to count from --after, write them with a +, such as +{points[0]:g}."
        )
    return {"after": since, "from_after": any(marked)}


def _side_by_side(est: SurvTRACE, scores: pd.DataFrame) -> pd.DataFrame:
    """Make a row for each cause and horizon (and landmark), a column for each score."""
    integrated = scores["score"] == "IBS"
    table = scores.assign(
        cause=scores["cause"].map(est.cause_names_),
        horizon=scores["horizon"].map("{:g}".format).mask(integrated, "integrated"),
        score=scores["score"].mask(integrated, "Brier"),
        shown=_with_interval(scores, "value"),
    )
    index = ["cause", "horizon"]
    if "landmark" in table:
        index = ["landmark", *index]
        table["landmark"] = table["landmark"].map("{:g}".format)
    found = table.pivot_table("shown", index, "score", aggfunc="first", fill_value="", sort=False)
    unit = f" ({est.time_unit_})" if est.time_unit_ else ""
    return found.reset_index().rename(columns={"horizon": f"horizon{unit}"})


def _with_interval(
    frame: pd.DataFrame, name: str, factor: float = 1, digits: int = 3
) -> pd.Series[str]:
    """Write each value and, in brackets, the ends of its interval, if there are any."""
    value, low, high = (
        (factor * frame[each]).map(f"{{:.{digits}f}}".format) for each in (name, "low", "high")
    )
    bare = value.where(frame[name].notna(), "-")
    return bare.where(frame["low"].isna(), value + " (" + low + ".." + high + ")")
