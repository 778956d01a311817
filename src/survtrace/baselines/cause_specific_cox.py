"""A Cox regression per cause (scikit-survival's), combined into coherent incidences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from survtrace.data.covariates import infer_covariates, open_table
from survtrace.data.encoding import learn_encoding
from survtrace.data.outcome import read_outcome


class CauseSpecificCox:
    """Linear proportional hazards for each cause, the other causes taken as censored.

    Covariates come raw, as for SurvTRACE: standardised, one-hot, missing values as a level.
    The hazards are combined by the product limit, so survival and incidences sum to 1.

    Parameters
    ----------
    ridge
        Penalty on the coefficients, which keeps rare levels finite.
    categorical
        Columns to treat as categorical whatever their dtype.
    """

    def __init__(
        self, *, ridge: float = 1.0, categorical: Sequence[str | int] | None = None
    ) -> None:
        self.ridge = ridge
        self.categorical = categorical

    def fit(self, X: Any, y: Any) -> Self:
        """Fit a Cox regression for each cause."""
        from sksurv.linear_model import CoxPHSurvivalAnalysis

        outcome, table = read_outcome(y), open_table(X)
        self.causes_ = list(outcome.causes)
        self.encoding_ = learn_encoding(table, infer_covariates(table, self.categorical))
        design = self._design(X)
        self.event_times_ = np.unique(outcome.duration[outcome.event > 0])
        self.coefficients_, self.baseline_steps_ = [], []
        for cause in range(1, len(self.causes_) + 1):
            target = np.empty(len(outcome), dtype=[("event", bool), ("duration", float)])
            target["event"], target["duration"] = outcome.event == cause, outcome.duration
            cox = CoxPHSurvivalAnalysis(alpha=self.ridge, ties="breslow").fit(design, target)
            self.coefficients_.append(cox.coef_)
            cumulative = cox.cum_baseline_hazard_(self.event_times_)
            self.baseline_steps_.append(np.diff(cumulative, prepend=0.0))
        return self

    def predict_cumulative_incidence(
        self, X: Any, times: ArrayLike, cause: Any = None
    ) -> NDArray[np.float64]:
        """Shape (subject, cause, time), or (subject, time) for one cause."""
        asked = np.asarray(times, dtype=np.float64)
        place = np.searchsorted(self.event_times_, asked, side="right")
        curves = [self._incidence(row)[:, place] for row in self._design(X)]
        incidence = np.stack(curves)
        return incidence if cause is None else incidence[:, self.causes_.index(cause)]

    def predict_survival_function(self, X: Any, times: ArrayLike) -> NDArray[np.float64]:
        """Shape (subject, time)."""
        return 1 - self.predict_cumulative_incidence(X, times).sum(axis=1)

    def _design(self, X: Any) -> NDArray[np.float64]:
        encoded = self.encoding_.encode(open_table(X))
        return encoded.design(int(self.encoding_.first_rows[-1])).toarray().astype(np.float64)

    def _incidence(self, row: NDArray[np.float64]) -> NDArray[np.float64]:
        """Incidence of each cause just after each event time, with 0 in front."""
        steps = np.stack(
            [
                np.exp(row @ coefficients) * baseline
                for coefficients, baseline in zip(
                    self.coefficients_, self.baseline_steps_, strict=True
                )
            ]
        )
        total = steps.sum(axis=0)
        survival = np.exp(-np.cumsum(total))
        before = np.concatenate([[1.0], survival[:-1]])
        share = np.divide(steps, total, out=np.zeros_like(steps), where=total > 0)
        gained = np.cumsum(share * (before - survival), axis=1)
        return np.pad(gained, ((0, 0), (1, 0)))
