"""Curves of many subjects: logits in, mean and deviation of the members out.

`survtrace.inference.curves` is the definition. Here one call that holds no lock does all for some
subjects; as operations of torch, threads would wait for the interpreter lock at each of them.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from survtrace.ops.cpu.compiling import kernel, part
from survtrace.threads import run_in_all_threads

N_SUBJECTS = 2**12  # of a task, times members
TINY = np.finfo(np.float64).tiny
Floats = NDArray[np.float64]


class States(NamedTuple):
    """Which states are asked for: event-free or not, then the causes from one place to another."""

    event_free: bool
    first_cause: int
    end_cause: int

    def __len__(self) -> int:
        """Count them."""
        return self.event_free + self.end_cause - self.first_cause


def hazards(logits: Tensor, factor: Tensor) -> Tensor:
    """Compute the hazards of logits, recalibrated, as float64."""
    size = _size(logits)
    out = torch.empty(logits.shape, dtype=torch.float64)
    arrays = logits.numpy(), factor[:, 0].numpy(), out.numpy()

    def run(k: int) -> None:
        write_hazards(k * size, size, *arrays)

    run_in_all_threads(run, -(-logits.shape[1] // size))
    return out


def curves(
    logits: Tensor,
    factor: Tensor,
    interval: NDArray[np.int64],
    fraction: Floats,
    states: States,
    mean: Floats,
    deviation: Floats | None,
) -> int | None:
    """Write mean and deviation (subject, state, time) of so many subjects as ``mean`` has.

    Times are given by interval and fraction, one row for all subjects or one for each (subject,
    time). Returns the first subject whose hazards are not finite, None if all are.
    """
    size, n = _size(logits), len(mean)
    n_tasks = -(-n // size)
    bad = np.full(n_tasks, n)
    no_deviation = np.empty((0, 0, 0))
    arrays = logits.numpy(), factor[:, 0].numpy(), interval, fraction
    out = mean, no_deviation if deviation is None else deviation

    def run(k: int) -> None:
        bad[k] = write_curves(k * size, size, *arrays, *states, *out)

    run_in_all_threads(run, n_tasks)
    first = int(bad.min())
    return first if first < n else None


def _size(logits: Tensor) -> int:
    return max(1, N_SUBJECTS // len(logits))


@part
def hazard_of(logit: Any, factor: Any) -> Any:
    """Compute softplus times factor; exponentials of negative numbers do not overflow."""
    return (max(logit, np.float32(0)) + math.log1p(math.exp(-abs(logit)))) * factor


@kernel
def write_hazards(first: int, size: int, logits: Any, factor: Any, out: Any) -> None:
    """Write the hazards of some subjects."""
    for m in range(len(logits)):
        for subject in range(first, min(first + size, logits.shape[1])):
            for cause in range(logits.shape[2]):
                for i in range(logits.shape[3]):
                    logit = logits[m, subject, cause, i]
                    out[m, subject, cause, i] = hazard_of(logit, factor[m, cause, i])


@kernel
def write_curves(
    first: int,
    size: int,
    logits: Any,
    factor: Any,
    interval: Any,
    fraction: Any,
    event_free: Any,
    first_cause: int,
    end_cause: int,
    mean: Any,
    deviation: Any,
) -> int:
    """Write the curves of some subjects; return the first one that has no finite hazards."""
    n_members, _, n_causes, n_intervals = logits.shape
    n_states, n_times = mean.shape[1], mean.shape[2]
    hazard = np.empty((n_causes, n_intervals))
    total, before = np.empty(n_intervals), np.empty(n_intervals)
    per_hazard, earlier = np.empty(n_intervals), np.empty((n_causes, n_intervals))
    members = np.empty((n_members, n_states, n_times))
    offset = 1 if event_free else 0
    bad = len(mean)
    for subject in range(first, min(first + size, len(mean))):
        row = subject if len(interval) > 1 else 0  # whose times
        for m in range(n_members):
            lived = 0.0
            for i in range(n_intervals):
                total[i] = 0.0
                for cause in range(n_causes):
                    hazard[cause, i] = hazard_of(logits[m, subject, cause, i], factor[m, cause, i])
                    total[i] += hazard[cause, i]
                before[i] = lived
                lived += total[i]
            if not math.isfinite(lived):
                bad = min(bad, subject)
            if first_cause < end_cause:
                _enter_intervals(hazard, total, before, first_cause, end_cause, per_hazard, earlier)
            for t in range(n_times):
                i = interval[row, t]
                part_lived = fraction[row, t] * total[i]
                if event_free:
                    members[m, 0, t] = math.exp(-(before[i] + part_lived))
                if first_cause < end_cause:
                    struck = per_hazard[i] * -math.expm1(-part_lived)
                    for cause in range(first_cause, end_cause):
                        state = offset + cause - first_cause
                        members[m, state, t] = earlier[cause, i] + hazard[cause, i] * struck
        _average(members, mean[subject])
        if len(deviation) > 0:
            _deviate(members, mean[subject], deviation[subject])
    return bad


@part
def _enter_intervals(
    hazard: Any,
    total: Any,
    before: Any,
    first_cause: int,
    end_cause: int,
    per_hazard: Any,
    earlier: Any,
) -> None:
    """Compute survival over the hazard of all causes, and each incidence, before each interval."""
    for cause in range(first_cause, end_cause):
        earlier[cause, 0] = 0.0
    for i in range(len(total)):
        per_hazard[i] = math.exp(-before[i]) / max(total[i], TINY)
        if i + 1 < len(total):
            struck = per_hazard[i] * -math.expm1(-total[i])
            for cause in range(first_cause, end_cause):
                earlier[cause, i + 1] = earlier[cause, i] + hazard[cause, i] * struck


@part
def _average(members: Any, mean: Any) -> None:
    """Write the mean over members of each number."""
    for state in range(mean.shape[0]):
        for t in range(mean.shape[1]):
            total = members[0, state, t]
            for m in range(1, len(members)):
                total += members[m, state, t]
            mean[state, t] = total / len(members)


@part
def _deviate(members: Any, mean: Any, deviation: Any) -> None:
    """Write the standard deviation between members of each number; NaN if there is one member."""
    for state in range(mean.shape[0]):
        for t in range(mean.shape[1]):
            squares = 0.0
            for m in range(len(members)):
                squares += (members[m, state, t] - mean[state, t]) ** 2
            one = len(members) == 1
            deviation[state, t] = np.nan if one else math.sqrt(squares / len(members))
