"""Find event, duration, entry and id of an outcome in any accepted form, as arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from survtrace.errors import DataError, DataWarning, row_name, short, warn
from survtrace.tables.covariates.cells import is_date
from survtrace.tables.covariates.covariates import open_frame, require_same_labels
from survtrace.tables.covariates.real_numbers import as_array, is_complex, refuse_masked
from survtrace.tables.covariates.text_numbers import (
    parse_numbers,
    parted_thousands,
    two_readings,
)
from survtrace.tables.outcome.event_labels import plain_words

EXAMPLE = "for example Surv.from_arrays(event=[0, 1, 2], duration=[3.5, 1.2, 8.0])"
IN_COMMAND = "Name the columns with --event and --duration."
DURATION_NAMES = ("duration", "time", "stop")
ENTRY_NAMES = ("entry", "start")
LARGEST, SMALLEST = 1e20, 1e-20  # squares and ratios of durations in between are finite


class OutcomeColumns(NamedTuple):
    """The columns of an outcome; entry and id only where they are given.

    ``event_name`` is what the table calls the events, which may say that 1 means censored.
    """

    event: NDArray[Any]
    duration: NDArray[Any]
    entry: NDArray[Any] | None = None
    id: NDArray[Any] | None = None
    event_name: str = "event"


def columns_by_name(y: Any) -> OutcomeColumns:
    """Find the columns of an outcome.

    Examples
    --------
    >>> y = {"start": [0, 2], "stop": [2, 3], "event": [0, 1], "id": [7, 7]}
    >>> columns_by_name(y).entry.tolist()
    [0, 2]
    """
    if y is None:
        raise DataError(
            f"y must hold an event and a duration for each subject; requires y to be passed, "
            f"but the target y is None. Pass an outcome, {EXAMPLE}."
        )
    columns = _named_columns(y)
    names = list(columns)
    if _is_of_scikit_survival(columns):
        event, duration = columns.values()
        # Its own data sets call an event "cens"; in a frame that is the user's word.
        own_word = isinstance(y, np.ndarray) and plain_words(names[0]).startswith("cens")
        return OutcomeColumns(event, duration, event_name="event" if own_word else names[0])
    durations = [name for name in names if name in DURATION_NAMES]
    entries = [name for name in names if name in ENTRY_NAMES]
    others = {*names} - {"event", "id", *durations, *entries}
    if "event" not in names or len(durations) != 1 or len(entries) > 1 or others:
        seen = (
            "y must have the columns event and duration (or time, stop), and may have entry (or "
            f"start) and id, each once; got {names}."
        )
        raise DataError(
            f"{seen} Select them by name, {EXAMPLE}.", in_command=f"{seen} {IN_COMMAND}"
        )
    entry = columns[entries[0]] if entries else None
    return OutcomeColumns(columns["event"], columns[durations[0]], entry, columns.get("id"))


def _is_of_scikit_survival(columns: Mapping[str, NDArray[Any]]) -> bool:
    """Check for a boolean and a number, by any names but those that here mean something else."""
    kinds = "".join(column.dtype.kind for column in columns.values())
    if kinds not in ("bf", "bi", "bu"):
        return False
    event, duration = columns
    return duration not in ("event", "id", *ENTRY_NAMES) and event not in DURATION_NAMES


def _named_columns(y: Any) -> dict[str, NDArray[Any]]:
    if isinstance(y, Mapping):
        require_same_labels(y, "y")
        return {str(name): _as_named(values, str(name)) for name, values in y.items()}
    if isinstance(y, np.ndarray) and y.dtype.names:
        return {name: as_column(y[name], name) for name in y.dtype.names}
    frame = open_frame(y)
    if frame is not None:
        return {name: _column_of(frame[name]) for name in frame.columns}
    shape = getattr(y, "shape", None) or (isinstance(y, list | tuple) and (len(y),))
    seen = f"an array of shape {shape}" if shape else f"{type(y).__name__}"
    raise DataError(
        "y must name its columns, event and duration: a frame, a mapping or a structured "
        f"array; got {seen}. A plain array cannot say which is which; {EXAMPLE}."
    )


def _column_of(series: Any) -> NDArray[Any]:
    dates = series.dtype.is_temporal() and series.implementation.is_pandas()
    if dates or series.dtype.is_numeric() or series.dtype == nw.Boolean:
        return np.asarray(series.to_numpy())
    column = np.empty(len(series), dtype=object)
    for row, value in enumerate(series.to_list()):  # lists and tensors stay in their cells
        column[row] = value
    return column


def _as_named(values: Any, name: str) -> NDArray[Any]:
    return as_ids(values) if name == "id" else as_column(values, name)


def as_ids(values: Any) -> NDArray[Any]:
    """Convert the labels of subjects to an array; one that is a tuple stays one."""
    if isinstance(values, list | tuple) and any(isinstance(each, tuple) for each in values):
        return _as_objects(values)
    return as_column(values, "id")


def as_column(values: Any, name: str) -> NDArray[Any]:
    """Convert to an array with one value for each subject."""
    refuse_masked(values, name)
    if isinstance(values, list | tuple) and any(isinstance(each, str) for each in values):
        return _as_objects(values)  # in its own type for texts, numpy drops NULs at their end
    try:
        column = as_array(values)
    except ValueError as error:
        raise DataError(f"{name} must be one value for each subject; {error}.") from None
    if column.dtype.kind in "US":
        column = column.astype(object)
    if column.ndim != 1:
        raise DataError(
            f"{name} must be one value for each subject; got shape {column.shape}. "
            f"Pass a flat column, {EXAMPLE}."
        )
    return column


def _as_objects(values: Sequence[Any]) -> NDArray[Any]:
    return np.array([*values, None], dtype=object)[:-1]


def require_same_length(columns: OutcomeColumns) -> None:
    """Refuse columns of different length."""
    given = {name: getattr(columns, name) for name in ("event", "duration", "entry", "id")}
    found = {name: each for name, each in given.items() if each is not None}
    if len({len(column) for column in found.values()}) > 1:
        plural = {"event": "events", "duration": "durations", "entry": "entries", "id": "ids"}
        seen = [f"{len(column)} {plural[name]}" for name, column in found.items()]
        raise DataError(
            f"{_joined(list(found))} must describe the same subjects; got {_joined(seen)}; "
            f"{EXAMPLE}."
        )


def _joined(words: list[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}"


def checked_durations(
    durations: NDArray[Any], first_row: int = 0, name: str = "duration"
) -> NDArray[np.float64]:
    """Convert durations to finite numbers of zero or more; text is read where it is clear.

    ``name`` is "entry" for times of entry, of which the same holds.
    """
    duration = duration_numbers(durations, first_row, name)
    way_out = "Drop or correct these subjects."
    if name == "entry":
        way_out = (
            "Drop or correct these rows; entry is 0 for those under observation from the origin "
            "of duration on."
        )
    rules = (
        (~np.isfinite(duration), "finite"),
        (duration < 0, "zero or more"),
        (duration > LARGEST, f"at most {LARGEST:g}, in whatever unit"),
        ((duration > 0) & (duration < SMALLEST), f"0, or at least {SMALLEST:g}, in whatever unit"),
    )
    for bad, rule in rules:
        if bad.any():
            first = np.flatnonzero(bad)[0]
            raise DataError(
                f"{name} must be {rule}; {bad.sum()} of {len(bad)} are not "
                f"(first: {row_name(first_row + first)}, {duration[first]}). {way_out}"
            )
    return duration


def duration_numbers(
    durations: NDArray[Any], first_row: int = 0, name: str = "duration"
) -> NDArray[np.float64]:
    """Convert durations to floats, missing ones to NaN."""
    kind = pd.api.types.infer_dtype(durations) if durations.dtype == object else ""
    if durations.dtype.kind in "mM" or kind.startswith(("date", "timedelta")):
        dtype = kind or durations.dtype
        example, span = {
            "duration": ("(end - start)", "the start of follow-up to its end"),
            "entry": ("(entry - origin)", "the origin of --duration to the start of observation"),
        }[name]
        raise DataError(
            f"{name} must be a number; got {dtype}. "
            f"Subtract the start date and convert, for example {example}.dt.days.",
            in_command=f"--{name} must name a column of numbers; got {dtype}. Add a column to "
            f"the table with the time from {span}, such as days.",
        )
    if is_complex(durations):
        raise DataError(f"{name} must be a real number; got complex ones. Pass their real part.")
    dates = np.array([is_date(value) for value in durations] if kind else [], dtype=bool)
    if dates.any():  # among numbers; numpy would count their days
        raise _no_numbers(durations, dates, first_row, name)
    if durations.dtype == object and any(isinstance(value, str) for value in durations):
        return _read_texts(durations, first_row, name)
    try:
        return durations.astype(np.float64)
    except Exception:  # an object of somebody else's may raise anything
        bad = np.array([not _is_number(value) for value in durations])
        raise _no_numbers(durations, bad, first_row, name) from None


def _read_texts(durations: NDArray[Any], first_row: int, name: str) -> NDArray[np.float64]:
    """Read durations written as text, if each can mean one number only, with a warning."""
    read = parse_numbers(durations)
    bad = read.unreadable
    if bad.any():
        raise _no_numbers(durations, bad, first_row, name)
    if example := parted_thousands(durations):
        raise DataError(
            f"{name} must be a number; {two_readings(example)}, beside numbers below 1000 without "
            "a point. Convert the column to numbers."
        )
    if "bound" in read.changes or len(read.units) > 1:
        bound = next((text for text in durations if set(str(text)) & set("<>\u2264\u2265~+")), "")
        unclear = f"bounds such as {bound!r}" if bound else f"units {list(read.units)}"
        raise DataError(
            f"{name} must be a number in one unit; the column holds {unclear}. Convert it to "
            "days, months or years as numbers, and say in the event column who is censored."
        )
    texts = sum(isinstance(value, str) and bool(value.strip()) for value in durations)
    changes = "".join(f", {kind}: {n}" for kind, n in read.changes.items())
    times = "entries" if name == "entry" else "durations"
    warn(
        f"{times} are written as text; {texts} of {len(durations)} were read as numbers"
        f"{changes} (first: {row_name(first_row)}, {durations[0]!r} is {read.numbers[0]:g}).",
        DataWarning,
    )
    return read.numbers


def _no_numbers(
    durations: NDArray[Any], bad: NDArray[np.bool_], first_row: int, name: str
) -> DataError:
    first = int(np.flatnonzero(bad)[0])
    return DataError(
        f"{name} must be a number; {bad.sum()} of {len(bad)} are not "
        f"(first: {row_name(first_row + first)}, {short(durations[first])}). "
        "Convert the column to days, months or years as numbers; drop subjects of whom it is not "
        "known."
    )


def _is_number(value: Any) -> bool:
    try:
        return bool(np.isfinite(float(value))) or value != value
    except Exception:  # an object of somebody else's may raise anything
        return value is None
