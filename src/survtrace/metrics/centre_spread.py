"""How much a score differs between centres: random effects by REML, Hartung-Knapp's interval.

A new centre's own value lies around the mean of all centres with the standard deviation between
centres, so its interval (the prediction interval) is wider than that of the mean. The usual one
takes that deviation as known, though few centres tell little of it, and holds the new value too
seldom. So here the deviation comes from its confidence distribution, by Cochran's Q (Nagashima,
Noma and Furukawa, 2019). The scale is that on which values of centres are nearest to normal: the
log of a ratio, the log odds of a concordance (Snell, Ensor, Debray, Moons and Riley, 2018).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import expit, logit
from scipy.stats import chi2, norm, t

from survtrace.errors import DataError
from survtrace.metrics.inputs import Floats, checked_level, read_numbers
from survtrace.rules import check_value, one_of

Scale = Literal["identity", "log", "logit"]
SMALLEST_ERROR, LARGEST = 1e-100, 1e50  # the square of value / error is finite
N_QUANTILES = 50


@dataclass(frozen=True)
class CentreSpread:
    """A score over centres: its mean, and how much the centres differ beyond chance.

    Attributes
    ----------
    n_centres
        How many centres have the score.
    mean, low, high
        The mean over centres and its interval by Hartung and Knapp (t with one degree of freedom
        fewer than centres, and never an error below that of centres known to be alike), on the
        scale of the score.
    tau
        Standard deviation between centres beyond chance, on the scale of the analysis (log of a
        ratio, log odds of a share).
    new_low, new_high
        Interval for the value of a new centre; it counts that tau is estimated.
    statistic, p_value
        Cochran's Q, chi-square with one degree of freedom fewer than centres if all are equal.
    """

    n_centres: int
    mean: float
    low: float
    high: float
    tau: float
    new_low: float
    new_high: float
    statistic: float
    p_value: float


def centre_spread(
    values: ArrayLike,
    errors: ArrayLike,
    *,
    scale: Scale = "identity",
    level: float = 0.95,
    tau_known: bool = False,
) -> CentreSpread:
    """Summarise a score over centres, by a model in which each centre has a value of its own.

    Centres whose value or error is NaN, or has no finite place on the scale, are left out. R:
    ``metafor::rma(values, sei = errors, method = "REML", test = "adhoc")``, and its ``predict``
    with ``tau_known``.

    Parameters
    ----------
    values, errors
        The score of each centre and its standard error, of different subjects.
    scale
        On which the analysis is done: ``"log"`` for ratios, ``"logit"`` for shares.
    level
        Of both intervals.
    tau_known
        Take the standard deviation between centres as known in the interval of a new centre, as
        metafor does; it is then often too narrow.

    Examples
    --------
    >>> found = centre_spread([0.8, 1.0, 1.5], [0.1, 0.1, 0.2], scale="log")
    >>> round(found.mean, 3), round(found.tau, 3), found.n_centres
    (1.059, 0.287, 3)
    >>> bool(found.new_low < found.low < found.high < found.new_high)
    True
    """
    effect, variance = _on_scale(values, errors, scale)
    n, reach = len(effect), (1 + checked_level(level)) / 2
    if n < 2:
        nothing = np.nan
        mean = float(_back(effect[0], scale)) if n else nothing
        return CentreSpread(n, mean, *[nothing] * 7)
    between = _reml(effect, variance)
    weight = 1 / (variance + between)
    mean = float(weight @ effect / weight.sum())
    # Hartung and Knapp: the error of the mean is judged by how far the centres are from it; but
    # two centres that happen to agree do not make their mean more certain than they are.
    apart = weight @ (effect - mean) ** 2 / (n - 1)
    error = np.sqrt(max(apart, 1.0) / weight.sum())
    half = t.ppf(reach, n - 1) * error
    new_half = t.ppf(reach, n - 1) * np.sqrt(between + error**2)
    new = [mean - new_half, mean + new_half]
    if not tau_known:  # what is not known widens an interval
        low, high = _new_centre(effect, variance, [1 - reach, reach]).tolist()
        new = [min(new[0], low), max(new[1], high)]
    statistic, p_value = heterogeneity(effect, variance)
    ends = [mean, mean - half, mean + half, *new]
    middle, low, high, new_low, new_high = (float(_back(end, scale)) for end in ends)
    tau = float(np.sqrt(between))
    return CentreSpread(n, middle, low, high, tau, new_low, new_high, statistic, p_value)


def difference_test(
    values: ArrayLike, errors: ArrayLike, *, scale: Scale = "identity"
) -> tuple[int, float, float]:
    """Test whether a score is the same in groups of different subjects: Cochran's Q.

    Returns the number of groups that have the score, the statistic and the p-value; NaN for fewer
    than two groups.

    Examples
    --------
    >>> n_groups, statistic, p_value = difference_test([0.70, 0.78], [0.02, 0.02], scale="logit")
    >>> n_groups, round(p_value, 3)
    (2, 0.005)
    """
    effect, variance = _on_scale(values, errors, scale)
    if len(effect) < 2:
        return len(effect), np.nan, np.nan
    return len(effect), *heterogeneity(effect, variance)


def heterogeneity(effect: Floats, variance: Floats) -> tuple[float, float]:
    """Cochran's Q and the chance of a larger one if all effects are equal."""
    weight = 1 / variance
    mean = weight @ effect / weight.sum()
    statistic = float(weight @ (effect - mean) ** 2)
    return statistic, float(chi2.sf(statistic, len(effect) - 1))


def _reml(effect: Floats, variance: Floats) -> float:
    """Variance between centres by restricted maximum likelihood; 0 if the likelihood falls from 0.

    It is the root of the derivative of the restricted log likelihood, found between 0 and a bound
    at which it falls. Should there be several, the one of the largest likelihood is taken.
    """

    def slope(between: float) -> float:
        weight = 1 / (variance + between)
        rest = effect - weight @ effect / weight.sum()
        squares = float((weight**2) @ rest**2)
        return squares - float(weight.sum() - (weight**2).sum() / weight.sum())

    def deviance(between: float) -> float:
        weight = 1 / (variance + between)
        rest = effect - weight @ effect / weight.sum()
        return float(weight @ rest**2 - np.log(weight).sum() + np.log(weight.sum()))

    most = 10 * float(np.var(effect, ddof=1) + variance.max())
    grid = np.append(0.0, np.geomspace(1e-6 * most, most, 60))
    slopes = np.array([slope(place) for place in grid])
    crossings = np.flatnonzero((slopes[:-1] > 0) & (slopes[1:] <= 0))
    exact = {"xtol": 1e-15 * most, "rtol": 1e-13}  # whatever the unit of the score
    roots = [brentq(slope, grid[i], grid[i + 1], **exact) for i in crossings]
    return float(min([0.0, *roots], key=deviance))


def _new_centre(effect: Floats, variance: Floats, shares: list[float]) -> Floats:
    """Compute quantiles of a new centre's value, over all that is not known.

    Of the true variance between centres, Q is chi-square with one degree of freedom fewer than
    centres, and it falls as the variance grows. So each quantile of chi-square gives one of the
    variance: that of which Q is as large, or 0 if there is none. Each is combined with quantiles
    of the mean (Student's t, with its error by Hartung and Knapp) and of the new centre around it.
    """
    n = len(effect)
    unit = float(np.var(effect, ddof=1) + variance.mean())
    grid = unit * np.append(0.0, np.geomspace(1e-5, 1e3, 400))
    weight = 1 / (variance + grid[:, np.newaxis])
    total = weight.sum(axis=1)
    mean = weight @ effect / total
    Q = (weight * (effect - mean[:, np.newaxis]) ** 2).sum(axis=1)
    even = (np.arange(N_QUANTILES) + 0.5) / N_QUANTILES
    between = np.interp(-chi2.ppf(even, n - 1), -Q, grid)
    error = np.interp(between, grid, np.sqrt(np.maximum(Q / (n - 1), 1.0) / total))
    middle = np.interp(between, grid, mean)
    of_mean = np.multiply.outer(error, t.ppf(even, n - 1))[:, :, np.newaxis]
    of_new = np.multiply.outer(np.sqrt(between), norm.ppf(even))[:, np.newaxis]
    return np.quantile(middle[:, np.newaxis, np.newaxis] + of_mean + of_new, shares)


def _on_scale(values: ArrayLike, errors: ArrayLike, scale: Scale) -> tuple[Floats, Floats]:
    """Return effects and their variances on the scale, of the centres that have them."""
    check_value("scale", scale, one_of(*get_args(Scale)))
    value, error = read_numbers(values, "values"), read_numbers(errors, "errors")
    if value.ndim != 1 or value.shape != error.shape:
        raise DataError(
            f"values and errors must be flat and of the same length; got shapes {value.shape} and "
            f"{error.shape}. Pass one of each for every centre."
        )
    inside = (value > 0) if scale != "identity" else np.isfinite(value)
    if scale == "logit":
        inside &= value < 1
    no_error = inside & (error < SMALLEST_ERROR)  # its weight would be infinite
    if no_error.any():
        raise DataError(
            f"errors must be above 0, or NaN where a centre has none; {no_error.sum()} of "
            f"{error.size} are not (first: entry {np.flatnonzero(no_error)[0]}). A score without "
            "any error is of too few subjects: leave that centre out."
        )
    for name, numbers in {"values": value, "errors": error}.items():
        too_large = np.isfinite(numbers) & (np.abs(numbers) > LARGEST)
        if too_large.any():
            first = np.flatnonzero(too_large)[0]
            raise DataError(
                f"{name} must lie within -{LARGEST:g} and {LARGEST:g}; {too_large.sum()} of "
                f"{numbers.size} do not (first: entry {first}, {numbers[first]:g}). Leave such a "
                "centre out."
            )
    good = inside & np.isfinite(value) & np.isfinite(error)
    value, error = value[good], error[good]
    if scale == "log":
        return np.log(value), (error / value) ** 2
    if scale == "logit":
        return np.asarray(logit(value)), (error / (value * (1 - value))) ** 2
    return value, error**2


def _back(effect: float, scale: Scale) -> float:
    return float({"identity": float, "log": np.exp, "logit": expit}[scale](effect))
