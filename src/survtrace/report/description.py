"""What is known of a table of subjects, and of the estimator as it was made."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from survtrace.estimator import SurvTRACE
from survtrace.metrics import aalen_johansen
from survtrace.metrics.censoring import FEWEST_AT_RISK
from survtrace.metrics.event_table import event_table
from survtrace.metrics.follow_up import follow_up_quantiles
from survtrace.tables.covariates.columns import levels, numbers
from survtrace.tables.covariates.covariate import Covariate
from survtrace.tables.covariates.covariates import open_table
from survtrace.tables.covariates.encoding import Categories, Scale
from survtrace.tables.outcome.outcome import Outcome, join_rows

Floats = NDArray[np.float64]
Quartiles = tuple[float, float, float]


@dataclass(frozen=True)
class CovariateSummary:
    """A covariate in a table, beside what the estimator learned of it.

    Attributes
    ----------
    name, kind
        Of the covariate.
    n_missing
        Subjects without a value.
    quartiles
        Of a numerical covariate's values; None for a categorical one, or if all are missing.
    levels
        Levels of a categorical covariate and how many subjects have each, the most frequent first.
    learned
        The 1, 50 and 99 % quantiles of the training rows, or the levels seen there.
    n_outside
        Subjects below the first or above the last of these quantiles, or of a level not seen.
    """

    name: str
    kind: str
    n_missing: int
    quartiles: Quartiles | None
    levels: tuple[tuple[str, int], ...]
    learned: Quartiles | tuple[str, ...]
    n_outside: int


@dataclass(frozen=True, eq=False)
class Observation:
    """When subjects were under observation, where not all of them were from 0 on.

    Attributes
    ----------
    n_late, entries
        Subjects who entered after 0, and least, quartiles and greatest of their first entries.
    most_rows, n_gaps
        Rows of the subject with most of them, and how often one left and came back.
    total
        Time under observation of all subjects together.
    at_risk
        Columns ``time`` and ``subjects``: how many are under observation at some round times.
    outcome
        A row for each time under observation, for the figure.
    """

    n_late: int
    entries: tuple[float, ...]
    most_rows: int
    n_gaps: int
    total: float
    at_risk: pd.DataFrame
    outcome: Outcome


@dataclass(frozen=True, eq=False)
class CohortSummary:
    """A table of subjects in numbers.

    Attributes
    ----------
    n_subjects, n_rows, n_censored
        How many there are, in how many rows, and how many left without an event.
    events
        Columns ``cause``, ``events``, ``first``, ``median`` and ``last`` (event times).
    durations
        Least, quartiles and greatest.
    median_follow_up
        By the reverse Kaplan-Meier estimate, counted from entry; NaN if fewer than half of the
        subjects would be censored within the follow-up.
    observation
        When subjects were observed; None if all of them were from 0 on, in one row each.
    covariates
        One summary for each.
    times, incidence
        The Aalen-Johansen incidence of the table, shapes (time,) and (cause, time).
    since
        The time from which on it counts, of those event-free then, if too few were at risk before.
    """

    n_subjects: int
    n_rows: int
    n_censored: int
    events: pd.DataFrame
    durations: tuple[float, ...]
    median_follow_up: float
    observation: Observation | None
    covariates: tuple[CovariateSummary, ...]
    times: Floats
    incidence: Floats
    since: float | None = None


def describe(est: SurvTRACE, X: Any, outcome: Outcome) -> CohortSummary:
    """Count and summarise a table in the columns of an estimator."""
    table = open_table(X)
    columns = zip(est.encoding_.covariates, est.encoding_.columns, strict=True)
    since, followed = _enough_at_risk(outcome)
    start = est.time_grid_[0] if since is None else since
    times = np.linspace(start, outcome.duration.max(), 200)
    ends = outcome if outcome.goes_on is None else outcome.take(~outcome.goes_on)  # last rows
    return CohortSummary(
        len(ends),
        len(outcome),
        int((ends.event == 0).sum()),
        _events(ends),
        _five_numbers(ends.duration),
        float(follow_up_quantiles(outcome, 0.5)),
        None if outcome.entry is None else _observation(outcome),
        tuple(_covariate(table, covariate, column) for covariate, column in columns),
        times,
        aalen_johansen(followed).at(times),
        since,
    )


def _enough_at_risk(outcome: Outcome) -> tuple[float | None, Outcome]:
    """Tell from when on an incidence can be told, None: from the start; and the rows from then on.

    An event while two of many were yet under observation would take half of them all.
    """
    if outcome.entry is None:
        return None, outcome
    table = event_table(outcome)
    early = table.times < table.times[table.at_risk.argmax()]
    rare = early & (table.events.sum(axis=0) > 0) & (table.at_risk < FEWEST_AT_RISK)
    if not rare.any():
        return None, outcome
    since = float(table.times[rare].max())
    later = outcome.take(outcome.duration > since)
    assert later.entry is not None
    return since, replace(later, entry=np.maximum(later.entry, since))


def _events(outcome: Outcome) -> pd.DataFrame:
    rows = []
    for number, cause in enumerate(outcome.causes, start=1):
        times = outcome.duration[outcome.event == number]
        ends = np.quantile(times, [0, 0.5, 1]) if len(times) else np.full(3, np.nan)
        rows.append((cause, len(times), *ends))
    return pd.DataFrame(rows, columns=["cause", "events", "first", "median", "last"])


def _five_numbers(values: Floats) -> tuple[float, ...]:
    return tuple(np.quantile(values, [0, 0.25, 0.5, 0.75, 1]).tolist())


def _observation(outcome: Outcome) -> Observation:
    stays, _ = join_rows(outcome)  # a row for each time under observation
    assert stays.entry is not None
    number = np.arange(len(outcome)) if outcome.id is None else outcome.id
    firsts = outcome.first_entries
    shown = _round_times(float(stays.entry.min()), float(stays.duration.max()))
    at_risk = [int(((stays.entry < t) & (stays.duration >= t)).sum()) for t in shown]
    return Observation(
        int((firsts > 0).sum()),
        _five_numbers(firsts[firsts > 0]) if (firsts > 0).any() else (0.0,) * 5,
        int(np.bincount(np.unique(number, return_inverse=True)[1]).max()),
        len(stays) - stays.n_subjects,
        float((stays.duration - stays.entry).sum()),
        pd.DataFrame({"time": shown, "subjects": at_risk}),
        stays,
    )


def _round_times(start: float, end: float) -> Floats:
    """Round times after a start and until an end, five to ten of them.

    Examples
    --------
    >>> _round_times(45.2, 87.4).tolist()
    [50.0, 55.0, 60.0, 65.0, 70.0, 75.0, 80.0, 85.0]
    """
    power = 10.0 ** np.floor(np.log10((end - start) / 5))
    step = max(m * power for m in (1, 2, 5) if m * power <= (end - start) / 5)
    return step * np.arange(np.floor(start / step) + 1, np.floor(end / step) + 1)


def _covariate(table: Any, covariate: Covariate, column: Scale | Categories) -> CovariateSummary:
    if isinstance(column, Categories):
        found = levels(table, covariate)
        texts = pd.Series([*found.text, None], dtype=object).iloc[found.codes]
        counts = texts.value_counts()
        return CovariateSummary(
            covariate.name,
            "categorical",
            int(texts.isna().sum()),
            None,
            tuple((str(level), int(count)) for level, count in counts.items()),
            column.levels,
            int(counts[~counts.index.isin(column.levels)].sum()),
        )
    values = numbers(table, covariate)
    present = values[~np.isnan(values)]
    return CovariateSummary(
        covariate.name,
        "numerical",
        len(values) - len(present),
        tuple(np.quantile(present, [0.25, 0.5, 0.75]).tolist()) if len(present) else None,
        (),
        (column.low, column.typical, column.high),
        int(((present < column.low) | (present > column.high)).sum()),
    )


@dataclass(frozen=True, eq=False)
class FitSummary:
    """The estimator as it was made.

    Attributes
    ----------
    causes, covariates, time_grid
        What it answers about, from what, and its cut points.
    settings
        Columns ``setting``, ``value``, ``default`` and ``changed``; the changed ones first.
    history
        Losses of each epoch and member.
    members
        Columns ``member``, ``epochs`` (trained), ``best`` (epoch, from 0), ``loss`` (validation,
        there) and ``improving`` (whether the best was the last epoch allowed).
    seconds
        That training took.
    n_parameters
        Of all members together.
    median_event_time, longest
        Median event time and longest duration of the rows it learned from.
    start_stop, asks_now
        Whether it learned from start-stop rows; whether from these or from late entries, so that
        it is asked from a time of each subject's own on.
    """

    causes: tuple[Any, ...]
    covariates: tuple[str, ...]
    time_grid: tuple[float, ...]
    settings: pd.DataFrame
    history: pd.DataFrame
    members: pd.DataFrame
    seconds: float
    n_parameters: int
    median_event_time: float
    longest: float
    start_stop: bool
    asks_now: bool


def describe_fit(est: SurvTRACE) -> FitSummary:
    """Read a fitted estimator."""
    history, start_stop = est.history_, bool(getattr(est, "has_start_stop_", False))
    return FitSummary(
        tuple(est.causes_),
        tuple(map(str, est.feature_names_in_)),
        tuple(est.time_grid_.tolist()),
        _settings(est),
        history,
        _members(history, est.max_epochs),
        float(history.drop_duplicates("epoch")["seconds"].sum()),
        sum(parameter.numel() for parameter in est.network_.parameters()),
        est.median_event_time_,
        float(est.censoring_.times[-1]),
        start_stop,
        start_stop or getattr(est, "entry_", None) is not None,
    )


def _settings(est: SurvTRACE) -> pd.DataFrame:
    chosen, defaults = est.get_params(), SurvTRACE().get_params()
    rows = [
        (name, value, defaults[name], repr(value) != repr(defaults[name]))
        for name, value in sorted(chosen.items())
    ]
    table = pd.DataFrame(rows, columns=["setting", "value", "default", "changed"], dtype=object)
    table["changed"] = table["changed"].astype(bool)
    return table.sort_values("changed", ascending=False, kind="stable", ignore_index=True)


def _members(history: pd.DataFrame, max_epochs: int) -> pd.DataFrame:
    rows = []
    for member, epochs in history.groupby("member"):
        best = epochs[epochs["improved"]].iloc[-1]
        last = int(best["epoch"]) == max_epochs - 1
        rows.append((member, len(epochs), int(best["epoch"]), best["validation_loss"], last))
    return pd.DataFrame(rows, columns=["member", "epochs", "best", "loss", "improving"])
