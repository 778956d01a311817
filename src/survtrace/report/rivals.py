"""Rivals to be scored beside an estimator, never fitted on the subjects they are scored on."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import StratifiedKFold

from survtrace.baselines import AalenJohansen, CauseSpecificCox
from survtrace.data.outcome import Outcome
from survtrace.errors import DataWarning
from survtrace.estimator import SurvTRACE
from survtrace.metrics import CensoringSurvival
from survtrace.report.overlap import Subjects

Floats = NDArray[np.float64]
FLOOR, COX = "Aalen-Johansen", "Cox"
FOLDS = 5


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
    """What the rivals predict, how they were fitted, and why one is missing.

    Attributes
    ----------
    foretold
        By name.
    fitted
        In words: on which rows.
    left_out
        A sentence for each rival that could not be fitted.
    """

    foretold: dict[str, Foretold]
    fitted: str
    left_out: tuple[str, ...]


def foretell(
    est: SurvTRACE,
    X: pd.DataFrame,
    outcome: Outcome,
    train: Subjects | None,
    times: Floats,
    random_state: int,
) -> Rivals:
    """Incidences by Aalen-Johansen and Cox.

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

    Examples
    --------
    >>> from survtrace.data.outcome import read_outcome
    >>> from survtrace.datasets import make_cohort
    >>> X, y = make_cohort(300, random_state=0)
    >>> est = SurvTRACE(n_members=1, max_epochs=1, random_state=0, verbose=False).fit(X, y)
    >>> rivals = foretell(est, X, read_outcome(y), None, np.array([12.0]), random_state=0)
    >>> rivals.foretold["Aalen-Johansen"].incidence.shape
    (300, 2, 1)
    """
    kinds = zip(est.feature_names_in_, est.encoding_.covariates, strict=True)
    categorical = [name for name, covariate in kinds if covariate.kind == "categorical"]
    makers: dict[str, Callable[[], Any]] = {
        FLOOR: AalenJohansen,
        COX: lambda: CauseSpecificCox(categorical=categorical),
    }
    found, left_out = {}, []
    alike = (list(est.causes_), est.censoring_, est.score_times_, est.zero_duration)
    for name, make in makers.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DataWarning)  # said of the estimator already
                incidence = (
                    _cross_fitted(make, X, outcome, times, random_state)
                    if train is None
                    else make().fit(*train).predict_cumulative_incidence(X, times)
                )
        except ImportError:
            left_out.append(
                f"{name} is left out: it needs scikit-survival, which is not installed "
                "(pip install 'survtrace[baselines]')."
            )
        except (ArithmeticError, ValueError) as reason:
            left_out.append(f"{name} is left out: it could not be fitted ({reason}).")
        else:
            found[name] = Foretold(times, incidence, *alike)
    return Rivals(found, _how(len(X), train, random_state), tuple(left_out))


def _how(n_subjects: int, train: Subjects | None, random_state: int) -> str:
    if train is not None:
        return f"The rivals were fitted on the {len(train[0]):,} training rows given."
    return (
        f"No training rows were given, so the rivals were cross-fitted on this table: those who "
        f"predict for a fifth of its {n_subjects:,} subjects learned from the other four fifths "
        f"(seed {random_state}). SurvTRACE learned from other rows, so that the comparison is not "
        "on equal terms; give the training rows for one that is."
    )


def _cross_fitted(
    make: Callable[[], Any], X: pd.DataFrame, outcome: Outcome, times: Floats, random_state: int
) -> Floats:
    incidence = np.empty((len(X), len(outcome.causes), len(times)))
    for others, fold in _folds(outcome, random_state):
        rival = make().fit(X.iloc[others], outcome.take(others))
        incidence[fold] = rival.predict_cumulative_incidence(X.iloc[fold], times)
    return incidence


def _folds(outcome: Outcome, random_state: int) -> Any:
    """Folds with about as many events of each cause, where it has enough."""
    counts = np.bincount(outcome.event)
    strata = np.where(counts[outcome.event] < FOLDS, counts.argmax(), outcome.event)
    split = StratifiedKFold(FOLDS, shuffle=True, random_state=random_state)
    return split.split(strata, strata)
