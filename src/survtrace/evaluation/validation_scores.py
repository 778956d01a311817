"""Every score that a validation asks for, of one cause by one horizon, in one set of subjects."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from survtrace.errors import DataError, DataWarning
from survtrace.metrics import (
    CalibrationError,
    Score,
    auc_at,
    brier_score_at,
    calibration_errors,
    calibration_intercept_slope,
    concordance_cause_specific,
    net_benefit,
    observed_expected_ratio,
    scaled_brier_score,
    smooth_calibration_curve,
)
from survtrace.metrics.centre_spread import Scale
from survtrace.tables.outcome.outcome import Outcome

Floats = NDArray[np.float64]
Values = Mapping[str, Any]
MIN_EVENTS = 10  # a group is scored if so many had the event by the horizon, and so many had not
SCALES: dict[str, Scale] = {  # on which scores of groups are compared; others are not
    "observed": "logit",
    "expected": "logit",
    "O/E": "log",
    "intercept": "identity",
    "slope": "identity",
    "C": "logit",
    "AUC": "logit",
    "Brier": "identity",
    "IPA": "identity",
}


class Asked(NamedTuple):
    """What is scored: subjects, their predicted incidence of a cause, and the horizon."""

    outcome: Outcome
    predicted: Floats
    horizon: float
    cause: Any

    def take(self, rows: NDArray[np.bool_]) -> Asked:
        """Return some of the subjects."""
        return self._replace(outcome=self.outcome.take(rows), predicted=self.predicted[rows])

    @property
    def n_events(self) -> int:
        """How many had the event by the horizon."""
        number = self.outcome.cause_number(self.cause)
        happened = (self.outcome.event == number) & (self.outcome.duration <= self.horizon)
        return int(happened.sum())

    @property
    def n_without(self) -> int:
        """How many are known not to have had it: followed beyond, or another event came first."""
        number, event = self.outcome.cause_number(self.cause), self.outcome.event
        other = (event > 0) & (event != number)
        return int(((self.outcome.duration > self.horizon) | other).sum())


def too_small(asked: Asked) -> str:
    """Say why a group is not scored, or an empty text."""
    events, without = asked.n_events, asked.n_without
    if min(events, without) >= MIN_EVENTS:
        return ""
    return (
        f"{events} had the event by the horizon and {without} are known not to; {MIN_EVENTS} of "
        "each are needed"
    )


def _mean_calibration(*where: Any, cause: Any) -> Values:
    ratio = observed_expected_ratio(*where, cause=cause)
    return {"observed": ratio.observed, "expected": ratio.expected, "O/E": ratio}


def _regression(*where: Any, cause: Any) -> Values:
    found = calibration_intercept_slope(*where, cause=cause)
    names = {"intercept": found.intercept, "slope": found.slope}
    return {**names, "calibration p": found.p_value}


def _errors(*where: Any, cause: Any) -> Values:
    found = calibration_errors(*where, cause=cause)
    names = {"ICI": found.ici, "E50": found.e50, "E90": found.e90, "Emax": found.emax}
    return {**names, "ICI by chance": found.ici_by_chance}


PARTS: tuple[tuple[tuple[str, ...], Callable[..., Any]], ...] = (
    (("observed", "expected", "O/E"), _mean_calibration),
    (("intercept", "slope", "calibration p"), _regression),
    (("ICI", "E50", "E90", "Emax", "ICI by chance"), _errors),
    (("C",), concordance_cause_specific),
    (("AUC",), auc_at),
    (("Brier",), brier_score_at),
    (("IPA",), scaled_brier_score),
)
NAMES = tuple(name for names, _ in PARTS for name in names)


def score_rows(asked: Asked, refused: str = "") -> list[dict[str, Any]]:
    """Return one row for each score: value, standard error, interval, and why it is NaN if it is.

    ``refused`` is a reason to score nothing.
    """
    rows = []
    for names, function in PARTS:
        values, note = ({}, refused) if refused else noted(function, asked)
        if values is not None and not isinstance(values, dict):
            values = {names[0]: values}
        rows += [_row(name, (values or {}).get(name, np.nan), note) for name in names]
    return rows


def calibration_rows(asked: Asked) -> list[dict[str, float]]:
    """Return points of the smooth calibration curve and its band; none where it has no fit."""
    curve, _ = noted(smooth_calibration_curve, asked)
    if curve is None or np.isnan(curve.observed).all():
        return []
    columns = (curve.predicted, curve.observed, curve.low, curve.high)
    names = ("predicted", "observed", "low", "high")
    return [dict(zip(names, point, strict=True)) for point in np.transpose(columns).tolist()]


def decision_rows(asked: Asked, thresholds: Floats) -> list[dict[str, Any]]:
    """Net benefit of each strategy at each threshold, the share it treats, and the model's gain."""
    curve, _ = noted(net_benefit, asked, thresholds)
    if curve is None:
        return []
    gains = [
        score.minus(max(others, key=float))
        for score, *others in zip(
            curve.by_prediction, curve.treat_all, curve.treat_none, strict=True
        )
    ]
    unknown = [Score.undefined(1)] * len(thresholds)
    strategies = {
        "model": (curve.by_prediction, curve.share_treated, gains),
        "treat all": (curve.treat_all, np.ones(len(thresholds)), unknown),
        "treat none": (curve.treat_none, np.zeros(len(thresholds)), unknown),
    }
    return [
        {"strategy": name, "threshold": threshold, "value": float(score), "low": low, "high": high,
         "share_treated": float(share), "gain": float(gain), "gain_low": worst, "gain_high": best}
        for name, (scores, shares, gained) in strategies.items()
        for threshold, score, share, gain in zip(
            thresholds.tolist(), scores, shares, gained, strict=True
        )
        for (low, high), (worst, best) in [(score.interval(), gain.interval())]
    ]  # fmt: skip


def noted(function: Callable[..., Any], asked: Asked, *more: Any) -> tuple[Any, str]:
    """Return the result, and what the function warned of; None and the reason if it refused."""
    where = (asked.outcome, asked.predicted, asked.horizon, *more)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = function(*where, cause=asked.cause)
        except DataError as error:
            return None, str(error)
    for other in caught:
        if not issubclass(other.category, DataWarning):
            warnings.warn_explicit(other.message, other.category, other.filename, other.lineno)
    told = [str(each.message) for each in caught if issubclass(each.category, DataWarning)]
    return found, " ".join(dict.fromkeys(told))


def _row(name: str, value: Any, note: str) -> dict[str, Any]:
    error, low, high = np.nan, np.nan, np.nan
    if isinstance(value, Score | CalibrationError):
        low, high = value.interval()
    if isinstance(value, Score):
        error = value.standard_error
    plain = {"score": name, "value": float(value), "standard_error": error}
    return {**plain, "low": low, "high": high, "note": note}
