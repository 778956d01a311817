"""Several one-cause baselines, one per cause, combined into coherent incidences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np

from survtrace.baselines.contract import Floats, IncidenceCurves, OneCauseBaseline, in_chunks
from survtrace.baselines.cox import CoxPH
from survtrace.tables.covariates.covariates import open_table
from survtrace.tables.outcome.outcome import read_outcome

CHUNK_NUMBERS = 4_000_000  # hazards held at a time


class CauseSpecific(IncidenceCurves):
    """Fits one baseline per cause, the other causes taken as censored, and combines their hazards.

    The cumulative hazard of a cause is minus the logarithm of its baseline's survival; survival and
    incidences then sum to 1. Takes late entry and start-stop rows where the baseline does: `CoxPH`.

    Parameters
    ----------
    factory
        A one-cause baseline, such as ``CoxPH``.
    n_grid
        Combine hazards at this many quantiles of the event times; None at all of them. Between
        two points the causes keep their shares of the hazard, so that a few hundred say nearly
        the same in much less time.
    settings
        What the baselines are made with.

    Examples
    --------
    >>> y = {"event": [1, 0, 2, 1, 2], "duration": [1.0, 2.0, 3.0, 4.0, 5.0]}
    >>> X = {"age": [50.0, 60.0, 70.0, 80.0, 60.0]}
    >>> est = CauseSpecific(CoxPH, ridge=1.0).fit(X, y)
    >>> est.predict_cumulative_incidence(X, times=[1.0, 3.0]).shape
    (5, 2, 2)
    """

    def __init__(
        self,
        factory: Callable[..., OneCauseBaseline],
        *,
        n_grid: int | None = None,
        **settings: Any,
    ) -> None:
        self.factory = factory
        self.n_grid = n_grid
        self.settings = settings

    @property
    def search_space(self) -> dict[str, tuple[Any, ...]]:
        """Return the settings worth tuning: those of the baseline."""
        return getattr(self.factory, "search_space", {})

    def fit(self, X: Any, y: Any) -> Self:
        """Fit a baseline for each cause."""
        outcome = read_outcome(y)
        self.causes_ = list(outcome.causes)
        event_times = outcome.duration[outcome.event > 0]
        if self.n_grid is not None:
            shares = np.arange(1, self.n_grid + 1) / self.n_grid
            event_times = np.quantile(event_times, shares, method="higher")
        self.event_times_ = np.unique(event_times)
        self.estimators_ = [
            self.factory(**self.settings).fit(
                X,
                replace(outcome, event=(outcome.event == number).astype(np.int64), causes=(label,)),
            )
            for number, label in enumerate(outcome.causes, start=1)
        ]
        return self

    def _rows(self, X: Any) -> Any:
        return open_table(X)

    def _incidence(self, rows: Any, times: Floats) -> Floats:
        return self._incidence_after(rows, times, 0.0)

    def _incidence_after(self, rows: Any, times: Floats, after: float) -> Floats:
        width = len(self.causes_) * (len(self.event_times_) + len(times))
        chunks = in_chunks(rows, max(1, min(1000, CHUNK_NUMBERS // width)))
        return np.concatenate([self._chunk_incidence(chunk, times, after) for chunk in chunks])

    def _chunk_incidence(self, X: Any, times: Floats, after: float) -> Floats:
        grid = self.event_times_
        grid = grid[(grid > after) & (grid <= times.max(initial=after))]
        every = np.concatenate([grid, times, [after]])
        hazard = np.stack(
            [est.predict_cumulative_hazard_function(X, every) for est in self.estimators_], axis=1
        )
        # Hazards since the landmark: survival until then may be too small for a float.
        hazard = np.maximum(hazard[..., :-1] - hazard[..., -1:], 0.0)
        at_grid, at_times = hazard[..., : len(grid)], hazard[..., len(grid) :]
        return incidence_of_hazards(grid, at_grid, times, at_times)


class CauseSpecificCox(CauseSpecific):
    """A Cox regression for each cause, combined into coherent incidences.

    Parameters
    ----------
    ridge
        Penalty on the coefficients, which keeps rare levels finite; "search" chooses one for
        each cause by cross-validation on the training rows.
    categorical, pool_below, max_columns, n_grid
        As for `Baseline` and `CauseSpecific`.
    """

    def __init__(
        self,
        *,
        ridge: float | str = 1.0,
        categorical: Sequence[str | int] | None = None,
        pool_below: int = 1,
        max_columns: int | None = None,
        n_grid: int | None = None,
    ) -> None:
        pooling = {"pool_below": pool_below, "max_columns": max_columns}
        super().__init__(CoxPH, n_grid=n_grid, ridge=ridge, categorical=categorical, **pooling)

    @property
    def coefficients_(self) -> list[Floats]:
        """The coefficients of each cause."""
        return [est.coefficients_ for est in self.estimators_ if isinstance(est, CoxPH)]

    @property
    def ridges_(self) -> list[float]:
        """The ridge of each cause, given or chosen."""
        return [est.ridge_ for est in self.estimators_ if isinstance(est, CoxPH)]


def incidence_of_hazards(grid: Floats, at_grid: Floats, times: Floats, at_times: Floats) -> Floats:
    """Compute the incidence of each cause, shape (subject, cause, time).

    Between two points survival falls by what all hazards together say, and each cause takes
    the share of the fall that it has of the hazard. Survival and incidences so sum to 1 at
    every time, and each incidence grows.

    Parameters
    ----------
    grid, at_grid
        Times fine enough for the shares to be constant in between, and the cumulative hazards
        there, shape (subject, cause, grid).
    times, at_times
        Times asked, and the cumulative hazards there, shape (subject, cause, time).

    Examples
    --------
    >>> grid, hazard = np.array([1.0, 2.0]), np.array([[[0.1, 0.4], [0.1, 0.2]]])
    >>> incidence = incidence_of_hazards(grid, hazard, grid, hazard)
    >>> np.round(incidence, 3).tolist()
    [[[0.091, 0.293], [0.091, 0.158]]]
    >>> bool(np.allclose(1 - incidence.sum(axis=1), np.exp(-hazard.sum(axis=1))))
    True
    """
    knots = np.pad(at_grid, ((0, 0), (0, 0), (1, 0)))
    gained = np.pad(_gain(knots[..., :-1], at_grid), ((0, 0), (0, 0), (1, 0))).cumsum(axis=-1)
    place = np.searchsorted(grid, times, side="right")
    return gained[..., place] + _gain(knots[..., place], at_times)


def _gain(before: Floats, after: Floats) -> Floats:
    """Compute what each incidence gains while the cumulative hazards go from before to after."""
    steps = np.maximum(after - before, 0.0)
    total = steps.sum(axis=1, keepdims=True)
    fall = np.exp(-before.sum(axis=1, keepdims=True)) * -np.expm1(-total)
    share = np.divide(steps, total, out=np.zeros_like(steps), where=total > 0)
    return share * fall
