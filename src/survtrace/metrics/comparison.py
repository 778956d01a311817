"""Whether one prediction beats another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import norm, t

from survtrace.errors import DataError, SettingError
from survtrace.metrics.score import Score


@dataclass(frozen=True)
class Comparison:
    """First minus second, with its uncertainty.

    Attributes
    ----------
    difference, standard_error, low, high
        The difference; its error; the ends of its interval.
    p_value
        Two-sided, for no difference.
    """

    difference: float
    standard_error: float
    low: float
    high: float
    p_value: float


def compare(first: Score, second: Score, level: float = 0.95) -> Comparison:
    """Compare two scores of the same subjects by their influences.

    Examples
    --------
    >>> from survtrace.metrics import concordance_paper
    >>> y = {"event": [1, 1, 1, 1], "duration": [1.0, 2.0, 3.0, 4.0]}
    >>> first = concordance_paper(y, [0.9, 0.5, 0.3, 0.1])
    >>> second = concordance_paper(y, [0.9, 0.2, 0.3, 0.1])
    >>> round(compare(first, second).difference, 3)
    0.167
    """
    if len(first.influence) != len(second.influence):
        raise DataError(
            "two scores are compared on the same subjects; the first was computed on "
            f"{len(first.influence)} and the second on {len(second.influence)}. Score both on "
            "one outcome."
        )
    gap = first.minus(second)
    low, high = gap.interval(checked_level(level))
    error = gap.standard_error
    p_value = float(float(gap) == 0) if error == 0 else 2 * norm.sf(abs(gap) / error)
    return Comparison(float(gap), error, low, high, float(p_value))


def corrected_t_test(
    differences: ArrayLike, test_fraction: float, level: float = 0.95
) -> Comparison:
    """Test the mean difference over repeated splits, which share subjects (Nadeau and Bengio).

    Parameters
    ----------
    differences
        Score of one method minus that of another, on each split.
    test_fraction
        Share of the subjects in the test part of a split, between 0 and 1.
    level
        Of the interval.

    Examples
    --------
    >>> round(corrected_t_test([0.02, 0.01, 0.03, 0.02], test_fraction=0.2).p_value, 3)
    0.041
    """
    values = np.asarray(differences, dtype=np.float64)
    if values.ndim != 1 or len(values) < 2 or not np.isfinite(values).all():
        raise DataError(
            f"differences must be two or more finite numbers; got shape {values.shape} with "
            f"{(~np.isfinite(values)).sum()} not finite. Pass one difference for each split."
        )
    if not 0 < test_fraction < 1:
        raise SettingError(f"test_fraction must lie between 0 and 1; got {test_fraction}.")
    mean, freedom = float(values.mean()), len(values) - 1
    inflation = 1 / len(values) + test_fraction / (1 - test_fraction)
    error = float(np.sqrt(inflation * values.var(ddof=1)))
    reach = float(t.ppf((1 + checked_level(level)) / 2, freedom)) * error
    p_value = float(mean == 0) if error == 0 else 2 * t.sf(abs(mean) / error, freedom)
    return Comparison(mean, error, mean - reach, mean + reach, float(p_value))


def checked_level(level: float) -> float:
    """A confidence level, strictly between 0 and 1."""
    if not 0 < level < 1:
        raise SettingError(f"level must lie between 0 and 1; got {level}.")
    return level
