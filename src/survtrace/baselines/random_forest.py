"""Random survival forest (scikit-survival's)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from survtrace.baselines.contract import Floats, OneCauseBaseline, in_chunks, library
from survtrace.baselines.cox import sksurv_target
from survtrace.metrics import StepFunction
from survtrace.tables.outcome.outcome import Outcome


@dataclass(kw_only=True, eq=False)
class RandomSurvivalForest(OneCauseBaseline):
    """Trees split by the log-rank test, for one cause.

    Each leaf keeps a curve with a value at every distinct duration, so memory grows with leaves
    times durations; ``n_times`` bounds the second, ``min_samples_leaf`` and ``max_samples`` the
    first. Curves are predicted a few subjects at a time.

    Parameters
    ----------
    n_estimators, min_samples_leaf, max_features, max_samples
        As in scikit-survival.
    n_times
        Round durations up to this many quantiles of the training events; None keeps them all.
    categorical, pool_below, max_columns
        As for `Baseline`.
    n_jobs, random_state
        Trees grown at the same time, and seed.
    """

    search_space: ClassVar = {"min_samples_leaf": (3, 15, 50), "max_features": ("sqrt", 0.5)}
    from_start_only: ClassVar = "scikit-survival's trees count everybody as at risk from 0 on"

    n_estimators: int = 200
    min_samples_leaf: int = 15
    max_features: str | int | float | None = "sqrt"
    max_samples: int | float | None = None
    n_times: int | None = 200
    categorical: Sequence[str | int] | None = None
    pool_below: int = 1
    max_columns: int | None = None
    n_jobs: int | None = None
    random_state: int | None = None

    def _fit(self, design: Floats, outcome: Outcome) -> None:
        if self.n_times is not None:
            outcome = coarsened(outcome, self.n_times)
        self.forest_ = library("sksurv.ensemble").RandomSurvivalForest(
            n_estimators=self.n_estimators,
            min_samples_leaf=self.min_samples_leaf,
            max_features=self.max_features,
            max_samples=self.max_samples,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
        )
        self.forest_.fit(design, sksurv_target(outcome))

    def _survival(self, design: Floats, times: Floats) -> Floats:
        knots, predict = self.forest_.unique_times_, self.forest_.predict_survival_function
        curves = [
            StepFunction(knots, predict(some, return_array=True), initial=1.0).at(times)
            for some in in_chunks(design, 500)
        ]
        return np.concatenate(curves)


def coarsened(outcome: Outcome, n_times: int) -> Outcome:
    """Return durations rounded up to quantiles of the event times; later censoring at the last one.

    Examples
    --------
    >>> outcome = Outcome(np.array([1.0, 2, 3, 4, 9]), np.array([1, 1, 0, 1, 0]), (1,))
    >>> coarsened(outcome, 2).duration.tolist()
    [2.0, 2.0, 4.0, 4.0, 9.0]
    """
    shares = np.arange(1, n_times + 1) / n_times
    event_times = outcome.duration[outcome.event > 0]
    knots = np.unique(np.quantile(event_times, shares, method="higher"))
    last = outcome.duration.max()
    if last > knots[-1]:
        knots = np.append(knots, last)
    duration = knots[np.searchsorted(knots, outcome.duration, side="left")]
    return Outcome(duration, outcome.event, outcome.causes)
