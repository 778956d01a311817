"""comprisk's forest and Fine-Gray regression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from survtrace.baselines.contract import Baseline, Floats, in_chunks, library
from survtrace.baselines.design import independent_columns
from survtrace.errors import TrainingError
from survtrace.tables.outcome.outcome import Outcome


@dataclass(kw_only=True, eq=False)
class CompetingRiskForest(Baseline):
    """Trees split by a log-rank test over all causes, with Aalen-Johansen leaves; any causes.

    Parameters
    ----------
    n_estimators, max_depth, min_samples_leaf, max_features
        As in comprisk.
    categorical
        As for `Baseline`.
    n_jobs, random_state
        Trees grown at the same time, and seed.
    """

    search_space: ClassVar = {"min_samples_leaf": (3, 15, 50), "max_features": ("sqrt", 0.5)}
    from_start_only: ClassVar = "comprisk counts everybody as at risk from 0 on"

    n_estimators: int = 200
    max_depth: int | None = 15
    min_samples_leaf: int = 15
    max_features: str | int | float | None = "sqrt"
    categorical: Sequence[str | int] | None = None
    n_jobs: int = 1
    random_state: int | None = None

    def _fit(self, design: Floats, outcome: Outcome) -> None:
        self.forest_ = library("comprisk").CompetingRiskForest(
            n_estimators=self.n_estimators,
            max_depth=self.max_depth,
            min_samples_leaf=self.min_samples_leaf,
            min_samples_split=2 * self.min_samples_leaf,
            max_features=self.max_features,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
        )
        self.forest_.fit(design, outcome.duration, outcome.event)

    def _incidence(self, design: Floats, times: Floats) -> Floats:
        curves = [self.forest_.predict_cif(some, times) for some in in_chunks(design, 2000)]
        return np.concatenate(curves)


@dataclass(kw_only=True, eq=False)
class FineGray(Baseline):
    """A proportional subdistribution hazard for each cause.

    The causes are fitted apart, so their incidences may sum to more than 1; they are handed on
    as they are, and survival, 1 minus their sum, stops at 0.

    Parameters
    ----------
    ridge
        Penalty on the standardised coefficients (per subject), which keeps rare levels finite;
        0 for none, as in R's cmprsk.
    max_iter
        Newton steps without penalty, coordinate sweeps with one.
    categorical
        As for `Baseline`.
    """

    search_space: ClassVar = {"ridge": (1e-4, 1e-3, 1e-2, 1e-1)}
    from_start_only: ClassVar = (
        "comprisk's weights are for censoring, not for entry (Geskus 2011), and no covariate of "
        "those who had the other event is known later"
    )

    ridge: float = 1e-3
    max_iter: int = 1000
    categorical: Sequence[str | int] | None = None

    def _fit(self, design: Floats, outcome: Outcome) -> None:
        self.columns_ = independent_columns(design)
        chosen = design[:, self.columns_]
        with np.errstate(all="ignore"):
            self.regressions_ = [
                self._regression(number).fit(chosen, time=outcome.duration, event=outcome.event)
                for number in range(1, len(outcome.causes) + 1)
            ]
        if not all(np.isfinite(each.coef_).all() for each in self.regressions_):
            raise TrainingError("Fine-Gray's coefficients are not finite; raise ridge.")

    def _regression(self, number: int) -> Any:
        comprisk = library("comprisk")
        if self.ridge == 0:
            return comprisk.FineGrayRegression(cause=number, max_iter=self.max_iter)
        return comprisk.PenalizedFineGrayRegression(
            cause=number, penalty="ridge", lambdas=[self.ridge], max_iter=self.max_iter
        )

    def predict_survival_function(
        self, X: Any, times: ArrayLike, *, conditional_after: ArrayLike | None = None
    ) -> Floats:
        """Predict survival, shape (subject, time); ``conditional_after`` as for incidences."""
        survival = super().predict_survival_function(X, times, conditional_after=conditional_after)
        return np.maximum(survival, 0.0)

    def _incidence(self, design: Floats, times: Floats) -> Floats:
        chosen = design[:, self.columns_]
        curves = [each.predict_cumulative_incidence(chosen, times) for each in self.regressions_]
        return np.stack(curves, axis=1)
