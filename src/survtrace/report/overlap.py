"""Whether an estimator has already learned from the subjects it is to be scored on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from survtrace.estimator import SurvTRACE
from survtrace.evaluation.learned_rows import SEEM_LEARNED, holds_learned, looks_learned
from survtrace.tables.covariates.covariates import open_table
from survtrace.tables.outcome.outcome import Outcome

Subjects = tuple[pd.DataFrame, Outcome]


def check_rows(
    est: SurvTRACE, scored: Subjects, train: Subjects | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Write sentences that forbid, and sentences that qualify, a reading of the scores."""
    twins = 0 if train is None else shared_subjects(est, scored, train)
    if twins:
        return (
            f"{twins:,} of the {len(scored[1]):,} scored subjects have a twin, covariates and "
            "outcome alike, among the training rows given. If these are the same people, the "
            "scores are too good. Twins by chance are common only where covariates are "
            "few and coarse.",
        ), ()
    if looks_learned(est, scored[1]):
        return (SEEM_LEARNED,), ()
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
            "durations that are not among them. The baselines so learned from other rows than it."
        )
    return (), tuple(remarks)


def shared_subjects(est: SurvTRACE, first: Subjects, second: Subjects) -> int:
    """Count subjects of the first table who have a twin, outcome included, in the second."""
    ours, theirs = _fingerprints(est, *first), _fingerprints(est, *second)
    return int(ours.isin(theirs).sum())


def _fingerprints(est: SurvTRACE, X: Any, outcome: Outcome) -> pd.Series:
    """Return a number for each subject, from its encoded covariates and its outcome."""
    encoded = est.encoding_.encode(open_table(X))
    parts = np.column_stack([encoded.rows, encoded.values, outcome.duration, outcome.event])
    return pd.util.hash_pandas_object(pd.DataFrame(parts), index=False)
