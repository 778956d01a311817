"""Check what a score is given: cause, estimate, probabilities and times."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from survtrace.errors import DataError, SettingError, row_name, short
from survtrace.tables.covariates.real_numbers import real_numbers
from survtrace.tables.outcome import outcome as outcomes
from survtrace.tables.outcome.alignment import align_rows
from survtrace.tables.outcome.outcome import Outcome, join_rows

Floats = NDArray[np.float64]
TOLERANCE = 1e-8
WAY_OUT = (
    "Score those at risk at a time s from s on: survtrace.landmark(table, at=[s]) makes their "
    "table, and evaluate(..., landmarks=[s]) their scores."
)
WAY_OUT_IN_COMMAND = "Score those under observation at a time S from S on: say --landmark S."


def read_outcome(y: Any, **labels: Any) -> Outcome:
    """Return the outcome to score; of a fold, everybody may have had an event.

    An entry of 0 for everybody is none, so that ordinary tables have one set of formulas.

    Examples
    --------
    >>> read_outcome({"event": [1, 2], "duration": [3.0, 4.0]}).causes
    (1, 2)
    """
    outcome = outcomes.read_outcome(y, ask=False, **labels)
    if isinstance(y, pd.DataFrame):
        outcome = replace(outcome, labels=y.index)
    return outcome if outcome.is_start_stop else _without_zero_entry(outcome)


def joined(outcome: Outcome) -> Outcome:
    """Return one row for each time under observation; no entry if all are observed from 0 on.

    Examples
    --------
    >>> cut = Outcome(np.array([1.0, 4.0]), np.array([0, 1]), (1,),
    ...               entry=np.array([0.0, 1.0]), id=np.array([0, 0]))
    >>> joined(cut).duration, joined(cut).entry
    (array([4.]), None)
    """
    return _without_zero_entry(join_rows(outcome)[0])


def _without_zero_entry(outcome: Outcome) -> Outcome:
    from_zero = outcome.entry is not None and not (outcome.entry > 0).any()
    return replace(outcome, entry=None) if from_zero else outcome


def read_subjects(y: Any, score: str) -> Outcome:
    """Return the outcome to score by one prediction for each subject; start-stop rows are refused.

    Examples
    --------
    >>> read_subjects({"event": [1, 2], "duration": [3.0, 4.0]}, "the Brier score").causes
    (1, 2)
    """
    outcome = read_outcome(y)
    if len(outcome) == 0:
        raise DataError(f"{score} needs at least one subject; y has none. Pass some.")
    if outcome.goes_on is not None and outcome.goes_on.any():
        seen = (
            f"{score} needs one row for each subject, predicted from what is known at its start; "
            f"y has {len(outcome)} start-stop rows of {(~outcome.goes_on).sum()} subjects, whose "
            "later rows know what came after."
        )
        raise DataError(f"{seen} {WAY_OUT}", in_command=f"{seen} {WAY_OUT_IN_COMMAND}")
    return outcome


def pick_cause(outcome: Outcome, cause: Any = None) -> int:
    """Return the number of the cause to score; ``None`` stands for the only one there is.

    Examples
    --------
    >>> pick_cause(read_outcome({"event": ["relapse", "death"], "duration": [1, 2]}), "relapse")
    2
    """
    if cause is not None and outcome.causes:
        return outcome.cause_number(cause)
    if not outcome.causes:
        raise DataError(
            f"a score of a cause needs at least one event; all {len(outcome)} subjects are "
            "censored. Score subjects of whom some had an event."
        )
    if len(outcome.causes) > 1:
        raise DataError(
            f"a score of one cause must be told which; the outcome has {list(outcome.causes)}. "
            f"Pass one of these labels, for example cause={outcome.causes[0]!r}."
        )
    return 1


def read_estimate(estimate: ArrayLike, outcome: Outcome) -> Floats:
    """Return one finite number for each subject, higher for a higher risk."""
    values = _rows("estimate", estimate, outcome)
    if values.ndim != 1:
        raise DataError(
            f"estimate must be one number for each subject; got shape {values.shape}. "
            "Pass the column of one time, for example incidence[:, -1]."
        )
    _require_rows("estimate", values, outcome)
    _refuse("estimate", ~np.isfinite(values), values, "be finite", "Drop or correct them.")
    return values


def read_estimates(estimate: ArrayLike, outcome: Outcome, times: Floats) -> Floats:
    """Return finite numbers of shape (subject, time); a flat column is repeated for every time."""
    values = _rows("estimate", estimate, outcome)
    if values.ndim == 1:
        values = np.repeat(read_estimate(values, outcome)[:, np.newaxis], len(times), axis=1)
    _require_curves("estimate", values, outcome, times)
    _refuse("estimate", ~np.isfinite(values), values, "be finite", "Drop or correct them.")
    return values


def read_probabilities(
    probabilities: ArrayLike, outcome: Outcome, times: Floats, name: str
) -> Floats:
    """Return curves of shape (subject, time) within [0, 1]; a flat column will do for one time."""
    values = _rows(name, probabilities, outcome)
    if values.ndim == 1 and len(times) == 1:
        values = values[:, np.newaxis]
    _require_curves(name, values, outcome, times)
    inside = (values >= -TOLERANCE) & (values <= 1 + TOLERANCE)
    _refuse(name, ~inside, values, "lie within [0, 1]", "Pass probabilities, not hazards.")
    return values


def read_probability(probability: ArrayLike, outcome: Outcome, name: str) -> Floats:
    """Return one probability for each subject."""
    return read_probabilities(probability, outcome, np.zeros(1), name)[:, 0]


def read_times(times: ArrayLike, *, at_least: int = 1, increasing: bool = False) -> Floats:
    """Return times at which curves are scored.

    Examples
    --------
    >>> read_times(3)
    array([3.])
    """
    values = np.atleast_1d(read_numbers(times, "times"))
    if values.ndim != 1 or len(values) < at_least:
        raise DataError(
            f"times must be a flat sequence of {at_least} or more; got shape {values.shape}. "
            "Pass for example times=[1.0, 2.0, 5.0]."
        )
    good = np.isfinite(values) & (values >= 0)
    _refuse("times", ~good, values, "be finite and not negative", "Correct them.")
    if increasing and (np.diff(values) <= 0).any():
        raise DataError(
            "times must increase for an integral or a step function; entry "
            f"{np.flatnonzero(np.diff(values) <= 0)[0] + 1} does not exceed the one before. "
            "Sort times and the columns of the prediction alike."
        )
    return values


def read_moment(time: Any) -> float:
    """Return one time above 0: by 0 nothing has happened, and a score of it says nothing.

    Examples
    --------
    >>> read_moment(12)
    12.0
    """
    value = read_numbers(time, "the time to score at")
    if value.ndim != 0 or not 0 < value < np.inf:
        raise DataError(
            f"the time to score at must be one number above 0; got {short(time)}. Pass for "
            "example 60.0, in the unit of the durations."
        )
    return float(value)


def read_horizon(horizon: float | None) -> float:
    """Return a positive time, infinite if none is given."""
    value = np.asarray(np.inf if horizon is None else read_numbers(horizon, "horizon"))
    if value.ndim != 0 or not value > 0:
        raise DataError(
            f"horizon must be a time above 0; got {short(horizon)}. Pass None for no end."
        )
    return float(value)


def checked_level(level: float) -> float:
    """Return a confidence level, strictly between 0 and 1."""
    if not isinstance(level, Real) or not 0 < level < 1:
        raise SettingError(f"level must lie between 0 and 1; got {short(level)}.")
    return float(level)


def read_thresholds(thresholds: ArrayLike) -> Floats:
    """Read predicted probabilities above which one acts: from 0 to below 1.

    Examples
    --------
    >>> read_thresholds(0.2)
    array([0.2])
    """
    values = np.atleast_1d(read_numbers(thresholds, "thresholds"))
    if values.ndim != 1 or not len(values) or not ((values >= 0) & (values < 1)).all():
        raise DataError(
            "thresholds must be a flat sequence of numbers from 0 to below 1; got "
            f"{short(thresholds)}. Pass for example thresholds=[0.05, 0.1, 0.2]."
        )
    return values


def _rows(name: str, values: Any, outcome: Outcome) -> Floats:
    """Return numbers of each subject: by label, where both are pandas tables, else by position."""
    if outcome.labels is not None:
        subjects = pd.Series(0, index=outcome.labels)
        values = align_rows(subjects, values, name, table="y")
    return read_numbers(values, name)


def read_numbers(values: ArrayLike, name: str) -> Floats:
    """Return real numbers of any shape."""
    try:
        return real_numbers(values, name)
    except DataError:
        raise
    except (TypeError, ValueError) as reason:
        raise DataError(f"{name} must hold numbers; {reason}. Convert it to an array.") from None


def _require_curves(name: str, values: Floats, outcome: Outcome, times: Floats) -> None:
    if values.ndim != 2 or values.shape[1] != len(times):
        raise DataError(
            f"{name} must have shape (subject, time) with {len(times)} times; got shape "
            f"{values.shape}. Predict at the times you score."
        )
    _require_rows(name, values, outcome)


def _require_rows(name: str, values: Floats, outcome: Outcome) -> None:
    if len(values) != len(outcome):
        raise DataError(
            f"{name} and y must describe the same subjects; {name} has {len(values)} rows and y "
            f"has {len(outcome)}. Build both from the same table."
        )


def _refuse(name: str, bad: NDArray[np.bool_], values: Floats, rule: str, way_out: str) -> None:
    """Raise if any value breaks a rule, naming how many and the first row."""
    if bad.any():
        first = tuple(np.argwhere(bad)[0])
        where = f"entry {first[0]}" if name == "times" else row_name(first[0])
        raise DataError(
            f"{name} must {rule}; {bad.sum()} of {bad.size} values do not "
            f"(first: {where}, {values[first]}). {way_out}"
        )
