"""What is known of a table of subjects, and of the estimator as it was made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from survtrace.estimator import SurvTRACE
from survtrace.metrics import aalen_johansen, censoring_survival
from survtrace.tables.covariates.columns import levels, numbers
from survtrace.tables.covariates.covariates import Covariate, open_table
from survtrace.tables.covariates.encoding import Categories, Scale
from survtrace.tables.outcome.outcome import Outcome

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
class CohortSummary:
    """A table of subjects in numbers.

    Attributes
    ----------
    n_subjects, n_censored
        How many there are, and how many left without an event.
    events
        Columns ``cause``, ``events``, ``first``, ``median`` and ``last`` (event times).
    durations
        Least, quartiles and greatest.
    median_follow_up
        By the reverse Kaplan-Meier estimate; NaN if fewer than half of the subjects would be
        censored within the follow-up.
    covariates
        One summary for each.
    times, incidence
        The Aalen-Johansen incidence of the table, shapes (time,) and (cause, time).
    """

    n_subjects: int
    n_censored: int
    events: pd.DataFrame
    durations: tuple[float, ...]
    median_follow_up: float
    covariates: tuple[CovariateSummary, ...]
    times: Floats
    incidence: Floats


def describe(est: SurvTRACE, X: Any, outcome: Outcome) -> CohortSummary:
    """Count and summarise a table in the columns of an estimator."""
    table = open_table(X)
    columns = zip(est.encoding_.covariates, est.encoding_.columns, strict=True)
    times = np.linspace(0, outcome.duration.max(), 200)
    return CohortSummary(
        len(outcome),
        int((outcome.event == 0).sum()),
        _events(outcome),
        tuple(np.quantile(outcome.duration, [0, 0.25, 0.5, 0.75, 1]).tolist()),
        _median_follow_up(outcome),
        tuple(_covariate(table, covariate, column) for covariate, column in columns),
        times,
        aalen_johansen(outcome).at(times),
    )


def _events(outcome: Outcome) -> pd.DataFrame:
    rows = []
    for number, cause in enumerate(outcome.causes, start=1):
        times = outcome.duration[outcome.event == number]
        ends = np.quantile(times, [0, 0.5, 1]) if len(times) else np.full(3, np.nan)
        rows.append((cause, len(times), *ends))
    return pd.DataFrame(rows, columns=["cause", "events", "first", "median", "last"])


def _median_follow_up(outcome: Outcome) -> float:
    followed = censoring_survival(outcome)
    over = np.flatnonzero(followed.values <= 0.5)
    return float(followed.times[over[0]]) if len(over) else float("nan")


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


def describe_fit(est: SurvTRACE) -> FitSummary:
    """Read a fitted estimator."""
    history = est.history_
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
