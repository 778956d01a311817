"""Is every predicted probability reached as often as it says? (D-calibration)

If S is the true survival, S(T) is uniform over [0, 1]. D-calibration (Haider, 2020) counts subjects
in equal bins of that interval and asks whether the counts are too uneven to be chance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import chi2

from survtrace.errors import SettingError
from survtrace.metrics.censoring import read_censoring, usable_times
from survtrace.metrics.inputs import Floats, pick_cause, read_outcome, read_probability, read_times


@dataclass(frozen=True, eq=False)
class DCalibration:
    """The result of a test for uniformity.

    Attributes
    ----------
    statistic
        Distance from uniformity, chi-square distributed if calibrated.
    p_value
        The chance of a larger one; small values speak against calibration.
    proportions
        Share of the subjects in each bin, 1 / bins each if calibrated.
    """

    statistic: float
    p_value: float
    proportions: Floats


def d_calibration(y: Any, survival_at_duration: ArrayLike, bins: int = 10) -> DCalibration:
    """Test whether predicted survival at each subject's duration is uniform, for any cause.

    A censored subject is spread evenly over all values below its own, where the survival at its
    event will be. That makes the counts more even than chance, so the test is conservative.

    Parameters
    ----------
    y
        The outcome of the scored subjects.
    survival_at_duration
        Survival predicted for each subject at its own duration.
    bins
        Number of equal bins.

    Examples
    --------
    >>> y = {"event": [1, 1, 1, 0], "duration": [1.0, 2.0, 3.0, 4.0]}
    >>> d_calibration(y, [0.9, 0.6, 0.1, 0.5], bins=2).proportions
    array([0.5, 0.5])
    """
    outcome, lower = read_outcome(y), _lower_edges(bins)
    values = read_probability(survival_at_duration, outcome, "survival_at_duration")
    in_bin = _in_bin(values, lower)
    spread = _spread(np.zeros(len(outcome)), values, lower)
    proportions = np.where(outcome.event[:, np.newaxis] > 0, in_bin, spread).mean(axis=0)
    statistic = len(outcome) * bins * np.sum((proportions - 1 / bins) ** 2)
    return DCalibration(float(statistic), float(chi2.sf(statistic, bins - 1)), proportions)


def d_calibration_incidence(
    y: Any,
    incidence_at_duration: ArrayLike,
    incidence_at_horizon: ArrayLike,
    horizon: float,
    *,
    cause: Any = None,
    bins: int = 10,
    y_train: Any = None,
) -> DCalibration:
    """Test whether predicted incidence of a cause is uniform, up to a horizon.

    With the true incidence F, F(T) of those who have the event by the horizon is uniform below
    F(horizon), and the rest of the subjects make up what is above. So a subject with the event
    counts in the bin of F(t_i); one known to stay free of it until the horizon is spread evenly
    over [F(horizon), 1]; one censored before has weight 0, and others make up for it by their
    IPCW weight. The statistic is a Wald test of equal bins, with weights treated as known; it
    tests level and shape of the incidence at once.

    Parameters
    ----------
    y
        The outcome of the scored subjects.
    incidence_at_duration, incidence_at_horizon
        Incidence of the cause predicted for each subject at its own duration, and at the horizon.
    horizon
        Where follow-up ends for this test.
    cause
        Label of the cause; may be left out if there is one.
    bins
        Number of equal bins.
    y_train
        Outcome whose censoring survival gives the weights, or a `CensoringSurvival`.

    Examples
    --------
    >>> y = {"event": [1, 1, 2, 2], "duration": [1.0, 2.0, 3.0, 4.0]}
    >>> result = d_calibration_incidence(
    ...     y, [0.2, 0.4, 0.5, 0.5], np.full(4, 0.5), horizon=4.0, cause=1, bins=2
    ... )
    >>> result.proportions, round(result.p_value, 6)
    (array([0.5, 0.5]), 1.0)
    """
    outcome, grid, lower = read_outcome(y), read_times([horizon]), _lower_edges(bins)
    hit = outcome.event == pick_cause(outcome, cause)
    at_end = read_probability(incidence_at_duration, outcome, "incidence_at_duration")
    at_horizon = read_probability(incidence_at_horizon, outcome, "incidence_at_horizon")
    censoring = read_censoring(y_train, outcome)
    if not usable_times(grid, outcome.duration, censoring, "the test is NaN").all():
        return DCalibration(np.nan, np.nan, np.full(bins, np.nan))
    ended = outcome.duration <= horizon
    inverse = np.where(outcome.event > 0, censoring.inverse(outcome.duration), 0.0)
    weight = np.where(ended, inverse, censoring.inverse(horizon))
    rest = _spread(at_horizon, np.ones(len(outcome)), lower)
    counted = np.where((hit & ended)[:, np.newaxis], _in_bin(at_end, lower), rest)
    return _wald_test(weight[:, np.newaxis] * counted)


def _wald_test(counted: Floats) -> DCalibration:
    """Test that all columns have one mean, from one row for each subject."""
    excess = counted - counted.mean(axis=1, keepdims=True)
    covariance = np.atleast_2d(np.cov(excess, rowvar=False, ddof=0)) / len(counted)
    mean = excess.mean(axis=0)
    statistic = float(mean @ np.linalg.pinv(covariance, rcond=1e-9, hermitian=True) @ mean)
    freedom = np.linalg.matrix_rank(covariance, tol=1e-9 * np.trace(covariance), hermitian=True)
    return DCalibration(statistic, float(chi2.sf(statistic, freedom)), counted.mean(axis=0))


def _lower_edges(bins: int) -> Floats:
    if bins < 2:
        raise SettingError(f"bins must be 2 or more; got {bins}.")
    return np.arange(bins) / bins


def _in_bin(values: Floats, lower: Floats) -> Floats:
    """1 in the bin of each value, 0 elsewhere; the last bin includes 1."""
    place = np.clip(np.searchsorted(lower, values, side="right") - 1, 0, len(lower) - 1)
    return np.asarray(np.eye(len(lower))[place])


def _spread(low: Floats, high: Floats, lower: Floats) -> Floats:
    """Share of each interval [low, high] that falls in each bin; an empty one lies in one bin."""
    low, high = low[:, np.newaxis], high[:, np.newaxis]
    overlap = np.minimum(high, lower + 1 / len(lower)) - np.maximum(low, lower)
    point = _in_bin(high[:, 0], lower)
    length = high - low
    share = np.clip(overlap, 0, None) / np.where(length > 0, length, 1)
    return np.where(length > 0, share, point)
