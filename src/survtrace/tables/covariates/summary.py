"""Summarise a column in a few numbers; the summaries of two chunks can be added.

Rows may have weights: those of a subject with several rows weigh as much as another's only one.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass, field
from math import inf, sqrt

import numpy as np
from numpy.typing import NDArray

from survtrace.tables.covariates.values import Column, Levels

ROUNDING = 4 * sys.float_info.epsilon


@dataclass(frozen=True)
class Spread:
    """A numerical column: count, missing values, mean, sum of squares, smallest and largest."""

    n: float = 0
    n_missing: int = 0
    mean: float = 0.0
    squares: float = 0.0  # summed squared deviations from the mean
    smallest: float = inf
    largest: float = -inf

    @classmethod
    def of(cls, values: NDArray[np.float64], weight: NDArray[np.float64] | None = None) -> Spread:
        """Summarise numbers, NaN where missing; where rows have weights, ``n`` is their sum.

        Examples
        --------
        >>> Spread.of(np.array([1.0, 3.0, np.nan]))
        Spread(n=2, n_missing=1, mean=2.0, squares=2.0, smallest=1.0, largest=3.0)
        """
        is_present = ~np.isnan(values)
        present = values[is_present]
        n_missing = len(values) - len(present)
        if not len(present):
            return cls(n_missing=n_missing)
        ends = float(present.min()), float(present.max())
        if weight is None:
            mean = present.mean()
            squares = np.square(present - mean).sum()
            return cls(len(present), n_missing, float(mean), float(squares), *ends)
        weight = weight[is_present]
        mean = np.average(present, weights=weight)
        squares = np.square(present - mean) @ weight
        return cls(float(weight.sum()), n_missing, float(mean), float(squares), *ends)

    def __add__(self, other: Spread) -> Spread:
        """Combine the summaries of two chunks (Chan, Golub and LeVeque 1983)."""
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
        """Return the standard deviation."""
        return sqrt(self.squares / self.n) if self.n else 0.0

    @property
    def is_constant(self) -> bool:
        """Check whether all values that are not missing are the same, to rounding.

        The standard deviation does not say so: that of a column of 0.1 is 1e-17, not 0.
        """
        largest = max(abs(self.smallest), abs(self.largest))
        return self.n > 0 and self.largest - self.smallest <= ROUNDING * largest


@dataclass(frozen=True)
class Counts:
    """A categorical column: the number of subjects with each level, and of those without."""

    levels: dict[str, float] = field(default_factory=dict)
    n_missing: float = 0

    @classmethod
    def of(cls, levels: Levels, weight: NDArray[np.float64] | None = None) -> Counts:
        """Count the levels of a column, or add up weights; one that no subject has is left out.

        Examples
        --------
        >>> Counts.of(Levels(np.array([0, 1, 0, -1]), ["f", "m"]))
        Counts(levels={'f': 2, 'm': 1}, n_missing=1)
        """
        length = len(levels.text) + 1
        n_missing, *counts = np.bincount(levels.codes + 1, weight, minlength=length).tolist()
        found = zip(levels.text, counts, strict=True)
        return cls({text: count for text, count in found if count}, n_missing)

    def __add__(self, other: Counts) -> Counts:
        """Combine the counts of two chunks."""
        levels = Counter(self.levels) + Counter(other.levels)
        return Counts(dict(levels), self.n_missing + other.n_missing)

    @property
    def n(self) -> float:
        """Count the subjects that have a level."""
        return sum(self.levels.values())

    @property
    def typical(self) -> str | None:
        """Return the level most subjects have, the first in order of several."""
        return max(sorted(self.levels), key=self.levels.__getitem__, default=None)

    @property
    def is_constant(self) -> bool:
        """Check whether all subjects that have a level have the same."""
        return len(self.levels) == 1


Summary = Spread | Counts


def summarise(column: Column, weight: NDArray[np.float64] | None = None) -> Summary:
    """Summarise a column by its kind; ``weight`` is that of each row."""
    if isinstance(column, Levels):
        return Counts.of(column, weight)
    return Spread.of(column, weight)


def nearest_quantiles(
    values: NDArray[np.float64], at: list[float], weight: NDArray[np.float64] | None = None
) -> list[float]:
    """Give the values nearest to some quantiles; a weight counts as so many equal values.

    Examples
    --------
    >>> values = np.array([3.0, 1.0, 2.0])
    >>> nearest_quantiles(values, [0.0, 0.5, 1.0])
    [1.0, 2.0, 3.0]
    >>> nearest_quantiles(values, [0.0, 0.5, 1.0], weight=np.array([1.0, 1.0, 5.0]))
    [1.0, 2.0, 3.0]
    """
    if weight is None:
        found: list[float] = np.quantile(values, at, method="nearest").tolist()
        return found
    order = np.argsort(values, kind="stable")
    # Sums of shares are whole but for rounding, which must not decide between two neighbours.
    before = np.cumsum(weight[order]).round(6)
    place = np.rint(np.array(at) * max(before[-1] - 1, 0))
    first = np.searchsorted(before, place, side="right")
    return values[order[np.minimum(first, len(order) - 1)]].tolist()
