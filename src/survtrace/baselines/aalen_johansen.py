"""The baseline without covariates: the cohort's own incidence, the same for everybody."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from survtrace.baselines.contract import Floats, IncidenceCurves, gained_after
from survtrace.metrics import aalen_johansen
from survtrace.tables.covariates.covariates import open_table
from survtrace.tables.outcome.outcome import read_outcome


class AalenJohansen(IncidenceCurves):
    """Predicts the Aalen-Johansen incidence of the training rows, whatever the covariates.

    Takes late entry and start-stop rows.

    Examples
    --------
    >>> y = {"event": [1, 0, 2, 1], "duration": [1, 2, 3, 4]}
    >>> est = AalenJohansen().fit({"age": [50, 60, 70, 80]}, y)
    >>> est.predict_cumulative_incidence({"age": [55]}, times=[1.0], cause=1)
    array([[0.25]])
    """

    def fit(self, X: Any, y: Any) -> Self:
        """Estimate the incidence of each cause."""
        outcome = read_outcome(y)
        self.causes_ = list(outcome.causes)
        self.incidence_ = aalen_johansen(outcome)
        return self

    def _rows(self, X: Any) -> Floats:
        return np.empty((len(open_table(X)), 0))  # nothing of a subject counts

    def _incidence(self, rows: Floats, times: Floats) -> Floats:
        curve = self.incidence_.at(times)
        return np.broadcast_to(curve, (len(rows), *curve.shape))

    def _incidence_after(self, rows: Floats, times: Floats, after: float) -> Floats:
        curve = gained_after(self.incidence_.at(np.append(times, after)), times, after)
        return np.broadcast_to(curve, (len(rows), *curve.shape))
