"""Clean a raw table for any method: plain numbers and categories, 0 for censored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from survtrace.errors import DataWarning, warn
from survtrace.inspection.plan import plan_columns
from survtrace.tables.covariates.covariates import open_table
from survtrace.tables.outcome.outcome import read_outcome


def clean_subjects(
    X: pd.DataFrame,
    y: Any,
    *,
    censored: Sequence[Any] | None = None,
    categorical: Sequence[str] | None = None,
    columns: Any = None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Clean covariates and outcome as `SurvTRACE.fit` does, for other methods beside it.

    Returns the covariates that are used, and ``event`` (0, or the cause) and ``duration``, with
    ``entry`` and ``id`` (a number) where the outcome has them.

    Examples
    --------
    >>> X = pd.DataFrame({"age": [61, 47], "seen": ["2020-01-31", "2020-02-28"]})
    >>> y = pd.DataFrame({"event": ["alive", "relapse"], "duration": [3.0, 2.0]})
    >>> X, y = clean_subjects(X, y, columns={"seen": {"kind": "ignore"}})
    >>> list(X), y["event"].tolist()
    (['age'], [0, 'relapse'])
    """
    outcome = read_outcome(y, censored=censored, zero_duration="shift")
    table = open_table(X)
    plan = plan_columns(table, outcome, categorical=categorical, columns=columns)
    plan.require_answers()
    if message := plan.words():
        warn(message, DataWarning)
    labels = pd.Series([0, *outcome.causes], dtype=object)
    event = labels.iloc[outcome.event].infer_objects().set_axis(X.index)
    cleaned = pd.DataFrame({"event": event, "duration": pd.Series(outcome.duration, X.index)})
    for name in ("entry", "id"):
        if (column := getattr(outcome, name)) is not None:
            cleaned[name] = column
    return plan.apply(table), cleaned
