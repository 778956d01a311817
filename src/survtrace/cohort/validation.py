"""The validation subjects of a block, known from its number and a member's seed alone."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def count_held_out(n_subjects: int, fraction: float) -> int:
    """How many subjects of a block each member holds out; one at least, where two are there.

    Examples
    --------
    >>> [count_held_out(n, fraction=0.1) for n in (0, 1, 2, 100)]
    [0, 0, 1, 10]
    """
    return min(max(round(fraction * n_subjects), 1), max(n_subjects - 1, 0))


def hold_out(
    n_subjects: int, fraction: float, seeds: Sequence[int], block: int
) -> NDArray[np.int64]:
    """The validation subjects of each member in a block, shape (member, subject), in order.

    All members hold out equally many, so that they also train on equally many.

    Examples
    --------
    >>> hold_out(20, 0.1, seeds=[1, 2], block=0).shape
    (2, 2)
    """
    size = count_held_out(n_subjects, fraction)
    drawn = [
        np.random.default_rng([seed, 1, block]).choice(n_subjects, size, replace=False)
        for seed in seeds
    ]
    return np.sort(np.array(drawn, dtype=np.int64).reshape(len(seeds), size), axis=1)
