"""Baselines to be scored beside an estimator, never fitted on the subjects they are scored on."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from survtrace.baselines import AalenJohansen, CauseSpecific, CauseSpecificCox, RandomSurvivalForest
from survtrace.baselines.cox import RIDGES
from survtrace.errors import DataWarning, SurvtraceError
from survtrace.estimator import SurvTRACE
from survtrace.naming import Names, names_of
from survtrace.report.overlap import Subjects
from survtrace.report.progress import Tell, say_nothing
from survtrace.tables.covariates.columns import plain_columns
from survtrace.tables.covariates.covariates import open_table
from survtrace.tables.landmarks import at_risk
from survtrace.tables.outcome.outcome import Outcome

Floats = NDArray[np.float64]
AALEN_JOHANSEN, COX, FOREST = "Aalen-Johansen", "Cox", "Forest"
FOLDS = 5
POOL_BELOW, MAX_COLUMNS = 10, 100  # rare levels share a column; columns of a design


@dataclass(frozen=True, eq=False)
class Baselines:
    """What the baselines predict, how they were fitted, and why one is missing.

    Attributes
    ----------
    incidences
        Of each baseline by name, shape (subject, cause, time).
    fitted
        In words: on which rows.
    notes
        A sentence or more for each baseline that was fitted: settings chosen, what was pooled,
        how many rows it learned from.
    left_out
        A sentence for each baseline that could not be fitted.
    """

    incidences: dict[str, Floats]
    fitted: str
    notes: tuple[str, ...]
    left_out: tuple[str, ...]


def predict_baselines(
    est: SurvTRACE,
    X: pd.DataFrame,
    outcome: Outcome,
    train: Subjects | None,
    times: Floats,
    random_state: int,
    tell: Tell = say_nothing,
    landmark: float | None = None,
) -> Baselines:
    """Predict incidences by Aalen-Johansen, Cox and a random survival forest.

    The work is bounded: baselines learn from so many rows drawn at random, rare levels share a
    column, and a baseline for which the table is too large is left out.

    Parameters
    ----------
    est
        Whose covariates and settings of categorical ones are taken over.
    X, outcome
        The subjects to predict for.
    train
        Rows to fit on; without them the baselines are cross-fitted on the subjects themselves.
    times
        When, increasing.
    random_state, tell
        As in `collect`.
    landmark
        Predict for the subjects under observation then, from what is known of them, with times
        counted from it.
    """
    # Baselines read no raw table: numbers written as text would become categories for them.
    covariates = est.encoding_.covariates
    X = plain_columns(open_table(X), covariates)
    if train is not None:
        train = (plain_columns(open_table(train[0]), covariates), train[1])
    found, notes, left_out, n_pooled = {}, [], [], 0
    for baseline in _baselines(est, random_state):
        if reason := _too_large(baseline, est.n_features_in_, len(X)):
            left_out.append(f"{baseline.name} is left out: {reason}.")
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DataWarning)  # issued for the estimator already
                incidence, fits = _predict(
                    baseline, X, outcome, train, times, random_state, tell, landmark
                )
        except ImportError:
            left_out.append(
                f"{baseline.name} is left out: it needs scikit-survival, which is not installed "
                "(pip install 'survtrace[baselines]')."
            )
        except (ArithmeticError, ValueError, SurvtraceError) as error:
            reason, _, _ = str(error).partition(". ")  # the way out is not the reader's
            reason = reason.removesuffix(".")
            left_out.append(f"{baseline.name} is left out: it could not be fitted ({reason}).")
        else:
            found[baseline.name] = incidence
            n_learning = len(X) * (FOLDS - 1) // FOLDS if train is None else len(train[0])
            notes += _notes(baseline, fits, n_learning, names_of(est))
            n_pooled = max(n_pooled, *map(_pooled, fits), 0)
    if n_pooled:
        counted = "1 level" if n_pooled == 1 else f"{n_pooled:,} levels"
        notes.append(
            "Levels of categorical covariates that are too rare for the baselines (fewer than "
            f"{POOL_BELOW} learning subjects, or beyond the {MAX_COLUMNS} columns allowed) share "
            f"a column with the others of their covariate: {counted}."
        )
    if train is not None:
        fitted = f"The baselines were fitted on the {len(train[0]):,} training rows given."
    else:
        fitted = (
            "No training rows were given, so the baselines were cross-fitted on this table: those "
            f"that predict for a fifth of its {outcome.n_subjects:,} subjects learned from the "
            f"other four fifths (seed {random_state}), and not from the rows that SurvTRACE was "
            "fitted on. "
            "Pass these as train for a comparison on equal terms."
        )
    return Baselines(found, fitted, tuple(notes), tuple(left_out))


class _Baseline(NamedTuple):
    """A baseline, and the largest table it is given."""

    name: str
    make: Callable[[], Any]
    learning_rows: int | None = None
    scored_rows: int | None = None
    covariates: int | None = None


def _baselines(est: SurvTRACE, random_state: int) -> tuple[_Baseline, ...]:
    kinds = zip(est.feature_names_in_, est.encoding_.covariates, strict=True)
    categorical = [name for name, covariate in kinds if covariate.kind == "categorical"]
    pooling = {"pool_below": POOL_BELOW, "max_columns": MAX_COLUMNS}
    design: dict[str, Any] = {"categorical": categorical, **pooling}
    trees = {"n_estimators": 100, "n_times": 100, "n_grid": 100, "random_state": random_state}
    return (
        _Baseline(AALEN_JOHANSEN, AalenJohansen),
        _Baseline(
            COX,
            lambda: CauseSpecificCox(ridge="search", n_grid=500, **design),
            learning_rows=20_000,
            covariates=500,
        ),
        _Baseline(
            FOREST,
            lambda: CauseSpecific(RandomSurvivalForest, **trees, **design),
            learning_rows=5_000,
            scored_rows=50_000,
            covariates=500,
        ),
    )


def _too_large(baseline: _Baseline, n_covariates: int, n_scored: int) -> str:
    """Write in which way a table is larger than the baseline is given; empty if it is not."""
    if baseline.covariates is not None and n_covariates > baseline.covariates:
        return (
            f"the table has {n_covariates:,} covariates, more than the {baseline.covariates:,} "
            "that it is given in a report"
        )
    if baseline.scored_rows is not None and n_scored > baseline.scored_rows:
        return (
            f"the table has {n_scored:,} subjects, more than the {baseline.scored_rows:,} that it "
            "predicts for in a report"
        )
    return ""


def _notes(baseline: _Baseline, fits: list[Any], n_learning: int, names: Names) -> list[str]:
    """Write which settings were chosen, and how many rows were not learned from."""
    sentences = []
    if isinstance(fits[0], CauseSpecificCox):
        chosen = [
            f"{_range(fit.ridges_[k] for fit in fits)} for {names.cause(cause)}"
            for k, cause in enumerate(fits[0].causes_)
        ]
        sentences.append(
            f"{baseline.name}: ridge {', '.join(chosen)}, chosen from {min(RIDGES):g} to "
            f"{max(RIDGES):g} by cross-validation on its learning rows."
        )
    if baseline.learning_rows is not None and n_learning > baseline.learning_rows:
        sentences.append(
            f"{baseline.name} learned from {baseline.learning_rows:,} of {n_learning:,} subjects, "
            "drawn at random, to bound the time of the report."
        )
    return sentences


def _range(values: Iterable[float]) -> str:
    distinct = sorted(set(values))
    first, last = f"{distinct[0]:g}", f"{distinct[-1]:g}"
    return first if len(distinct) == 1 else f"{first} to {last}"


def _pooled(fit: Any) -> int:
    designs = [each.design_ for each in getattr(fit, "estimators_", ())]
    return designs[0].n_pooled if designs else 0


def _predict(
    baseline: _Baseline,
    X: pd.DataFrame,
    outcome: Outcome,
    train: Subjects | None,
    times: Floats,
    random_state: int,
    tell: Tell,
    landmark: float | None,
) -> tuple[Floats, list[Any]]:
    """Predict for every subject by a fit to training rows, or to other folds; and the fits."""
    rows = np.arange(len(X))
    how: dict[str, Any] = {}
    if landmark is not None:
        rows, times, how = (
            at_risk(outcome, landmark).rows,
            landmark + times,
            {"conditional_after": landmark},
        )
    if train is not None:
        tell(f"fitting {baseline.name}")
        fit = _fit_some(baseline, *train, random_state)
        return fit.predict_cumulative_incidence(X.iloc[rows], times, **how), [fit]
    incidence = np.empty((len(rows), len(outcome.causes), len(times)))
    fits: list[Any] = []
    for fold in _folds(outcome, random_state):
        tell(f"fitting {baseline.name}, fold {len(fits) + 1} of {FOLDS}")
        fits.append(_fit_some(baseline, X[~fold], outcome.take(~fold), random_state))
        here = fold[rows]
        incidence[here] = fits[-1].predict_cumulative_incidence(X.iloc[rows[here]], times, **how)
    return incidence, fits


def _folds(outcome: Outcome, random_state: int) -> Iterator[NDArray[np.bool_]]:
    """Mark the rows of each fold: whole subjects, with about as many events of each cause."""
    last = outcome if outcome.goes_on is None else outcome.take(~outcome.goes_on)
    counts = np.bincount(last.event)  # a cause with too few events goes with the most frequent
    strata = np.where(counts[last.event] < FOLDS, counts.argmax(), last.event)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=random_state)
    for _, fold in folds.split(strata, strata):
        if outcome.id is None or last.id is None:
            yield np.isin(np.arange(len(outcome)), fold)
        else:
            yield np.isin(outcome.id, last.id[fold])


def _fit_some(baseline: _Baseline, X: pd.DataFrame, outcome: Outcome, random_state: int) -> Any:
    """Fit to the rows, or to as many of them, drawn at random, as the baseline is given."""
    if baseline.learning_rows is not None and len(X) > baseline.learning_rows:
        number = np.arange(len(X)) if outcome.id is None else outcome.id  # of the subject
        subjects = np.random.default_rng(random_state).permutation(np.unique(number))
        some = subjects[: baseline.learning_rows * len(subjects) // len(X)]
        rows = np.flatnonzero(np.isin(number, some))
        X, outcome = X.iloc[rows], outcome.take(rows)
    return baseline.make().fit(X, outcome)
