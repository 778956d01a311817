"""Calibration by regression: intercept, slope and smooth curve, for competing causes.

As the guide of van Geloven et al. (BMJ 2022) has it. Pseudo-values of the incidence at a horizon
are regressed on the complementary log-log of the prediction, cloglog(p) = log(-log(1 - p)), by
generalised estimating equations: cloglog link, independence, constant variance, robust errors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import chi2, norm

from survtrace.errors import DataError, DataWarning, SettingError, warn
from survtrace.metrics.inputs import TOLERANCE, Floats, read_probability
from survtrace.metrics.pseudo_values import read_pseudo_values
from survtrace.metrics.score import Score

MOST_STEPS = 200
PLACES = {  # quantiles at which knots lie (Harrell, Regression Modeling Strategies, table 2.3)
    3: (0.1, 0.5, 0.9),
    4: (0.05, 0.35, 0.65, 0.95),
    5: (0.05, 0.275, 0.5, 0.725, 0.95),
}


@dataclass(frozen=True, eq=False)
class CalibrationRegression:
    """Intercept and slope of calibration, and the test that they are 0 and 1.

    Attributes
    ----------
    intercept
        With the slope held at 1: above 0 if too little is predicted on the whole, below if too
        much; exp of it is a ratio of cumulative subdistribution hazards.
    slope
        Below 1 if predictions are too extreme, above if too moderate. NaN if all are equal.
    statistic
        Wald's, of intercept 0 and slope 1 fitted together; chi-square with 2 degrees of freedom if
        calibrated.
    p_value
        The chance of a larger one; small values speak against calibration.
    """

    intercept: Score
    slope: Score
    statistic: float
    p_value: float


@dataclass(frozen=True, eq=False)
class SmoothCalibrationCurve:
    """Observed incidence as a smooth function of the predicted.

    Attributes
    ----------
    predicted
        Predictions at which the curve is given, increasing by default.
    observed
        The incidence among subjects with such a prediction.
    low, high
        95 % interval at each point. It does not cover that the spline may be too stiff.
    """

    predicted: Floats
    observed: Floats
    low: Floats
    high: Floats


def calibration_intercept_slope(
    y: Any, incidence: ArrayLike, horizon: float, *, cause: Any = None
) -> CalibrationRegression:
    """Regress what happened by a horizon on what was predicted.

    Censoring must not depend on covariates. Without enough events, or where follow-up ends before
    the horizon, the result is NaN with a warning. Late entry is refused: `pseudo_values`.

    Parameters
    ----------
    y
        The outcome of the subjects, one row each.
    incidence
        Incidence of the cause predicted for each subject by the horizon.
    horizon
        When.
    cause
        Its label; not needed if there is one.

    Examples
    --------
    >>> y = {"event": [1, 0, 1, 1, 0, 1], "duration": [5.0, 6.0, 1.0, 2.0, 7.0, 8.0]}
    >>> found = calibration_intercept_slope(y, [0.3, 0.2, 0.6, 0.5, 0.4, 0.1], horizon=5.5)
    >>> round(found.intercept, 3), round(found.slope, 3), round(found.p_value, 3)
    (0.595, 1.706, 0.393)
    """
    predicted, pseudo, n_events = read_calibration(y, incidence, horizon, cause)
    undefined = Score.undefined(len(predicted))
    nothing = CalibrationRegression(undefined, undefined, np.nan, np.nan)
    if not _enough(pseudo, n_events, "calibration intercept and slope are NaN"):
        return nothing
    x = _cloglog(predicted)
    ones = np.ones((len(x), 1))
    level = _regress(pseudo, ones, x, np.zeros(1))
    if level is None:
        _warn_of_no_end("calibration intercept and slope are NaN")
        return nothing
    intercept = Score(float(level[0][0]), level[1][:, 0])
    line = None
    if np.ptp(x) > 0:
        line = _regress(pseudo, np.column_stack([ones, x]), np.zeros(len(x)), np.array([0.0, 1.0]))
    if line is None:
        _warn_of_no_end("the calibration slope is NaN")
        return CalibrationRegression(intercept, undefined, np.nan, np.nan)
    coefficients, influence = line
    gap = coefficients - np.array([0.0, 1.0])
    statistic = float(gap @ np.linalg.solve(influence.T @ influence, gap))
    slope = Score(float(coefficients[1]), influence[:, 1])
    return CalibrationRegression(intercept, slope, statistic, float(chi2.sf(statistic, 2)))


def smooth_calibration_curve(
    y: Any,
    incidence: ArrayLike,
    horizon: float,
    *,
    cause: Any = None,
    at: ArrayLike | None = None,
    knots: int | None = None,
) -> SmoothCalibrationCurve:
    """Smooth observed over predicted incidence, with a band.

    Pseudo-values are regressed on a restricted cubic spline of cloglog(prediction). The guide
    offers splines and running means of neighbours. Splines are chosen, since the curve then lies
    within 0 and 1, nests intercept and slope, has a band in closed form and no bandwidth, and is
    linear where predictions are few, at both ends.

    Parameters
    ----------
    y, incidence, horizon, cause
        As in `calibration_intercept_slope`.
    at
        Predictions at which the curve is wanted; by default 100 from the smallest to the largest.
    knots
        3, 4 or 5, at Harrell's quantiles of the prediction; None for 3 below 30 events of the
        cause by the horizon, 4 below 100, else 5. Equal knots count once.

    Examples
    --------
    >>> y = {"event": [1, 0, 1, 1, 0, 1], "duration": [5.0, 6.0, 1.0, 2.0, 7.0, 8.0]}
    >>> curve = smooth_calibration_curve(
    ...     y, [0.3, 0.2, 0.6, 0.5, 0.4, 0.1], horizon=5.5, at=[0.2, 0.5], knots=3
    ... )
    >>> curve.observed.round(3)
    array([0.205, 0.795])
    """
    predicted, pseudo, n_events = read_calibration(y, incidence, horizon, cause)
    places = np.linspace(predicted.min(), predicted.max(), 100) if at is None else _read_at(at)
    spline = CalibrationSpline.fit(predicted, pseudo, n_events, knots)
    observed, low, high = spline.at(places)
    return SmoothCalibrationCurve(places, observed, low, high)


@dataclass(frozen=True, eq=False)
class CalibrationSpline:
    """A restricted cubic spline of cloglog(prediction); coefficients are NaN if it has no fit."""

    knots: Floats
    coefficients: Floats
    covariance: Floats

    @staticmethod
    def fit(
        predicted: Floats, pseudo: Floats, n_events: int, n_knots: int | None
    ) -> CalibrationSpline:
        """Regress pseudo-values on the spline; see `smooth_calibration_curve`."""
        if n_knots is None:
            n_knots = 3 if n_events < 30 else 4 if n_events < 100 else 5
        if n_knots not in PLACES:
            raise SettingError(f"knots must be one of {list(PLACES)}; got {n_knots!r}.")
        x = _cloglog(predicted)
        knots = distinct = np.unique(x)
        if len(distinct) > n_knots:  # fewer are each a knot: the curve goes through their means
            knots = np.unique(np.quantile(x, PLACES[n_knots]))
        design = _basis(x, knots)
        start = np.zeros(design.shape[1])  # the calibrated line, or the mean of equal predictions
        start[:2] = [0.0, 1.0] if len(start) > 1 else [x.mean()]
        consequence = "the smooth calibration curve is NaN"
        found = None
        if _enough(pseudo, n_events, consequence):
            found = _regress(pseudo, design, np.zeros(len(x)), start)
            if found is None:
                _warn_of_no_end(consequence)
        if found is None:
            size = len(start)
            return CalibrationSpline(knots, np.full(size, np.nan), np.full((size, size), np.nan))
        return CalibrationSpline(knots, found[0], found[1].T @ found[1])

    def at(self, predicted: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the observed incidence where so much is predicted, and its 95 % interval."""
        middle, error = self._linear(predicted)
        reach = norm.ppf(0.975) * error
        return _probability(middle), _probability(middle - reach), _probability(middle + reach)

    def error_at(self, predicted: Floats) -> Floats:
        """Return the standard error of the observed incidence, to first order."""
        middle, error = self._linear(predicted)
        return _slope(middle) * error

    def shrunken(self, predicted: Floats, shares: Floats, draws: Floats) -> Floats:
        """Compute observed less predicted incidence if the curve were nearer to the calibrated one.

        A share of 0 is the calibrated curve, 1 the one found. To each, draws of the noise of the
        coefficients are added, given as rows of standard normal numbers. Shape (share, draw,
        prediction).
        """
        x = _cloglog(predicted)
        design = _basis(x, self.knots)
        values, vectors = np.linalg.eigh(self.covariance)
        root = vectors * np.sqrt(np.maximum(values, 0.0))  # rounding
        noise = draws[:, : len(values)] @ root.T @ design.T
        bend = np.multiply.outer(shares, design @ self.coefficients - x)
        return _probability(x + bend[:, np.newaxis] + noise) - predicted

    def _linear(self, predicted: Floats) -> tuple[Floats, Floats]:
        design = _basis(_cloglog(predicted), self.knots)
        variance = np.einsum("ij,jk,ik->i", design, self.covariance, design)
        return design @ self.coefficients, np.sqrt(np.maximum(variance, 0.0))  # rounding


def _basis(x: Floats, knots: Floats) -> Floats:
    """Return columns of a cubic spline that is linear outside its knots, scaled as in R's rms."""
    columns = [np.ones(len(x))]
    if len(knots) > 1:
        columns.append(x)
    last, width = knots[-1], knots[-1] - knots[0]

    def cubic(knot: float) -> Floats:
        return np.asarray(np.maximum(x - knot, 0) ** 3)

    for knot in knots[:-2]:
        second = knots[-2]
        bend = cubic(knot) - cubic(second) * (last - knot) / (last - second)
        columns.append((bend + cubic(last) * (second - knot) / (last - second)) / width**2)
    return np.column_stack(columns)


def _regress(
    response: Floats, design: Floats, offset: Floats, start: Floats
) -> tuple[Floats, Floats] | None:
    """Fit a cloglog regression: coefficients and the influence of each subject on them, or None.

    With a constant variance the estimating equations are those of least squares: Newton's steps,
    or Gauss and Newton's where the sum of squares is not convex, halved until it falls. (Gauss and
    Newton's alone, as in geese, swing for hundreds of steps in 2 % of small cohorts.) The
    influences' cross-product is the robust (sandwich) covariance. None if there is no finite
    solution.

    Where nearly all predictions are all but 0 or 1 the sum of squares is flat at the calibrated
    line, and steps from there lead nowhere. Then they begin anew from where everybody has the mean.
    """
    found = _descend(response, design, offset, start)
    if found is None and 0 < response.mean() < 1:
        level = _cloglog(response.mean()) - offset
        flat = np.linalg.lstsq(design, level, rcond=None)[0]
        found = _descend(response, design, offset, np.asarray(flat, dtype=np.float64))
    return found


def _descend(
    response: Floats, design: Floats, offset: Floats, coefficients: Floats
) -> tuple[Floats, Floats] | None:
    """Find what `_regress` finds, from these coefficients on."""

    def residual(at: Floats) -> Floats:
        return np.asarray(response - _probability(offset + design @ at))

    rest = residual(coefficients)
    for _ in range(MOST_STEPS):
        linear = offset + design @ coefficients
        slope = _slope(linear)
        q, r = np.linalg.qr(slope[:, np.newaxis] * design)
        size = np.abs(np.diag(r))
        if not size.min() > 1e-10 * size.max():  # flat: the solution runs away, or is not unique
            return None
        bend = slope * (1 - np.exp(np.minimum(linear, 30.0)))  # second derivative
        curvature = r.T @ r - (design * (rest * bend)[:, np.newaxis]).T @ design
        step = np.linalg.solve(r, q.T @ rest)
        curvatures = np.linalg.eigvalsh(curvature)
        if curvatures[0] > 1e-14 * curvatures[-1]:  # less is rounding, and may be singular
            step = np.linalg.solve(curvature, design.T @ (slope * rest))
        if np.abs(step).max() <= 1e-10 * (1 + np.abs(coefficients).max()):
            return coefficients, np.asarray(np.linalg.solve(r, q.T).T * rest[:, np.newaxis])
        squares = rest @ rest
        for _ in range(40):
            rest = residual(coefficients + step)
            if rest @ rest <= squares * (1 + 1e-14):
                break
            step = step / 2
        coefficients = coefficients + step
    return None


def _cloglog(probability: Floats) -> Floats:
    return np.asarray(np.log(-np.log1p(-probability)))


def _probability(cloglog: Floats) -> Floats:
    return np.asarray(-np.expm1(-np.exp(np.minimum(cloglog, 30.0))))


def _slope(cloglog: Floats) -> Floats:
    """Compute the derivative of the probability."""
    cloglog = np.minimum(cloglog, 30.0)  # beyond, the probability is 1
    return np.asarray(np.exp(cloglog - np.exp(cloglog)))


def read_calibration(
    y: Any, incidence: ArrayLike, horizon: float, cause: Any
) -> tuple[Floats, Floats, int]:
    """Return predictions strictly between 0 and 1, pseudo-values, and the number of events."""
    outcome, pseudo, n_events = read_pseudo_values(y, horizon, cause, "calibration by regression")
    predicted = read_probability(incidence, outcome, "incidence")
    inside = np.clip(predicted, TOLERANCE, 1 - TOLERANCE)
    if n_moved := int((inside != predicted).sum()):
        warn(
            f"cloglog needs predictions between 0 and 1; {n_moved} of {len(predicted)} are 0 or 1 "
            f"and count as {TOLERANCE:g} or 1 - {TOLERANCE:g}.",
            DataWarning,
        )
    return inside, pseudo, n_events


def _read_at(at: ArrayLike) -> Floats:
    places = np.atleast_1d(np.asarray(at, dtype=np.float64))
    if places.ndim != 1 or not ((places > 0) & (places < 1)).all():
        raise DataError(
            f"at must be a flat sequence of predictions strictly between 0 and 1; got {at!r}. "
            "Pass for example at=[0.1, 0.2]."
        )
    return places


def _enough(pseudo: Floats, n_events: int, consequence: str) -> bool:
    """Tell whether there is anything to regress; warn if nobody had the event."""
    if np.isnan(pseudo).any():
        return False
    if n_events < 2:
        warn(f"{n_events} events of the cause by the horizon: {consequence}.", DataWarning)
    return n_events >= 2


def _warn_of_no_end(consequence: str) -> None:
    warn(
        f"the regression on predictions has no finite or no unique solution: {consequence}. "
        "Predictions are all equal, or too few events happened: choose a later horizon, or more "
        "subjects.",
        DataWarning,
    )
