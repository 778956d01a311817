"""What baselines draw at random: seeds for global generators, and validation rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from numpy.typing import NDArray

from survtrace.cohort.validation import split_validation
from survtrace.rules import random_generator
from survtrace.tables.outcome.outcome import Outcome


@contextmanager
def seeded(random_state: int | None) -> Iterator[None]:
    """Start numpy's and torch's global generators from a seed, and put them back afterwards.

    Examples
    --------
    >>> with seeded(0):
    ...     first = torch.rand(3)
    >>> with seeded(0):
    ...     bool((first == torch.rand(3)).all())
    True
    """
    seed = random_generator(random_state).integers(2**31)
    before = np.random.get_state()  # noqa: NPY002 - the libraries use the global generator
    with torch.random.fork_rng(devices=[]):
        np.random.seed(seed)  # noqa: NPY002
        torch.default_generator.manual_seed(int(seed))
        try:
            yield
        finally:
            np.random.set_state(before)  # noqa: NPY002


def validation_rows(
    outcome: Outcome, fraction: float, random_state: int | None
) -> NDArray[np.bool_]:
    """Mark a random share of the subjects, drawn evenly from the censored and from each cause.

    Examples
    --------
    >>> outcome = Outcome(np.ones(100), np.repeat([0, 1], 50), (1,))
    >>> held_out = validation_rows(outcome, 0.1, 0)
    >>> int(held_out[:50].sum()), int(held_out[50:].sum())
    (5, 5)
    """
    seed = int(random_generator(random_state).integers(2**31))
    return split_validation(outcome.event, fraction, [seed]).held_out()[0]
