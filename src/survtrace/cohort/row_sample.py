"""Sample rows by a hash of their number: the same ones however the table is cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Sample:
    """Some rows of a table by number, in order, with columns of theirs."""

    row: NDArray[np.int64]
    columns: tuple[NDArray[Any], ...]

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
        chosen = np.argsort(row, kind="stable")
        if len(row) > most:
            chosen = np.sort(np.argpartition(hash_rows(row), most)[:most])
            chosen = chosen[np.argsort(row[chosen], kind="stable")]
        columns = zip(*(sample.columns for sample in samples), strict=True)
        return cls(row[chosen], tuple(np.concatenate(column)[chosen] for column in columns))


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
