"""Sample rows by a hash of their number: the same ones however the table is cut into chunks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Sample:
    """Some rows of a table by number, in order, with columns of theirs.

    ``id`` numbers their subjects where all rows of a subject are to be in the sample, or none.
    ``below`` is the hash below which rows are in it; None: all are.
    """

    row: NDArray[np.int64]
    columns: tuple[NDArray[Any], ...]
    id: NDArray[np.int64] | None = None
    below: np.uint64 | None = None

    @classmethod
    def join(cls, samples: Sequence[Sample], most: int) -> Sample:
        """Join samples; of more than ``most`` rows, take those whose numbers hash lowest.

        Examples
        --------
        >>> parts = [Sample(np.arange(first, first + 50), ()) for first in (50, 0)]
        >>> Sample.join(parts, most=100).row[:3].tolist()
        [0, 1, 2]
        >>> Sample.join(parts, most=3).row.tolist()
        [21, 48, 68]
        """
        row = np.concatenate([sample.row for sample in samples])
        ids = [sample.id for sample in samples if sample.id is not None]
        id = np.concatenate(ids) if ids else None
        # A subject that did not fit into an earlier sample stays out with rows met later, too.
        below = min((s.below for s in samples if s.below is not None), default=None)
        order = np.argsort(row, kind="stable")
        hashed = hash_rows(row if id is None else id)[order]
        inside = np.ones(len(row), np.bool_) if below is None else hashed < below
        if np.count_nonzero(inside) > most:
            below = np.partition(hashed[inside], most)[most]
            inside = hashed < below
        chosen = order[inside]
        columns = zip(*(sample.columns for sample in samples), strict=True)
        return cls(
            row[chosen],
            tuple(np.concatenate(column)[chosen] for column in columns),
            None if id is None else id[chosen],
            below,
        )


def hash_rows(row: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Hash row numbers to numbers that look random, no two the same (splitmix64).

    Examples
    --------
    >>> hash_rows(np.array([0, 1])).tolist()
    [16294208416658607535, 10451216379200822465]
    """
    mixed = row.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
