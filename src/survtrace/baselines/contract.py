"""What every baseline has in common: how it reads tables and outcomes, the shape of its curves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from survtrace.baselines.design import Design
from survtrace.errors import DataError, require
from survtrace.tables.outcome.outcome import (
    Outcome,
    informative,
    read_outcome,
    require_same_subjects,
)

Floats = NDArray[np.float64]


class Baseline(ABC):
    """Raw tables in, curves out; a subclass says how to fit and what the incidences are.

    Settings of a baseline are fields of a dataclass; those of all baselines are described here.

    Attributes
    ----------
    search_space
        For each setting worth tuning, the values a fair comparison tries; their product is
        small (4 to 8 combinations).
    categorical
        Columns to treat as categorical whatever their dtype.
    pool_below, max_columns
        Levels with fewer training subjects share one column; so do further ones, the rarest
        first, until there are no more columns than that. By default nothing is pooled.
    causes_
        Labels of the causes, sorted.
    """

    search_space: ClassVar[dict[str, tuple[Any, ...]]] = {}
    categorical: Sequence[str | int] | None
    pool_below: int = 1
    max_columns: int | None = None

    def fit(self, X: Any, y: Any) -> Self:
        """Fit to a raw table and its outcome; subjects censored at 0 are left out."""
        outcome = read_outcome(y)
        self.design_ = Design(X, self.categorical, self.pool_below, self.max_columns)
        design = self.design_.matrix(X)
        require_same_subjects(len(design), outcome)
        followed = informative(outcome)
        self.causes_ = list(outcome.causes)
        self._fit(design[followed], outcome.take(followed))
        return self

    def predict_cumulative_incidence(self, X: Any, times: ArrayLike, cause: Any = None) -> Floats:
        """Shape (subject, cause, time), or (subject, time) for one cause."""
        incidence = self._incidence(self.design_.matrix(X), np.asarray(times, dtype=np.float64))
        return incidence if cause is None else incidence[:, self.causes_.index(cause)]

    def predict_survival_function(self, X: Any, times: ArrayLike) -> Floats:
        """Shape (subject, time)."""
        return 1 - self.predict_cumulative_incidence(X, times).sum(axis=1)

    @abstractmethod
    def _fit(self, design: Floats, outcome: Outcome) -> None:
        """Learn from the numbers of the training subjects."""

    @abstractmethod
    def _incidence(self, design: Floats, times: Floats) -> Floats:
        """Shape (subject, cause, time)."""


class OneCauseBaseline(Baseline):
    """A baseline that knows one cause only; `CauseSpecific` makes several of them into one."""

    def fit(self, X: Any, y: Any) -> Self:
        """Fit to a raw table and its outcome; subjects censored at 0 are left out."""
        outcome = read_outcome(y)
        if len(outcome.causes) > 1:
            name = type(self).__name__
            raise DataError(
                f"{name} takes one cause; y has {list(outcome.causes)}. "
                f"Use CauseSpecific({name}), which fits one for each."
            )
        if not outcome.event.any():
            raise DataError(
                f"{type(self).__name__} needs at least one event; none of {len(outcome)} subjects "
                f"has one of {outcome.causes[0]!r}. Give it more rows."
            )
        return super().fit(X, outcome)

    def _incidence(self, design: Floats, times: Floats) -> Floats:
        return 1 - self._survival(design, times)[:, np.newaxis]

    @abstractmethod
    def _survival(self, design: Floats, times: Floats) -> Floats:
        """Shape (subject, time)."""


def library(module: str) -> Any:
    """Import a module of an optional library, or say how to install it."""
    return require(module, "baselines", "this baseline needs")


def linear_values(knots: Floats, curves: Floats, times: Floats) -> Floats:
    """Curves (..., knot) that are linear between their knots, read at times; constant outside.

    Examples
    --------
    >>> linear_values(np.array([0.0, 2.0]), np.array([0.0, 1.0]), np.array([0.5, 9.0]))
    array([0.25, 1.  ])
    """
    place = np.clip(np.searchsorted(knots, times, side="right"), 1, len(knots) - 1)
    left, right = knots[place - 1], knots[place]
    share = np.clip((times - left) / (right - left), 0.0, 1.0)
    return curves[..., place - 1] * (1 - share) + curves[..., place] * share


def in_chunks(rows: Any, size: int) -> Iterator[Any]:
    """Yield the rows, ``size`` at a time, so that whole curves of a large table fit in memory."""
    for first in range(0, len(rows), size):
        yield rows[first : first + size]
