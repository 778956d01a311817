"""How good predictions are on subjects not learned from: scores of each cause, with intervals."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from survtrace.errors import DataError
from survtrace.evaluation.learned_rows import warn_of_learned_rows
from survtrace.inference.landmark_score import integration_times
from survtrace.metrics import (
    CensoringSurvival,
    Score,
    aalen_johansen,
    auc_at,
    bootstrap,
    brier_score_at,
    concordance_cause_specific,
    integrated_brier_score,
    mean_incidence,
)
from survtrace.metrics.censoring import Ties, of_same_kind, read_weights
from survtrace.metrics.inputs import read_subjects, read_times
from survtrace.metrics.observed_expected import warn_of_strange_ratio
from survtrace.tables.covariates.covariates import open_table
from survtrace.tables.landmarks import after_landmark, read_landmarks
from survtrace.tables.outcome.outcome import Outcome, require_same_subjects
from survtrace.tables.outcome.outcome_warnings import ENOUGH_EVENTS, warn_of_late_events
from survtrace.tables.outcome.pairing import read_scored

Floats = NDArray[np.float64]
SCORES = ("C", "AUC", "Brier", "predicted", "observed", "IBS")


class Row(NamedTuple):
    """A score of a cause, by a horizon (None: over all times), with a 95 % interval.

    All values but that of ``observed`` are a `Score`, so that two of them can be compared.
    """

    cause: Any
    score: str
    horizon: float | None
    value: Any
    low: float
    high: float


def evaluate(
    est: Any,
    X: Any,
    y: Any,
    *,
    horizons: ArrayLike | None = None,
    landmarks: ArrayLike | None = None,
    y_train: Any = None,
    n_resamples: int = 200,
    random_state: Any = 0,
) -> pd.DataFrame:
    """Score the incidence of each cause at some horizons.

    With ``landmarks`` at each of them: subjects under observation then are predicted from what is
    known of them at the landmark, and scored from it on. Start-stop rows, whose covariates change,
    can be scored in no other way: no row is known at the beginning and holds to the end.

    Parameters
    ----------
    est
        A fitted `SurvTRACE`, or what has its ``causes_``, ``censoring_``, ``score_times_``,
        ``zero_duration`` and ``predict_cumulative_incidence``.
    X, y
        Subjects it has not learned from; on rows that it has there is a `LearnedRowsWarning`.
    horizons
        When; by default the 25, 50 and 75 % quantiles of the scored subjects' event times. With
        landmarks they are counted from the landmark: 5 is five years after it.
    landmarks
        Times, counted from the same origin as duration and entry, at which to predict; the
        estimator's ``predict_cumulative_incidence`` must know ``conditional_after``.
    y_train
        Outcome whose censoring survival gives the IPCW weights, or a `CensoringSurvival`; by
        default that of the rows the estimator learned from, which it remembers, or of those scored
        if only one of the two entered late. With landmarks, an outcome of which those under
        observation at the landmark count; by default those scored.
    n_resamples, random_state
        Of the bootstrap behind the interval of ``observed``.

    Returns
    -------
    DataFrame
        ``cause``, ``score``, ``horizon``, ``value``, ``low``, ``high``. By horizon: ``C``
        (cause-specific concordance), ``AUC``, ``Brier``, ``predicted`` (mean incidence) and
        ``observed`` (Aalen-Johansen's); once for each cause: ``IBS``, the Brier score integrated
        between the 5 and 95 % quantiles of the training event times. With landmarks there is a
        first column ``landmark``, and the IBS is integrated between these quantiles of the scored
        subjects' event times after it, not beyond the 95 % quantile of the training event times.

    Examples
    --------
    >>> from survtrace import SurvTRACE
    >>> from survtrace.datasets import make_cohort
    >>> X, y = make_cohort(400, proportions=(0.4, 0.2), random_state=0)
    >>> est = SurvTRACE(n_members=1, max_epochs=1, random_state=0, verbose=False)
    >>> scores = evaluate(est.fit(X[:300], y[:300]), X[300:], y[300:], horizons=[36.0])
    >>> scores[scores["cause"] == 1]["score"].tolist()
    ['C', 'AUC', 'Brier', 'predicted', 'observed', 'IBS']
    >>> later = evaluate(est, X[300:], y[300:], landmarks=[12.0], horizons=[24.0])
    >>> later["landmark"].unique().tolist()  # of those event-free at 12, by 36
    [12.0]
    """
    X, outcome = read_scored(est, X, y)
    if hasattr(est, "card_"):  # a baseline's does not say whom it learned from
        warn_of_learned_rows(est, outcome)
        warn_of_late_events(outcome, est.time_grid_[-1])
    drawn = {"n_resamples": n_resamples, "random_state": random_state}
    if landmarks is not None:
        trained = None if y_train is None else _training_outcome(est, y_train)
        return score_landmarks(est, X, outcome, landmarks, horizons, trained, **drawn)
    read_subjects(outcome, "a score table without landmarks")
    if y_train is None:
        weights = of_same_kind(est.censoring_, outcome) or outcome
    elif isinstance(y_train, CensoringSurvival):
        weights = y_train
    else:
        weights = read_weights(read_scored(est, None, y_train)[1], outcome).censoring
    chosen = default_horizons(outcome) if horizons is None else checked_horizons(horizons, outcome)
    grid = read_weights(weights, outcome).censoring.usable(est.score_times_)
    times = np.concatenate([chosen, grid])
    incidence = est.predict_cumulative_incidence(X, times)
    require_same_subjects(len(incidence), outcome)
    scored = score_table(
        score_rows(outcome, incidence, times, est.causes_, chosen, grid, weights, **drawn)
    )
    _warn_of_strange_level(scored, len(outcome))
    return scored


def score_table(rows: Sequence[Row]) -> pd.DataFrame:
    """Put scores into a frame of plain numbers."""
    plain = [row._replace(value=float(row.value)) for row in rows]
    return pd.DataFrame(plain, columns=list(Row._fields))


def score_landmarks(
    est: Any,
    X: Any,
    outcome: Outcome,
    landmarks: ArrayLike,
    horizons: ArrayLike | None,
    trained: Outcome | None = None,
    **drawn: Any,
) -> pd.DataFrame:
    """Score predictions at each landmark; see `evaluate`."""
    table, tables = open_table(X), []
    require_same_subjects(len(table), outcome)
    for landmark in read_landmarks(landmarks, outcome).tolist():
        rows, future = after_landmark(outcome, landmark)
        earlier = None if trained is None else after_landmark(trained, landmark)[1]
        censoring = read_weights(earlier, future).censoring
        with _at_landmark(landmark):
            chosen = (
                default_horizons(future) if horizons is None else checked_horizons(horizons, future)
            )
            grid = integration_times(est, future, landmark, censoring)
        times = np.concatenate([chosen, grid])
        incidence = est.predict_cumulative_incidence(
            table[rows.tolist(), :].to_native(), landmark + times, conditional_after=landmark
        )
        # As in a table without landmarks, weights from the scored rows count in standard errors.
        weights = future if earlier is None else censoring
        scored = score_table(
            score_rows(future, incidence, times, est.causes_, chosen, grid, weights, **drawn)
        )
        scored.insert(0, "landmark", landmark)
        tables.append(scored)
    return pd.concat(tables, ignore_index=True)


def score_rows(
    outcome: Outcome,
    incidence: Floats,
    times: Floats,
    causes: Sequence[Any],
    horizons: Floats,
    grid: Floats,
    censoring: CensoringSurvival | Outcome,
    *,
    scores: Collection[str] = SCORES,
    concordance: Callable[..., Score] = concordance_cause_specific,
    ties: Ties = "left-limit",
    n_resamples: int = 200,
    random_state: Any = 0,
) -> list[Row]:
    """Score the incidence of each cause at the horizons, and integrated over the grid.

    Parameters
    ----------
    outcome
        Of the scored subjects.
    incidence, times
        What was predicted, shape (subject, cause, time), and when.
    causes
        Labels along the second axis of the incidence.
    horizons, grid
        When to score, and the times of the integrated Brier score; all among ``times``.
    censoring
        Gives the IPCW weights: a censoring survival, or the outcome it is estimated from.
    scores
        Which of `SCORES`; C, AUC, Brier, predicted and observed by horizon, IBS once.
    concordance
        Called as ``concordance(outcome, estimate, horizon, cause=..., y_train=...)``.
    ties
        How AUC and Brier scores weight an event where others were censored: see `brier_score`.
    n_resamples, random_state
        Of the bootstrap behind the interval of ``observed``.

    Examples
    --------
    >>> from survtrace.metrics import censoring_survival
    >>> outcome = Outcome(np.array([1.0, 2.0, 3.0, 4.0]), np.array([1, 2, 0, 1]), (1, 2))
    >>> times, half = np.array([1.0, 2.0]), np.full((4, 2, 2), 0.5)
    >>> when = {"horizons": times[1:], "grid": times, "censoring": censoring_survival(outcome)}
    >>> rows = score_rows(outcome, half, times, [1, 2], **when, scores=["Brier", "IBS"])
    >>> [(row.cause, row.score, row.value) for row in rows]
    [(1, 'Brier', 0.25), (1, 'IBS', 0.25), (2, 'Brier', 0.25), (2, 'IBS', 0.25)]
    """
    column = {time: j for j, time in enumerate(times.tolist())}
    on_grid, rows = [column[time] for time in grid.tolist()], []
    weighted: dict[str, Callable[..., Score]] = {
        "C": concordance,
        "AUC": partial(auc_at, ties=ties),
        "Brier": partial(brier_score_at, ties=ties),
    }
    drawn = {"n_resamples": n_resamples, "random_state": random_state}
    for k, cause in enumerate(causes):
        weights: dict[str, Any] = {"cause": cause, "y_train": censoring}
        if "observed" in scores:
            observed = bootstrap(_observed, outcome, times=horizons, cause=cause, **drawn)
        for j, horizon in enumerate(horizons.tolist()):
            estimate = incidence[:, k, column[horizon]]
            for name in scores:
                if name in weighted:
                    score = weighted[name](outcome, estimate, horizon, **weights)
                    rows.append(_row(cause, name, horizon, score))
                elif name == "predicted":
                    score = mean_incidence(outcome, estimate, horizon, y_train=censoring)
                    rows.append(_row(cause, name, horizon, score))
                elif name == "observed":
                    ends = observed.estimate[j], observed.low[j], observed.high[j]
                    rows.append(Row(cause, name, horizon, *ends))
        if "IBS" in scores:
            curves = incidence[:, k, on_grid]
            score = integrated_brier_score(outcome, curves, grid, ties=ties, **weights)
            rows.append(_row(cause, "IBS", None, score))
    return rows


def _warn_of_strange_level(scores: pd.DataFrame, n: int) -> None:
    """Warn where events of all causes by the last horizon are far from those predicted."""
    last = scores[scores["horizon"] == scores["horizon"].max()]
    sums = last.groupby("score")["value"].sum()
    if n * max(sums["observed"], sums["predicted"]) >= ENOUGH_EVENTS and sums["predicted"] > 0:
        warn_of_strange_ratio(float(sums["observed"] / sums["predicted"]))


def default_horizons(outcome: Outcome) -> Floats:
    """Compute the quartiles of the event times."""
    if not (outcome.event > 0).any():
        raise DataError(
            f"scores need at least one event; all {len(outcome)} subjects are censored. Score "
            "subjects of whom some had an event."
        )
    return np.unique(np.quantile(outcome.duration[outcome.event > 0], [0.25, 0.5, 0.75]))


def _training_outcome(est: Any, y_train: Any) -> Outcome:
    if isinstance(y_train, CensoringSurvival):
        raise DataError(
            "with landmarks y_train must be an outcome, of which those under observation at each "
            "landmark count; got a censoring survival. Pass the outcome of the training rows."
        )
    return read_scored(est, None, y_train)[1]


@contextmanager
def _at_landmark(landmark: float) -> Iterator[None]:
    """Let an error say at which landmark it arose."""
    try:
        yield
    except DataError as error:
        place = f"at the landmark {landmark:g}, from which times count:"
        raise DataError(f"{place} {error}", in_command=f"{place} {error.in_command}") from None


def checked_horizons(horizons: ArrayLike, outcome: Outcome) -> Floats:
    """Return horizons after 0 and within the follow-up of the scored subjects."""
    times, end = read_times(horizons), outcome.duration.max()
    if not ((times > 0) & (times <= end)).all():
        raise DataError(
            f"horizons must lie after 0 and within the follow-up of the scored subjects, which "
            f"ends at {end:g}; got {times.tolist()}."
        )
    return times


def _observed(outcome: Outcome, *, times: Floats, cause: Any) -> Floats:
    return aalen_johansen(outcome, cause).at(times)


def _row(cause: Any, name: str, horizon: float | None, score: Score) -> Row:
    return Row(cause, name, horizon, score, *score.interval())
