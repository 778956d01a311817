"""Mean calibration: how many had the event by a horizon, over how many were predicted to."""

from __future__ import annotations

from math import exp
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import norm

from survtrace.errors import DataError, DataWarning, warn
from survtrace.metrics.calibration import mean_incidence
from survtrace.metrics.inputs import (
    checked_level,
    pick_cause,
    read_moment,
    read_probability,
    read_subjects,
)
from survtrace.metrics.observed_incidence import observed_incidence
from survtrace.metrics.score import AT_BOUND, Score

SMALLEST = 1e-100  # of the largest prediction: the square of a ratio stays finite
STRANGE_RATIO = 5.0  # so far off, it is rather another unit of time than another hospital


def warn_of_strange_ratio(observed_over_expected: float) -> None:
    """Warn of a level so far off that durations may be in another unit."""
    if not 1 / STRANGE_RATIO < observed_over_expected < STRANGE_RATIO:
        warn(
            f"these subjects have {observed_over_expected:.2g} times the events that the model "
            "expects. Are durations in the same unit, and events the same?",
            DataWarning,
        )


class ObservedExpectedRatio(Score):
    """A `Score` that is a ratio: its interval is symmetric on the log scale.

    Attributes
    ----------
    observed
        Incidence by Aalen-Johansen, a `Score`.
    expected
        Mean prediction, a `Score`.

    Examples
    --------
    >>> halves = Score.of_mean(np.array([0.0, 1.0, 0.0, 1.0]), bounded=True)
    >>> ratio = ObservedExpectedRatio.of(halves, Score.of_mean(np.full(4, 0.25)))
    >>> ratio, [round(end, 2) for end in ratio.interval()]
    (2.0, [0.75, 5.33])
    """

    observed: Score
    expected: Score

    @classmethod
    def of(cls, observed: Score, expected: Score) -> ObservedExpectedRatio:
        """Divide two scores of the same subjects."""
        value = float(observed) / float(expected)
        influence = (observed.influence - value * expected.influence) / float(expected)
        independent = np.append(observed.independent, -value * expected.independent)
        ratio = cls(value, influence, independent / float(expected))
        ratio.observed, ratio.expected = observed, expected
        return ratio

    def __reduce__(self) -> tuple[Any, ...]:
        return ObservedExpectedRatio.of, (self.observed, self.expected)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Compute an interval; where nobody or everybody had the event, Wilson's of the observed.

        There no error was seen, and the log scale knows none.
        """
        value, share = float(self), float(self.observed)
        if share * (1 - share) < AT_BOUND:
            low, high = self.observed.interval(level)
            return low / float(self.expected), high / float(self.expected)
        factor = exp(float(norm.ppf((1 + checked_level(level)) / 2)) * self.standard_error / value)
        return value / factor, value * factor


def observed_expected_ratio(
    y: Any, incidence: ArrayLike, horizon: float, *, cause: Any = None
) -> ObservedExpectedRatio:
    """Divide the observed incidence of a cause by the mean predicted one (O/E).

    Above 1, the prediction is too low on average. Observed is Aalen-Johansen's estimate. The
    interval counts that both vary with the subjects seen; that of van Geloven et al. (BMJ 2022)
    takes the expected as known and is a little wider, since who has a higher prediction has the
    event more often.

    Parameters
    ----------
    y
        The outcome of the scored subjects, one row each; they may enter late.
    incidence
        Predicted incidence of the cause by the horizon, one for each subject.
    horizon
        The time by which events count.
    cause
        Label of the cause; may be left out if there is one.

    Examples
    --------
    >>> y = {"event": [1, 0, 1, 2], "duration": [1.0, 6.0, 3.0, 2.0]}
    >>> ratio = observed_expected_ratio(y, [0.3, 0.1, 0.4, 0.2], horizon=4.0, cause=1)
    >>> ratio, ratio.observed, ratio.expected
    (2.0, 0.5, 0.25)
    """
    outcome, time = read_subjects(y, "an observed/expected ratio"), read_moment(horizon)
    number = pick_cause(outcome, cause)
    predicted = read_probability(incidence, outcome, "incidence")
    if (most := predicted.max()) < SMALLEST:
        raise DataError(
            f"an observed/expected ratio needs a mean prediction above 0; all {len(predicted)} "
            f"are {most:g}{' or less' if most > 0 else ''}. Predict the incidence at the horizon."
        )
    expected = mean_incidence(outcome, predicted, time)
    observed = observed_incidence(outcome, number, time)
    if np.isnan(observed):
        warn(
            f"follow-up ends at {outcome.duration.max():g}, before the horizon {time:g}, with "
            "some event-free; the ratio is NaN. Choose an earlier horizon.",
            DataWarning,
        )
    return ObservedExpectedRatio.of(observed, expected)
