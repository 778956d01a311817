"""Commands that learn from a table: fit, compare, tune."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from survtrace.cli import screen
from survtrace.cli.options import (
    Categorical,
    Drop,
    Duration,
    Event,
    Gpu,
    Ids,
    Json,
    Quiet,
    Ray,
    Table,
    Workers,
    first_rows,
    outcomes_in_pieces,
    read_subjects,
)
from survtrace.cli.settings import gather_settings
from survtrace.errors import DataWarning

if TYPE_CHECKING:
    import pandas as pd

    from survtrace import SurvTRACE


class Space(StrEnum):
    """Where tune searches."""

    paper = "paper"
    wide = "wide"


def fit(
    table: Table,
    duration: Duration,
    event: Event,
    out: Annotated[Path, typer.Option(help="Folder for the model.")],
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
) -> None:
    """Learn the hazard of each cause from a table and save the model to a folder.

    Every column that is not named below is a covariate: numbers, texts, with or without gaps.
    A folder of Parquet files is one table, which may be larger than memory.
    """
    from survtrace import SurvTRACE, distributed
    from survtrace.persistence import require_replaceable

    chosen = gather_settings(config, settings or [], seed)
    require_replaceable(out)
    X: Any = table
    y: Any = {"event": event, "duration": duration, "drop": [*(ids or ()), *(drop or ())]}
    streamed = stream or table.is_dir()
    if streamed:
        chosen["categorical"] = [*(chosen.get("categorical") or ()), *(categorical or ())]
    else:
        X, y = read_subjects(table, duration, event, ids, drop, categorical)
    began = time.perf_counter()
    with screen.hushed(quiet):
        _warn_of_identifiers(first_rows(table, y) if streamed else X)
        est = SurvTRACE(**chosen)
        if ray:
            distributed.fit(est, X, y, n_workers=workers, use_gpu=gpu, storage=storage)
        else:
            est.fit(X, y)
        est.save(out)
    outcomes = outcomes_in_pieces(table, y) if streamed else [y]
    learned = {**_summary(est, outcomes), "seconds": time.perf_counter() - began, "out": str(out)}
    if json:
        screen.show_json(learned)
    elif not quiet:
        typer.echo(_in_words(learned))


def compare(
    table: Table,
    duration: Duration,
    event: Event,
    ids: Ids = None,
    drop: Drop = None,
    categorical: Categorical = None,
    out: Annotated[Path, typer.Option(help="Folder for scores and tables.")] = Path("comparison"),
    splits: Annotated[int, typer.Option(help="Random splits, 30 % to report on.")] = 5,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Is the transformer worth it on a table of one's own? Against Cox and Aalen-Johansen.

    Called again with the same folder, it goes on where it was.
    """
    import pandas as pd

    from survtrace.study.benchmark import compare_on_table

    with screen.hushed(quiet):
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
) -> None:
    """Search settings on inner folds and print the best as JSON; called again, it goes on.

    Pass learning rows only. The best settings are kept in settings.json, for fit --config.
    """
    from survtrace import distributed, tuning

    search = distributed.tune if ray else tuning.tune
    X, y = read_subjects(table, duration, event, ids, drop, categorical)
    with screen.hushed(quiet):
        best = search(X, y, out, space=space.value, n_trials=trials)
    screen.show_json(best)
    screen.say(f"wrote {out / 'settings.json'}, for survtrace fit --config", quiet=quiet)


def _warn_of_identifiers(X: pd.DataFrame) -> None:
    from survtrace.data.tables import likely_identifiers

    if names := likely_identifiers(X):
        warnings.warn(
            f"{names} differ in every row and look like identifiers, which teach nothing and whose "
            "texts the model would keep. Leave them out with --id.",
            DataWarning,
            stacklevel=2,
        )


def _summary(est: SurvTRACE, outcomes: Iterable[Any]) -> dict[str, Any]:
    """What there was to learn from, and how it went; losses are means over members."""
    from survtrace.data.outcome import read_outcome

    rows, events = 0, Counter[Any]()
    for y in outcomes:
        outcome = read_outcome(y, causes=est.causes_, zero_duration=est.zero_duration)
        rows += len(outcome)
        events.update(outcome.n_events)
    best = est.history_.groupby("member")["validation_loss"].min()
    return {
        "rows": rows,
        "covariates": est.n_features_in_,
        "events": {str(cause): events[cause] for cause in est.causes_},
        "censored": rows - events.total(),
        "members": est.n_members,
        "epochs": int(est.history_["epoch"].max()) + 1,
        "validation_loss": float(best.mean()),
    }


def _in_words(learned: dict[str, Any]) -> str:
    events = ", ".join(f"{n:,} of cause {cause}" for cause, n in learned["events"].items())
    return (
        f"subjects: {learned['rows']:,}; covariates: {learned['covariates']}; events: {events}; "
        f"{learned['censored']:,} censored\n"
        f"members: {learned['members']}; epochs: {learned['epochs']}; {learned['seconds']:.1f} s; "
        f"validation loss {learned['validation_loss']:.4f}\n"
        f"wrote {learned['out']}"
    )
