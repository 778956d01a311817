"""Score predictions for those under observation at a few landmarks, from each of them on."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from survtrace.errors import DataError
from survtrace.metrics import CensoringSurvival
from survtrace.metrics.brier import integrated_brier_scores
from survtrace.metrics.censoring import read_weights
from survtrace.tables.covariates.covariates import open_table
from survtrace.tables.landmarks import after_landmark
from survtrace.tables.outcome.outcome import Outcome, require_same_subjects

Floats = NDArray[np.float64]
QUANTILES = (0.1, 0.5)  # of the event times: where the landmarks lie


def landmark_brier_score(est: Any, X: Any, outcome: Outcome) -> float:
    """Average the integrated Brier score over causes and two landmarks.

    The landmarks are the 10 and 50 % quantiles of the event times: at each, those under observation
    are predicted from what is known of them then.

    Examples
    --------
    >>> class Half:
    ...     causes_ = [1]
    ...     def predict_cumulative_incidence(self, X, times, conditional_after):
    ...         return np.full((len(X), 1, len(times)), 0.5)
    >>> outcome = Outcome(np.arange(1.0, 41.0), np.ones(40, dtype=np.int64), (1,))
    >>> round(landmark_brier_score(Half(), {"age": range(40)}, outcome), 6)
    0.25
    """
    table = open_table(X)
    require_same_subjects(len(table), outcome)
    if not (outcome.event > 0).any():
        raise _no_event(outcome)
    losses = []
    event_times = outcome.duration[outcome.event > 0]
    for landmark in np.unique(np.quantile(event_times, QUANTILES, method="lower")).tolist():
        rows, future = after_landmark(outcome, landmark)
        if (future.event > 0).any():
            times = integration_times(est, future, landmark, None)
            known = table[rows.tolist(), :].to_native()
            incidence = est.predict_cumulative_incidence(
                known, landmark + times, conditional_after=landmark
            )
            losses.append(np.mean(integrated_brier_scores(future, incidence, times, est.causes_)))
    if not losses:
        raise DataError(
            "a score at landmarks needs events after the 10 % quantile of the event times; there "
            "are none. Score more subjects."
        )
    return float(np.mean(losses))


def integration_times(est: Any, outcome: Outcome, landmark: float, censoring: Any) -> Floats:
    """Choose a hundred times after a landmark over which a Brier score is integrated.

    Between the 5 and 95 % quantiles of the event times after it, as far as G is usable and not
    beyond the 95 % quantile of the training event times, where an estimator remembers that.
    """
    if not (outcome.event > 0).any():
        raise _no_event(outcome)
    first, last = np.quantile(outcome.duration[outcome.event > 0], [0.05, 0.95])
    trained = getattr(est, "score_times_", None)
    last = last if trained is None else min(last, float(trained[-1]) - landmark)
    usable: CensoringSurvival = read_weights(censoring, outcome).censoring
    times = usable.usable(np.unique(np.linspace(first, last, 100))) if last > first else ()
    if len(times) < 2:
        raise DataError(
            "the integrated Brier score needs events at two times or more that can be weighted, "
            f"up to the 95 % quantile of the training event times; after {landmark:g} there are "
            f"{len(times)}. Choose an earlier landmark, or score more subjects."
        )
    return np.asarray(times)


def _no_event(outcome: Outcome) -> DataError:
    return DataError(
        f"a score needs at least one event; all {len(outcome)} rows are censored. Score subjects "
        "of whom some had an event."
    )
