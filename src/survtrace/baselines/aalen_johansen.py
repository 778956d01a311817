"""The baseline without covariates: the cohort's own incidence, the same for everybody."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from survtrace.metrics import aalen_johansen
from survtrace.tables.covariates.covariates import open_table
from survtrace.tables.outcome.outcome import read_outcome


class AalenJohansen:
    """Predicts the Aalen-Johansen incidence of the training rows, whatever the covariates.

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

    def predict_cumulative_incidence(
        self, X: Any, times: ArrayLike, cause: Any = None
    ) -> NDArray[np.float64]:
        """Shape (subject, cause, time), or (subject, time) for one cause."""
        chosen = slice(None) if cause is None else self.causes_.index(cause)
        curve = self.incidence_.at(np.asarray(times, dtype=np.float64))[chosen]
        return np.broadcast_to(curve, (len(open_table(X)), *curve.shape))

    def predict_survival_function(self, X: Any, times: ArrayLike) -> NDArray[np.float64]:
        """Shape (subject, time)."""
        return 1 - self.predict_cumulative_incidence(X, times).sum(axis=1)
