"""Whether an estimator has already learned from the subjects it is to be scored on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from survtrace.data.covariates import open_table
from survtrace.data.outcome import Outcome
from survtrace.estimator import SurvTRACE
from survtrace.metrics import censoring_survival

Floats = NDArray[np.float64]
Subjects = tuple[pd.DataFrame, Outcome]
UNLIKELY = 1e-6


def check_rows(
    est: SurvTRACE, scored: Subjects, train: Subjects | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Sentences that forbid, and sentences that qualify, a reading of the scores."""
    twins = 0 if train is None else shared_subjects(est, scored, train)
    if twins:
        return (
            f"{twins:,} of the {len(scored[1]):,} scored subjects have a twin, covariates and "
            "outcome alike, among the training rows given. If these are the same people, the "
            "scores below flatter the model. Twins by chance are common only where covariates are "
            "few and coarse.",
        ), ()
    if looks_learned(est, scored[1]):
        return (
            "These seem to be rows the model was trained on: their durations are those it "
            "remembers, more than chance allows. The scores below then say how well it remembers, "
            "not how well it predicts. Score it on other subjects.",
        ), ()
    if train is None:
        return (), (
            "The scores hold only if the model has not learned from these subjects. Their "
            "durations show no sign of it, but that is no proof: whoever made the table must "
            "ensure that none was used to train, to stop training or to choose settings.",
        )
    remarks = [
        "None of the scored subjects is among the training rows given. Whoever made the table "
        "must ensure that none was used to choose settings either."
    ]
    if not holds_learned(est, train[1]):
        remarks.append(
            "The training rows given are not all that the model learned from: it remembers "
            "durations that are not among them. The rivals so learned from other rows."
        )
    return (), tuple(remarks)


def shared_subjects(est: SurvTRACE, first: Subjects, second: Subjects) -> int:
    """How many subjects of the first table have a twin, outcome included, in the second."""
    ours, theirs = _fingerprints(est, *first), _fingerprints(est, *second)
    return int(ours.isin(theirs).sum())


def looks_learned(est: SurvTRACE, outcome: Outcome) -> bool:
    """Whether the durations of a table are those that the estimator remembers.

    It remembers the censoring survival of the rows it learned from, and with it every distinct
    duration. A table whose censoring survival is the same is taken for these rows. So is one whose
    durations are all among those remembered (or hold them all), unless that can be chance: the
    share of durations moved by one step that are still among them says how likely it is.

    Examples
    --------
    >>> from survtrace.data.outcome import read_outcome
    >>> from survtrace.datasets import make_cohort
    >>> X, y = make_cohort(300, random_state=0)
    >>> est = SurvTRACE(n_members=2, max_epochs=1, random_state=0, verbose=False)
    >>> est = est.fit(X[:200], y[:200])
    >>> looks_learned(est, read_outcome(y[:200])), looks_learned(est, read_outcome(y[200:]))
    (True, False)
    """
    followed = outcome.take(outcome.duration > 0)
    here, there = censoring_survival(followed), est.censoring_
    if np.array_equal(here.times, there.times) and np.allclose(here.values, there.values):
        return True
    return _contained_beyond_chance(here.times, there.times)


def holds_learned(est: SurvTRACE, outcome: Outcome) -> bool:
    """Whether every duration that the estimator learned from occurs in a table."""
    return bool(np.isin(est.censoring_.times, outcome.duration).all())


def _contained_beyond_chance(first: Floats, second: Floats) -> bool:
    few, many = sorted((first, second), key=len)
    if len(many) < 2 or not np.isin(few, many).all():
        return False
    gaps = np.diff(many)
    step = gaps[gaps > 1e-9 * many[-1]].min()
    beside = np.clip(np.searchsorted(many, few + step - step / 4), 0, len(many) - 1)
    by_chance = np.mean(np.abs(many[beside] - few - step) <= step / 4)
    return bool(by_chance ** len(few) < UNLIKELY)


def _fingerprints(est: SurvTRACE, X: Any, outcome: Outcome) -> pd.Series:
    """A number for each subject, from its encoded covariates and its outcome."""
    encoded = est.encoding_.encode(open_table(X))
    parts = np.column_stack([encoded.rows, encoded.values, outcome.duration, outcome.event])
    return pd.util.hash_pandas_object(pd.DataFrame(parts), index=False)
