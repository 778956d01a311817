"""By how much predictions beat one incidence for everybody: the scaled Brier score (IPA)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from survtrace.errors import DataWarning, warn
from survtrace.metrics.brier import brier_score_at
from survtrace.metrics.inputs import pick_cause, read_moment, read_subjects
from survtrace.metrics.observed_incidence import observed_incidence
from survtrace.metrics.score import AT_BOUND, Score


def scaled_brier_score(
    y: Any, incidence: ArrayLike, horizon: float, *, cause: Any = None, y_train: Any = None
) -> Score:
    """Compute 1 - Brier score / Aalen-Johansen's: the index of prediction accuracy (IPA).

    1 for a prediction that knows who has the event by the horizon, 0 for the observed incidence
    of all scored subjects given to each of them, below 0 for a prediction worse than that.
    R's riskRegression: ``Score(..., summary = "ipa")``.

    Parameters
    ----------
    y, cause, y_train
        As in `brier_score`.
    incidence
        Predicted incidence of the cause by the horizon, one for each subject.
    horizon
        The time by which events count.

    Examples
    --------
    >>> y = {"event": [1, 0, 1, 2], "duration": [1.0, 6.0, 3.0, 2.0]}
    >>> score = scaled_brier_score(y, [0.8, 0.2, 0.7, 0.4], horizon=4.0, cause=1)
    >>> round(score, 2), round(score.standard_error, 2)
    (0.67, 0.1)
    """
    outcome, time = read_subjects(y, "a scaled Brier score"), read_moment(horizon)
    number = pick_cause(outcome, cause)

    def brier(predicted: ArrayLike) -> Score:
        label = outcome.causes[number - 1]
        return brier_score_at(outcome, predicted, time, cause=label, y_train=y_train)

    score = brier(incidence)
    observed = observed_incidence(outcome, number, time)
    if np.isnan(score) or np.isnan(observed):
        return Score.undefined(len(outcome))
    share = min(float(observed), 1.0)
    if share * (1 - share) < AT_BOUND:
        warn(
            f"a scaled Brier score compares with one incidence for everybody; the observed one "
            f"by {time:g} is {share:g}, which errs nowhere. The score is NaN; choose another "
            "horizon.",
            DataWarning,
        )
        return Score.undefined(len(outcome))
    of_all = {level: brier(np.full(len(outcome), level)) for level in (0.0, share, 1.0)}
    null = of_all[share]
    # Of a constant p the Brier score is B(0) (1 - p)^2 + B(1) p^2, and the observed incidence is
    # an estimate too. With weights from the scored subjects it is the minimum: the slope is 0.
    slope = 2 * (share * of_all[1.0] - (1 - share) * of_all[0.0])
    null_influence = null.influence + slope * observed.influence
    ratio = float(score) / float(null)
    return Score(
        1 - ratio,
        (ratio * null_influence - score.influence) / float(null),
        (ratio * null.independent - score.independent) / float(null),
    )
