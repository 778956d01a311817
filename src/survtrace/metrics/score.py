"""A number that knows how sure it is."""

from __future__ import annotations

import numpy as np
from scipy.stats import norm

from survtrace.metrics.inputs import Floats


class Score(float):
    """A float that carries the influence of every subject on it.

    The influence of a subject is what its presence adds to the score, to first order (the
    infinitesimal jackknife). Influences sum to 0, and the sum of their squares estimates the
    variance. IPCW weights are treated as known, which usually makes the error slightly too large.

    Examples
    --------
    >>> score = Score(0.5, influence=np.array([0.03, -0.04, 0.01]))
    >>> score
    0.5
    >>> round(score.standard_error, 3)
    0.051
    >>> [round(end, 3) for end in score.interval()]
    [0.4, 0.6]
    """

    influence: Floats

    def __new__(cls, value: float, influence: Floats) -> Score:
        """Attach the influences to the value."""
        score = super().__new__(cls, value)
        score.influence = influence
        return score

    def __reduce__(self) -> tuple[type[Score], tuple[float, Floats]]:
        return Score, (float(self), self.influence)

    @classmethod
    def of_mean(cls, values: Floats) -> Score:
        """The mean of one value for each subject."""
        mean = values.mean()
        return cls(mean, (values - mean) / len(values))

    @classmethod
    def undefined(cls, n_subjects: int) -> Score:
        """NaN, for data that cannot be scored."""
        return cls(np.nan, np.full(n_subjects, np.nan))

    @property
    def standard_error(self) -> float:
        """The square root of the summed squared influences."""
        return float(np.sqrt(np.sum(self.influence**2)))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """A normal confidence interval."""
        reach = float(norm.ppf((1 + level) / 2)) * self.standard_error
        return float(self) - reach, float(self) + reach
