"""Everything the page shows, in numbers and frames; no HTML or figures here."""

from __future__ import annotations

import platform
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd

from survtrace.errors import DataError, DataWarning, LearnedRowsWarning
from survtrace.estimator import SurvTRACE
from survtrace.evaluation import Validation, validate
from survtrace.evaluation.subgroups import group_columns
from survtrace.explain import covariate_relevance, faithfulness, permutation_importance
from survtrace.explain.frame import read_frame
from survtrace.naming import Names, capital, names_of
from survtrace.report.at_landmark import View, look
from survtrace.report.description import CohortSummary, FitSummary, describe, describe_fit
from survtrace.report.overlap import Subjects, check_rows
from survtrace.report.patients import Patients, choose_patients
from survtrace.report.progress import Tell, say_nothing
from survtrace.report.scores import Scores, score
from survtrace.tables.covariates.covariates import open_table, select_columns
from survtrace.tables.outcome.outcome import require_same_subjects
from survtrace.tables.outcome.pairing import read_scored

FEW_LEVELS, SMALLEST_SHARE = range(2, 6), 0.05  # of a category that groups are made by
MOST_GROUPED = 4  # covariates that groups are made by
MOST_SHUFFLED, FEWEST_SUBJECTS = 50_000, 1_000  # rows predicted for importance; subjects of these


@dataclass(frozen=True, eq=False)
class Importance:
    """What the predictions rely on, and whether attention agrees.

    Attributes
    ----------
    table
        From `permutation_importance`.
    agreement
        Sentences of `faithfulness`.
    n_subjects, n_repeats
        On how many subjects, and how often each covariate was shuffled.
    """

    table: pd.DataFrame
    agreement: tuple[str, ...]
    n_subjects: int
    n_repeats: int


@dataclass(frozen=True, eq=False)
class Summary:
    """All parts of the page.

    Attributes
    ----------
    alerts, remarks
        Sentences that forbid, or qualify, a reading of the scores.
    cohort, learned
        The scored subjects, and the training rows where they were given.
    scores, importance, patients, fit
        As their names say.
    validation
        Calibration, net benefit and groups at the middle horizon.
    names
        Of causes, covariates and the unit of time, and the model card.
    updates
        How the model was updated since its fit, from ``updates_``.
    versions
        Of survtrace, torch and Python.
    seed
        Of the report's own draws: folds, resamples, shuffles.
    made
        When.
    """

    alerts: tuple[str, ...]
    remarks: tuple[str, ...]
    cohort: CohortSummary
    learned: CohortSummary | None
    scores: Scores
    validation: Validation
    importance: Importance
    patients: Patients
    fit: FitSummary
    names: Names
    updates: list[dict[str, Any]]
    versions: dict[str, str]
    seed: int
    made: datetime


def collect(
    est: SurvTRACE,
    X: Any,
    y: Any,
    *,
    train: tuple[Any, Any] | None = None,
    by: str | Sequence[str] | None = None,
    n_repeats: int = 5,
    random_state: int = 0,
    tell: Tell = say_nothing,
) -> Summary:
    """Collect what a report shows about an estimator on subjects it has not seen.

    Parameters
    ----------
    est
        A fitted estimator.
    X, y, train, by, n_repeats, random_state
        As in `write_report`.
    tell
        Called with each step in words.

    Examples
    --------
    >>> from survtrace.datasets import make_cohort
    >>> X, y = make_cohort(400, random_state=0)
    >>> est = SurvTRACE(n_members=2, max_epochs=1, random_state=0, verbose=False)
    >>> summary = collect(est.fit(X[:300], y[:300]), X[300:], y[300:], n_repeats=1)
    >>> summary.scores.methods
    ['SurvTRACE', 'Aalen-Johansen', 'Cox', 'Forest']
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        frame, outcome = scored = read_cohort(est, X, y)
        rows = None if train is None else _read_training(est, train)
        alerts, remarks = check_rows(est, scored, rows)
        scores = score(est, *scored, rows, random_state, tell, with_baselines=not alerts)
        cohort = describe(est, frame, outcome)
    main = cohort.events.sort_values("events", kind="stable")["cause"].iloc[-1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # of parts of a table that was remarked on
        tell("scoring groups")
        groups, whole = _groups(X, frame, by, cohort)
        validation = validate(
            est, whole, outcome, horizons=[scores.horizon], by=groups, landmark=scores.landmark
        )
        view = look(est, frame, outcome, scores.landmark)
        tell("shuffling covariates for their importance")
        importance = _importance(view, n_repeats, random_state)
        tell("explaining three example patients")
        time = est.median_event_time_ if scores.landmark is None else scores.horizon
        patients = choose_patients(view.est, view.X, view.outcome, main, random_state, time)
    return Summary(
        alerts=alerts,
        remarks=(*remarks, *sentences(caught)),
        cohort=cohort,
        learned=None if rows is None else describe(est, *rows),
        scores=scores,
        validation=validation,
        importance=importance,
        patients=patients,
        fit=describe_fit(est),
        names=names_of(est),
        updates=list(getattr(est, "updates_", None) or []),
        versions=versions(),
        seed=random_state,
        made=datetime.now(UTC),
    )


def versions() -> dict[str, str]:
    """Return versions of what made the page."""
    packages = {name: version(name) for name in ("survtrace", "torch")}
    return {**packages, "Python": platform.python_version()}


def sentences(caught: list[warnings.WarningMessage]) -> list[str]:
    """Turn our own warnings, each once, into sentences of the page; issue others again."""
    texts = []
    for each in caught:
        if not issubclass(each.category, DataWarning):
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
        elif not issubclass(each.category, LearnedRowsWarning):  # that is an alert
            texts.append(str(each.message))
    return [capital(text) for text in dict.fromkeys(texts)]


def _groups(
    X: Any, frame: pd.DataFrame, by: str | Sequence[str] | None, cohort: CohortSummary
) -> tuple[Any, pd.DataFrame]:
    """Choose by what to group, and add columns for it that are no covariates."""
    if by is None:
        return choose_groups(cohort), frame
    names, table = group_columns(by, None), open_table(X)
    more = {name: table[name].to_list() for name in names if name in table.columns}
    return names, frame.assign(**{name: v for name, v in more.items() if name not in frame})


def choose_groups(cohort: CohortSummary) -> list[str]:
    """Choose covariates to group by: age, and a few categories that divide the subjects well."""
    ages = [c.name for c in cohort.covariates if c.kind == "numerical" and _is_age(c.name)]
    divided = [
        c.name
        for c in cohort.covariates
        if len(c.levels) in FEW_LEVELS
        and all(count >= SMALLEST_SHARE * cohort.n_rows for _, count in c.levels)
    ]
    return [*ages[:1], *divided][:MOST_GROUPED]


def _is_age(name: str) -> bool:
    return name.lower().replace("_", " ").split()[:1] == ["age"]


def read_cohort(est: SurvTRACE, X: Any, y: Any) -> Subjects:
    """Return a table in the estimator's columns, and its outcome in the estimator's causes."""
    X, outcome = read_scored(est, X, y)
    table = open_table(X)
    if len(table) == 0:
        raise DataError("a report needs subjects to score; X has no rows. Check how it was read.")
    require_same_subjects(len(table), outcome)
    columns = select_columns(table, est.encoding_.covariates, est.encoding_.left_out)
    return read_frame(est, columns.to_native()), outcome


def _read_training(est: SurvTRACE, train: Any) -> Subjects:
    try:
        X, y = train
    except (TypeError, ValueError):
        raise DataError("train must be a pair (X, y) of the training rows.") from None
    return read_cohort(est, X, y)


def _importance(view: View, n_repeats: int, random_state: int) -> Importance:
    est, X = view.est, view.X
    most = max(MOST_SHUFFLED // (max(n_repeats, 1) * X.shape[1]), FEWEST_SUBJECTS)
    drawn = np.sort(np.random.default_rng(random_state).permutation(len(X))[:most])
    some, their = X.iloc[drawn], view.outcome.take(drawn)
    table = permutation_importance(est, some, their, n_repeats=n_repeats, random_state=random_state)
    agreement = faithfulness(covariate_relevance(est, some), table)
    sentences = tuple(agreement.sentences(names_of(est).causes))
    return Importance(table, sentences, len(some), n_repeats)
