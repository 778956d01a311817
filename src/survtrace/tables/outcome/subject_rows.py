"""Check when each row entered, and the rows of each subject: in order, apart, the event last."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from survtrace.errors import DataError, row_name, short
from survtrace.tables.covariates.distinct_values import factorise_array
from survtrace.tables.outcome.event_labels import BLANKS, decoded

# Two times of one subject are the same if they differ by no more: a table that was made by sums,
# such as 0.1 + 0.2, has rows that miss each other by a rounding error, which is no gap or overlap.
ROUNDING = 1e-9

Numbers = NDArray[np.int64]
Times = NDArray[np.float64]
NameOf = Callable[[int], str]  # how the subject of a row is named in an error: ", id 'A7'"


class SubjectRows(NamedTuple):
    """When each row entered and, where subjects have several rows, whose it is."""

    entry: Times  # that of the table, less rounding errors
    id: Numbers | None = None  # 0, 1, ... in the order of their first rows; None: one row each
    goes_on: NDArray[np.bool_] | None = None  # whether the subject has a later row


def number_subjects(labels: NDArray[Any], first_row: int = 0) -> Numbers:
    """Number subjects 0, 1, ... in the order of their first rows; none may be without a label.

    Texts are compared without blanks around them.

    Examples
    --------
    >>> number_subjects(np.array(["b", "a", "b "], dtype=object)).tolist()
    [0, 1, 0]
    """
    return _numbered(labels, first_row)[0]


def require_entry_before_end(
    entry: Times, duration: Times, name_of: NameOf, first_row: int = 0
) -> None:
    """Refuse rows that end before they begin; one at 0 throughout is left to `informative`."""
    bad = (entry >= duration) & ~((entry == 0) & (duration == 0))
    if not bad.any():
        return
    first = int(np.flatnonzero(bad)[0])
    seen = (
        "entry must come before duration, both counted from the same origin in the same unit; in "
        f"{bad.sum()} of {len(bad)} rows it does not (first: {row_name(first_row + first)}"
        f"{name_of(first)}: entry {entry[first]:g}, duration {duration[first]:g})."
    )
    raise DataError(
        f"{seen} If duration counts from entry, pass entry + duration; else drop or correct these "
        "rows.",
        in_command=f"{seen} If --duration counts from --entry, add a column with their sum to the "
        "table and name that; else drop or correct these rows.",
    )


def refuse_repeated(numbers: Numbers, name_of: NameOf, first_row: int) -> None:
    """Refuse several rows of one subject where no entry says which part of its time each is."""
    order = np.argsort(numbers, kind="stable")
    again = np.flatnonzero(np.diff(numbers[order]) == 0)
    if not len(again):
        return
    n_subjects = numbers.max() + 1
    n_several = len(np.unique(numbers[order[again]]))
    place = again[np.argmin(order[again + 1])]
    earlier, later = int(order[place]), int(order[place + 1])
    seen = (
        "several rows of one subject need an entry each, from when on the row holds; "
        f"{n_several} of {n_subjects} subjects have several rows (first: "
        f"{row_name(first_row + earlier)} and {row_name(first_row + later)}{name_of(later)}), and "
        "there is no entry."
    )
    raise DataError(
        f"{seen} If each row is a part of the subject's time, pass entry=..., counted from the "
        "same origin as duration; if each row is a subject of its own, leave id out; else keep one "
        "row for each subject.",
        in_command=f"{seen} If each row is a part of the subject's time, name the column where it "
        "begins: --entry COLUMN, counted from the same origin as --duration; if each row is a "
        "subject of its own, say --drop in place of --id; else keep one row for each subject.",
    )


def check_rows(
    numbers: Numbers,
    entry: Times,
    duration: Times,
    is_event: NDArray[np.bool_],
    name_of: NameOf,
    first_row: int = 0,
) -> SubjectRows:
    """Refuse rows of one subject that overlap, are not in order of time, or follow its event.

    Rows of one subject need not stand one below the other.

    Examples
    --------
    >>> found = check_rows(np.array([0, 1, 0]), np.array([0.0, 0.0, 2.0]),
    ...                    np.array([2.0, 9.0, 3.0]), np.array([False, True, True]), lambda row: "")
    >>> found.goes_on.tolist()
    [True, False, False]
    """
    before, after = _pairs(np.lexsort((duration, entry, numbers)), numbers)
    close = np.abs(entry[after] - duration[before]) <= ROUNDING * duration[before]
    if (close & (entry[after] != duration[before])).any():
        entry = entry.copy()
        entry[after[close]] = duration[before[close]]

    def rows(first: int, then: int) -> str:
        first, then = sorted((first, then))
        return f"{row_name(first_row + first)} and {row_name(first_row + then)}{name_of(then)}"

    overlap = entry[after] < duration[before]
    if overlap.any():
        a, b = int(before[overlap][0]), int(after[overlap][0])
        seen = (
            f"rows of one subject must not overlap; {overlap.sum()} of {len(entry)} rows begin "
            f"before an earlier one of their subject ends (first: {rows(a, b)}: from {entry[a]:g} "
            f"to {duration[a]:g}, and from {entry[b]:g} to {duration[b]:g})."
        )
        way_out = (
            "A row holds from its entry, exclusive, to its duration; end it where the next "
            "begins, and drop rows that occur twice."
        )
        if 2 * overlap.sum() > len(before):  # it is not a row here or there
            way_out = (
                "Since most do: entry and duration must count from the same origin in the same "
                "unit; if duration counts from entry, it is their sum that is needed; and id must "
                "be the column that names the subject."
            )
        raise DataError(f"{seen} {way_out}")
    first, then = _pairs(np.argsort(numbers, kind="stable"), numbers)
    early = entry[then] < duration[first]
    if early.any():
        a, b = int(first[early][0]), int(then[early][0])
        seen = (
            f"rows of one subject must be in the order of time; {early.sum()} of {len(entry)} rows "
            f"follow a later one (first: {rows(a, b)}: from {entry[a]:g}, then from {entry[b]:g})."
        )
        raise DataError(
            f'{seen} Sort the table, such as table.sort_values(["id", "entry"]), before it is '
            "split into X and y.",
            in_command=f"{seen} Sort the table by --id and --entry.",
        )
    ended = is_event[before]
    if ended.any():
        a, b = int(before[ended][0]), int(after[ended][0])
        n_subjects = len(np.unique(numbers[before[ended]]))
        raise DataError(
            f"an event must be in the last row of its subject; {n_subjects} of {numbers.max() + 1} "
            f"subjects have rows after an event (first: {rows(a, b)}: event at {duration[a]:g}, "
            f"and a row to {duration[b]:g}). If the table repeats the outcome in every row of a "
            "subject, write 0 in all but the last; if events recur, keep the rows up to the first."
        )
    goes_on = np.zeros(len(numbers), dtype=bool)
    goes_on[before] = True
    return SubjectRows(entry, numbers, goes_on)


class RowsInChunks:
    """Check the rows of a table that is read in chunks, whatever chunk a subject's rows lie in.

    Of each row 26 bytes are kept: a number or hash of its id, entry, duration, code of its event.

    Examples
    --------
    >>> rows = RowsInChunks()
    >>> rows.add(np.array(["a", "b"], dtype=object), np.array([0.0, 0.0]), np.array([2.0, 5.0]),
    ...          np.array([0, 1]))
    >>> rows.add(np.array(["a"], dtype=object), np.array([2.0]), np.array([4.0]), np.array([1]))
    >>> found = rows.finish(is_event=np.array([False, True]))
    >>> found.id.tolist(), found.goes_on.tolist()
    ([0, 1, 0], [True, False, False])
    """

    def __init__(self) -> None:
        self._n_rows = 0
        self._ids: list[NDArray[np.uint64]] = []
        self._times: list[tuple[Times | None, Times]] = []
        self._codes: list[NDArray[np.uint16]] = []

    def add(
        self,
        ids: NDArray[Any] | None,
        entry: Times | None,
        duration: Times,
        codes: NDArray[Any],
    ) -> None:
        """Add the next rows; ``codes`` numbers the labels of their events over all chunks."""
        first_row, n_rows = self._n_rows, len(duration)
        if entry is not None:
            require_entry_before_end(entry, duration, names_of(ids), first_row)
        if ids is not None:
            self._ids.append(_hashes(ids, first_row))
        self._times.append((entry, duration))
        self._codes.append(codes.astype(np.uint16))
        self._n_rows += n_rows

    def finish(
        self, is_event: NDArray[np.bool_], label_of: Callable[[int], Any] | None = None
    ) -> SubjectRows | None:
        """Check all rows; None where each is a subject of its own, followed from 0.

        ``is_event`` tells which codes of labels are events. ``label_of`` reads the id of a row
        again, for an error to name it.
        """

        def name_of(row: int) -> str:
            return "" if label_of is None else f", id {short(label_of(row))}"

        entries = [entry for entry, _ in self._times]
        duration = np.concatenate([np.empty(0), *(duration for _, duration in self._times)])
        ids = np.concatenate([np.empty(0, np.uint64), *self._ids]) if self._ids else None
        entry = None
        if not any(each is None for each in entries):
            entry = np.concatenate([np.empty(0), *(each for each in entries if each is not None)])
        codes = np.concatenate([np.empty(0, np.uint16), *self._codes])
        numbers = None if ids is None else pd.factorize(ids)[0].astype(np.int64)
        return read_rows(numbers, entry, duration, is_event[codes], name_of)


def read_rows(
    numbers: Numbers | None,
    entry: Times | None,
    duration: Times,
    is_event: NDArray[np.bool_],
    name_of: NameOf,
    first_row: int = 0,
) -> SubjectRows | None:
    """Check the rows of all subjects; None where each is a subject of its own, followed from 0."""
    if entry is None:
        if numbers is not None:
            refuse_repeated(numbers, name_of, first_row)
        return None
    repeated = numbers is not None and numbers.max(initial=-1) + 1 < len(numbers)
    if not repeated and not entry.any():
        return None  # an ordinary table, whose column of zeros changes nothing
    require_entry_before_end(entry, duration, name_of, first_row)
    if numbers is None or not repeated:
        return SubjectRows(entry)
    return check_rows(numbers, entry, duration, is_event, name_of, first_row)


def names_of(ids: NDArray[Any] | None) -> NameOf:
    """Return a function that names the subject of a row in an error."""
    return lambda row: "" if ids is None else f", id {short(_native(ids[row]))}"


def find_gaps(numbers: Numbers, entry: Times, duration: Times) -> tuple[int, int]:
    """Count the subjects that have a gap between two rows; also the first row after one."""
    before, after = _pairs(np.lexsort((duration, entry, numbers)), numbers)
    gap = entry[after] > duration[before]
    return len(np.unique(numbers[after[gap]])), int(after[gap].min(initial=len(numbers)))


def _pairs(order: NDArray[np.intp], numbers: Numbers) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return each row that has a next one of the same subject in an order, and that next one."""
    same = numbers[order[1:]] == numbers[order[:-1]]
    return order[:-1][same], order[1:][same]


def _numbered(labels: NDArray[Any], first_row: int) -> tuple[Numbers, NDArray[Any]]:
    """Number subjects as in `number_subjects`; also return their labels."""
    try:
        numbers, distinct = factorise_array(labels)
    except Exception:  # lists and other objects, of which equal ones cannot be found
        raise DataError(
            f"id must be a number or a text for each row; got {type(labels[0]).__name__}. Pass the "
            "column that names the subject."
        ) from None
    if distinct.dtype == object:  # few labels, of many rows
        plain = np.array([*map(_plain, distinct), None], dtype=object)[:-1]
        again, distinct = factorise_array(plain)
        numbers = np.append(again, -1)[numbers]  # one that is missing stays so
    missing = numbers < 0
    if missing.any():
        first = np.flatnonzero(missing)[0]
        seen = (
            f"every row must name its subject; id is missing in {missing.sum()} of {len(missing)} "
            f"rows (first: {row_name(first_row + first)}). Fill in or drop these rows"
        )
        raise DataError(
            f"{seen}, or leave id out if each row is a subject of its own.",
            in_command=f"{seen}, or leave --id out if each row is a subject of its own.",
        )
    if distinct.dtype == object:
        _refuse_two_kinds(distinct, numbers, first_row)
    return numbers.astype(np.int64), distinct


def _plain(label: Any) -> Any:
    """Strip a text; an empty one is missing."""
    label = decoded(label)
    if isinstance(label, str):
        label = label.strip()
        return None if label in BLANKS else label
    return label


def _refuse_two_kinds(distinct: Any, numbers: Numbers, first_row: int) -> None:
    """Refuse a subject that is written as a number in one row and as a text in another."""
    as_text: dict[str, int] = {}
    for place, label in enumerate(distinct):
        if isinstance(label, float) and label.is_integer():
            label = int(label)
        other = as_text.setdefault(str(label), place)
        if other != place:
            rows = [int(np.flatnonzero(numbers == each)[0]) for each in (other, place)]
            raise DataError(
                "id must be all numbers or all texts; "
                f"{short(_native(distinct[other]))} in {row_name(first_row + rows[0])} and "
                f"{short(_native(distinct[place]))} in {row_name(first_row + rows[1])} may be the "
                "same subject. Convert the column, such as id.astype(str)."
            )


def _hashes(ids: NDArray[Any], first_row: int) -> NDArray[np.uint64]:
    """Return a number for each subject that is the same in every chunk.

    Whole numbers are their own; of texts a hash of 64 bits is kept: that two of ten million
    subjects share one has a chance of three in a million.
    """
    numbers, distinct = _numbered(ids, first_row)
    if distinct.dtype.kind in "iu":
        return distinct.astype(np.uint64)[numbers]
    texts = np.array([*map(_as_text, distinct)], dtype=object)
    return pd.util.hash_array(texts)[numbers]


def _as_text(label: Any) -> str:
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)


def _native(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label
