"""Read duration, event, entry and subject of each row by name, and check them once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from survtrace.errors import DataError, row_name, short
from survtrace.rules import find_label
from survtrace.tables.covariates.covariates import require_same_labels
from survtrace.tables.outcome.censoring_labels import (
    LabelCounts,
    Meaning,
    ask_about_cause,
    label_numbers,
    named_labels,
    read_meaning,
)
from survtrace.tables.outcome.event_labels import sort_causes
from survtrace.tables.outcome.label_codes import checked_labels, count_labels
from survtrace.tables.outcome.outcome_columns import (
    EXAMPLE,
    OutcomeColumns,
    as_column,
    as_ids,
    checked_durations,
    columns_by_name,
    duration_numbers,
    require_same_length,
)
from survtrace.tables.outcome.subject_rows import (
    SubjectRows,
    names_of,
    number_subjects,
    read_rows,
    require_entry_before_end,
)


@dataclass(frozen=True, eq=False)
class Outcome:
    """What ended each subject's follow-up, and when.

    With ``entry`` a row is under observation from entry (exclusive) to duration (inclusive), both
    counted from the same origin. With ``id`` a subject may have several rows, in the order of
    time, that do not overlap; all but its last one go on.
    """

    duration: NDArray[np.float64]  # when follow-up ended, positive
    event: NDArray[np.int64]  # 0 for a censored subject, k for the k-th label of ``causes``
    causes: tuple[Any, ...]  # the labels of causes 1..K, sorted
    censored: tuple[Any, ...] = ()  # the labels that meant censored
    entry: NDArray[np.float64] | None = None  # when observation began; None: at 0 for everybody
    id: NDArray[np.int64] | None = None  # number of the row's subject; None: one row each
    goes_on: NDArray[np.bool_] | None = None  # whether the subject has a later row, by ``id``
    labels: Any = None  # the index of a pandas table, by which scores match predictions

    def __post_init__(self) -> None:
        if self.id is not None and self.goes_on is None:
            object.__setattr__(self, "goes_on", has_later_row(self.id, self.duration))

    def __len__(self) -> int:
        return len(self.duration)

    @property
    def is_start_stop(self) -> bool:
        """Whether any subject has more than one row."""
        return self.goes_on is not None and bool(self.goes_on.any())

    @property
    def n_subjects(self) -> int:
        """Count the subjects, each of which may have several rows."""
        return len(self) if self.id is None else len(np.unique(self.id))

    @property
    def first_entries(self) -> NDArray[np.float64]:
        """Tell when observation of each subject began, subjects in the order of their ids.

        Examples
        --------
        >>> cut = Outcome(np.array([4.0, 1.0, 2.0]), np.array([1, 0, 0]), (1,),
        ...               entry=np.array([1.0, 0.5, 0.0]), id=np.array([8, 8, 7]))
        >>> cut.first_entries.tolist()
        [0.0, 0.5]
        """
        entry = np.zeros(len(self)) if self.entry is None else self.entry
        if self.id is None:
            return entry
        first = np.full(self.n_subjects, np.inf)
        np.minimum.at(first, np.unique(self.id, return_inverse=True)[1], entry)
        return first

    @property
    def is_whole(self) -> NDArray[np.bool_]:
        """Mark the rows that are all of a subject's time, from 0 to its end."""
        nobody = np.zeros(len(self), dtype=bool)
        late = nobody if self.entry is None else self.entry > 0
        return np.asarray(~(late | (nobody if self.goes_on is None else self.goes_on)))

    @property
    def is_empty(self) -> NDArray[np.bool_]:
        """Mark the subjects that are censored at duration 0."""
        return (self.duration == 0) & (self.event == 0)

    @property
    def n_events(self) -> dict[Any, int]:
        """Count the events of each cause."""
        counts = np.bincount(self.event, minlength=len(self.causes) + 1)[1:]
        return dict(zip(self.causes, counts.tolist(), strict=True))

    def take(self, subjects: NDArray[Any]) -> Outcome:
        """Select some of the subjects, by number or mask."""
        columns = ("duration", "event", "entry", "id", "goes_on", "labels")
        given = {name: getattr(self, name) for name in columns}
        taken: dict[str, Any] = {
            name: None if each is None else each[subjects] for name, each in given.items()
        }
        return replace(self, **taken)

    def cause_number(self, cause: Any) -> int:
        """Look up the number 1..K of a cause by its label."""
        place = find_label(cause, self.causes)
        if place is None:
            raise DataError(
                f"cause must be one of the labels {list(self.causes)}; got {short(cause)}. "
                "Pass a label that occurs in the outcome."
            )
        return place + 1


class Surv:
    """Build the outcome that ``fit`` and the scores read."""

    @staticmethod
    def from_arrays(
        event: ArrayLike,
        duration: ArrayLike,
        entry: ArrayLike | None = None,
        id: Any = None,
        censored: Any = None,
    ) -> NDArray[np.void]:
        """Pack columns into one structured array, with fields ``event`` and ``duration``.

        Where they are given, there are fields ``entry`` and ``id``, too.

        Parameters
        ----------
        event
            A label for each subject: 0 or a usual word for it (alive, lost, none, ...) if
            censored, else the cause.
        duration
            Length of follow-up: when it ended, counted from the same origin as ``entry``.
        entry
            When observation of the row began, counted from the same origin and in the same unit as
            ``duration``; 0 for everybody if left out. With age as the clock, it is the age at
            enrolment, and duration the age at the end of follow-up.
        id
            A label of the subject, which may then have several rows (start-stop rows, each with
            the covariates of its time): in the order of time, apart, the event in the last.
        censored
            The label, or a list of labels, that means censored, where the usual words do not say
            it; these become 0, and every other label is a cause. ``[]`` or ``"nobody"``: nobody is
            censored; ``"empty"``: those without a label are.

        Examples
        --------
        >>> y = Surv.from_arrays(event=[0, 1, 2], duration=[3.5, 1.2, 8.0])
        >>> y.dtype.names
        ('event', 'duration')
        >>> y["event"].tolist()
        [0, 1, 2]
        >>> Surv.from_arrays(["well", "ill"], [3.5, 1.2], censored="well")["event"].tolist()
        [0, 'ill']
        >>> Surv.from_arrays([0, 1], [2.0, 3.5], entry=[0.0, 2.0], id=["a", "a"]).dtype.names
        ('event', 'duration', 'entry', 'id')
        """
        named = {"event": event, "duration": duration, "entry": entry, "id": id}
        require_same_labels(named, "the outcome")
        given = OutcomeColumns(
            as_column(event, "event"),
            as_column(duration, "duration"),
            None if entry is None else as_column(entry, "entry"),
            None if id is None else as_ids(id),
        )
        require_same_length(given)
        events, metadata = given.event, dict[str, Any]()
        columns = {"event": events, "duration": duration_numbers(given.duration)}
        if censored is not None:
            columns["event"], metadata = _recode_censored(events, columns["duration"], censored)
        if given.entry is not None:
            columns["entry"] = duration_numbers(given.entry, name="entry")
            require_entry_before_end(columns["entry"], columns["duration"], names_of(given.id))
        if given.id is not None:
            columns["id"] = given.id
        plain = {"event": "biu", "id": "biu", "duration": "f", "entry": "f"}
        fields = [
            (name, column.dtype if column.dtype.kind in plain[name] else np.dtype(object))
            for name, column in columns.items()
        ]
        y = np.empty(len(events), np.dtype(fields, metadata=metadata))
        for name, column in columns.items():
            y[name] = column
        return y


def read_outcome(
    y: Any,
    *,
    causes: Sequence[Any] | None = None,
    censored: Any = None,
    zero_duration: str | float = "raise",
    first_row: int = 0,
    event_name: str | None = None,
    ask: bool = True,
) -> Outcome:
    """Check an outcome given in any accepted form and number its causes.

    Parameters
    ----------
    y
        A frame, mapping or structured array with ``event`` and ``duration`` (or ``time``,
        ``stop``) and, where there are any, ``entry`` (or ``start``) and ``id``, as in
        `Surv.from_arrays`; scikit-survival's and comprisk's targets; or an `Outcome`.
    causes
        The causes of a fit, in their order; any other label is refused, unless it means censored.
    censored
        As in `Surv.from_arrays`; by default what ``y.attrs["censored"]`` of a pandas frame says,
        or else 0 and the usual words. With ``causes``, these mean censored, too, in any case.
    zero_duration
        For an event at duration 0: ``"raise"``, or ``"shift"`` to half the smallest positive
        duration, or a new duration. (`informative` drops subjects censored at 0.)
    first_row
        What errors call the first subject, if these are a chunk of a larger table.
    event_name
        Name of the event column in the table: 1 may mean censored in a column "alive".
    ask
        Whether to stop if nobody is censored though there are several labels, as for a whole
        table; all subjects of a fold may have had an event.

    Examples
    --------
    >>> read_outcome({"event": ["Alive", "relapse"], "time": [4.0, 2.0]}).causes
    ('relapse',)
    """
    if isinstance(y, Outcome):
        return y if causes is None or tuple(causes) == y.causes else _renumber(y, tuple(causes))
    columns = columns_by_name(y)
    require_same_length(columns)
    duration = checked_durations(columns.duration, first_row)
    attrs = y.attrs if isinstance(y, pd.DataFrame) else {}
    metadata = (y.dtype.metadata if isinstance(y, np.ndarray) else None) or {}
    part = censored is None and "censored" in attrs
    censored = attrs["censored"] if part else censored
    codes, labels = checked_labels(columns.event, censored, first_row)
    if causes is not None:
        ask_about_cause(columns.event_name, causes)
        meaning = Meaning(tuple(causes), named_labels(censored) or ())
        if both := [label for label in meaning.censored if label in meaning.causes]:
            raise DataError(
                f"a label must be a cause or mean censored; {both} was a cause in the fit. Code "
                "the events as there: Surv.from_arrays(event, duration, censored=...) gives 0 to "
                "those who are censored."
            )
    elif (recoded := metadata.get("censored")) is not None:  # by `Surv.from_arrays`
        meaning = Meaning(sort_causes(label for label in labels if label != 0), recoded)
    else:
        counts = count_labels(codes, labels, duration)
        name = event_name or str(attrs.get("event_name", columns.event_name))
        late = columns.entry is not None
        meaning = read_meaning(counts, censored, name=name, ask=ask, part=part, late_entry=late)
    event = _event_numbers(labels, meaning)[codes]
    duration = _shift_zero_durations(duration, event, zero_duration, first_row)
    rows = _read_subject_rows(columns, duration, event > 0, first_row)
    entered = {} if rows is None else rows._asdict()
    return Outcome(duration, event, meaning.causes, meaning.censored, **entered)


class EventLabels(NamedTuple):
    """The labels of an outcome that is read in chunks: a code for each subject, and counts.

    ``entry`` is checked; ``id`` is as it was given. `RowsInChunks` checks them over all chunks.
    """

    codes: NDArray[np.int64]
    labels: list[Any]
    duration: NDArray[np.float64]
    counts: LabelCounts
    entry: NDArray[np.float64] | None = None
    id: NDArray[Any] | None = None


def read_labels(y: Any, censored: Any, first_row: int) -> EventLabels:
    """Read the labels of some rows, whose meaning all rows of the table will decide."""
    columns = columns_by_name(y)
    codes, labels = checked_labels(columns.event, censored, first_row)
    duration = checked_durations(columns.duration, first_row)
    entry = columns.entry
    if entry is not None:
        entry = checked_durations(entry, first_row, "entry")
    counts = count_labels(codes, labels, duration)
    return EventLabels(codes, labels, duration, counts, entry, columns.id)


def has_later_row(id: NDArray[np.int64], duration: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Mark the rows after which the same subject has another.

    Examples
    --------
    >>> has_later_row(np.array([7, 7, 8]), np.array([1.0, 4.0, 2.0])).tolist()
    [True, False, False]
    """
    order = np.lexsort((duration, id))
    same = id[order][1:] == id[order][:-1]
    later = np.zeros(len(id), dtype=bool)
    later[order[:-1][same]] = True
    return later


def join_rows(outcome: Outcome) -> tuple[Outcome, NDArray[np.int64]]:
    """Join the rows of a subject that touch: one row for each time under observation.

    Also return the number of the joined row for each row. A gap between two rows of a subject is
    left: it leaves observation and enters again.

    Examples
    --------
    >>> cut = Outcome(np.array([1.0, 4.0, 2.0]), np.array([0, 1, 0]), (1,),
    ...               entry=np.array([0.0, 1.0, 0.5]), id=np.array([7, 7, 8]))
    >>> joined, place = join_rows(cut)
    >>> joined.entry.tolist(), joined.duration.tolist(), joined.event.tolist(), place.tolist()
    ([0.0, 0.5], [4.0, 2.0], [1, 0], [0, 0, 1])
    """
    n = len(outcome)
    if outcome.id is None or outcome.entry is None or not outcome.is_start_stop:
        return outcome, np.arange(n)
    order = np.lexsort((outcome.duration, outcome.id))
    id, entry, duration = (a[order] for a in (outcome.id, outcome.entry, outcome.duration))
    touches = (id[1:] == id[:-1]) & (entry[1:] == duration[:-1])
    first = np.append(True, ~touches)
    last = np.append(~touches, True)
    place = np.empty(n, dtype=np.int64)
    place[order] = np.cumsum(first) - 1
    joined = replace(outcome.take(order[last]), entry=entry[first])
    return joined, place


def require_same_subjects(n_subjects: int, outcome: Outcome) -> None:
    """Refuse covariates and outcome of different length."""
    if n_subjects != len(outcome):
        raise DataError(
            f"X and y must describe the same subjects; X has {n_subjects} rows and y has "
            f"{len(outcome)}. Build both from the same table; {EXAMPLE}."
        )


def _read_subject_rows(
    columns: OutcomeColumns,
    duration: NDArray[np.float64],
    is_event: NDArray[np.bool_],
    first_row: int,
) -> SubjectRows | None:
    entry, ids = columns.entry, columns.id
    if entry is not None:
        entry = checked_durations(entry, first_row, "entry")
    numbers = None if ids is None else number_subjects(ids, first_row)
    return read_rows(numbers, entry, duration, is_event, names_of(ids), first_row)


def _recode_censored(
    events: NDArray[Any], duration: NDArray[np.float64], censored: Any
) -> tuple[NDArray[Any], dict[str, Any]]:
    """Recode events, 0 for what means censored; also return metadata for the dtype that name it.

    A cause labelled 0 (as in a column "alive") gets the smallest number that is no other cause's.
    """
    codes, labels = checked_labels(events, censored, 0)
    meaning = read_meaning(count_labels(codes, labels, duration), censored)
    free = next(number for number in range(1, len(labels) + 2) if number not in meaning.causes)
    new = {0: free, **dict.fromkeys(meaning.censored, 0)}
    events = np.array([new.get(label, label) for label in labels], dtype=object)[codes]
    if all(isinstance(label, int) for label in events):
        events = events.astype(np.int64)
    causes = {new.get(cause, cause) for cause in meaning.causes}
    return events, {"censored": (0, *(c for c in meaning.censored if c not in {0, *causes}))}


def _event_numbers(labels: Sequence[Any], meaning: Meaning) -> NDArray[np.int64]:
    numbers = label_numbers(labels, meaning)
    unknown = [label for label, number in zip(labels, numbers, strict=True) if number is None]
    if unknown:
        raise DataError(
            f"every cause must be one of {list(meaning.causes)}; the outcome also has "
            f"{list(sort_causes(unknown))}. Recode or drop these subjects."
        )
    return np.array(numbers, dtype=np.int64)


def _renumber(outcome: Outcome, causes: tuple[Any, ...]) -> Outcome:
    seen = np.unique(outcome.event[outcome.event > 0])
    labels = [outcome.causes[number - 1] for number in seen]
    numbers = np.zeros(len(outcome.causes) + 1, dtype=np.int64)
    numbers[seen] = _event_numbers(labels, Meaning(causes, ()))
    return replace(outcome, event=numbers[outcome.event], causes=causes)


def _shift_zero_durations(
    duration: NDArray[np.float64],
    event: NDArray[np.int64],
    zero_duration: str | float,
    first_row: int,
) -> NDArray[np.float64]:
    at_zero = (duration == 0) & (event > 0)
    if not at_zero.any():
        return duration
    if not isinstance(zero_duration, str):
        return np.where(at_zero, zero_duration, duration)
    if zero_duration != "shift":
        seen = (
            f"an event needs a duration above 0; {at_zero.sum()} of {(event > 0).sum()} events are "
            f"at 0 (first: {row_name(first_row + np.flatnonzero(at_zero)[0])})."
        )
        way_out = "to move them to half the smallest positive duration."
        raise DataError(
            f"{seen} Pass zero_duration='shift' {way_out}",
            in_command=f"{seen} Say --set zero_duration=shift {way_out}",
        )
    smallest = duration[duration > 0].min(initial=np.inf)
    return np.where(at_zero, shifted(smallest), duration)


def shifted(smallest: float) -> float:
    """Return the new duration of an event at 0, by the smallest positive one (infinite: none)."""
    return float(smallest) / 2 if np.isfinite(smallest) else 0.5
