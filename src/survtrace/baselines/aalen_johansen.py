"""The baseline without covariates: the cohort's own incidence, the same for everybody."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from survtrace.baselines.contract import Floats, by_landmark, gained_after
from survtrace.metrics import aalen_johansen
from survtrace.tables.covariates.covariates import open_table
from survtrace.tables.outcome.outcome import read_outcome


class AalenJohansen:
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

    def predict_cumulative_incidence(
        self,
        X: Any,
        times: ArrayLike,
        cause: Any = None,
        *,
        conditional_after: ArrayLike | None = None,
    ) -> Floats:
        """Shape (subject, cause, time), or (subject, time) for one cause.

        ``conditional_after``: a time, or one for each subject, at which it is known to be
        event-free; the curve is then its future.
        """
        after = 0.0 if conditional_after is None else conditional_after
        nobody = np.empty((len(open_table(X)), 0))
        asked = np.asarray(times, dtype=np.float64)
        incidence = by_landmark(self._incidence_after, nobody, asked, after)
        return incidence if cause is None else incidence[:, self.causes_.index(cause)]

    def predict_survival_function(
        self, X: Any, times: ArrayLike, *, conditional_after: ArrayLike | None = None
    ) -> Floats:
        """Shape (subject, time); ``conditional_after`` as for incidences."""
        after = conditional_after
        return 1 - self.predict_cumulative_incidence(X, times, conditional_after=after).sum(axis=1)

    def _incidence_after(self, rows: Floats, times: Floats, after: float) -> Floats:
        curve = self.incidence_.at(np.append(times, after))
        curve = gained_after(curve, times, after) if after > 0 else curve[..., :-1]
        return np.broadcast_to(curve, (len(rows), *curve.shape))
