"""Rows are counted by subject, in whatever order they lie."""

import numpy as np
import pytest

from survtrace import DataError
from survtrace.cohort.subjects import (
    number_rows,
    one_row_each,
    require_same_weight,
    spread_of_entry,
    subjects_of,
)
from survtrace.tables.outcome.outcome import Outcome

# Subject 9 is the first, and 4 enters late; their rows lie between each other.
ROWS = Outcome(
    duration=np.array([2.0, 5.0, 3.0, 6.0, 8.0]),
    event=np.array([0, 0, 2, 1, 0]),
    causes=(1, 2),
    entry=np.array([0.0, 4.0, 2.0, 5.0, 1.0]),
    id=np.array([9, 4, 9, 4, 7]),
)


def test_subjects_are_numbered_as_they_first_appear():
    subjects = subjects_of(ROWS)
    assert subjects.id.tolist() == [0, 1, 0, 1, 2]
    assert subjects.n == 3
    np.testing.assert_allclose(subjects.share, [2 / 3, 0.5, 1 / 3, 0.5, 1])
    assert subjects.event(ROWS.event).tolist() == [2, 1, 0]


def test_the_entry_of_a_subject_is_that_of_its_first_row():
    assert spread_of_entry(ROWS) == (0.0, 1.0, 4.0)
    alone = ROWS.take(np.array([0, 1]))
    assert spread_of_entry(one_row_each(alone)) == (0.0, 2.0, 4.0)
    assert spread_of_entry(Outcome(ROWS.duration, ROWS.event, (1, 2))) is None


def test_ids_of_one_row_each_are_no_start_stop_rows():
    alone = Outcome(ROWS.duration, ROWS.event, (1, 2), id=np.arange(5))
    assert subjects_of(alone) is None
    assert one_row_each(alone).id is None
    assert one_row_each(ROWS) is ROWS


def test_two_tables_have_no_subject_in_common():
    ordinary = Outcome(ROWS.duration, ROWS.event, (1, 2))
    both = number_rows([ROWS, ordinary])
    assert both.id.tolist() == [0, 1, 0, 1, 2, 3, 4, 5, 6, 7]
    assert both.share[5:].tolist() == [1.0] * 5


def test_two_weights_of_one_subject_are_refused():
    subjects = subjects_of(ROWS)
    require_same_weight(np.array([2.0, 3.0, 2.0, 3.0, 0.0]), subjects, "sample_weight")
    with pytest.raises(DataError, match=r"1 of 5 rows in column 'w'.*\(first: row 3, 4 after 3\)"):
        require_same_weight(np.array([2.0, 3.0, 2.0, 4.0, 0.0]), subjects, "column 'w'")
