"""What every baseline has in common: how it reads tables and outcomes, the shape of its curves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from survtrace.baselines.design import Design
from survtrace.errors import DataError, require
from survtrace.rules import find_cause
from survtrace.tables.outcome.outcome import (
    Outcome,
    read_outcome,
    require_same_subjects,
)
from survtrace.tables.outcome.outcome_warnings import informative

Floats = NDArray[np.float64]
LEAST_SURVIVAL = 1e-300  # whose logarithm is still finite


class IncidenceCurves(ABC):
    """What every baseline predicts: the incidence of each cause, and survival, from any time on."""

    causes_: list[Any]

    def predict_cumulative_incidence(
        self,
        X: Any,
        times: ArrayLike,
        cause: Any = None,
        *,
        conditional_after: ArrayLike | None = None,
    ) -> Floats:
        """Predict incidences, shape (subject, cause, time), or (subject, time) for one cause.

        ``conditional_after``: a time, or one for each subject, at which it is known to be
        event-free; the curve is then its future.
        """
        place = None if cause is None else find_cause(cause, self.causes_)
        rows, asked = self._rows(X), np.asarray(times, dtype=np.float64)
        if conditional_after is None:
            incidence = self._incidence(rows, asked)
        else:
            incidence = by_landmark(self._incidence_after, rows, asked, conditional_after)
        return incidence if place is None else incidence[:, place]

    def predict_survival_function(
        self, X: Any, times: ArrayLike, *, conditional_after: ArrayLike | None = None
    ) -> Floats:
        """Predict survival, shape (subject, time); ``conditional_after`` as for incidences."""
        after = conditional_after
        return 1 - self.predict_cumulative_incidence(X, times, conditional_after=after).sum(axis=1)

    @abstractmethod
    def _rows(self, X: Any) -> Any:
        """Return what is predicted from, of each subject."""

    @abstractmethod
    def _incidence(self, rows: Any, times: Floats) -> Floats:
        """Compute incidences, shape (subject, cause, time)."""

    @abstractmethod
    def _incidence_after(self, rows: Any, times: Floats, after: float) -> Floats:
        """Compute the incidence of those event-free at ``after``, the same shape."""


class Baseline(IncidenceCurves):
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
    from_start_only
        Why the baseline takes nobody who enters late and one row for each subject; None where it
        takes entry and start-stop rows.
    causes_
        Labels of the causes, sorted.
    """

    search_space: ClassVar[dict[str, tuple[Any, ...]]] = {}
    from_start_only: ClassVar[str | None] = "it takes everybody as seen from 0 on"
    categorical: Sequence[str | int] | None
    pool_below: int = 1
    max_columns: int | None = None

    def fit(self, X: Any, y: Any) -> Self:
        """Fit to a raw table and its outcome; subjects censored at 0 are left out."""
        outcome = read_outcome(y)
        self._require_from_start(outcome)
        self.design_ = Design(X, self.categorical, self.pool_below, self.max_columns)
        design = self.design_.matrix(X)
        require_same_subjects(len(design), outcome)
        followed = informative(outcome)
        self.causes_ = list(outcome.causes)
        self._fit(design[followed], outcome.take(followed))
        return self

    def _rows(self, X: Any) -> Floats:
        return self.design_.matrix(X)

    def _require_from_start(self, outcome: Outcome) -> None:
        if self.from_start_only is None or (outcome.entry is None and not outcome.is_start_stop):
            return
        n_late = 0 if outcome.entry is None else int((outcome.entry > 0).sum())
        seen = "start-stop rows" if outcome.is_start_stop else "rows with entry"
        raise DataError(
            f"{type(self).__name__} takes one row for each subject, seen from 0 on: "
            f"{self.from_start_only}. y has {len(outcome)} {seen}, {n_late} of which begin "
            "after 0. Use CauseSpecificCox or CoxPH, which take them; or predict from one time s "
            "on: the rows of survtrace.landmark(table, at=[s]), with durations counted from s."
        )

    @abstractmethod
    def _fit(self, design: Floats, outcome: Outcome) -> None:
        """Learn from the numbers of the training subjects."""

    def _incidence_after(self, design: Floats, times: Floats, after: float) -> Floats:
        """Compute incidences of those event-free at ``after``: the gain since, over those left."""
        return gained_after(self._incidence(design, np.append(times, after)), times, after)


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

    def predict_cumulative_hazard_function(self, X: Any, times: ArrayLike) -> Floats:
        """Predict cumulative hazards, shape (subject, time)."""
        return self._hazard(self.design_.matrix(X), np.asarray(times, dtype=np.float64))

    def _incidence(self, design: Floats, times: Floats) -> Floats:
        return 1 - self._survival(design, times)[:, np.newaxis]

    def _hazard(self, design: Floats, times: Floats) -> Floats:
        """Compute the cumulative hazard, shape (subject, time)."""
        return -np.log(np.maximum(self._survival(design, times), LEAST_SURVIVAL))

    @abstractmethod
    def _survival(self, design: Floats, times: Floats) -> Floats:
        """Predict survival, shape (subject, time)."""


def library(module: str) -> Any:
    """Import a module of an optional library, or say how to install it."""
    return require(module, "baselines", "this baseline needs")


def linear_values(knots: Floats, curves: Floats, times: Floats) -> Floats:
    """Read curves (..., knot), linear between their knots and constant outside, at times.

    Examples
    --------
    >>> linear_values(np.array([0.0, 2.0]), np.array([0.0, 1.0]), np.array([0.5, 9.0]))
    array([0.25, 1.  ])
    """
    place = np.clip(np.searchsorted(knots, times, side="right"), 1, len(knots) - 1)
    left, right = knots[place - 1], knots[place]
    share = np.clip((times - left) / (right - left), 0.0, 1.0)
    return curves[..., place - 1] * (1 - share) + curves[..., place] * share


def gained_after(incidence: Floats, times: Floats, after: float) -> Floats:
    """Compute incidences from a time on, of (..., cause, time) with that time in the last column.

    Examples
    --------
    >>> gained_after(np.array([[[0.1, 0.75, 0.5]]]), np.array([1.0, 9.0]), 4.0).tolist()
    [[[0.0, 0.5]]]
    """
    before = incidence[..., -1:]
    left = np.maximum(1 - before.sum(axis=-2, keepdims=True), LEAST_SURVIVAL)
    gained = np.where(times > after, incidence[..., :-1] - before, 0.0)
    return np.clip(gained / left, 0.0, 1.0)


def by_landmark(
    curves: Callable[[Any, Floats, float], Floats], rows: Any, times: Floats, after: ArrayLike
) -> Floats:
    """Return curves of rows, each from its own time on: one call for all rows of the same time."""
    start = np.asarray(after, dtype=np.float64)
    n_rows = len(rows)
    if start.shape not in ((), (n_rows,)) or not (np.isfinite(start) & (start >= 0)).all():
        raise DataError(
            "conditional_after must be a time of zero or more, or one for each of the "
            f"{n_rows} subjects; got {after!r}."
        )
    if start.ndim == 0:
        return curves(rows, times, float(start))
    found, group = np.unique(start, return_inverse=True)
    members = [np.flatnonzero(group == number) for number in range(len(found))]
    parts = [curves(rows[some], times, float(s)) for some, s in zip(members, found, strict=True)]
    return np.concatenate(parts)[np.argsort(np.concatenate(members))]


def in_chunks(rows: Any, size: int) -> Iterator[Any]:
    """Yield the rows, ``size`` at a time, so that whole curves of a large table fit in memory."""
    for first in range(0, len(rows), size):
        yield rows[first : first + size]
