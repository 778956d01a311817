"""Learn how usual the patients of a cohort are, from a sample of them that no storage changes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from survtrace.cohort.prepare import Cohort
from survtrace.cohort.row_sample import hash_rows
from survtrace.tables.covariates.encoding import Encoded
from survtrace.tables.typicality.typicality import Typicality

MOST_SUBJECTS = 2**14
MOST_CHUNKS = 64  # of records that are read from a disk, evenly spread over the table


def learn_typicality(cohort: Cohort) -> Typicality | None:
    """Learn from up to `MOST_SUBJECTS` subjects; None if there are too few.

    A subject with several rows is looked at in one of them.
    """
    number = choose_rows(cohort.split.learned_from(), cohort.split.id)
    if isinstance(cohort.store, dict):
        encoded = Encoded(cohort.store["rows"][number], cohort.store["values"][number])
    else:
        encoded, number = _read_records(cohort, number)
    fold = (hash_rows(number) >> np.uint64(8)).astype(np.int64)
    return Typicality.learn(cohort.encoding, encoded, fold)


def choose_rows(
    learned_from: NDArray[np.bool_], id: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """Choose rows whose numbers hash lowest, in order, one of each subject.

    Examples
    --------
    >>> choose_rows(np.array([True, True, False, True]), id=np.array([0, 0, 1, 2])).tolist()
    [1, 3]
    """
    rows = np.flatnonzero(learned_from)
    rows = rows[np.argsort(hash_rows(rows), kind="stable")]
    if id is not None:
        _, first = np.unique(id[rows], return_index=True)
        rows = rows[np.sort(first)]
    return np.sort(rows[:MOST_SUBJECTS])


def _read_records(cohort: Cohort, number: NDArray[np.int64]) -> tuple[Encoded, NDArray[np.int64]]:
    """Read the rows of these numbers that lie in some of the chunks on disk."""
    store = cohort.store
    assert not isinstance(store, dict)
    ends = np.cumsum(store.sizes)
    chunks = np.unique(np.linspace(0, len(ends) - 1, MOST_CHUNKS).astype(np.int64))
    rows, values, found = [], [], []
    for chunk in chunks.tolist():
        first = ends[chunk] - store.sizes[chunk]
        here = number[(number >= first) & (number < ends[chunk])]
        batch = cohort.layout.unpack(store.read([chunk])[here - first])
        rows.append(batch.rows.numpy())
        values.append(batch.values.numpy())
        found.append(here)
    return Encoded(np.concatenate(rows), np.concatenate(values)), np.concatenate(found)
