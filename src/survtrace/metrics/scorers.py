"""Scores in the form scikit-learn's model selection calls them: ``scorer(estimator, X, y)``.

Every scorer is "higher is better", asks the estimator only for ``predict_cumulative_incidence``,
and weights by the estimator's ``censoring_`` (the censoring survival of its training subjects)
where it has one. For ``cause=None`` the result is the mean over causes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from survtrace.errors import DataError, SettingError
from survtrace.metrics.auc import Controls, auc_at
from survtrace.metrics.brier import integrated_brier_score
from survtrace.metrics.concordance import (
    concordance_antolini,
    concordance_cause_specific,
    concordance_paper,
)
from survtrace.metrics.inputs import Floats, read_outcome, read_times
from survtrace.tables.outcome.outcome import Outcome

Mode = Literal["cause_specific", "paper", "antolini"]
TRUNCATED = {"cause_specific": concordance_cause_specific, "paper": concordance_paper}
N_TIMES = 50


@dataclass(frozen=True, eq=False, repr=False)
class Scorer:
    """A score with its settings; picklable, and safe to clone."""

    measure: Callable[..., float]
    cause: Any
    settings: dict[str, Any]

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        """The score of an estimator's predictions for X; higher is better."""
        known = {name: getattr(estimator, f"{name}_", None) for name in ("causes", "censored")}
        outcome = read_outcome(y, **known)
        _event_times(outcome, outcome.event > 0)
        causes = outcome.causes if self.cause is None else [self.cause]
        measured = [self.measure(estimator, X, outcome, each, **self.settings) for each in causes]
        return float(np.mean(measured))

    def __repr__(self) -> str:
        settings = {"cause": self.cause, **self.settings}
        given = ", ".join(f"{name}={value!r}" for name, value in settings.items())
        return f"{self.measure.__name__.strip('_')}_scorer({given})"


def concordance_scorer(
    horizon: float | None = None, cause: Any = None, mode: Mode = "cause_specific"
) -> Scorer:
    """Concordance of the incidence predicted at the horizon.

    Without a horizon the incidence at the median time of the cause's events among the scored
    subjects is ranked, and the score is not truncated. ``mode="antolini"`` has no horizon;
    ``mode="paper"`` uses ``censoring_`` as it is, though the paper's weights count other causes.

    Examples
    --------
    >>> concordance_scorer(horizon=5.0, cause="relapse")
    concordance_scorer(cause='relapse', horizon=5.0, mode='cause_specific')
    """
    if mode not in (*TRUNCATED, "antolini"):
        raise SettingError(f"mode must be one of {[*TRUNCATED, 'antolini']}; got {mode!r}.")
    if mode == "antolini" and horizon is not None:
        raise SettingError("mode='antolini' takes no horizon; pass horizon=None.")
    return Scorer(_concordance, cause, {"horizon": horizon, "mode": mode})


def brier_scorer(times: ArrayLike | None = None, cause: Any = None) -> Scorer:
    """Minus the integrated Brier score.

    Without times it is integrated over 50 evenly spaced ones, from the first event of any cause
    to the 90 % quantile of event times among the scored subjects.

    Examples
    --------
    >>> brier_scorer(times=[1, 2, 5])
    brier_scorer(cause=None, times=[1.0, 2.0, 5.0])
    """
    chosen = None if times is None else read_times(times, at_least=2, increasing=True).tolist()
    return Scorer(_brier, cause, {"times": chosen})


def auc_scorer(time: float, cause: Any = None, controls: Controls = "all") -> Scorer:
    """Area under the ROC curve of the incidence predicted at a time.

    Examples
    --------
    >>> auc_scorer(5.0, cause=1)
    auc_scorer(cause=1, time=5.0, controls='all')
    """
    return Scorer(_auc, cause, {"time": time, "controls": controls})


def _concordance(
    estimator: Any, X: Any, outcome: Outcome, cause: Any, horizon: float | None, mode: Mode
) -> float:
    event_times = _event_times(outcome, outcome.event == outcome.cause_number(cause))
    if mode == "antolini":
        times = np.unique(np.quantile(event_times, np.linspace(0, 1, N_TIMES), method="lower"))
        incidence = _predict(estimator, X, times, outcome, cause)
        return concordance_antolini(outcome, incidence, times, cause=cause)
    time = float(np.median(event_times)) if horizon is None else horizon
    estimate = _predict(estimator, X, np.array([time]), outcome, cause)[:, 0]
    weighted_by = getattr(estimator, "censoring_", None)
    return TRUNCATED[mode](outcome, estimate, horizon, cause=cause, y_train=weighted_by)


def _brier(
    estimator: Any, X: Any, outcome: Outcome, cause: Any, times: list[float] | None
) -> float:
    grid = _evenly_spaced(outcome) if times is None else np.array(times)
    incidence = _predict(estimator, X, grid, outcome, cause)
    weighted_by = getattr(estimator, "censoring_", None)
    return -integrated_brier_score(outcome, incidence, grid, cause=cause, y_train=weighted_by)


def _auc(
    estimator: Any, X: Any, outcome: Outcome, cause: Any, time: float, controls: Controls
) -> float:
    estimate = _predict(estimator, X, np.array([time]), outcome, cause)[:, 0]
    weighted_by = getattr(estimator, "censoring_", None)
    return auc_at(outcome, estimate, time, cause=cause, y_train=weighted_by, controls=controls)


def _event_times(outcome: Outcome, chosen: NDArray[np.bool_]) -> Floats:
    if not chosen.any():
        raise DataError(
            f"a scorer needs at least one event among the subjects it scores; none of "
            f"{len(outcome)} has one of those scored. Use larger or stratified folds."
        )
    return outcome.duration[chosen]


def _evenly_spaced(outcome: Outcome) -> Floats:
    event_times = _event_times(outcome, outcome.event > 0)
    return np.linspace(event_times.min(), np.quantile(event_times, 0.9), N_TIMES)


def _predict(estimator: Any, X: Any, times: Floats, outcome: Outcome, cause: Any) -> Floats:
    """Incidence of the cause, shape (subject, time), also from those who predict all causes."""
    incidence = np.asarray(estimator.predict_cumulative_incidence(X, times=times, cause=cause))
    return incidence[:, outcome.cause_number(cause) - 1] if incidence.ndim == 3 else incidence
