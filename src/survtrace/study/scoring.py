"""Scores of one fitted method on one split's test rows, a row for each cause."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from survtrace.metrics import (
    aalen_johansen_calibration,
    brier_score,
    concordance_cause_specific,
    concordance_paper,
    integrated_brier_score,
)
from survtrace.study.protocol import Split, Task
from survtrace.tables.outcome.outcome import read_outcome

SCORES = ("C25", "C50", "C75", "B25", "B50", "B75", "IBS", "AJ", "truth")


def score_method(method: Any, task: Task, split: Split) -> tuple[pd.DataFrame, dict[str, float]]:
    """Fit on the learning rows, score the test rows; also how many seconds that took.

    One cause: the paper's concordance. Several: the cause-specific one. Censoring comes from the
    training rows; the task says how its ties with events are weighted. ``AJ`` is the root mean
    squared distance over the grid between the mean predicted incidence and Aalen-Johansen's;
    ``truth``, for simulated cohorts, that of each subject's incidence to the true one.
    """
    learn, test = split.learn, split.test
    began = time.perf_counter()
    method.fit(task.X.iloc[learn], task.y.iloc[learn])
    fitted = time.perf_counter()
    horizons, grid = task.times(split)
    incidence = method.predict_cumulative_incidence(
        task.X.iloc[test], np.concatenate([horizons, grid])
    )
    predicted = time.perf_counter()
    seconds = {"fit_seconds": fitted - began, "predict_seconds": predicted - fitted}
    return score_predictions(incidence, task, split), seconds


def score_predictions(incidence: NDArray[np.float64], task: Task, split: Split) -> pd.DataFrame:
    """Scores of the test rows' incidences, (subject, cause, time), at horizons, then grid."""
    rows = [
        {"cause": cause, **_score_cause(incidence[:, k], cause, k, task, split)}
        for k, cause in enumerate(read_outcome(task.y).causes)
    ]
    return pd.DataFrame(rows, columns=["cause", *SCORES])


def _score_cause(
    incidence: NDArray[np.float64], cause: Any, k: int, task: Task, split: Split
) -> dict[str, float]:
    horizons, grid = task.times(split)
    at_horizons, on_grid = incidence[:, : len(horizons)], incidence[:, len(horizons) :]
    y = task.y.iloc[split.test]
    known = {"cause": cause, "y_train": task.y.iloc[split.train]}
    weighted = {**known, "ties": task.ties}
    concordance: Callable[..., float] = partial(concordance_paper, **weighted)
    if len(read_outcome(task.y).causes) > 1:
        concordance = partial(concordance_cause_specific, **known)
    ranks = [concordance(y, at_horizons[:, j], horizon) for j, horizon in enumerate(horizons)]
    errors = brier_score(y, at_horizons, horizons, **weighted)
    scores = {
        **dict(zip(("C25", "C50", "C75"), map(float, ranks), strict=True)),
        **dict(zip(("B25", "B50", "B75"), map(float, errors), strict=True)),
        "IBS": float(integrated_brier_score(y, on_grid, grid, **weighted)),
        "AJ": float(np.sqrt(aalen_johansen_calibration(y, on_grid, grid, cause=cause))),
    }
    if task.truth is not None:
        true = task.truth.take(split.test).incidence(grid)[:, k]
        scores["truth"] = float(np.sqrt(np.mean((on_grid - true) ** 2)))
    return scores
