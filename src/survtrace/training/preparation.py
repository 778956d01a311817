"""A table and its outcome become the cohort the members train on; nothing else is looked at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from survtrace.data.batches import Cohort, Draws, InMemory, draw_validation
from survtrace.data.encoding import Encoded, Encoding, learn_encoding
from survtrace.data.outcome import Outcome
from survtrace.data.time_grid import checked_cuts, locate, quantile_cuts, warn_of_sparse_causes
from survtrace.errors import DataError
from survtrace.inspection.plan import plan_columns
from survtrace.losses.propensity import ips_weights, propensities
from survtrace.training.card import CohortCounts, count_cohort


class Prepared(NamedTuple):
    """The cohort, who trains on whom, and what was learned from the training rows."""

    cohort: Cohort
    draws: Draws
    encoding: Encoding
    cuts: NDArray[np.float64]
    trained_on: Outcome
    counts: CohortCounts

    @property
    def n_training(self) -> int:
        """How many subjects each member trains on."""
        return self.draws.training.shape[1]

    def supply(
        self, seed: int, seeds: list[int], batch_size: int, device: torch.device
    ) -> InMemory:
        """Where training gets its batches from; the seed of the fit itself is not needed."""
        return InMemory(self.cohort.to(device), self.draws, seeds, batch_size)

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
    draws = _draw(outcome, evaluation, validation_fraction, seeds)
    used = np.unique(draws.training)
    trained_on = outcome.take(used)
    planned = plan_columns(table, outcome, categorical=categorical, columns=columns)
    planned.require_answers()
    encoding = learn_encoding(
        table[used], planned.covariates, planned.left_out, remarks=planned.words()
    )
    cuts = choose_cuts(trained_on, n_intervals, time_grid)
    warn_of_sparse_causes(trained_on.n_events, len(cuts) - 1)
    encoded = encoding.encode(table)
    counts = count_cohort(encoding, encoded, outcome)
    if evaluation is not None:
        encoded = _append(encoded, encoding.encode(evaluation.table))
        outcome = _append_outcome(outcome, evaluation.outcome)
        weight = np.concatenate([weight, evaluation.weight])
    weight = weight / weight[used].mean()
    ips_weight = _ips_weights(ips, encoded, outcome, used, ips_clip)
    cohort = _tensors(encoded, outcome, cuts, trained_on, weight, ips_weight)
    return Prepared(cohort, draws, encoding, cuts, trained_on, counts)


def choose_cuts(
    trained_on: Outcome, n_intervals: int, time_grid: ArrayLike | None
) -> NDArray[np.float64]:
    """The cuts of the user, or else those at quantiles of the event times."""
    if time_grid is None:
        return quantile_cuts(trained_on, n_intervals)
    quantile_cuts(trained_on, 1)  # refuses a cohort without events
    return checked_cuts(time_grid)


def checked_weight(sample_weight: ArrayLike | None, n_subjects: int) -> NDArray[np.float64]:
    """One finite weight of zero or more for each subject, not all zero."""
    if sample_weight is None:
        return np.ones(n_subjects)
    try:
        weight = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        weight = np.empty(0)
    bad = weight.shape != (n_subjects,) or not np.isfinite(weight).all() or (weight < 0).any()
    if bad or weight.sum() == 0:
        raise DataError(
            "sample_weight must be one finite number of zero or more for each of the "
            f"{n_subjects} subjects, not all zero; got shape {weight.shape}."
        )
    return weight


def stay_scale(trained_on: Outcome) -> tuple[float, float]:
    """Mean and deviation by which durations are standardised for the length-of-stay task."""
    return float(trained_on.duration.mean()), float(trained_on.duration.std()) or 1.0


def _draw(
    outcome: Outcome, evaluation: Subjects | None, fraction: float, seeds: list[int]
) -> Draws:
    n = len(outcome)
    if evaluation is None:
        return draw_validation(outcome.event, fraction, seeds)
    everyone, held_out = np.arange(n), np.arange(n, n + len(evaluation.outcome))
    return Draws(np.tile(everyone, (len(seeds), 1)), np.tile(held_out, (len(seeds), 1)))


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
    trained_on: Outcome,
    weight: NDArray[np.float64],
    ips: NDArray[np.float64],
) -> Cohort:
    interval, fraction = locate(outcome.duration, cuts)
    mean, deviation = stay_scale(trained_on)
    stay = (outcome.duration - mean) / deviation
    return Cohort(
        rows=torch.from_numpy(encoded.rows),
        values=torch.from_numpy(encoded.values),
        interval=torch.from_numpy(interval),
        fraction=torch.from_numpy(fraction.astype(np.float32)),
        event=torch.from_numpy(outcome.event),
        stay=torch.from_numpy(stay.astype(np.float32)),
        weight=torch.from_numpy(weight.astype(np.float32)),
        ips=torch.from_numpy(ips.astype(np.float32)),
    )
