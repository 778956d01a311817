"""Learn after the training how far predictions may be from the truth, by simulated outcomes.

The deviation between members tells where a network is unsure, but not how much: all of them learn
from the same rows and stop early in the same way. Here some members are taken for the truth in
turn. Outcomes are drawn from each for the same subjects, censored as they were, and a new member
learns from them. How far it ends up from the member that was the truth is known for every subject.
The network that was fitted is not changed, and nothing of a subject is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from scipy.optimize import nnls
from torch import Tensor

from survtrace import ops
from survtrace.batch import Batch
from survtrace.cohort.batch_source import BatchSource, MemorySource
from survtrace.cohort.prepare import Cohort
from survtrace.cohort.validation import split_validation
from survtrace.errors import TrainingError, keep_warnings, warn
from survtrace.metrics import censoring_survival
from survtrace.network.assembly import Network
from survtrace.tables.outcome.time_grid import locate
from survtrace.training.history import History
from survtrace.training.loop import Plan, train
from survtrace.training.recalibration import recalibrate

Array = NDArray[np.float64]
N_SIMULATED = 4  # simulated cohorts, each with another member taken for the truth
MOST_SUBJECTS = 4096  # on whom errors are measured
LEVELS = (0.5, 0.8, 0.9, 0.95, 0.99)
# From so many events on intervals are less than twice as wide as errors in simulated outcomes say,
# from ten times as many less than a tenth wider. Chosen on other cohorts than those of
# benchmarks/patient_intervals.py: there, of a cause with 45 events, .90 of the intervals held the
# truth without this margin.
FEW_EVENTS = 10
SMALLEST, LARGEST = 1e-6, 1 - 1e-6  # incidences whose errors are measured


def learn_interval(
    network: Network,
    cohort: Cohort,
    batch_source: BatchSource,
    plan: Plan,
    settings: Any,
) -> dict[str, Any] | None:
    """Learn the numbers of an `IntervalScale`; None where they cannot be, or it is broken off.

    What the training has learned is not lost if this is broken off, or lacks memory.
    """
    if not settings.intervals or settings.ips != "none":
        return None
    if not isinstance(batch_source, MemorySource) or cohort.split.id is not None:
        return None
    try:
        with keep_warnings():  # of an interruption, which is raised and warned of here
            return _learn_from_simulated(network, cohort, batch_source.cohort, plan, settings)
    except (KeyboardInterrupt, TrainingError, MemoryError, torch.cuda.OutOfMemoryError) as error:
        why = "were broken off"
        if isinstance(error, MemoryError | torch.cuda.OutOfMemoryError):
            why = "need more memory than there is"
        warn(f"fits to simulated outcomes {why}: predict_interval will not be available.")
        return None


def _learn_from_simulated(
    network: Network, cohort: Cohort, subjects: Batch, plan: Plan, settings: Any
) -> dict[str, Any]:
    """Simulate outcomes from some members, refit, and learn from how far that ends up from them."""
    rng = np.random.default_rng([plan.dropout_seed, 3])
    n_simulated = min(N_SIMULATED, network.shape.n_members)
    hazard = member_hazards(network, subjects)
    end = censoring_positions(subjects, cohort, rng)
    entry = _position(subjects.entry_interval, subjects.entry_fraction)
    outcomes = [
        simulate(truth.double().cpu().numpy(), entry, end, rng) for truth in hazard[:n_simulated]
    ]
    refitted = refit(network, cohort, subjects, plan, settings, outcomes)
    some = np.sort(rng.permutation(len(subjects.event))[:MOST_SUBJECTS])
    chosen = torch.from_numpy(some).to(network.device)
    again = member_hazards(refitted, subjects.take(chosen))
    truth, found = (log_log_incidence(h.double().cpu().numpy()) for h in (hazard[:, chosen], again))
    events = torch.bincount(subjects.event, minlength=network.shape.n_causes + 1).tolist()
    return learn_scale(found - truth[:n_simulated], truth, [sum(events[1:]), *events[1:]])


@torch.no_grad()
def member_hazards(
    network: Network, subjects: Batch
) -> Float[Tensor, "member subject cause interval"]:
    """Compute hazards of all members, a chunk of subjects at a time."""
    network.eval()
    parts = []
    for rows, values in zip(subjects.rows.split(2**12), subjects.values.split(2**12), strict=True):
        logits = ops.cause_logits(network, rows[None], values[None])
        parts.append(torch.nn.functional.softplus(logits) * network.recalibration_factor)
    return torch.cat(parts, dim=1)


def _position(interval: Tensor, fraction: Tensor) -> Array:
    """Place a time on the grid: the number of its interval and the fraction of it."""
    return (interval.double() + fraction.double()).cpu().numpy()


def censoring_positions(subjects: Batch, cohort: Cohort, rng: np.random.Generator) -> Array:
    """Find when each subject's observation ended, or would have ended had no event come first.

    The latter is drawn from the censoring after the event, as it was for the others.
    """
    left = _position(subjects.interval, subjects.fraction)
    curve = censoring_survival(cohort.trained_on)
    interval, fraction = locate(curve.times, cohort.cuts)
    positions = np.append(interval + fraction, len(cohort.cuts) - 1.0)
    before = np.append(1.0, curve.values)
    at_event = before[np.searchsorted(positions[:-1], left, side="right")]
    drawn = at_event * rng.random(len(left))
    values = np.minimum.accumulate(curve.values)  # which rise where subjects enter late
    ended = positions[np.searchsorted(-values, -drawn)]
    return np.where(subjects.event.cpu().numpy() > 0, np.maximum(ended, left), left)


def simulate(
    hazard: Array, entry: Array, end: Array, rng: np.random.Generator
) -> tuple[Array, NDArray[np.int64]]:
    """Draw when each subject leaves, as a place on the grid, and its event.

    The hazard lived through from entry to the event is exponential with mean 1.

    Examples
    --------
    >>> hazard = np.full((4, 1, 2), 100.0)
    >>> hazard[2:] = 0.0
    >>> left, event = simulate(hazard, np.zeros(4), np.full(4, 2.0), np.random.default_rng(0))
    >>> event.tolist(), bool((left[:2] < 1).all()), left[2:].tolist()
    ([1, 1, 0, 0], True, [2.0, 2.0])
    """
    subject, last = np.arange(len(hazard)), hazard.shape[2] - 1
    total = hazard.sum(axis=1)
    ends = np.cumsum(total, axis=1)
    first = np.minimum(entry.astype(np.int64), last)
    lived = (ends - total)[subject, first] + total[subject, first] * (entry - first)
    lived = lived + rng.standard_exponential(len(hazard))
    interval = np.minimum((ends <= lived[:, None]).sum(axis=1), last)
    here = np.maximum(total[subject, interval], np.finfo(np.float64).tiny)
    fraction = (lived - (ends - total)[subject, interval]) / here
    struck = interval + fraction
    by_cause = np.cumsum(hazard[subject, :, interval], axis=1)
    drawn = rng.random(len(hazard)) * by_cause[:, -1]
    cause = 1 + (by_cause[:, :-1] <= drawn[:, None]).sum(axis=1)
    is_seen = (fraction <= 1) & (struck <= end)
    return np.where(is_seen, struck, end), np.where(is_seen, cause, 0)


def refit(
    network: Network,
    cohort: Cohort,
    subjects: Batch,
    plan: Plan,
    settings: Any,
    outcomes: list[tuple[Array, NDArray[np.int64]]],
) -> Network:
    """Train one member on each of the outcomes, all together."""
    n_simulated, n_rows = len(outcomes), len(subjects.event)
    state = np.random.SeedSequence([plan.dropout_seed, 4]).generate_state(n_simulated)
    seeds = [int(seed) for seed in state]
    simulated = [_with_outcome(subjects, left, event, cohort) for left, event in outcomes]
    splits = [
        split_validation(event, settings.validation_fraction, [seed])
        for (_, event), seed in zip(outcomes, seeds, strict=True)
    ]
    # The simulated cohorts lie one behind the other; each member meets the subjects of one.
    first = n_rows * np.arange(n_simulated)[:, None]
    source = MemorySource(
        Batch(*(torch.cat(columns) for columns in zip(*simulated, strict=True))),
        np.concatenate([split.training for split in splits]) + first,
        np.concatenate([split.validation for split in splits]) + first,
        seeds,
        plan.batch_size,
    )
    together = Network(replace(network.shape, n_members=n_simulated))
    together.initialise(seeds)
    together.to(network.device)
    history, own = History(), replace(plan, seeds=seeds, dropout_seed=seeds[0])
    train(together, source, own, history)
    if history.interrupted:
        raise KeyboardInterrupt
    if settings.recalibrate:
        columns = (torch.stack(column) for column in zip(*simulated, strict=True))
        recalibrate(together, [Batch(*columns)])
    return together


def _with_outcome(subjects: Batch, left: Array, event: NDArray[np.int64], cohort: Cohort) -> Batch:
    """Give the subjects another outcome; ``left`` is when each leaves, as a place on the grid."""
    n_intervals = len(cohort.cuts) - 1
    interval = np.clip(np.ceil(left).astype(np.int64) - 1, 0, n_intervals - 1)
    duration = np.interp(left, np.arange(n_intervals + 1), cohort.cuts)
    columns = {
        "interval": interval,
        "fraction": left - interval,
        "event": event,
        "stay": cohort.layout.stay.standardise(duration),
    }
    return subjects._replace(
        **{n: torch.from_numpy(c).to(getattr(subjects, n)) for n, c in columns.items()}
    )


def log_log_incidence(hazard: Array) -> Array:
    """Compute log(-log(1 - incidence)) at the end of each interval: any cause, then each.

    Shape (member, subject, cause, interval) to (member, subject, state, interval).
    """
    total = hazard.sum(axis=2, keepdims=True)
    before = np.cumsum(total, axis=-1) - total
    share = hazard / np.maximum(total, np.finfo(np.float64).tiny)
    gained = share * np.exp(-before) * -np.expm1(-total)
    incidence = np.cumsum(gained, axis=-1)
    states = np.concatenate([incidence.sum(axis=2, keepdims=True), incidence], axis=2)
    states = np.clip(states, SMALLEST, LARGEST)
    found: Array = np.log(-np.log1p(-states))
    return found


def learn_scale(errors: Array, members: Array, n_events: Sequence[int]) -> dict[str, Any]:
    """Learn floor, factor and quantiles of each state from errors of single members.

    ``errors`` and ``members`` have the shape (member, subject, state, interval). The mean of the
    members is nearer to the truth than one of them. That is left as a margin for what none of
    them can know: a truth that is less smooth than what a network has learned. From few events a
    network learns something very smooth; there the margin is larger.
    """
    scales = [_learn_state(errors[:, :, k], members[:, :, k]) for k in range(errors.shape[2])]
    floor, factor, quantiles = (list(part) for part in zip(*scales, strict=True))
    margins = [1 + FEW_EVENTS / max(n, FEW_EVENTS) for n in n_events]
    quantiles = [
        [margin * q for q in each] for margin, each in zip(margins, quantiles, strict=True)
    ]
    return {"floor": floor, "factor": factor, "levels": list(LEVELS), "quantiles": quantiles}


def _learn_state(errors: Array, members: Array) -> tuple[list[float], float, list[float]]:
    """Fit squared errors by floor^2 + (factor * deviation)^2, with a floor for each interval.

    Least squares over tenths of the subjects, by their deviation. Relative errors count, so that
    the intervals of those of whom members agree are right as well.
    """
    n_intervals = errors.shape[-1]
    between = members.var(axis=0)
    rows = []
    for j in range(n_intervals):
        order = np.argsort(between[:, j], kind="stable")
        for tenth in np.array_split(order, min(10, len(order))):
            size = max(float((errors[:, tenth, j] ** 2).mean()), SMALLEST)
            rows.append([*(np.arange(n_intervals) == j) / size, between[tenth, j].mean() / size])
    *floor, factor = np.sqrt(nnls(np.array(rows), np.ones(len(rows)))[0])
    expected = np.sqrt(np.maximum(np.square(floor) + factor**2 * between, SMALLEST))
    quantiles = np.quantile(np.abs(errors) / expected, LEVELS)
    return [float(f) for f in floor], float(factor), [float(q) for q in quantiles]
