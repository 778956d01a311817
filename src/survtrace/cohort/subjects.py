"""Which rows belong to one subject, and what part of its time each of them is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from survtrace.errors import DataError, row_name
from survtrace.tables.outcome.outcome import Outcome


class Subjects(NamedTuple):
    """The subjects of start-stop rows, numbered from 0 as they first appear.

    ``share`` is the part of its subject's time under observation that a row is: means weighted by
    it are means over subjects, and do not change when a row is cut.
    """

    id: NDArray[np.int64]  # number of each row's subject
    share: NDArray[np.float64]

    @property
    def n(self) -> int:
        """How many subjects there are."""
        return int(self.id.max()) + 1

    def event(self, event: NDArray[Any]) -> NDArray[Any]:
        """Tell the event of each subject, which its last row has, if any does."""
        struck = np.flatnonzero(event)
        events = np.zeros(self.n, event.dtype)
        events[self.id[struck]] = event[struck]
        return events


def subjects_of(outcome: Outcome) -> Subjects | None:
    """Number the subjects of start-stop rows; None where each has one row.

    Examples
    --------
    >>> outcome = Outcome(np.array([1.0, 4.0, 2.0]), np.array([0, 1, 0]), (1,),
    ...                   entry=np.array([0.0, 1.0, 0.5]), id=np.array([7, 7, 8]))
    >>> subjects_of(outcome)
    Subjects(id=array([0, 0, 1]), share=array([0.25, 0.75, 1.  ]))
    """
    if outcome.id is None or outcome.entry is None or not outcome.is_start_stop:
        return None
    _, first, id = np.unique(outcome.id, return_index=True, return_inverse=True)
    id = np.argsort(np.argsort(first))[id]  # as they first appear, whatever their numbers
    time = outcome.duration - outcome.entry
    return Subjects(id, time / np.bincount(id, weights=time)[id])


def number_rows(outcomes: Sequence[Outcome]) -> Subjects:
    """Number the subjects of several tables, one table behind the other."""
    ids, shares, first = list[NDArray[np.int64]](), list[NDArray[np.float64]](), 0
    for outcome in outcomes:
        one_each = Subjects(np.arange(len(outcome)), np.ones(len(outcome)))
        subjects = subjects_of(outcome) or one_each
        ids.append(first + subjects.id)
        shares.append(subjects.share)
        first += subjects.n
    return Subjects(np.concatenate(ids), np.concatenate(shares))


def one_row_each(outcome: Outcome) -> Outcome:
    """Drop the ids of a table in which no subject has a second row: they say nothing more."""
    return outcome if outcome.is_start_stop else replace(outcome, id=None, goes_on=None)


def spread_of_entry(outcome: Outcome) -> tuple[float, float, float] | None:
    """Tell the earliest, median and latest entry of all subjects; None: everybody entered at 0."""
    entry = outcome.first_entries
    if not entry.any():
        return None
    return float(entry.min()), float(np.median(entry)), float(entry.max())


def require_subjects(weight: NDArray[np.float64], subjects: Subjects, name: str) -> None:
    """Refuse the rows of one subject alone, and rows of one subject with different weights."""
    if subjects.n < 2:
        raise DataError(
            f"fit needs at least two subjects; all {len(weight)} rows have the same id."
        )
    require_same_weight(weight, subjects, name)


def require_same_weight(weight: NDArray[np.float64], subjects: Subjects, name: str) -> None:
    """Refuse sample weights that differ between the rows of one subject."""
    first = np.zeros(subjects.n)
    first[subjects.id[::-1]] = weight[::-1]
    differs = weight != first[subjects.id]
    if differs.any():
        row = int(np.flatnonzero(differs)[0])
        raise DataError(
            f"all rows of a subject must have the same weight; {differs.sum()} of {len(weight)} "
            f"rows in {name} have another one than their subject's first (first: {row_name(row)}, "
            f"{weight[row]:g} after {first[subjects.id[row]]:g}). Give each subject one weight."
        )
