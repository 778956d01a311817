"""Cox's proportional hazards (scikit-survival's), with a ridge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from survtrace.baselines.contract import Floats, OneCauseBaseline, library, step_values
from survtrace.data.outcome import Outcome


class CoxPH(OneCauseBaseline):
    """Linear proportional hazards with Breslow's baseline, for one cause.

    Parameters
    ----------
    ridge
        Penalty on the coefficients, which keeps rare levels finite.
    categorical
        Columns to treat as categorical whatever their dtype.
    """

    search_space: ClassVar = {"ridge": (0.01, 1.0, 10.0, 100.0)}

    def __init__(
        self, *, ridge: float = 1.0, categorical: Sequence[str | int] | None = None
    ) -> None:
        self.ridge = ridge
        self.categorical = categorical

    def _fit(self, design: Floats, outcome: Outcome) -> None:
        sksurv = library("sksurv.linear_model")
        cox = sksurv.CoxPHSurvivalAnalysis(alpha=self.ridge, ties="breslow")
        cox.fit(design, sksurv_target(outcome))
        self.coefficients_: Floats = cox.coef_
        # scikit-survival keeps a knot at every duration; the hazard only moves at events.
        self.event_times_ = np.unique(outcome.duration[outcome.event > 0])
        self.baseline_hazard_: Floats = cox.cum_baseline_hazard_(self.event_times_)

    def _survival(self, design: Floats, times: Floats) -> Floats:
        baseline = step_values(self.event_times_, self.baseline_hazard_, times, 0.0)
        return np.exp(-np.exp(design @ self.coefficients_)[:, np.newaxis] * baseline)


def sksurv_target(outcome: Outcome) -> NDArray[np.void]:
    """The outcome as scikit-survival reads it."""
    target = np.empty(len(outcome), dtype=[("event", bool), ("duration", float)])
    target["event"], target["duration"] = outcome.event > 0, outcome.duration
    return target
