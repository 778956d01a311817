"""Split subjects into those each member trains on and those it is stopped by."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

EVERYONE = slice(None)


class ValidationSplit(NamedTuple):
    """The subjects that each member holds out: one bit for each member and subject.

    Lists of subjects would take eighty times as much memory, which ten million rows do not leave.
    """

    bits: NDArray[np.uint8]
    n_members: int

    @classmethod
    def of(cls, held_out: NDArray[np.bool_]) -> "ValidationSplit":
        """The split with these subjects held out, given as a mask (member, subject)."""
        return cls(np.packbits(held_out, axis=0), len(held_out))

    @property
    def n_training(self) -> int:
        """How many subjects each member trains on."""
        return int(np.count_nonzero(self.bits[0] < 128))  # the highest bit is the first member's

    def held_out(self, subjects: slice = EVERYONE) -> NDArray[np.bool_]:
        """Mark the subjects that each member holds out, shape (member, subject)."""
        marks = np.unpackbits(self.bits[:, subjects], axis=0, count=self.n_members)
        return marks.view(np.bool_)

    def learned_from(self) -> NDArray[np.bool_]:
        """Mark the subjects that at least one member trains on."""
        full = np.packbits(np.ones((self.n_members, 1), dtype=np.bool_), axis=0)
        marks: NDArray[np.bool_] = (self.bits != full).any(axis=0)
        return marks

    @property
    def training(self) -> NDArray[np.int64]:
        """The subjects each member trains on, in order, shape (member, subject)."""
        return np.stack([np.flatnonzero(~marks) for marks in self.held_out()])

    @property
    def validation(self) -> NDArray[np.int64]:
        """The subjects each member is stopped by, in order, shape (member, subject)."""
        return np.stack([np.flatnonzero(marks) for marks in self.held_out()])


def split_validation(
    event: NDArray[np.integer], fraction: float, seeds: Sequence[int]
) -> ValidationSplit:
    """Split subjects into training and validation rows, stratified by cause.

    Each member draws its own validation subjects, by its seed alone; all draw equally many, one at
    least, and one at least is left to train on.

    Examples
    --------
    >>> split = split_validation(np.array([0, 0, 0, 0, 1, 1, 1, 1]), 0.25, seeds=[1, 2, 3])
    >>> split.training.shape, split.validation.shape
    ((3, 6), (3, 2))
    """
    labels, sizes = np.unique(event, return_counts=True)
    n_held_out = min(max(1, round(fraction * len(event))), len(event) - 1)
    counts = _spread(n_held_out, sizes.tolist())
    generators = [np.random.default_rng([seed, 1]) for seed in seeds]
    bits = np.zeros((-(-len(seeds) // 8), len(event)), dtype=np.uint8)
    for label, count in zip(labels, counts, strict=True):
        stratum = np.flatnonzero(event == label)
        for member, generator in enumerate(generators):
            chosen = generator.choice(stratum, size=count, replace=False)
            bits[member // 8, chosen] |= np.uint8(128 >> member % 8)  # as np.packbits orders them
    return ValidationSplit(bits, len(seeds))


def _spread(total: int, sizes: list[int]) -> list[int]:
    """Share ``total`` over strata in proportion to their sizes, by largest remainder."""
    exact = total * np.asarray(sizes) / sum(sizes)
    counts = np.floor(exact).astype(int)
    left_over = np.argsort(counts - exact, kind="stable")[: total - counts.sum()]
    counts[left_over] += 1
    return [int(count) for count in counts]
