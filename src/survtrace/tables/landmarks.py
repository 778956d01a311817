"""Find who is under observation at a landmark, and make the table of what is known then."""

from __future__ import annotations

from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

from survtrace.errors import DataError, DataWarning, short, warn
from survtrace.tables.covariates.covariates import open_table
from survtrace.tables.covariates.real_numbers import real_numbers
from survtrace.tables.outcome.outcome import Outcome, join_rows
from survtrace.tables.start_stop import find_columns, take

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]


class AtRisk(NamedTuple):
    """Who is under observation at a landmark: the row that holds then, and the one that ends it."""

    rows: Rows
    last: Rows


def at_risk(outcome: Outcome, landmark: float) -> AtRisk:
    """Find the subjects under observation at a landmark, by the rows that hold at it and end it.

    A row holds from its entry on. Observation ends with the subject's last row, or with the row
    before a gap: who comes back after one must have lived through it.

    Examples
    --------
    >>> cut = Outcome(np.array([1.0, 4.0, 2.0]), np.array([0, 1, 0]), (1,),
    ...               entry=np.array([0.0, 1.0, 0.5]), id=np.array([7, 7, 8]))
    >>> rows, last = at_risk(cut, 0.5)
    >>> rows.tolist(), last.tolist()
    ([0, 2], [1, 2])
    """
    entry = np.zeros(len(outcome)) if outcome.entry is None else outcome.entry
    rows = np.flatnonzero((entry <= landmark) & (outcome.duration > landmark))
    if not outcome.is_start_stop:
        return AtRisk(rows, rows)
    joined, place = join_rows(outcome)
    ends = np.flatnonzero(outcome.duration == joined.duration[place])
    last = np.empty(len(joined), dtype=np.int64)
    last[place[ends]] = ends
    return AtRisk(rows, last[place[rows]])


def after_landmark(outcome: Outcome, landmark: float) -> tuple[Rows, Outcome]:
    """Take the rows that hold at a landmark, and what became of their subjects, counted from it.

    Examples
    --------
    >>> cut = Outcome(np.array([1.0, 4.0, 2.0]), np.array([0, 1, 0]), (1,),
    ...               entry=np.array([0.0, 1.0, 0.5]), id=np.array([7, 7, 8]))
    >>> rows, future = after_landmark(cut, 1.5)
    >>> rows.tolist(), future.duration.tolist(), future.event.tolist()
    ([1, 2], [2.5, 0.5], [1, 0])
    """
    rows, last = at_risk(outcome, landmark)
    warn_of_gaps(outcome, last)
    ended = outcome.take(last)
    future = Outcome(ended.duration - landmark, ended.event, outcome.causes, outcome.censored)
    return rows, future


def read_landmarks(at: ArrayLike, outcome: Outcome) -> Floats:
    """Read landmarks: distinct times, at each of which somebody is under observation."""
    try:
        landmarks = np.atleast_1d(real_numbers(at, "landmarks"))
    except (TypeError, ValueError):
        landmarks = np.empty(0)
    if (
        landmarks.ndim != 1
        or not len(landmarks)
        or not (np.isfinite(landmarks) & (landmarks >= 0)).all()
        or len(np.unique(landmarks)) < len(landmarks)
    ):
        raise DataError(
            "landmarks must be distinct times of zero or more, counted from the same origin as "
            f"duration; got {short(at)}. Pass for example [12, 24]."
        )
    if not len(outcome):
        raise DataError("the table must have at least one row; got none. Check how it was read.")
    for landmark in landmarks.tolist():
        if not len(at_risk(outcome, landmark).rows):
            first = 0.0 if outcome.entry is None else outcome.entry.min()
            raise DataError(
                f"somebody must be under observation at a landmark; nobody is at {landmark:g} "
                f"(observation lasts from {first:g} to {outcome.duration.max():g}). Choose another."
            )
    return landmarks


def read_landmark(at: ArrayLike, outcome: Outcome, score: str) -> float:
    """Read the landmark of what has but one.

    Examples
    --------
    >>> read_landmark(2, Outcome(np.array([1.0, 4.0]), np.array([1, 0]), (1,)), "a validation")
    2.0
    """
    landmarks = read_landmarks(at, outcome).tolist()
    if len(landmarks) > 1:
        raise DataError(f"{score} has one landmark; got {landmarks}. Ask for it at each of them.")
    return float(landmarks[0])


def landmark(
    table: Any,
    at: ArrayLike,
    *,
    id: str = "id",
    entry: str = "entry",
    duration: str = "duration",
    event: str = "event",
    censored: Any = None,
) -> Any:
    """Make the landmark table: what is known of each subject at a time, and what became of it.

    For each landmark there is a row for every subject under observation then (entry <= landmark <
    duration): its covariates as they are known at the landmark, ``entry`` = the landmark, duration
    and event of its last row, and a column ``landmark``. A subject that leaves and comes back
    after a gap is censored where it leaves.

    Rows of one landmark are a table of ordinary subjects that entered at it. Predict for them with
    ``conditional_after=rows["landmark"]``; `survtrace.evaluation.evaluate` with ``landmarks=...``
    scores such predictions, and makes the rows itself.

    Parameters
    ----------
    table
        A pandas or polars frame with start-stop rows or, without the column ``id``, one row for
        each subject; without ``entry`` everybody is observed from 0.
    at
        A time or several, counted from the same origin as entry and duration.
    id, entry, duration, event
        Names of these columns; where the names are the defaults, ``start``, ``time`` and ``stop``
        are understood, too.
    censored
        The labels of ``event`` that mean censored, as in `Surv.from_arrays`.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"id": [7, 7, 8], "entry": [0, 2, 0], "duration": [2, 9, 3],
    ...                       "event": [0, 1, 0], "bilirubin": [1.4, 3.1, 0.7]})
    >>> landmark(table, at=[2, 4])
       id  entry  duration  event  bilirubin  landmark
    0   7    2.0         9      1        3.1       2.0
    1   8    2.0         3      0        0.7       2.0
    2   7    4.0         9      1        3.1       4.0
    """
    frame = open_table(table)
    columns = find_columns(frame, id, entry, duration, event)
    if "landmark" in frame.columns:
        raise DataError(
            "the table must not have a column 'landmark', which is to be added; rename it."
        )
    outcome = columns.read_outcome(frame, censored)
    landmarks = read_landmarks(at, outcome)
    found = [at_risk(outcome, time) for time in landmarks.tolist()]
    rows, last = (np.concatenate(each) for each in zip(*found, strict=True))
    warn_of_gaps(outcome, last)
    when = np.repeat(landmarks, [len(each.rows) for each in found])
    ends = [take(frame[name], last) for name in (columns.duration, columns.event)]
    added = [
        nw.new_series(name, when, backend=frame.implementation)
        for name in (columns.entry or entry, "landmark")
    ]
    selected = nw.maybe_reset_index(frame[rows.tolist(), :])
    return selected.with_columns(*ends, *added).to_native()


def warn_of_gaps(outcome: Outcome, last: Rows) -> None:
    """Warn of subjects that leave observation, and come back."""
    if outcome.goes_on is None or not (left := outcome.goes_on[last]).any():
        return
    warn(
        f"{left.sum()} of {len(left)} subjects under observation at a landmark leave it later and "
        "come back after a gap; they are censored where they leave.",
        DataWarning,
    )
