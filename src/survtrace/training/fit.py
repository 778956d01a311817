"""Fit: settings and a table in, a network and all that predictions need out."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from survtrace import ops
from survtrace.cohort.file_source import FileSource, Source
from survtrace.cohort.prepare import Cohort, CohortCounts, FileReaders, prepare
from survtrace.folder_lock import only_writer
from survtrace.losses.objective import Tasks
from survtrace.metrics import censoring_survival
from survtrace.metrics.follow_up import follow_up_quantiles, from_entry
from survtrace.network.assembly import Network, Shape
from survtrace.settings import names_of_causes
from survtrace.tables.covariates.encoding import Encoding
from survtrace.tables.outcome.outcome import Outcome
from survtrace.tables.outcome.time_grid import checked_cuts, end_follow_up
from survtrace.tables.typicality.typicality import Typicality
from survtrace.threads import threads
from survtrace.training.checkpoint import Checkpoint
from survtrace.training.history import History
from survtrace.training.interval import learn_interval
from survtrace.training.loop import Plan, train
from survtrace.training.recalibration import recalibrate
from survtrace.training.typicality import learn_typicality
from survtrace.training.unknown import learn_unknown

NOT_IN_FINGERPRINT = (
    "about",
    "cause_names",
    "checkpoint_dir",
    "intervals",
    "max_epochs",
    "prediction_batch_size",
    "random_state",  # the seeds drawn from it are
    "time_name",
    "time_unit",
    "verbose",
)


@dataclass(frozen=True)
class FittedState:
    """What a fit has learned; ``error`` is what broke it off after that, if anything.

    ``entry`` is the earliest, median and latest entry of a subject, None: all at 0.
    """

    network: Network
    encoding: Encoding
    causes: list[Any]
    censored: list[Any]
    time_grid: NDArray[np.float64]
    median_event_time: float
    score_times: NDArray[np.float64]
    censoring: Any
    history: pd.DataFrame
    card: dict[str, Any]
    interval: dict[str, Any] | None = None
    entry: tuple[float, float, float] | None = None
    has_start_stop: bool = False
    typicality: Typicality | None = None
    error: BaseException | None = None


@runtime_checkable
class Cluster(FileReaders, Protocol):
    """Reads files and trains a network by many processes; without one, this process does."""

    def train(
        self, network: Network, cohort: Cohort, plan: Plan, settings: Any, history: History
    ) -> None:
        """Train a network; what is learned is in it and in the history."""


def fit(
    settings: Any, source: Source, device: torch.device, cluster: Cluster | None = None
) -> FittedState:
    """Prepare a cohort, train, recalibrate, learn what "unknown" means.

    ``settings`` are those of an estimator, as attributes, and have been checked.
    """
    base = int(check_random_state(settings.random_state).randint(2**31))
    seeds = [int(seed) for seed in np.random.SeedSequence(base).generate_state(settings.n_members)]
    kernels = ops.prepare(expected_shape(settings, source), device)  # while the table is encoded
    n_threads = settings.n_threads or torch.get_num_threads()  # to read and encode the table
    with threads(n_threads), prepare(source, settings, seeds, cluster) as cohort:
        names_of_causes(cohort.trained_on.causes, settings.cause_names)  # refuses unknown labels
        shape, plan = plan_training(settings, cohort, seeds, base)
        network = Network(shape)
        network.initialise(seeds)
        network.to(device)
        batch_source = cohort.batch_source(base, seeds, plan.batch_size, device)
        kernels.join()
        history, broken_by = History(), None
        with threads(settings.n_threads, plan.n_tokens(shape)):
            try:
                if cluster is not None:
                    cluster.train(network, cohort, plan, settings, history)
                else:
                    shown = settings.verbose  # 0 and 1 are flags, too
                    shown = shown if isinstance(shown, str) else bool(shown)
                    with open_checkpoint(settings, cohort, plan) as checkpoint:
                        train(network, batch_source, plan, history, shown, checkpoint)
            except BaseException as error:
                if not history.records:
                    raise
                broken_by = error  # what was learned before is kept
            if settings.recalibrate:
                recalibrate(network, batch_source.learned_from(), batch_source.rows_per_subject)
            interval = None
            if broken_by is None and not history.interrupted:
                try:
                    learn_unknown(network, cohort, batch_source, settings.unknown_steps, base)
                    interval = learn_interval(network, cohort, batch_source, plan, settings)
                except BaseException as error:
                    broken_by = error
        return _state(network, cohort, history, settings.about, interval, broken_by)


def plan_training(settings: Any, cohort: Cohort, seeds: list[int], base: int) -> tuple[Shape, Plan]:
    """Choose the sizes of a network and one number for each knob of the loop."""
    encoding, size, n_subjects = cohort.encoding, settings.batch_size, cohort.split.n_training
    plan = Plan(
        lr=settings.lr,
        weight_decay=settings.weight_decay,
        batch_size=automatic_batch_size(n_subjects) if size == "auto" else int(size),
        max_epochs=settings.max_epochs,
        patience=settings.patience,
        clip_norm=settings.clip_norm,
        averaging=settings.averaging,
        tasks=Tasks(settings.mortality_weight, settings.stay_weight, settings.anneal),
        seeds=seeds,
        dropout_seed=base,
        rows_per_subject=cohort.split.rows_per_subject,
    )
    shape = network_shape(
        settings,
        n_rows=int(encoding.first_rows[-1]),
        n_tokens=len(encoding.covariates),
        n_causes=len(cohort.trained_on.causes),
        n_intervals=len(cohort.cuts) - 1,
        silent_rows=encoding.silent_rows,
    )
    return shape, plan


def network_shape(settings: Any, **from_the_table: Any) -> Shape:
    """Join the sizes that are settings and those that a table has."""
    return Shape(
        **from_the_table,
        n_members=int(settings.n_members),
        width=int(settings.width),
        depth=int(settings.depth),
        n_heads=int(settings.n_heads),
        hidden=int(settings.hidden),
        head_depth=int(settings.head_depth),
        token_bias=bool(settings.token_bias),
        proportional=float(settings.proportional),
        dropout=float(settings.dropout),
        attention_dropout=float(settings.attention_dropout),
        token_dropout=float(settings.token_dropout),
        head_dropout=float(settings.head_dropout),
    )


def expected_shape(settings: Any, source: Source) -> Shape | None:
    """Guess the sizes of a network before a covariate is read; None where a file must tell them.

    Where the guess is wrong (a column is left out, a cut merged), kernels compile when first used.
    """
    if isinstance(source, FileSource):
        return None
    n_tokens = len(set(source.chunk.table.columns) - set(source.beside))
    grid = settings.time_grid
    return network_shape(
        settings,
        n_rows=n_tokens,
        n_tokens=n_tokens,
        n_causes=len(source.chunk.outcome.causes),
        n_intervals=settings.n_intervals if grid is None else len(checked_cuts(grid)) - 1,
        silent_rows=(),
    )


@contextmanager
def open_checkpoint(settings: Any, cohort: Cohort, plan: Plan) -> Iterator[Checkpoint | None]:
    """Yield the checkpoint of a fit, which no other process may write to meanwhile; or None."""
    if settings.checkpoint_dir is None:
        yield None
        return
    folder = Path(settings.checkpoint_dir)
    with only_writer(folder):
        yield Checkpoint(folder, fingerprint(settings, cohort, plan))


def fingerprint(settings: Any, cohort: Cohort, plan: Plan) -> str:
    """Identify data and settings, so that a checkpoint is not taken for another fit's."""
    chosen = {k: v for k, v in vars(settings).items() if k not in NOT_IN_FINGERPRINT}
    digest = hashlib.sha256(repr((sorted(chosen.items()), plan.seeds, plan.dropout_seed)).encode())
    for part in cohort.content():
        digest.update(part)
    return digest.hexdigest()


def automatic_batch_size(n_subjects: int) -> int:
    """Take about a hundredth of the training subjects, as a power of two from 64 to 1024.

    Examples
    --------
    >>> [automatic_batch_size(n) for n in (1_200, 20_000, 286_000)]
    [64, 128, 1024]
    """
    return int(2 ** np.clip(np.floor(np.log2(max(n_subjects, 1) / 100)), 6, 10))


def model_card(
    counts: CohortCounts, followed: Outcome, about: Any, *, interrupted: bool
) -> dict[str, Any]:
    """Write down when an estimator was fitted, on how many subjects of what kind, and from when.

    Summaries only: nothing in it is of a subject. The follow-up is that of the rows learned from.

    Examples
    --------
    >>> counts = CohortCounts(3, {1: 2}, {"age": 0}, n_rows=3)
    >>> followed = Outcome(np.array([1.0, 2.0, 5.0]), np.array([1, 1, 0]), (1,))
    >>> card = model_card(counts, followed, {"dates": "2004 to 2015"}, interrupted=False)
    >>> card["n_events"], card["n_censored"], card["follow_up"]["longest"], card["about"]
    ({'1': 2}, 1, 5.0, {'dates': '2004 to 2015'})
    """
    return {
        "fitted_on": datetime.now(UTC).date().isoformat(),
        "n_subjects": int(counts.n_subjects),
        "n_events": {str(cause): int(n) for cause, n in counts.n_events.items()},
        "n_censored": int(counts.n_subjects - np.sum(list(counts.n_events.values()))),
        "n_missing": {name: int(n) for name, n in counts.n_missing.items()},
        "n_rows": int(counts.n_rows),
        "follow_up": _follow_up(followed),
        "entry": None if counts.entry is None else list(counts.entry),
        "has_start_stop": counts.has_start_stop,
        "about": {str(topic): str(text) for topic, text in (about or {}).items()},
        "interrupted": bool(interrupted),
        "survtrace_version": version("survtrace"),
    }


def _follow_up(outcome: Outcome) -> dict[str, float | None]:
    """Estimate quartiles by reverse Kaplan-Meier (None: not reached); add the longest."""
    quartiles = follow_up_quantiles(outcome)
    names = ("first_quartile", "median", "third_quartile")
    known = {n: None if np.isnan(q) else float(q) for n, q in zip(names, quartiles, strict=True)}
    return {**known, "longest": float(from_entry(outcome).duration.max())}


def _state(
    network: Network,
    cohort: Cohort,
    history: History,
    about: Any,
    interval: dict[str, Any] | None,
    error: BaseException | None,
) -> FittedState:
    trained_on = cohort.trained_on
    on_grid = end_follow_up(trained_on, cohort.cuts[-1])
    event_times = on_grid.duration[on_grid.event > 0]
    first, last = np.quantile(event_times, [0.05, 0.95])
    between = np.unique(np.linspace(first, last, 100))
    return FittedState(
        network=network,
        encoding=cohort.encoding,
        causes=list(trained_on.causes),
        censored=list(trained_on.censored),
        time_grid=cohort.cuts,
        median_event_time=float(np.median(event_times)),
        score_times=between if last > first else np.array([0.0, last]),
        censoring=censoring_survival(trained_on),
        history=history.frame(),
        card=model_card(cohort.counts, trained_on, about, interrupted=history.interrupted),
        interval=interval,
        entry=cohort.counts.entry,
        has_start_stop=cohort.counts.has_start_stop,
        typicality=learn_typicality(cohort),
        error=error,
    )
