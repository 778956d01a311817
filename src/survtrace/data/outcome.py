"""Duration and event of each subject, read by name and checked once."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from survtrace.errors import DataError, DataWarning

EXAMPLE = "for example Surv.from_arrays(event=[0, 1, 2], duration=[3.5, 1.2, 8.0])"
CENSORED_LABELS = (0, False, "0", "censored")
DURATION_NAMES = ("duration", "time")


@dataclass(frozen=True, eq=False)
class Outcome:
    """What ended each subject's follow-up, and when.

    Attributes
    ----------
    duration
        Length of follow-up, positive.
    event
        0 for a censored subject, k for the k-th label of ``causes``.
    causes
        The labels of causes 1..K, sorted.
    """

    duration: NDArray[np.float64]
    event: NDArray[np.int64]
    causes: tuple[Any, ...]

    def __len__(self) -> int:
        return len(self.duration)

    @property
    def is_empty(self) -> NDArray[np.bool_]:
        """Which subjects are censored at duration 0."""
        return (self.duration == 0) & (self.event == 0)

    @property
    def n_events(self) -> dict[Any, int]:
        """How many events of each cause there are."""
        counts = np.bincount(self.event, minlength=len(self.causes) + 1)[1:]
        return dict(zip(self.causes, counts.tolist(), strict=True))

    def take(self, subjects: NDArray[Any]) -> Outcome:
        """The outcome of some of the subjects, by number or mask."""
        return Outcome(self.duration[subjects], self.event[subjects], self.causes)

    def cause_number(self, cause: Any) -> int:
        """The number 1..K of a cause given by its label."""
        if cause not in self.causes:
            raise DataError(
                f"cause must be one of the labels {list(self.causes)}; got {cause!r}. "
                "Pass a label that occurs in the outcome."
            )
        return self.causes.index(cause) + 1


class Surv:
    """Builds the outcome that ``fit`` and the scores read."""

    @staticmethod
    def from_arrays(event: ArrayLike, duration: ArrayLike) -> NDArray[np.void]:
        """Pack two columns into one structured array with fields ``event`` and ``duration``.

        Examples
        --------
        >>> y = Surv.from_arrays(event=[0, 1, 2], duration=[3.5, 1.2, 8.0])
        >>> y.dtype.names
        ('event', 'duration')
        >>> y["event"].tolist()
        [0, 1, 2]
        """
        events, durations = _as_column(event, "event"), _as_column(duration, "duration")
        _require_same_length(events, durations)
        kind = events.dtype if events.dtype.kind in "biu" else np.dtype(object)
        y = np.empty(len(events), dtype=[("event", kind), ("duration", np.float64)])
        y["event"], y["duration"] = events, _numbers(durations)
        return y


def read_outcome(
    y: Any,
    *,
    causes: Sequence[Any] | None = None,
    zero_duration: str | float = "raise",
    first_row: int = 0,
) -> Outcome:
    """Check an outcome given in any accepted form and number its causes.

    Parameters
    ----------
    y
        A frame, mapping or structured array with ``event`` and ``duration`` (or ``time``);
        scikit-survival's and comprisk's targets; or an `Outcome`.
    causes
        Labels known beforehand, in their order; any other label is refused.
        By default the sorted labels found.
    zero_duration
        What an event at duration 0 gets: ``"raise"``, or ``"shift"`` to half the smallest
        positive duration, or a duration of its own. (A subject censored at 0 says nothing;
        `informative` drops it.)
    first_row
        What errors call the first subject, if these are a piece of a larger table.

    Examples
    --------
    >>> read_outcome({"event": ["censored", "relapse"], "time": [4.0, 2.0]}).causes
    ('relapse',)
    """
    known = None if causes is None else tuple(causes)
    if isinstance(y, Outcome):
        return y if known in (None, y.causes) else _renumber(y, known)
    events, durations = _columns_by_name(y)
    _require_same_length(events, durations)
    duration = _checked_durations(durations, first_row)
    place, labels = _checked_labels(events, first_row)
    known = sort_causes(labels) if known is None else known
    event = _cause_numbers(labels, known)[place]
    duration = _shift_zero_durations(duration, event, zero_duration, first_row)
    return Outcome(duration, event, known)


def informative(outcome: Outcome) -> NDArray[np.bool_]:
    """Mark the subjects with any follow-up; those censored at 0 carry none, with one warning."""
    empty = outcome.is_empty
    if empty.any():
        warn_of_empty(int(empty.sum()), len(outcome), int(np.flatnonzero(empty)[0]), stacklevel=4)
    return np.asarray(~empty)


def warn_of_empty(n_empty: int, n_subjects: int, first: int, stacklevel: int = 3) -> None:
    """Say how many subjects are left out because they are censored at once."""
    warnings.warn(
        f"{n_empty} of {n_subjects} subjects are censored at duration 0 and are left out (first: "
        f"row {first}); they carry no information.",
        DataWarning,
        stacklevel=stacklevel,
    )


def require_same_subjects(n_subjects: int, outcome: Outcome) -> None:
    """Refuse covariates and outcome of different length."""
    if n_subjects != len(outcome):
        raise DataError(
            f"X and y must describe the same subjects; X has {n_subjects} rows and y has "
            f"{len(outcome)}. Build both from the same table; {EXAMPLE}."
        )


def _columns_by_name(y: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Find the event and the duration column."""
    if y is None:
        raise DataError(
            f"y must hold an event and a duration for each subject; requires y to be passed, "
            f"but the target y is None. Pass an outcome, {EXAMPLE}."
        )
    columns = _named_columns(y)
    names = list(columns)
    if len(names) == 2 and _follows_scikit_survival(columns):
        return columns[names[0]], columns[names[1]]
    duration_names = [name for name in names if name in DURATION_NAMES]
    if "event" not in names or len(duration_names) != 1 or len(names) != 2:
        raise DataError(
            "y must have exactly two columns, event and duration (or time); "
            f"got {names}. Select them by name, {EXAMPLE}."
        )
    return columns["event"], columns[duration_names[0]]


def _named_columns(y: Any) -> dict[str, NDArray[Any]]:
    if isinstance(y, Mapping):
        return {str(name): _as_column(values, str(name)) for name, values in y.items()}
    if isinstance(y, np.ndarray) and y.dtype.names:
        return {name: _as_column(y[name], name) for name in y.dtype.names}
    frame = nw.from_native(y, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return {name: _column_of(frame[name]) for name in frame.columns}
    shape = np.shape(y)
    seen = f"an array of shape {shape}" if shape else f"{type(y).__name__}"
    raise DataError(
        "y must name its two columns, event and duration: a frame, a mapping or a structured "
        f"array; got {seen}. A plain array cannot say which is which; {EXAMPLE}."
    )


def _column_of(series: Any) -> NDArray[Any]:
    if series.dtype.is_numeric() or series.dtype == nw.Boolean:
        return np.asarray(series.to_numpy())
    return np.array(series.to_list(), dtype=object)


def _follows_scikit_survival(columns: dict[str, NDArray[Any]]) -> bool:
    """Whether the first of two columns is a truth value and the second a number."""
    first, second = columns.values()
    return first.dtype.kind == "b" and second.dtype.kind in "fiu"


def _as_column(values: Any, name: str) -> NDArray[Any]:
    column = np.asarray(values)
    if column.dtype.kind in "US":
        column = column.astype(object)
    if column.ndim != 1:
        raise DataError(
            f"{name} must be one value for each subject; got shape {column.shape}. "
            f"Pass a flat column, {EXAMPLE}."
        )
    return column


def _require_same_length(events: NDArray[Any], durations: NDArray[Any]) -> None:
    if len(events) != len(durations):
        raise DataError(
            "event and duration must describe the same subjects; "
            f"got {len(events)} events and {len(durations)} durations; {EXAMPLE}."
        )


def _numbers(durations: NDArray[Any], first_row: int = 0) -> NDArray[np.float64]:
    try:
        return durations.astype(np.float64)
    except (TypeError, ValueError):
        bad = np.array([not _is_number(value) for value in durations])
        raise DataError(
            f"duration must be a number; {bad.sum()} of {len(bad)} are not "
            f"(first: row {first_row + np.flatnonzero(bad)[0]}, {durations[bad][0]!r}). "
            "Convert the column to days, months or years as numbers."
        ) from None


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _checked_durations(durations: NDArray[Any], first_row: int) -> NDArray[np.float64]:
    if durations.dtype.kind in "mM":
        raise DataError(
            f"duration must be a number; got {durations.dtype}. "
            "Subtract the start date and convert, for example (end - start).dt.days."
        )
    duration = _numbers(durations, first_row)
    for bad, rule in ((~np.isfinite(duration), "finite"), (duration < 0, "zero or more")):
        if bad.any():
            first = np.flatnonzero(bad)[0]
            raise DataError(
                f"duration must be {rule}; {bad.sum()} of {len(bad)} are not "
                f"(first: row {first_row + first}, {duration[first]}). "
                "Drop or correct these subjects."
            )
    return duration


def _checked_labels(events: NDArray[Any], first_row: int) -> tuple[NDArray[np.int64], list[Any]]:
    """Each subject's place in a list of distinct labels, whole numbers as int."""
    place, distinct = pd.factorize(events, use_na_sentinel=False)
    labels = [_plain_label(label) for label in np.asarray(distinct).tolist()]
    bad = np.array([_is_invalid(label) for label in labels], dtype=bool)[place]
    if bad.any():
        first = np.flatnonzero(bad)[0]
        raise DataError(
            "event must be 0 for censored subjects, or a cause as a whole number above 0 or as "
            f"text; {bad.sum()} of {len(bad)} are not (first: row {first_row + first}, "
            f"{labels[place[first]]!r}). Drop or correct these subjects."
        )
    return place.astype(np.int64), labels


def _plain_label(label: Any) -> Any:
    if isinstance(label, bool):
        return int(label)
    return int(label) if isinstance(label, float) and label.is_integer() else label


def _is_invalid(label: Any) -> bool:
    return not (isinstance(label, str) or (isinstance(label, int) and label >= 0))


def sort_causes(labels: Iterable[Any]) -> tuple[Any, ...]:
    """Distinct causes among labels: numbers in order, then texts in order.

    Examples
    --------
    >>> sort_causes(["relapse", 3, 0, 1, "censored"])
    (1, 3, 'relapse')
    """
    causes = {label for label in labels if label not in CENSORED_LABELS}
    return tuple(sorted(causes, key=lambda label: (isinstance(label, str), label)))


def _cause_numbers(labels: Sequence[Any], causes: tuple[Any, ...]) -> NDArray[np.int64]:
    """The number of each label: 0 if it means censored, else its place in ``causes``."""
    unknown = [label for label in sort_causes(labels) if label not in causes]
    if unknown:
        raise DataError(
            f"every cause must be one of {list(causes)}; the outcome also has {unknown}. "
            "Recode or drop these subjects."
        )
    censored = [label in CENSORED_LABELS for label in labels]
    return np.array(
        [0 if none else causes.index(c) + 1 for c, none in zip(labels, censored, strict=True)],
        dtype=np.int64,
    )


def _renumber(outcome: Outcome, causes: tuple[Any, ...]) -> Outcome:
    seen = np.unique(outcome.event)
    labels = [([0, *outcome.causes])[number] for number in seen]
    event = _cause_numbers(labels, causes)[np.searchsorted(seen, outcome.event)]
    return Outcome(outcome.duration, event, causes)


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
        raise DataError(
            f"an event needs a duration above 0; {at_zero.sum()} of {len(at_zero)} events are at "
            f"0 (first: row {first_row + np.flatnonzero(at_zero)[0]}). Pass zero_duration='shift' "
            "to move them to half the smallest positive duration."
        )
    smallest = duration[duration > 0].min(initial=np.inf)
    return np.where(at_zero, shifted(smallest), duration)


def shifted(smallest: float) -> float:
    """Where an event at duration 0 goes, by the smallest positive duration (infinite: none)."""
    return float(smallest) / 2 if np.isfinite(smallest) else 0.5
