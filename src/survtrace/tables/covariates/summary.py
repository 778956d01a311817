"""A column in a few numbers: those of two pieces add up to those of the whole."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from math import inf, sqrt

import numpy as np
from numpy.typing import NDArray

from survtrace.tables.covariates.columns import Column, Levels

ROUNDING = 4 * sys.float_info.epsilon


@dataclass(frozen=True)
class Spread:
    """A numerical column: how many values, how many missing, where they lie.

    ``squares`` is the sum of squared deviations from the mean.
    """

    n: int = 0
    n_missing: int = 0
    mean: float = 0.0
    squares: float = 0.0
    smallest: float = inf
    largest: float = -inf

    @classmethod
    def of(cls, values: NDArray[np.float64]) -> Spread:
        """The spread of some numbers, NaN where missing.

        Examples
        --------
        >>> Spread.of(np.array([1.0, 3.0, np.nan]))
        Spread(n=2, n_missing=1, mean=2.0, squares=2.0, smallest=1.0, largest=3.0)
        """
        present = values[~np.isnan(values)]
        n_missing = len(values) - len(present)
        if not len(present):
            return cls(n_missing=n_missing)
        mean = present.mean()
        squares = np.square(present - mean).sum()
        ends = float(present.min()), float(present.max())
        return cls(len(present), n_missing, float(mean), float(squares), *ends)

    def __add__(self, other: Spread) -> Spread:
        """The spread of both together (Chan, Golub and LeVeque 1983)."""
        n = self.n + other.n
        share = other.n / n if n else 0.0
        apart = other.mean - self.mean
        return Spread(
            n,
            self.n_missing + other.n_missing,
            self.mean + apart * share,
            self.squares + other.squares + apart**2 * self.n * share,
            min(self.smallest, other.smallest),
            max(self.largest, other.largest),
        )

    @property
    def deviation(self) -> float:
        """The standard deviation."""
        return sqrt(self.squares / self.n) if self.n else 0.0

    @property
    def is_constant(self) -> bool:
        """Whether all values that are there are the same, to rounding.

        The standard deviation does not say so: that of a column of 0.1 is 1e-17, not 0.
        """
        largest = max(abs(self.smallest), abs(self.largest))
        return self.n > 0 and self.largest - self.smallest <= ROUNDING * largest


@dataclass(frozen=True)
class Counts:
    """A categorical column: how many subjects have each level, and how many none."""

    levels: dict[str, int] = field(default_factory=dict)
    n_missing: int = 0

    @classmethod
    def of(cls, levels: Levels) -> Counts:
        """Count the levels of a column; one that no subject has is none.

        Examples
        --------
        >>> Counts.of(Levels(np.array([0, 1, 0, -1]), ["f", "m"]))
        Counts(levels={'f': 2, 'm': 1}, n_missing=1)
        """
        n_missing, *counts = np.bincount(levels.codes + 1, minlength=len(levels.text) + 1).tolist()
        found = zip(levels.text, counts, strict=True)
        return cls({text: count for text, count in found if count}, n_missing)

    def __add__(self, other: Counts) -> Counts:
        """The counts of both together."""
        levels = {**self.levels}
        for text, count in other.levels.items():
            levels[text] = levels.get(text, 0) + count
        return Counts(levels, self.n_missing + other.n_missing)

    @property
    def n(self) -> int:
        """How many subjects have a level."""
        return sum(self.levels.values())

    @property
    def typical(self) -> str | None:
        """The level most subjects have, the first in order of several."""
        return max(sorted(self.levels), key=self.levels.__getitem__, default=None)

    @property
    def is_constant(self) -> bool:
        """Whether all subjects that have a level have the same."""
        return len(self.levels) == 1


Summary = Spread | Counts


def summarise(column: Column) -> Summary:
    """The summary that fits a column's kind."""
    return Counts.of(column) if isinstance(column, Levels) else Spread.of(column)
