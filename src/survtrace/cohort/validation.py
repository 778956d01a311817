"""Split subjects into those each member trains on and those it is stopped by."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

EVERYONE = slice(None)


class ValidationSplit(NamedTuple):
    """The subjects that each member holds out: one bit for each member and subject.

    Lists of subjects would take eighty times as much memory, which ten million rows do not leave.
    ``id`` numbers the subject of each row where subjects have several, which are never split.
    """

    bits: NDArray[np.uint8]
    n_members: int
    id: NDArray[np.int64] | None = None

    @classmethod
    def of(
        cls, held_out: NDArray[np.bool_], id: NDArray[np.int64] | None = None
    ) -> "ValidationSplit":
        """Return the split with these subjects held out, given as a mask (member, subject)."""
        return cls(np.packbits(held_out, axis=0), len(held_out), id)

    @property
    def n_training(self) -> int:
        """How many subjects each member trains on."""
        return int(np.count_nonzero(self.bits[0] < 128))  # the highest bit is the first member's

    @property
    def n_validation(self) -> int:
        """How many subjects each member is stopped by."""
        return self.bits.shape[1] - self.n_training

    @property
    def rows_per_subject(self) -> float:
        """How long the list of a member's training rows is, for each subject it trains on.

        All lists are as long as the longest; see `padded`.
        """
        if self.id is None:
            return 1.0
        n_rows = np.bincount(self.id, minlength=self.bits.shape[1])
        held_out = np.unpackbits(self.bits, axis=0, count=self.n_members).view(np.bool_)
        return max(int(n_rows[~marks].sum()) for marks in held_out) / self.n_training

    def held_out(self, rows: slice = EVERYONE) -> NDArray[np.bool_]:
        """Mark the rows that each member holds out, shape (member, row)."""
        bits = self.bits[:, rows] if self.id is None else self.bits[:, self.id[rows]]
        return np.unpackbits(bits, axis=0, count=self.n_members).view(np.bool_)

    def learned_from(self) -> NDArray[np.bool_]:
        """Mark the rows that at least one member trains on."""
        full = np.packbits(np.ones((self.n_members, 1), dtype=np.bool_), axis=0)
        marks: NDArray[np.bool_] = (self.bits != full).any(axis=0)
        return marks if self.id is None else marks[self.id]

    @property
    def training(self) -> NDArray[np.int64]:
        """The rows each member trains on, in order, shape (member, row)."""
        held_out = self.held_out()
        return padded([np.flatnonzero(~marks) for marks in held_out], held_out.shape[1])

    @property
    def validation(self) -> NDArray[np.int64]:
        """The rows each member is stopped by, in order, shape (member, row)."""
        held_out = self.held_out()
        return padded([np.flatnonzero(marks) for marks in held_out], held_out.shape[1])


def padded(rows: Sequence[NDArray[np.int64]], empty: int) -> NDArray[np.int64]:
    """Make lists of rows equally long, with the number of an empty row behind the shorter ones.

    Members hold out equally many subjects, which may have different numbers of rows.

    Examples
    --------
    >>> padded([np.array([0, 1, 2]), np.array([3])], empty=4).tolist()
    [[0, 1, 2], [3, 4, 4]]
    """
    length = max(map(len, rows))
    return np.stack([np.pad(each, (0, length - len(each)), constant_values=empty) for each in rows])


def split_validation(
    event: NDArray[np.integer],
    fraction: float,
    seeds: Sequence[int],
    id: NDArray[np.int64] | None = None,
) -> ValidationSplit:
    """Split subjects into training and validation rows, stratified by cause.

    Each member draws its own validation subjects, by its seed alone; all draw equally many, one at
    least, and one at least is left to train on. ``event`` is that of each subject, and ``id`` the
    number of each row's subject, where subjects have several rows.

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
    return ValidationSplit(bits, len(seeds), id)


def _spread(total: int, sizes: list[int]) -> list[int]:
    """Share ``total`` over strata in proportion to their sizes, by largest remainder."""
    exact = total * np.asarray(sizes) / sum(sizes)
    counts = np.floor(exact).astype(int)
    left_over = np.argsort(counts - exact, kind="stable")[: total - counts.sum()]
    counts[left_over] += 1
    return [int(count) for count in counts]
