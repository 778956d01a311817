"""What an estimator relies on: the loss in Brier score when a covariate is shuffled."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import norm

from survtrace.errors import DataWarning
from survtrace.explain.frame import read_frame, require_fitted
from survtrace.inference.landmark_score import integration_times
from survtrace.metrics import Score
from survtrace.metrics.brier import integrated_brier_scores
from survtrace.metrics.censoring import of_same_kind, read_weights
from survtrace.metrics.inputs import checked_level, read_subjects
from survtrace.rules import check_value, random_generator, whole
from survtrace.tables.landmarks import after_landmark, read_landmark
from survtrace.tables.outcome.outcome import Outcome, require_same_subjects
from survtrace.tables.outcome.pairing import read_scored


def permutation_importance(
    est: Any,
    X: Any,
    y: Any,
    *,
    landmark: float | None = None,
    n_repeats: int = 5,
    random_state: Any = None,
    level: float = 0.95,
) -> pd.DataFrame:
    """Measure how much worse each cause's Brier score gets when a covariate is shuffled.

    Times and censoring weights are those of `SurvTRACE.score`; for an estimator without them, a
    hundred times between the 5 and 95 % quantiles of the event times of ``y``, and its censoring
    survival. Of two covariates that say the same neither may look important, since the other
    is left as it was.

    Intervals are normal and account for the subjects drawn, in both their roles (whose error is
    counted, and whose value is handed to another), and for the shuffles drawn.

    Parameters
    ----------
    est
        Fitted on other subjects: on its own training rows it looks more sure than it is.
    X, y
        Covariates and outcome of the subjects to score on.
    landmark
        A time, counted from the same origin as duration: those under observation then are
        predicted from what is known of them, scored from it on by the censoring survival of their
        own, and a covariate is shuffled among them. Start-stop rows need one: shuffling their
        rows would hand a subject the later values of another, or its own.
    n_repeats
        Shuffles of each covariate.
    random_state
        Seed of the shuffles.
    level
        Of the intervals.

    Returns
    -------
    DataFrame
        Columns ``cause``, ``covariate``, ``importance``, ``low`` and ``high``; for each cause the
        most important first. 0 is no difference.

    Examples
    --------
    >>> from survtrace import SurvTRACE
    >>> from survtrace.datasets import make_cohort
    >>> X, y = make_cohort(300, random_state=0)
    >>> est = SurvTRACE(n_members=2, max_epochs=2, random_state=0, verbose=False).fit(X, y)
    >>> table = permutation_importance(est, X, y, n_repeats=1, random_state=0)
    >>> list(table.columns), len(table) == 2 * X.shape[1]
    (['cause', 'covariate', 'importance', 'low', 'high'], True)
    """
    check_value("n_repeats", n_repeats, whole(1))
    reach = float(norm.ppf((1 + checked_level(level)) / 2))
    require_fitted(est)
    X, outcome = read_scored(est, X, y)
    frame = read_frame(est, X)
    require_same_subjects(len(frame), outcome)
    if landmark is None:
        read_subjects(outcome, "permutation importance without a landmark")
        scores = _brier_scores(est, outcome)
    else:
        landmark = read_landmark(landmark, outcome, "permutation importance")
        known, future = after_landmark(outcome, landmark)
        frame, scores = frame.iloc[known], _landmark_scores(est, future, landmark)
    rng = random_generator(random_state)
    unshuffled = scores(frame)
    rows = []
    for name in frame.columns:
        orders = [rng.permutation(len(frame)) for _ in range(n_repeats)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # said of the whole table already
            broken = [scores(frame.assign(**{name: frame[name].array[order]})) for order in orders]
        for k, cause in enumerate(est.causes_):
            influences = np.array([each[k].influence - unshuffled[k].influence for each in broken])
            mean = float(np.mean([each[k] - unshuffled[k] for each in broken]))
            error = _shuffled_error(influences, orders)
            rows.append((k, cause, name, mean, mean - reach * error, mean + reach * error))
    table = pd.DataFrame(rows, columns=["k", "cause", "covariate", "importance", "low", "high"])
    table = table.sort_values(["k", "importance"], ascending=[True, False], ignore_index=True)
    return table.drop(columns="k")


def _brier_scores(est: Any, outcome: Outcome) -> Callable[[pd.DataFrame], list[Score]]:
    """Return a function that scores each cause's predictions for a table of these subjects."""
    weights = of_same_kind(getattr(est, "censoring_", None), outcome) or outcome
    times = getattr(est, "score_times_", None)
    if times is None:
        first, last = np.quantile(outcome.duration[outcome.event > 0], [0.05, 0.95])
        times = np.linspace(first, last, 100)
    times = read_weights(weights, outcome).censoring.usable(times)

    def scores(frame: pd.DataFrame) -> list[Score]:
        incidence = est.predict_cumulative_incidence(frame, times)
        return integrated_brier_scores(outcome, incidence, times, est.causes_, y_train=weights)

    return scores


def _landmark_scores(
    est: Any, future: Outcome, landmark: float
) -> Callable[[pd.DataFrame], list[Score]]:
    """Return a function that scores predictions for those under observation at a landmark."""
    times = integration_times(est, future, landmark, None)

    def scores(frame: pd.DataFrame) -> list[Score]:
        asked = {"conditional_after": landmark}
        incidence = est.predict_cumulative_incidence(frame, landmark + times, **asked)
        return integrated_brier_scores(future, incidence, times, est.causes_)

    return scores


def _shuffled_error(scored: NDArray[np.float64], orders: list[NDArray[np.int64]]) -> float:
    """Compute the standard error of the mean of paired differences under shuffles.

    A difference is the sum of a part of the subject who is scored, a part of the subject whose
    value it got, and noise. Averages over shuffles by the one and by the other estimate the first
    two parts; what the noise adds to their squares more than it adds to the mean is taken off.
    ``scored`` holds the influences on each difference, shape (shuffle, subject).
    """
    lent = np.empty_like(scored)
    for row, order, influence in zip(lent, orders, scored, strict=True):
        row[order] = influence
    scored_part, lent_part = scored.mean(axis=0), lent.mean(axis=0)
    excess = (scored**2).sum(axis=1).mean() / len(scored)
    variance = ((scored_part + lent_part) ** 2).sum() - excess
    return float(np.sqrt(max(variance, (scored_part**2).sum())))
