"""Curves of many subjects, in all threads: logits in, mean and deviation of the members out.

One call of `member_curves` that holds no lock does all for some subjects; as operations of torch,
threads would wait for the interpreter lock at each of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from survtrace.ops.cpu.member_curves import write_curves, write_hazards
from survtrace.threads import run_in_all_threads

N_SUBJECTS = 2**12  # of a task, times members
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
