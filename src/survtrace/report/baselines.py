"""Baselines to be scored beside an estimator, never fitted on the subjects they are scored on."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import StratifiedKFold

from survtrace.baselines import (
    AalenJohansen,
    CauseSpecific,
    CauseSpecificCox,
    RandomSurvivalForest,
)
from survtrace.baselines.cox import RIDGES
from survtrace.errors import DataWarning, SurvtraceError
from survtrace.estimator import SurvTRACE
from survtrace.metrics import CensoringSurvival
from survtrace.naming import Names, names_of
from survtrace.report.overlap import Subjects
from survtrace.report.progress import Tell, say_nothing
from survtrace.tables.covariates.columns import plain_columns
from survtrace.tables.covariates.covariates import open_table
from survtrace.tables.outcome.outcome import Outcome

Floats = NDArray[np.float64]
FLOOR, COX, FOREST = "Aalen-Johansen", "Cox", "Forest"
FOLDS = 5
POOL_BELOW, MAX_COLUMNS = 10, 100  # rare levels share a column; columns of a design


@dataclass(frozen=True, eq=False)
class Foretold:
    """Incidences predicted once, at known times, in the form that `evaluate` scores.

    Attributes
    ----------
    times, incidence
        Increasing, shape (time,); shape (subject, cause, time).
    causes_, censoring_, score_times_, zero_duration
        Those of the estimator, so that every method is scored alike.
    """

    times: Floats
    incidence: Floats
    causes_: list[Any]
    censoring_: CensoringSurvival
    score_times_: Floats
    zero_duration: str

    def predict_cumulative_incidence(self, X: Any, times: ArrayLike) -> Floats:
        """What was predicted for these subjects at some of the times."""
        return self.incidence[..., np.searchsorted(self.times, np.asarray(times))]


@dataclass(frozen=True, eq=False)
class Rivals:
    """What the baselines predict, how they were fitted, and why one is missing.

    Attributes
    ----------
    foretold
        By name.
    fitted
        In words: on which rows.
    notes
        A sentence or more for each baseline that was fitted: settings chosen, what was pooled,
        how many rows it learned from.
    left_out
        A sentence for each baseline that could not be fitted.
    """

    foretold: dict[str, Foretold]
    fitted: str
    notes: tuple[str, ...]
    left_out: tuple[str, ...]


def foretell(
    est: SurvTRACE,
    X: pd.DataFrame,
    outcome: Outcome,
    train: Subjects | None,
    times: Floats,
    random_state: int,
    tell: Tell = say_nothing,
) -> Rivals:
    """Predict incidences by Aalen-Johansen, Cox and a random survival forest.

    The work is bounded: baselines learn from so many rows drawn at random, rare levels share a
    column, and a baseline for which the table is too large is left out.

    Parameters
    ----------
    est
        Whose causes, censoring survival and score times are taken over.
    X, outcome
        The subjects to predict for.
    train
        Rows to fit on; without them the rivals are cross-fitted on the subjects themselves.
    times
        When, increasing.
    random_state
        Seed of the folds.
    tell
        Told in words what is being fitted.

    Examples
    --------
    >>> from survtrace.tables.outcome.outcome import read_outcome
    >>> from survtrace.datasets import make_cohort
    >>> X, y = make_cohort(300, random_state=0)
    >>> est = SurvTRACE(n_members=1, max_epochs=1, random_state=0, verbose=False).fit(X, y)
    >>> rivals = foretell(est, X, read_outcome(y), None, np.array([12.0]), random_state=0)
    >>> rivals.foretold["Aalen-Johansen"].incidence.shape
    (300, 2, 1)
    """
    # Baselines read no raw table: numbers written as text would become categories for them.
    covariates = est.encoding_.covariates
    X = plain_columns(open_table(X), covariates)
    if train is not None:
        train = (plain_columns(open_table(train[0]), covariates), train[1])
    found, notes, left_out, n_pooled = {}, [], [], 0
    alike = (list(est.causes_), est.censoring_, est.score_times_, est.zero_duration)
    for rival in _rivals(est, random_state):
        try:
            _require_size(rival, est, len(X))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DataWarning)  # said of the estimator already
                incidence, fits = (
                    _cross_fitted(rival, X, outcome, times, random_state, tell)
                    if train is None
                    else _fitted(rival, X, train, times, random_state, tell)
                )
        except ImportError:
            left_out.append(
                f"{rival.name} is left out: it needs scikit-survival, which is not installed "
                "(pip install 'survtrace[baselines]')."
            )
        except (ArithmeticError, ValueError, SurvtraceError) as reason:
            left_out.append(f"{rival.name} is left out: it could not be fitted ({reason}).")
        except _TooLargeError as reason:
            left_out.append(f"{rival.name} is left out: {reason}.")
        else:
            found[rival.name] = Foretold(times, incidence, *alike)
            n_learning = len(X) * (FOLDS - 1) // FOLDS if train is None else len(train[0])
            notes += _notes(rival, fits, n_learning, names_of(est))
            n_pooled = max(n_pooled, *map(_pooled, fits), 0)
    if n_pooled:
        notes.append(
            "Levels of categorical covariates that are too rare for the baselines (fewer than "
            f"{POOL_BELOW} learning subjects, or beyond the {MAX_COLUMNS} columns allowed) share "
            f"a column with the others of their covariate: {n_pooled:,} in all."
        )
    return Rivals(found, _how(len(X), train, random_state), tuple(notes), tuple(left_out))


class _Rival(NamedTuple):
    """A baseline, and the largest table it is given."""

    name: str
    make: Callable[[], Any]
    learning_rows: int | None = None
    scored_rows: int | None = None
    covariates: int | None = None


class _TooLargeError(Exception):
    """A table is larger than a baseline is given."""


def _rivals(est: SurvTRACE, random_state: int) -> tuple[_Rival, ...]:
    kinds = zip(est.feature_names_in_, est.encoding_.covariates, strict=True)
    categorical = [name for name, covariate in kinds if covariate.kind == "categorical"]
    known: dict[str, Any] = {
        "categorical": categorical,
        "pool_below": POOL_BELOW,
        "max_columns": MAX_COLUMNS,
    }
    trees = {"n_estimators": 100, "n_times": 100, "n_grid": 100, "random_state": random_state}
    return (
        _Rival(FLOOR, AalenJohansen),
        _Rival(
            COX,
            lambda: CauseSpecificCox(ridge="search", n_grid=500, **known),
            learning_rows=20_000,
            covariates=500,
        ),
        _Rival(
            FOREST,
            lambda: CauseSpecific(RandomSurvivalForest, **trees, **known),
            learning_rows=5_000,
            scored_rows=50_000,
            covariates=500,
        ),
    )


def _require_size(rival: _Rival, est: SurvTRACE, n_scored: int) -> None:
    n_covariates = est.n_features_in_
    if rival.covariates is not None and n_covariates > rival.covariates:
        raise _TooLargeError(
            f"the table has {n_covariates:,} covariates, more than the {rival.covariates:,} that "
            "it is given in a report"
        )
    if rival.scored_rows is not None and n_scored > rival.scored_rows:
        raise _TooLargeError(
            f"the table has {n_scored:,} subjects, more than the {rival.scored_rows:,} that it "
            "predicts for in a report"
        )


def _notes(rival: _Rival, fits: list[Any], n_learning: int, names: Names) -> list[str]:
    """Say which settings were chosen, and how many rows were not learned from."""
    said = []
    if isinstance(fits[0], CauseSpecificCox):
        chosen = [
            f"{_range(fit.ridges_[k] for fit in fits)} for {names.cause(cause)}"
            for k, cause in enumerate(fits[0].causes_)
        ]
        said.append(
            f"{rival.name}: ridge {', '.join(chosen)}, chosen from {min(RIDGES):g} to "
            f"{max(RIDGES):g} by cross-validation on its learning rows."
        )
    if rival.learning_rows is not None and n_learning > rival.learning_rows:
        said.append(
            f"{rival.name} learned from {rival.learning_rows:,} of {n_learning:,} subjects, "
            "drawn at random, to bound the time of the report."
        )
    return said


def _range(values: Iterable[float]) -> str:
    known = sorted(set(values))
    return f"{known[0]:g}" if len(known) == 1 else f"{known[0]:g} to {known[-1]:g}"


def _pooled(fit: Any) -> int:
    designs = [each.design_ for each in getattr(fit, "estimators_", ())]
    return designs[0].n_pooled if designs else 0


def _how(n_subjects: int, train: Subjects | None, random_state: int) -> str:
    if train is not None:
        return f"The baselines were fitted on the {len(train[0]):,} training rows given."
    return (
        f"No training rows were given, so the baselines were cross-fitted on this table: those who "
        f"predict for a fifth of its {n_subjects:,} subjects learned from the other four fifths "
        f"(seed {random_state}), and not from the rows that SurvTRACE was fitted on. Give these "
        "(--train) for a comparison on equal terms."
    )


def _fitted(
    rival: _Rival, X: pd.DataFrame, train: Subjects, times: Floats, random_state: int, tell: Tell
) -> tuple[Floats, list[Any]]:
    tell(f"fitting {rival.name}")
    fit = _fit_some(rival, *train, random_state)
    return fit.predict_cumulative_incidence(X, times), [fit]


def _cross_fitted(
    rival: _Rival,
    X: pd.DataFrame,
    outcome: Outcome,
    times: Floats,
    random_state: int,
    tell: Tell,
) -> tuple[Floats, list[Any]]:
    incidence = np.empty((len(X), len(outcome.causes), len(times)))
    fits: list[Any] = []
    for others, fold in _folds(outcome, random_state):
        tell(f"fitting {rival.name}, fold {len(fits) + 1} of {FOLDS}")
        fit = _fit_some(rival, X.iloc[others], outcome.take(others), random_state)
        incidence[fold] = fit.predict_cumulative_incidence(X.iloc[fold], times)
        fits.append(fit)
    return incidence, fits


def _fit_some(rival: _Rival, X: pd.DataFrame, outcome: Outcome, random_state: int) -> Any:
    """Fit to the rows, or to as many of them, drawn at random, as the baseline is given."""
    if rival.learning_rows is not None and len(X) > rival.learning_rows:
        order = np.random.default_rng(random_state).permutation(len(X))
        rows = np.sort(order[: rival.learning_rows])
        X, outcome = X.iloc[rows], outcome.take(rows)
    return rival.make().fit(X, outcome)


def _folds(outcome: Outcome, random_state: int) -> Any:
    """Folds with about as many events of each cause, where it has enough."""
    counts = np.bincount(outcome.event)
    strata = np.where(counts[outcome.event] < FOLDS, counts.argmax(), outcome.event)
    split = StratifiedKFold(FOLDS, shuffle=True, random_state=random_state)
    return split.split(strata, strata)
