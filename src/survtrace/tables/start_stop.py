"""Make start-stop rows from a table of visits and a table of outcomes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from survtrace.errors import DataError, DataWarning, row_name, short, warn
from survtrace.rules import TEXT, check_value, one_of
from survtrace.tables.covariates.covariates import open_table
from survtrace.tables.outcome.outcome import Outcome, read_outcome
from survtrace.tables.outcome.outcome_columns import (
    DURATION_NAMES,
    ENTRY_NAMES,
    duration_numbers,
)
from survtrace.tables.outcome.subject_rows import number_subjects

Frame = nw.DataFrame[Any]
Floats = NDArray[np.float64]
Rows = NDArray[np.int64]


def to_start_stop(
    visits: Any,
    outcomes: Any,
    *,
    id: str = "id",
    time: str = "time",
    entry: str = "entry",
    duration: str = "duration",
    event: str = "event",
    censored: Any = None,
    after_end: str = "raise",
) -> Any:
    """Make start-stop rows from a table of visits and a table of outcomes.

    A subject's time is cut at its visits; each row has the values last measured at or before its
    ``entry``, and the outcome is in the last row. A value that is missing at a visit is the one
    measured before. It is what R's ``tmerge`` with ``tdc`` and lifelines'
    ``add_covariate_to_timeline`` do.

    Parameters
    ----------
    visits
        A pandas or polars frame: ``id``, ``time`` (counted from the same origin as duration) and
        what was measured, one row for each visit, in any order.
    outcomes
        A frame of the same kind with a row for each subject: ``id``, ``duration``, ``event``,
        perhaps ``entry`` (when observation began; 0 if there is no such column), and covariates
        that do not change.
    id, time, entry, duration, event
        Names of these columns; where the names are the defaults, ``start`` and ``stop`` are
        understood, too.
    censored
        The labels of ``event`` that mean censored, as in `Surv.from_arrays`; rows that go on get
        the first of them, or 0.
    after_end
        What becomes of visits after the subject's end: "raise" or "drop". (Those at the end are
        dropped: no time is left to them.)

    Returns
    -------
    Frame
        Of the kind of ``visits``, for ``est.fit(rows, {"id": "id", "entry": "entry", "duration":
        "duration", "event": "event"})``; subjects in the order of ``outcomes``.

    Examples
    --------
    >>> import pandas as pd
    >>> visits = pd.DataFrame({"id": [7, 7, 8], "time": [0, 2, 0], "bilirubin": [1.4, 3.1, 0.7]})
    >>> outcomes = pd.DataFrame({"id": [7, 8], "duration": [9, 3], "event": [1, 0],
    ...                          "sex": ["f", "m"]})
    >>> to_start_stop(visits, outcomes)
       id  entry  duration  event sex  bilirubin
    0   7    0.0       2.0      0   f        1.4
    1   7    2.0       9.0      1   f        3.1
    2   8    0.0       3.0      0   m        0.7
    """
    check_value("after_end", after_end, one_of("raise", "drop"))
    seen, ended = open_table(visits), open_table(outcomes)
    if seen.implementation is not ended.implementation:
        raise DataError(
            "visits and outcomes must be frames of one kind; got "
            f"{type(seen.to_native()).__module__.partition('.')[0]} and "
            f"{type(ended.to_native()).__module__.partition('.')[0]}. Convert one of them."
        )
    columns = find_columns(ended, id, entry, duration, event, "outcomes")
    here = _required(ended, id, "id", table="outcomes")
    when = _required(seen, time, "time", table="visits")
    who = _required(seen, id, "id", table="visits")
    measured = [name for name in seen.columns if name not in (who, when)]
    lasting = [name for name in ended.columns if name not in columns]
    names = [here, columns.entry or entry, columns.duration, columns.event, *lasting]
    if both := [name for name in measured if name in names]:
        raise DataError(
            f"a column must be in visits or in outcomes; {both} are in both. Drop them from one: "
            "what changes belongs to visits."
        )
    outcome, subject = _subjects(seen[who], ended, columns, censored)
    moments = _moments(seen[when])
    kept = _kept_visits(subject, moments, outcome, seen[who], after_end)
    cut = _cut(subject[kept], moments[kept], outcome, ended[here])
    label = _censored_label(ended[columns.event], outcome)
    events = ended[columns.event].to_list()
    event_of = zip(cut.subject.tolist(), cut.is_last.tolist(), strict=True)
    made = {
        names[1]: cut.start,
        names[2]: cut.stop,
        names[3]: [events[k] if last else label for k, last in event_of],
    }
    values = seen[(kept[cut.order]).tolist(), measured]
    columns_made = [
        *(nw.new_series(name, each, backend=seen.implementation) for name, each in made.items()),
        *(take(ended[name], cut.subject) for name in lasting),
        *(take(values[name], _last_known(values[name], cut)) for name in measured),
    ]
    return take(ended[here], cut.subject).to_frame().with_columns(*columns_made).to_native()


class OutcomeNames(NamedTuple):
    """The names of the columns that hold an outcome."""

    id: str | None
    entry: str | None
    duration: str
    event: str

    def read_outcome(self, frame: Frame, censored: Any) -> Outcome:
        """Read the outcome that these columns of a table hold."""
        named = {name: role for role, name in self._asdict().items() if name is not None}
        table = frame.select(list(named)).rename(named)
        return read_outcome(table.to_native(), censored=censored, event_name=self.event)


def find_columns(
    frame: Frame, id: str, entry: str, duration: str, event: str, table: str = "the table"
) -> OutcomeNames:
    """Find the columns of an outcome by their names or, where these are the usual, by aliases."""
    return OutcomeNames(
        _column(frame, id, "id", table=table),
        _column(frame, entry, "entry", ENTRY_NAMES, table=table),
        _required(frame, duration, "duration", DURATION_NAMES, table=table),
        _required(frame, event, "event", table=table),
    )


class Cut(NamedTuple):
    """Rows of all subjects: whose, from when to when, whether the last, and the visit before."""

    subject: Rows
    start: Floats
    stop: Floats
    is_last: NDArray[np.bool_]
    visit: Rows  # place among the visits sorted by subject and time; -1 for none
    order: Rows  # that sorts the visits
    first: Rows  # place of the subject's first visit


def _subjects(
    visits: Any, ended: Frame, columns: OutcomeNames, censored: Any
) -> tuple[Outcome, Rows]:
    """Read the outcome of each subject, and whose each visit is."""
    here, there = _labels(ended[str(columns.id)]), _labels(visits)
    if not len(here):
        raise DataError("outcomes must have at least one subject; got none. Check how it was read.")
    of_outcome = number_subjects(here)
    number_subjects(there)  # refuses missing ones, by their row
    if (twice := np.flatnonzero(np.diff(np.sort(of_outcome)) == 0)).size:
        number = np.sort(of_outcome)[twice[0]]
        first, second = np.flatnonzero(of_outcome == number)[:2].tolist()
        raise DataError(
            f"outcomes must have one row for each subject; {len(np.unique(twice))} rows repeat one "
            f"(first: {row_name(first)} and {row_name(second)}, id {short(here[first])}). Keep "
            "the last, or the one with the event."
        )
    outcome = columns._replace(id=None).read_outcome(ended, censored)
    if len(there) and isinstance(here[0], str) != isinstance(there[0], str):
        raise DataError(
            "ids must be numbers, or texts, in both tables; got "
            f"{short(here[0])} in outcomes and {short(there[0])} in visits. Convert one column, "
            "such as visits['id'].astype(str)."
        )
    numbers = number_subjects(np.concatenate([here, there]))[len(here) :]
    unknown = numbers >= len(here)
    if unknown.any():
        first = int(np.flatnonzero(unknown)[0])
        raise DataError(
            f"every visit must be of a subject with an outcome; {unknown.sum()} of {len(unknown)} "
            f"are not (first: {row_name(first)}, id {short(there[first])}; an id of outcomes is "
            f"{short(here[0])}). Drop these visits, or add the outcomes."
        )
    return outcome, numbers


def _moments(series: Any) -> Floats:
    """Read when each visit was: a number counted from the origin."""
    if series.dtype.is_temporal():
        raise DataError(
            f"time must be a number, counted from the same origin as duration; got {series.dtype}. "
            "Subtract the date of each subject's origin, for example (date - diagnosis).dt.days."
        )
    moments = duration_numbers(np.asarray(series.to_list(), dtype=object), name="time")
    for bad, rule, way_out in (
        (~np.isfinite(moments), "a finite number", "Drop or correct these visits."),
        (
            moments < 0,
            "zero or more, counted from the same origin as duration",
            "To use what was measured before the origin, keep each subject's last such visit and "
            "set its time to 0; else drop these visits.",
        ),
    ):
        if bad.any():
            first = int(np.flatnonzero(bad)[0])
            raise DataError(
                f"time of a visit must be {rule}; {bad.sum()} of {len(bad)} are not (first: "
                f"{row_name(first)}, {moments[first]:g}). {way_out}"
            )
    return moments


def _kept_visits(
    subject: Rows, moments: Floats, outcome: Outcome, labels: Any, after_end: str
) -> Rows:
    """Refuse or drop visits after the end, drop those at it; refuse two visits at one time."""
    end = outcome.duration[subject]
    late = moments > end
    if late.any() and after_end == "raise":
        first = int(np.flatnonzero(late)[0])
        raise DataError(
            f"a visit must not come after the subject's end; {late.sum()} of {len(late)} do "
            f"(first: {row_name(first)}, id {short(labels[first])}: visit at {moments[first]:g}, "
            f"duration {end[first]:g}). Check that time and duration count from the same origin "
            "in the same unit; if they do, pass after_end='drop'."
        )
    order = np.lexsort((moments, subject))
    same = (np.diff(subject[order]) == 0) & (np.diff(moments[order]) == 0)
    if same.any():
        first, second = sorted(order[np.flatnonzero(same)[0] :][:2].tolist())
        raise DataError(
            f"a subject must have one visit at a time; {same.sum()} visits repeat a time (first: "
            f"{row_name(first)} and {row_name(second)}, id {short(labels[first])}: time "
            f"{moments[first]:g}). Average them, or keep the last: "
            "visits.drop_duplicates(['id', 'time'], keep='last')."
        )
    return np.flatnonzero(moments < end)


def _cut(subject: Rows, moments: Floats, outcome: Outcome, labels: Any) -> Cut:
    """Cut each subject's time at its visits."""
    n = len(outcome)
    entry = np.zeros(n) if outcome.entry is None else outcome.entry
    without = np.bincount(subject, minlength=n) == 0
    if without.any():
        first = int(np.flatnonzero(without)[0])
        raise DataError(
            f"every subject must have a visit before its end; {without.sum()} of {n} have none "
            f"(first: {row_name(first)} of outcomes, id {short(labels[first])}). Drop these "
            "subjects from outcomes, or add a visit of missing values at their entry."
        )
    order = np.lexsort((moments, subject))
    subject, moments = subject[order], moments[order]
    inside = moments > entry[subject]
    start = np.concatenate([entry, moments[inside]])
    whose = np.concatenate([np.arange(n), subject[inside]])
    sorting = np.lexsort((start, whose))
    start, whose = start[sorting], whose[sorting]
    is_last = np.append(whose[1:] != whose[:-1], True)
    stop = np.where(is_last, outcome.duration[whose], np.append(start[1:], np.inf))
    # Subject and time in one number, by which the last visit at or before a start is looked up.
    times, places = np.unique(np.concatenate([moments, start]), return_inverse=True)
    keys = np.concatenate([subject, whose]) * len(times) + places
    visit = np.searchsorted(keys[: len(moments)], keys[len(moments) :], side="right") - 1
    first_visit = np.searchsorted(subject, np.arange(n))
    visit = np.where(visit >= first_visit[whose], visit, -1)
    if (late := visit < 0).any():
        first = int(whose[np.flatnonzero(late)[0]])
        warn(
            f"{late.sum()} of {n} subjects have their first visit after their entry (first: "
            f"{row_name(first)} of outcomes, id {short(labels[first])}); until then what is "
            "measured at visits is missing. To count them from the first visit on, put its time "
            "into a column entry of outcomes.",
            DataWarning,
        )
    return Cut(whose, start, stop, is_last, visit, order, first_visit[whose])


def _last_known(series: Any, cut: Cut) -> Rows:
    """Find the place of the last value measured by the start of each row; -1 for none."""
    known = ~_is_missing(series)
    places = np.maximum.accumulate(np.where(known, np.arange(len(known)), -1))
    found = places[cut.visit]
    return np.where((cut.visit >= 0) & (found >= cut.first), found, -1)


def take(series: Any, places: Rows) -> Any:
    """Take values of a column by their places, without row labels; missing where that is -1."""
    # By the row labels of pandas, columns would be aligned.
    taken = nw.maybe_reset_index(series[np.maximum(places, 0).tolist()])
    if (places >= 0).all():
        return taken
    known = nw.new_series("known", places >= 0, backend=series.implementation)
    frame = taken.alias("value").to_frame().with_columns(known)
    found = frame.select(nw.when(nw.col("known")).then(nw.col("value")))["value"]
    return found.alias(series.name)


def _is_missing(series: Any) -> NDArray[np.bool_]:
    missing = np.asarray(series.is_null().to_numpy(), dtype=bool)
    if series.dtype.is_float():
        # Not in place: what pandas 3 hands out may not be written to.
        missing = missing | np.isnan(np.asarray(series.to_numpy(), dtype=np.float64))
    return missing


def _censored_label(event: Any, outcome: Outcome) -> Any:
    """Return the label that rows which go on get: one that means censored."""
    if event.dtype == nw.Boolean:
        return False
    if outcome.censored:
        return outcome.censored[0]
    return 0 if event.dtype.is_numeric() else "censored"


def _column(
    frame: Frame, name: str, role: str, aliases: Iterable[str] = (), table: str = "the table"
) -> str | None:
    """Find the column of a role; None where it has the usual name and there is none."""
    check_value(role, name, TEXT)
    if name in frame.columns:
        return name
    if name != role:
        raise _no_column(frame, name, role, table)
    return next((alias for alias in aliases if alias in frame.columns), None)


def _required(
    frame: Frame, name: str, role: str, aliases: Iterable[str] = (), table: str = "the table"
) -> str:
    """Find the column of a role, which must be there."""
    found = _column(frame, name, role, aliases, table)
    if found is None:
        raise _no_column(frame, name, role, table)
    return found


def _no_column(frame: Frame, name: str, role: str, table: str) -> DataError:
    return DataError(
        f"{table} must have the column {name!r}; it has {list(frame.columns)}. Name the column: "
        f"{role}='...'."
    )


def _labels(series: Any) -> NDArray[Any]:
    return np.array([*series.to_list(), None], dtype=object)[:-1]
