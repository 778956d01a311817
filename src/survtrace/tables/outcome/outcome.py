"""Read duration and event of each subject by name, and check them once."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from survtrace.errors import Answer, DataError, DataWarning, row_name, warn
from survtrace.tables.outcome.censoring_labels import (
    EMPTY,
    Followed,
    LabelCounts,
    Meaning,
    label_numbers,
    named_labels,
    read_meaning,
    refuse_dates,
)
from survtrace.tables.outcome.event_labels import is_date, is_usual, plain_label, sort_causes
from survtrace.tables.outcome.outcome_columns import (
    EXAMPLE,
    as_column,
    checked_durations,
    columns_by_name,
    duration_numbers,
    require_same_length,
    short,
)

UNKNOWN_DURATIONS = (99, 888, 999, 8888, 9999, 88888, 99999, 999999)


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
        columns = ("duration", "event", "entry", "id", "goes_on")
        given = {name: getattr(self, name) for name in columns}
        taken = {name: None if each is None else each[subjects] for name, each in given.items()}
        return replace(self, **taken)

    def cause_number(self, cause: Any) -> int:
        """Look up the number 1..K of a cause by its label."""
        if cause not in self.causes:
            raise DataError(
                f"cause must be one of the labels {list(self.causes)}; got {cause!r}. "
                "Pass a label that occurs in the outcome."
            )
        return self.causes.index(cause) + 1


class Surv:
    """Build the outcome that ``fit`` and the scores read."""

    @staticmethod
    def from_arrays(
        event: ArrayLike, duration: ArrayLike, censored: Any = None
    ) -> NDArray[np.void]:
        """Pack two columns into one structured array with fields ``event`` and ``duration``.

        Parameters
        ----------
        event
            A label for each subject: 0 or a usual word for it (alive, lost, none, ...) if
            censored, else the cause.
        duration
            Length of follow-up.
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
        """
        events, durations = as_column(event, "event"), as_column(duration, "duration")
        require_same_length(events, durations)
        numbers, metadata = duration_numbers(durations), dict[str, Any]()
        if censored is not None:
            events, metadata = _recode_censored(events, numbers, censored)
        kind = events.dtype if events.dtype.kind in "biu" else np.dtype(object)
        fields = [("event", kind), ("duration", np.float64)]
        y = np.empty(len(events), np.dtype(fields, metadata=metadata))
        y["event"], y["duration"] = events, numbers
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
        A frame, mapping or structured array with ``event`` and ``duration`` (or ``time``);
        scikit-survival's and comprisk's targets; or an `Outcome`.
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
    events, durations = columns_by_name(y)
    require_same_length(events, durations)
    duration = checked_durations(durations, first_row)
    attrs = y.attrs if isinstance(y, pd.DataFrame) else {}
    metadata = (y.dtype.metadata if isinstance(y, np.ndarray) else None) or {}
    part = censored is None and "censored" in attrs
    censored = attrs["censored"] if part else censored
    codes, labels = _checked_labels(events, censored, first_row)
    if causes is not None:
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
        counts = _count(codes, labels, duration)
        name = event_name or str(attrs.get("event_name", "event"))
        meaning = read_meaning(counts, censored, name=name, ask=ask, part=part)
    event = _event_numbers(labels, meaning)[codes]
    duration = _shift_zero_durations(duration, event, zero_duration, first_row)
    return Outcome(duration, event, meaning.causes, meaning.censored)


class EventLabels(NamedTuple):
    """The labels of an outcome that is read in chunks: a code for each subject, and counts."""

    codes: NDArray[np.int64]
    labels: list[Any]
    duration: NDArray[np.float64]
    counts: LabelCounts


def read_labels(y: Any, censored: Any = None, first_row: int = 0) -> EventLabels:
    """Read the labels of some rows, whose meaning all rows of the table will decide."""
    events, durations = columns_by_name(y)
    codes, labels = _checked_labels(events, censored, first_row)
    duration = checked_durations(durations, first_row)
    return EventLabels(codes, labels, duration, _count(codes, labels, duration))


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


def informative(outcome: Outcome) -> NDArray[np.bool_]:
    """Mark the subjects with any follow-up; warn once of those censored at 0, who have none."""
    empty = outcome.is_empty
    if empty.any():
        warn_of_empty(int(empty.sum()), len(outcome), int(np.flatnonzero(empty)[0]))
    return np.asarray(~empty)


def warn_of_empty(n_empty: int, n_subjects: int, first: int) -> None:
    """Warn of subjects that are left out because they are censored at 0."""
    warn(
        f"{n_empty} of {n_subjects} subjects are censored at duration 0 and are left out (first: "
        f"{row_name(first)}); they carry no information.",
        DataWarning,
    )


def warn_if_complete(outcome: Outcome) -> None:
    """Warn that nobody is censored, where no label means it."""
    if not outcome.censored and (outcome.event > 0).all():
        warn(
            f"nobody is censored: all {len(outcome)} subjects have an event. If that is wrong, "
            "mark those without one by 0.",
            DataWarning,
        )


def warn_of_unknown_durations(outcome: Outcome) -> None:
    """Warn that the longest duration looks like a code for "not known", such as 9999."""
    longest = outcome.duration.max(initial=0.0)
    others = outcome.duration[outcome.duration < longest].max(initial=0.0)
    n_longest = int((outcome.duration == longest).sum())
    if longest in UNKNOWN_DURATIONS and n_longest > 1 and 2 * others < longest:
        warn(
            f"duration is {longest:g} for {n_longest} of {len(outcome)} subjects, and at most "
            f"{others:g} for all others; such a number often means that it is not known. If so, "
            "drop these subjects.",
            DataWarning,
        )


def require_same_subjects(n_subjects: int, outcome: Outcome) -> None:
    """Refuse covariates and outcome of different length."""
    if n_subjects != len(outcome):
        raise DataError(
            f"X and y must describe the same subjects; X has {n_subjects} rows and y has "
            f"{len(outcome)}. Build both from the same table; {EXAMPLE}."
        )


def _recode_censored(
    events: NDArray[Any], duration: NDArray[np.float64], censored: Any
) -> tuple[NDArray[Any], dict[str, Any]]:
    """Recode events, 0 for what means censored; also return metadata for the dtype that name it.

    A cause labelled 0 (as in a column "alive") gets the smallest number that is no other cause's.
    """
    codes, labels = _checked_labels(events, censored, 0)
    meaning = read_meaning(_count(codes, labels, duration), censored)
    free = next(number for number in range(1, len(labels) + 2) if number not in meaning.causes)
    new = {0: free, **dict.fromkeys(meaning.censored, 0)}
    events = np.array([new.get(label, label) for label in labels], dtype=object)[codes]
    if all(isinstance(label, int) for label in events):
        events = events.astype(np.int64)
    causes = {new.get(cause, cause) for cause in meaning.causes}
    return events, {"censored": (0, *(c for c in meaning.censored if c not in {0, *causes}))}


def _checked_labels(
    events: NDArray[Any], censored: Any, first_row: int
) -> tuple[NDArray[np.int64], list[Any]]:
    """Code each subject by distinct labels; whole numbers as int, none missing."""
    if events.dtype.kind in "mM":
        events = np.array([None if np.isnat(date) else date for date in events], dtype=object)
    codes, values = pd.factorize(events, use_na_sentinel=False)
    raw = list(values) if values.dtype == object else values.tolist()
    labels = [plain_label(label) for label in raw]
    if EMPTY in (named_labels(censored) or ()):
        labels = [EMPTY if label is None else label for label in labels]
    dates = np.array([is_date(label) for label in labels], dtype=bool)
    if dates.any():
        n_dates = int(dates[codes].sum())
        refuse_dates([labels[k] for k in np.flatnonzero(dates)], n_dates, len(events))
    _refuse_invalid(codes, raw, labels, first_row)
    distinct = list(dict.fromkeys(labels))
    index = {label: k for k, label in enumerate(distinct)}
    return np.array([index[label] for label in labels], dtype=np.int64)[codes], distinct


def _refuse_invalid(codes: NDArray[Any], raw: list[Any], labels: list[Any], first_row: int) -> None:
    missing = np.array([label is None for label in labels], dtype=bool)
    valid = [isinstance(label, str) or (isinstance(label, int) and label >= 0) for label in labels]
    bad = (missing if missing.any() else ~np.array(valid, dtype=bool))[codes]
    if not bad.any():
        return
    first = int(np.flatnonzero(bad)[0])
    seen = (
        "event must be 0 for censored subjects, or a cause as a whole number above 0 or as text; "
        f"{bad.sum()} of {len(bad)} are not (first: {row_name(first_row + first)}, "
        f"{short(raw[codes[first]])})."
    )
    if not missing.any():
        raise DataError(f"{seen} Drop or correct these subjects.")
    usual = [str(label) for label in labels if label is not None and is_usual(label)]
    named = [EMPTY, *usual]  # what is named means censored, and nothing else does
    argument = f"censored={named if usual else EMPTY!r}"
    options = tuple(part for label in named for part in ("--censored", label))
    raise DataError(
        f"{seen} Drop these subjects or, if nothing happened to them, pass "
        f"{argument}, for example Surv.from_arrays(event, duration, {argument}).",
        in_command=f"{seen} Drop these subjects or, if nothing happened to them, say "
        f"{shlex.join(options)}.",
        answers=[Answer("if nothing happened to subjects without an event", options)],
    )


def _count(
    codes: NDArray[np.int64], labels: Sequence[Any], duration: NDArray[np.float64]
) -> LabelCounts:
    n = np.bincount(codes, minlength=len(labels))
    total = np.bincount(codes, weights=duration, minlength=len(labels))
    shortest, longest = np.full(len(labels), np.inf), np.full(len(labels), -np.inf)
    np.minimum.at(shortest, codes, duration)
    np.maximum.at(longest, codes, duration)
    columns = zip(*(values.tolist() for values in (n, total, shortest, longest)), strict=True)
    return LabelCounts(zip(labels, (Followed(*column) for column in columns), strict=True))


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
            f"an event needs a duration above 0; {at_zero.sum()} of {len(at_zero)} events are at "
            f"0 (first: {row_name(first_row + np.flatnonzero(at_zero)[0])})."
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
