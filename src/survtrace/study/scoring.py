"""Scores of one fitted method on one split's test rows, a row for each cause."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from survtrace.estimator import require_whole_fit
from survtrace.evaluation.score_table import score_rows
from survtrace.metrics import aalen_johansen_calibration, censoring_survival, concordance_paper
from survtrace.metrics.inputs import read_outcome
from survtrace.study.protocol import Split, Task

SCORES = ("C25", "C50", "C75", "B25", "B50", "B75", "IBS", "AJ", "truth")
WEIGHTED = ("C25", "B25", "C50", "B50", "C75", "B75", "IBS")  # in the order of `score_rows`


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
    require_whole_fit(method)
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
    horizons, grid = task.times(split)
    outcome, causes = read_outcome(task.y.iloc[split.test]), read_outcome(task.y).causes
    settings: dict[str, Any] = {
        "horizons": horizons,
        "grid": grid,
        "censoring": censoring_survival(task.y.iloc[split.train]),
        "scores": ("C", "Brier", "IBS"),
        "ties": task.ties,
    }
    if len(causes) == 1:
        settings["concordance"] = partial(concordance_paper, ties=task.ties)
    times, rows = np.concatenate([horizons, grid]), []
    for k, cause in enumerate(causes):
        found = score_rows(outcome, incidence[:, [k]], times, [cause], **settings)
        row = {"cause": cause, **dict(zip(WEIGHTED, (float(x.value) for x in found), strict=True))}
        on_grid = incidence[:, k, len(horizons) :]
        row["AJ"] = np.sqrt(aalen_johansen_calibration(outcome, on_grid, grid, cause=cause))
        if task.truth is not None:
            true = task.truth.take(split.test).incidence(grid)[:, k]
            row["truth"] = np.sqrt(np.mean((on_grid - true) ** 2))
        rows.append(row)
    return pd.DataFrame(rows, columns=["cause", *SCORES])
