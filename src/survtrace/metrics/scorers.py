"""Scores in the form scikit-learn's model selection calls them: ``scorer(estimator, X, y)``.

Every scorer is "higher is better", asks the estimator only for ``predict_cumulative_incidence``,
once for all of its ``causes_``, and weights by its ``censoring_`` (the censoring survival of its
training subjects) where it has one and both enter alike, late or from 0 on. For ``cause=None`` the
result is the mean over causes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from survtrace.errors import DataError, SettingError
from survtrace.metrics.auc import Controls, auc_at
from survtrace.metrics.brier import integrated_brier_score
from survtrace.metrics.censoring import of_same_kind
from survtrace.metrics.concordance import (
    concordance_antolini,
    concordance_cause_specific,
    concordance_paper,
)
from survtrace.metrics.inputs import Floats, read_outcome, read_times
from survtrace.tables.outcome.outcome import Outcome
from survtrace.tables.outcome.pairing import pair, read_scored

Measure = tuple[Floats, Callable[[Floats], float]]  # times, and the score of incidences there
Mode = Literal["cause_specific", "paper", "antolini"]
TRUNCATED = {"cause_specific": concordance_cause_specific, "paper": concordance_paper}
N_TIMES = 50


@dataclass(frozen=True, eq=False, repr=False)
class Scorer:
    """A score with its settings; picklable, and safe to clone."""

    measure: Callable[..., Measure]
    cause: Any
    settings: dict[str, Any]

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        """The score of an estimator's predictions for X; higher is better."""
        X, outcome = _read(estimator, X, y)
        y_train = of_same_kind(getattr(estimator, "censoring_", None), outcome)
        _event_times(outcome, outcome.event > 0)
        causes = outcome.causes if self.cause is None else (self.cause,)
        measures = [self.measure(outcome, each, y_train, **self.settings) for each in causes]
        incidences = _predict(estimator, X, [times for times, _ in measures], outcome, causes)
        pairs = zip(measures, incidences, strict=True)
        return float(np.mean([score(incidence) for (_, score), incidence in pairs]))

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
    to the 90 % quantile of event times among the scored subjects; from 0 if these are the same.

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
    outcome: Outcome, cause: Any, y_train: Any, horizon: float | None, mode: Mode
) -> Measure:
    event_times = _event_times(outcome, outcome.event == outcome.cause_number(cause))
    if mode == "antolini":
        times = np.unique(np.quantile(event_times, np.linspace(0, 1, N_TIMES), method="lower"))
        return times, lambda curves: concordance_antolini(outcome, curves, times, cause=cause)
    time, weights = np.median(event_times) if horizon is None else horizon, {"y_train": y_train}
    of = TRUNCATED[mode]
    return np.array([time]), lambda at: of(outcome, at[:, 0], horizon, cause=cause, **weights)


def _brier(outcome: Outcome, cause: Any, y_train: Any, times: list[float] | None) -> Measure:
    event_times = _event_times(outcome, outcome.event > 0)
    first, last = event_times.min(), np.quantile(event_times, 0.9)
    first = first if first < last else 0.0
    grid = np.linspace(first, last, N_TIMES) if times is None else np.array(times)
    weights = {"cause": cause, "y_train": y_train}
    return grid, lambda curves: -integrated_brier_score(outcome, curves, grid, **weights)


def _auc(outcome: Outcome, cause: Any, y_train: Any, time: float, controls: Controls) -> Measure:
    settings: dict[str, Any] = {"cause": cause, "y_train": y_train, "controls": controls}
    return np.array([time]), lambda at: auc_at(outcome, at[:, 0], time, **settings)


def _read(estimator: Any, X: Any, y: Any) -> tuple[Any, Outcome]:
    """Return covariates, and the outcome in the estimator's causes, rows matched by label."""
    if not hasattr(estimator, "predict_cumulative_incidence"):
        name = type(estimator).__name__
        raise SettingError(
            f"a scorer asks for predict_cumulative_incidence, which {name} does not have. Score "
            "SurvTRACE itself, which takes raw tables; or, of a Pipeline that ends with it, take "
            "its own score: scoring=None."
        )
    if hasattr(estimator, "causes_"):
        X, y = read_scored(estimator, X, y)
        return X, read_outcome(y)
    given = pair(X, y)
    return given.X, read_outcome(given.y, censored=given.censored, event_name=given.event_name)


def _event_times(outcome: Outcome, chosen: NDArray[np.bool_]) -> Floats:
    if not chosen.any():
        raise DataError(
            f"a scorer needs at least one event among the subjects it scores; none of "
            f"{len(outcome)} has one of those scored. Use larger or stratified folds."
        )
    return outcome.duration[chosen]


def _predict(
    estimator: Any, X: Any, times: list[Floats], outcome: Outcome, causes: Sequence[Any]
) -> Iterator[Floats]:
    """Incidence of each cause at its own times, shape (subject, time)."""
    predict, together = estimator.predict_cumulative_incidence, np.unique(np.concatenate(times))
    at_once = len(causes) > 1 and hasattr(estimator, "causes_")
    whole = predict(X, times=together) if at_once else None
    for cause, chosen in zip(causes, times, strict=True):
        incidence = np.asarray(predict(X, times=together, cause=cause) if whole is None else whole)
        if incidence.ndim == 3:
            incidence = incidence[:, outcome.cause_number(cause) - 1]
        yield incidence[:, np.searchsorted(together, chosen)]
