"""Landmarks of a report, and an estimator asked about subjects from a landmark on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from survtrace.inference.landmark_score import integration_times
from survtrace.metrics import CensoringSurvival
from survtrace.metrics.censoring import of_same_kind, read_weights
from survtrace.tables.landmarks import after_landmark, at_risk
from survtrace.tables.outcome.outcome import Outcome

Floats = NDArray[np.float64]
PLACES = (0.2, 0.4, 0.6)  # landmarks among the event times: some before, many still to come
FEWEST_EVENTS = 10  # after a landmark, of those under observation at it
HIDDEN = ("censoring_", "score_times_")  # count from the origin, not from the landmark


def choose_landmarks(outcome: Outcome) -> list[float]:
    """Choose up to three landmarks, round numbers, after which enough events come.

    Examples
    --------
    >>> n = np.arange(1, 101)
    >>> y = Outcome(n + 50.0, np.ones(100, dtype=np.int64), (1,), entry=np.full(100, 50.0))
    >>> choose_landmarks(y)
    [71.0, 91.0, 110.0]
    """
    times = outcome.duration[outcome.event > 0]
    found = []
    for time in np.quantile(times, PLACES).tolist():
        landmark = float(f"{time:.2g}")
        ends = outcome.take(at_risk(outcome, landmark).last)
        if landmark not in found and (ends.event > 0).sum() >= FEWEST_EVENTS:
            found.append(landmark)
    return found


class AtLandmark:
    """An estimator asked about subjects event-free at a landmark, in times counted from it."""

    def __init__(self, est: Any, landmark: float) -> None:
        self.est, self.landmark = est, landmark

    def __getattr__(self, name: str) -> Any:
        if name in HIDDEN:
            raise AttributeError(name)
        return getattr(self.est, name)

    def predict_cumulative_incidence(
        self, X: Any, times: ArrayLike, cause: Any = None, **how: Any
    ) -> Any:
        """Predict incidences at times counted from the landmark."""
        asked = self.landmark + np.asarray(times, dtype=np.float64)
        return self.est.predict_cumulative_incidence(
            X, asked, cause, conditional_after=self.landmark, **how
        )

    def predict_survival_function(self, X: Any, times: ArrayLike, **how: Any) -> Any:
        """Predict survival at times counted from the landmark."""
        asked = self.landmark + np.asarray(times, dtype=np.float64)
        return self.est.predict_survival_function(X, asked, conditional_after=self.landmark, **how)

    def predict_interval(self, X: Any, times: ArrayLike, cause: Any = None, **how: Any) -> Any:
        """Predict intervals at times counted from the landmark."""
        asked = self.landmark + np.asarray(times, dtype=np.float64)
        return self.est.predict_interval(X, asked, cause, conditional_after=self.landmark, **how)


class View(NamedTuple):
    """Subjects as they are looked at, and the estimator asked in their times.

    ``weights`` give the scores' censoring weights, ``grid`` the times of the integrated Brier
    score.
    """

    est: Any
    X: pd.DataFrame
    outcome: Outcome
    weights: CensoringSurvival | Outcome
    grid: Floats


def look(est: Any, X: pd.DataFrame, outcome: Outcome, landmark: float | None) -> View:
    """Look at all subjects from the start, or at those under observation at a landmark from it."""
    if landmark is None:
        weights = of_same_kind(est.censoring_, outcome) or outcome
        usable = read_weights(weights, outcome).censoring.usable(est.score_times_)
        return View(est, X, outcome, weights, usable)
    rows, future = after_landmark(outcome, landmark)
    grid = integration_times(est, future, landmark, None)
    return View(AtLandmark(est, landmark), X.iloc[rows], future, future, grid)
