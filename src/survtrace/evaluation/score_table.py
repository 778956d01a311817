"""How good an estimator is on subjects it has not seen: scores of each cause, with intervals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from survtrace.errors import DataError
from survtrace.evaluation.learned_rows import warn_of_learned_rows
from survtrace.metrics import (
    CensoringSurvival,
    Score,
    aalen_johansen,
    auc_at,
    bootstrap,
    brier_score_at,
    concordance_cause_specific,
    integrated_brier_score,
)
from survtrace.metrics.censoring import read_weights
from survtrace.metrics.inputs import read_times
from survtrace.tables.outcome.outcome import Outcome, require_same_subjects
from survtrace.tables.outcome.pairing import read_scored

Floats = NDArray[np.float64]


class Row(NamedTuple):
    """A score of a cause, by a horizon (None: over all times), with a 95 % interval."""

    cause: Any
    score: str
    horizon: float | None
    value: float
    low: float
    high: float


def evaluate(
    est: Any,
    X: Any,
    y: Any,
    *,
    horizons: ArrayLike | None = None,
    y_train: Any = None,
    n_resamples: int = 200,
    random_state: Any = 0,
) -> pd.DataFrame:
    """Score the incidence of each cause at some horizons.

    Parameters
    ----------
    est
        A fitted `SurvTRACE`, or what has its ``causes_``, ``censoring_``, ``score_times_``,
        ``zero_duration`` and ``predict_cumulative_incidence``.
    X, y
        Subjects it has not learned from; on rows that it has there is a `LearnedRowsWarning`.
    horizons
        When; by default the 25, 50 and 75 % quantiles of the scored subjects' event times.
    y_train
        Outcome whose censoring survival gives the IPCW weights, or a `CensoringSurvival`; by
        default that of the rows the estimator learned from, which it remembers.
    n_resamples, random_state
        Of the bootstrap behind the interval of ``observed``.

    Returns
    -------
    DataFrame
        ``cause``, ``score``, ``horizon``, ``value``, ``low``, ``high``. By horizon: ``C``
        (cause-specific concordance), ``AUC``, ``Brier``, ``predicted`` (mean incidence) and
        ``observed`` (Aalen-Johansen's); once for each cause: ``IBS``, the Brier score integrated
        between the 5 and 95 % quantiles of the training event times.

    Examples
    --------
    >>> from survtrace import SurvTRACE
    >>> from survtrace.datasets import make_cohort
    >>> X, y = make_cohort(400, proportions=(0.4, 0.2), random_state=0)
    >>> est = SurvTRACE(n_members=1, max_epochs=1, random_state=0, verbose=False)
    >>> scores = evaluate(est.fit(X[:300], y[:300]), X[300:], y[300:], horizons=[36.0])
    >>> scores[scores["cause"] == 1]["score"].tolist()
    ['C', 'AUC', 'Brier', 'predicted', 'observed', 'IBS']
    """
    X, outcome = read_scored(est, X, y)
    if hasattr(est, "card_"):  # a baseline's does not say whom it learned from
        warn_of_learned_rows(est, outcome)
    if y_train is None:
        y_train = est.censoring_
    elif not isinstance(y_train, CensoringSurvival):
        y_train = read_scored(est, None, y_train)[1]
    censoring = read_weights(y_train, outcome).censoring
    asked = _quartiles(outcome) if horizons is None else _checked(horizons, outcome)
    grid = est.score_times_[est.score_times_ <= censoring.last_usable]
    incidence = est.predict_cumulative_incidence(X, np.concatenate([asked, grid]))
    require_same_subjects(len(incidence), outcome)
    rows = [
        row
        for k, cause in enumerate(est.causes_)
        for row in _scores(
            outcome, incidence[:, k], asked, grid, cause, censoring, n_resamples, random_state
        )
    ]
    return pd.DataFrame(rows, columns=list(Row._fields))


def _scores(
    outcome: Outcome,
    incidence: Floats,
    horizons: Floats,
    grid: Floats,
    cause: Any,
    censoring: CensoringSurvival,
    n_resamples: int,
    random_state: Any,
) -> Iterator[Row]:
    known = {"cause": cause, "y_train": censoring}
    drawn = {"n_resamples": n_resamples, "random_state": random_state}
    at_horizons, on_grid = incidence[:, : len(horizons)], incidence[:, len(horizons) :]
    observed = bootstrap(_observed, outcome, times=horizons, cause=cause, **drawn)
    for j, horizon in enumerate(map(float, horizons)):
        estimate = at_horizons[:, j]
        found = {
            "C": _ends(concordance_cause_specific(outcome, estimate, horizon, **known)),
            "AUC": _ends(auc_at(outcome, estimate, horizon, **known)),
            "Brier": _ends(brier_score_at(outcome, estimate, horizon, **known)),
            "predicted": _ends(Score.of_mean(estimate, bounded=True)),
            "observed": (observed.estimate[j], observed.low[j], observed.high[j]),
        }
        yield from (Row(cause, name, horizon, *ends) for name, ends in found.items())
    yield Row(cause, "IBS", None, *_ends(integrated_brier_score(outcome, on_grid, grid, **known)))


def _checked(horizons: ArrayLike, outcome: Outcome) -> Floats:
    asked, end = read_times(horizons), outcome.duration.max()
    if not ((asked > 0) & (asked <= end)).all():
        raise DataError(
            f"horizons must lie after 0 and within the follow-up of the scored subjects, which "
            f"ends at {end:g}; got {asked.tolist()}."
        )
    return asked


def _quartiles(outcome: Outcome) -> Floats:
    """Quartiles of the event times."""
    if not (outcome.event > 0).any():
        raise DataError(
            f"scores need at least one event; all {len(outcome)} subjects are censored. Score "
            "subjects of whom some had an event."
        )
    return np.unique(np.quantile(outcome.duration[outcome.event > 0], [0.25, 0.5, 0.75]))


def _observed(outcome: Outcome, *, times: Floats, cause: Any) -> Floats:
    return aalen_johansen(outcome, cause).at(times)


def _ends(score: Score) -> tuple[float, float, float]:
    """The value and the ends of its interval."""
    return float(score), *score.interval()
