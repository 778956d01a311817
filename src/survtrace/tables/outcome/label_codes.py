"""Code the labels of an event column, whole numbers as int, and refuse those that are none."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from survtrace.errors import Answer, DataError, row_name, short
from survtrace.tables.covariates.distinct_values import factorise_array
from survtrace.tables.outcome.censoring_labels import (
    EMPTY,
    Followed,
    LabelCounts,
    named_labels,
    refuse_dates,
)
from survtrace.tables.outcome.event_labels import is_date, is_usual, plain_label

LARGEST = 2**63 - 1  # of a label; no whole number of more bits is saved


def checked_labels(
    events: NDArray[Any], censored: Any, first_row: int
) -> tuple[NDArray[np.int64], list[Any]]:
    """Code each subject by distinct labels; whole numbers as int, none missing."""
    if events.dtype.kind in "mM":
        events = np.array([None if np.isnat(date) else date for date in events], dtype=object)
    try:
        codes, values = factorise_array(events, use_na_sentinel=False)
    except Exception:  # lists and other objects, of which equal ones cannot be found
        odd = np.array([not _is_hashable(event) for event in events])
        raise DataError(
            f"{_seen(odd, events, first_row)} Drop or correct these subjects."
        ) from None
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


def _is_hashable(value: Any) -> bool:
    try:
        return hash(value) is not None
    except Exception:  # an object of somebody else's may raise anything
        return False


def _seen(bad: NDArray[np.bool_], events: Any, first_row: int) -> str:
    first = int(np.flatnonzero(bad)[0])
    return (
        "event must be 0 for censored subjects, or a cause as a whole number above 0 (of 64 bits "
        f"at most) or as text; {bad.sum()} of {len(bad)} are not (first: "
        f"{row_name(first_row + first)}, {short(events[first])})."
    )


def _refuse_invalid(codes: NDArray[Any], raw: list[Any], labels: list[Any], first_row: int) -> None:
    missing = np.array([label is None for label in labels])
    valid = [
        isinstance(label, str) or (isinstance(label, int) and 0 <= label <= LARGEST)
        for label in labels
    ]
    bad = (missing if missing.any() else ~np.array(valid, dtype=bool))[codes]
    if not bad.any():
        return
    seen = _seen(bad, [raw[code] for code in codes], first_row)
    if not missing.any():
        code = min((label for label in labels if isinstance(label, int)), default=0)
        if code < 0:
            raise DataError(f"{seen} Write 0 for those who are censored; correct or drop others.")
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


def count_labels(
    codes: NDArray[np.int64], labels: Sequence[Any], duration: NDArray[np.float64]
) -> LabelCounts:
    """Count the subjects of each label, who are one at least, and how long they were followed."""
    n = np.bincount(codes)
    total = np.bincount(codes, weights=duration)
    shortest, longest = np.full(len(labels), np.inf), np.full(len(labels), -np.inf)
    np.minimum.at(shortest, codes, duration)
    np.maximum.at(longest, codes, duration)
    columns = zip(*(values.tolist() for values in (n, total, shortest, longest)), strict=True)
    return LabelCounts(zip(labels, (Followed(*column) for column in columns), strict=True))
