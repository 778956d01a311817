"""A float that carries its standard error."""

from __future__ import annotations

from math import sqrt

import numpy as np
from scipy.special import ndtri

from survtrace.metrics.inputs import Floats, checked_level

NOTHING = np.zeros(0)
AT_BOUND = 1e-10  # value * (1 - value) below this is 0 or 1, up to rounding


class Score(float):
    """A float that carries the influence of every subject on it.

    The influence of a subject is what its presence adds to the score, to first order (the
    infinitesimal jackknife). Influences sum to 0, and the sum of their squares estimates the
    variance. It counts that IPCW weights are estimated: if they come from the scored subjects, by
    the influence of each on the weights of all; if they come from training subjects, by
    independent errors, whose squares are added (Greenwood's formula). Only weights from a
    `CensoringSurvival` without ``at_risk`` are treated as known.

    Parameters
    ----------
    value
        The score.
    influence
        Of each scored subject.
    independent
        Errors that are independent of the scored subjects and of each other.
    n_effective
        For a score that lies within [0, 1]: how many independent observations are behind it at
        least. Its interval stays inside; None for a score without bounds.

    Examples
    --------
    >>> score = Score(0.5, influence=np.array([0.03, -0.04, 0.01]))
    >>> score
    0.5
    >>> round(score.standard_error, 3)
    0.051
    >>> [round(end, 3) for end in score.interval()]
    [0.4, 0.6]
    >>> [round(end, 3) for end in Score(1.0, influence=np.zeros(20), n_effective=10).interval()]
    [0.722, 1.0]
    """

    influence: Floats
    independent: Floats
    n_effective: float | None

    def __new__(
        cls,
        value: float,
        influence: Floats,
        independent: Floats = NOTHING,
        n_effective: float | None = None,
    ) -> Score:
        """Attach the influences to the value."""
        score = super().__new__(cls, value)
        score.influence = influence
        score.independent = independent
        score.n_effective = n_effective
        return score

    def __reduce__(self) -> tuple[type[Score], tuple[float, Floats, Floats, float | None]]:
        return Score, (float(self), self.influence, self.independent, self.n_effective)

    @classmethod
    def of_mean(cls, values: Floats, *, bounded: bool = False) -> Score:
        """Take the mean of one value for each subject; ``bounded`` if all lie within [0, 1]."""
        mean = values.mean()
        return cls(
            mean, (values - mean) / len(values), n_effective=len(values) if bounded else None
        )

    @classmethod
    def undefined(cls, n_subjects: int) -> Score:
        """Make a score of NaN, for data that cannot be scored."""
        return cls(np.nan, np.full(n_subjects, np.nan))

    def minus(self, other: Score) -> Score:
        """Subtract another score of the same subjects, weighted by the same G."""
        if len(self.independent) == len(other.independent):
            independent = self.independent - other.independent
        else:
            independent = np.append(self.independent, other.independent)
        return Score(float(self) - float(other), self.influence - other.influence, independent)

    @property
    def standard_error(self) -> float:
        """The square root of the summed squared influences and independent errors."""
        return float(np.sqrt(np.sum(self.influence**2) + np.sum(self.independent**2)))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Compute a confidence interval.

        Normal for a score without bounds, such as a difference. For one within [0, 1] it is that
        of Wilson (1927) for a share of as many subjects as give the same standard error, so it
        stays inside and leans towards the middle. At 0 or 1 itself, where no error was seen, that
        number is ``n_effective``: at least so many independent subjects, or disjoint pairs, agree.
        """
        reach = float(ndtri((1 + checked_level(level)) / 2))
        value, error = float(self), self.standard_error
        if self.n_effective is None or np.isnan(value):
            return value - reach * error, value + reach * error
        value = min(max(value, 0.0), 1.0)
        spread = value * (1 - value)
        per_subject = 1 / self.n_effective if spread < AT_BOUND else error**2 / spread
        shift = reach**2 * per_subject
        middle = (value + shift / 2) / (1 + shift)
        half = reach * sqrt(spread * per_subject + shift * per_subject / 4) / (1 + shift)
        return max(min(middle - half, value), 0.0), min(max(middle + half, value), 1.0)
