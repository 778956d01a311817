"""A table and its outcome become the cohort the members train on; nothing else is looked at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from survtrace.batch import Batch
from survtrace.cohort.batch_source import MemorySource, ValidationSplit, split_validation
from survtrace.cohort.card import CohortCounts, count_cohort
from survtrace.errors import DataError
from survtrace.inspection.plan import Plan, plan_columns
from survtrace.losses.propensity import ips_weights, propensities
from survtrace.tables.covariates.columns import read_column
from survtrace.tables.covariates.encoding import Encoded, Encoding, learn_encoding
from survtrace.tables.covariates.real_numbers import real_numbers
from survtrace.tables.outcome.outcome import Outcome
from survtrace.tables.outcome.time_grid import (
    StayScale,
    checked_cuts,
    end_follow_up,
    locate,
    quantile_cuts,
    warn_of_late_events,
    warn_of_sparse_causes,
)


class Prepared(NamedTuple):
    """The cohort, who trains on whom, and what was learned from the training rows.

    Follow-up of the cohort ends with the last cut; ``trained_on`` has the whole of it.
    """

    cohort: Batch
    draws: ValidationSplit
    encoding: Encoding
    cuts: NDArray[np.float64]
    trained_on: Outcome
    counts: CohortCounts

    @property
    def n_training(self) -> int:
        """How many subjects each member trains on."""
        return self.draws.training.shape[1]

    def batch_source(
        self, seed: int, seeds: list[int], batch_size: int, device: torch.device
    ) -> MemorySource:
        """Where training gets its batches from; the seed of the fit itself is not needed."""
        return MemorySource(self.cohort.to(device), self.draws, seeds, batch_size)

    def content(self) -> Iterator[bytes]:
        """What tells these data from others, for a checkpoint."""
        yield from (tensor.contiguous().numpy().tobytes() for tensor in self.cohort)
        yield from (rows.tobytes() for rows in self.draws)


class Subjects(NamedTuple):
    """Covariates, outcome and sample weight of the same subjects."""

    table: nw.DataFrame[Any]
    outcome: Outcome
    weight: NDArray[np.float64]


def prepare(
    subjects: Subjects,
    evaluation: Subjects | None,
    *,
    seeds: list[int],
    categorical: Sequence[str | int] | None,
    columns: Any = None,
    n_intervals: int,
    time_grid: ArrayLike | None,
    validation_fraction: float,
    ips: str,
    ips_clip: float,
) -> Prepared:
    """Draw validation rows, learn scales, categories, cuts and propensities from the others.

    "The others" are the rows that at least one member trains on. With an evaluation set, every
    member trains on all subjects and is stopped by that set, from which nothing is learned.
    """
    table, outcome, weight = subjects
    on_grid = outcome if time_grid is None else end_follow_up(outcome, checked_cuts(time_grid)[-1])
    draws = _draw(on_grid, evaluation, validation_fraction, seeds)
    used = np.unique(draws.training)
    trained_on = outcome.take(used)
    planned = plan_columns(table, outcome, categorical=categorical, columns=columns)
    planned.require_answers()
    encoding = _learn(table, used, planned)
    cuts = choose_cuts(trained_on, n_intervals, time_grid)
    warn_of_late_events(outcome.n_events, on_grid.n_events, cuts[-1])
    warn_of_sparse_causes(end_follow_up(trained_on, cuts[-1]).n_events, len(cuts) - 1)
    encoded = encoding.encode(table)
    counts = count_cohort(encoding, encoded, outcome)
    if evaluation is not None:
        encoded = _append(encoded, encoding.encode(evaluation.table))
        outcome = _append_outcome(outcome, evaluation.outcome)
        weight = np.concatenate([weight, evaluation.weight])
    weight = weight / weight[used].mean()
    stay = StayScale.of(trained_on, cuts[-1]).standardise(outcome.duration)
    ended = end_follow_up(outcome, cuts[-1])
    ips_weight = _ips_weights(ips, encoded, ended, used, ips_clip)
    cohort = _tensors(encoded, ended, cuts, stay, weight, ips_weight)
    return Prepared(cohort, draws, encoding, cuts, trained_on, counts)


def choose_cuts(
    trained_on: Outcome, n_intervals: int, time_grid: ArrayLike | None
) -> NDArray[np.float64]:
    """The cuts of the user, or else those at quantiles of the event times."""
    quantiles = quantile_cuts(trained_on, n_intervals)  # refuses a cohort without events
    if time_grid is None:
        return quantiles
    cuts = checked_cuts(time_grid)
    if not end_follow_up(trained_on, cuts[-1]).event.any():
        raise DataError(
            f"at least one event must lie within the time grid; it ends at {cuts[-1]:g} and the "
            f"first event is at {trained_on.duration[trained_on.event > 0].min():g}. Choose a "
            "time_grid that ends later, in the unit of the durations."
        )
    return cuts


def checked_weight(sample_weight: ArrayLike | None, n_subjects: int) -> NDArray[np.float64]:
    """One finite weight of zero or more for each subject, not all zero."""
    if sample_weight is None:
        return np.ones(n_subjects)
    try:
        weight = real_numbers(sample_weight, "sample_weight")
    except DataError:
        raise
    except (TypeError, ValueError):
        weight = np.empty(0)
    bad = weight.shape != (n_subjects,) or not np.isfinite(weight).all() or (weight < 0).any()
    if bad or weight.sum() == 0:
        raise DataError(
            "sample_weight must be one finite number of zero or more for each of the "
            f"{n_subjects} subjects, not all zero; got shape {weight.shape}."
        )
    return weight


def _learn(table: nw.DataFrame[Any], used: NDArray[np.int64], planned: Plan) -> Encoding:
    """Learn from some rows; an error names a row by its number in the whole table."""
    covariates = planned.covariates
    try:
        return learn_encoding(table[used], covariates, planned.left_out, remarks=planned.words())
    except DataError:
        for covariate in covariates:
            read_column(table, covariate)
        raise


def _draw(
    outcome: Outcome, evaluation: Subjects | None, fraction: float, seeds: list[int]
) -> ValidationSplit:
    n = len(outcome)
    if evaluation is None:
        return split_validation(outcome.event, fraction, seeds)
    everyone, held_out = np.arange(n), np.arange(n, n + len(evaluation.outcome))
    return ValidationSplit(np.tile(everyone, (len(seeds), 1)), np.tile(held_out, (len(seeds), 1)))


def _append(first: Encoded, second: Encoded) -> Encoded:
    return Encoded(
        np.concatenate([first.rows, second.rows]), np.concatenate([first.values, second.values])
    )


def _append_outcome(first: Outcome, second: Outcome) -> Outcome:
    return Outcome(
        np.concatenate([first.duration, second.duration]),
        np.concatenate([first.event, second.event]),
        first.causes,
    )


def _ips_weights(
    form: str, encoded: Encoded, outcome: Outcome, used: NDArray[np.int64], clip: float
) -> NDArray[np.float64]:
    n_causes = len(outcome.causes)
    if form == "none":
        return np.ones((len(outcome), n_causes))
    propensity = propensities(encoded, outcome.event, n_causes, used, clip)
    return ips_weights(form, propensity, outcome.event)


def _tensors(
    encoded: Encoded,
    outcome: Outcome,
    cuts: NDArray[np.float64],
    stay: NDArray[np.float64],
    weight: NDArray[np.float64],
    ips: NDArray[np.float64],
) -> Batch:
    interval, fraction = locate(outcome.duration, cuts)
    return Batch(
        rows=torch.from_numpy(encoded.rows),
        values=torch.from_numpy(encoded.values),
        interval=torch.from_numpy(interval),
        fraction=torch.from_numpy(fraction.astype(np.float32)),
        event=torch.from_numpy(outcome.event),
        stay=torch.from_numpy(stay.astype(np.float32)),
        weight=torch.from_numpy(weight.astype(np.float32)),
        ips=torch.from_numpy(ips.astype(np.float32)),
    )
