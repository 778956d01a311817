"""At a landmark, what is known then of who is under observation, and what became of them."""

import numpy as np
import pandas as pd
import pytest

from survtrace import DataError, DataWarning, landmark

ROWS = pd.DataFrame(
    {
        "id": ["a", "a", "b", "a", "c"],
        "entry": [0.0, 2.0, 0.0, 6.0, 3.0],
        "duration": [2.0, 6.0, 4.0, 9.0, 8.0],
        "event": [0, 0, 2, 1, 0],
        "x": [10, 20, 30, 40, 50],
    },
    index=[9, 8, 7, 6, 5],
)


def test_each_subject_has_the_row_that_holds_and_its_last_outcome():
    found = landmark(ROWS, at=[2, 3])
    assert found["landmark"].tolist() == found["entry"].tolist() == [2, 2, 3, 3, 3]
    assert found["id"].tolist() == list("ababc")
    assert found["x"].tolist() == [20, 30, 20, 30, 50]
    assert found["duration"].tolist() == [9, 4, 9, 4, 8]
    assert found["event"].tolist() == [1, 2, 1, 2, 0]
    assert list(found) == [*ROWS, "landmark"]


def test_who_has_left_or_not_yet_entered_is_not_there():
    assert landmark(ROWS, at=0)["id"].tolist() == ["a", "b"]
    assert landmark(ROWS, at=4)["id"].tolist() == ["a", "c"]
    assert landmark(ROWS, at=8.5)["id"].tolist() == ["a"]


def test_cutting_rows_changes_no_landmark():
    cut = pd.concat(
        [
            ROWS.assign(duration=ROWS["duration"] - 0.5, event=0),
            ROWS.assign(entry=ROWS["duration"] - 0.5),
        ]
    ).sort_values(["id", "entry"])
    expected = landmark(ROWS, at=[0, 1.75, 5])
    pd.testing.assert_frame_equal(
        landmark(cut, at=[0, 1.75, 5]).sort_values(["landmark", "id"], ignore_index=True), expected
    )


def test_one_row_each_is_a_landmark_table_too():
    ordinary = ROWS.drop(columns=["id", "entry"])
    found = landmark(ordinary, at=3)
    assert found["duration"].tolist() == [6, 4, 9, 8]
    assert found["entry"].tolist() == [3] * 4


def test_who_leaves_and_comes_back_is_censored_where_it_leaves():
    gap = ROWS.assign(entry=[0.0, 2.0, 0.0, 7.0, 3.0])
    with pytest.warns(DataWarning, match="1 of 3 subjects .* come back after a gap; they are cens"):
        found = landmark(gap, at=3)
    assert found["duration"].tolist() == [6, 4, 8]
    assert found["event"].tolist() == [0, 2, 0]
    assert landmark(gap, at=8)["event"].tolist() == [1]


def test_polars_gives_polars_and_the_same_rows():
    polars = pytest.importorskip("polars")
    found = landmark(polars.from_pandas(ROWS), at=[2, 3])
    assert isinstance(found, polars.DataFrame)
    expected = landmark(ROWS, at=[2, 3])
    for name in expected:
        assert found[name].to_list() == expected[name].tolist()


def test_names_and_aliases():
    names = {"id": "patient", "entry": "start", "duration": "stop", "event": "cause"}
    renamed = ROWS.rename(columns=names)
    found = landmark(renamed, at=2, id="patient", event="cause")
    assert list(found) == [*renamed, "landmark"]
    assert found["stop"].tolist() == [9, 4]
    assert found["start"].tolist() == [2, 2]


@pytest.mark.parametrize("at", [[], [2, 2], -1, np.nan, "soon", [[1.0]]], ids=str)
def test_landmarks_are_distinct_times(at):
    with pytest.raises(DataError, match="landmarks must be distinct times of zero or more"):
        landmark(ROWS, at=at)


def test_somebody_must_be_there():
    with pytest.raises(DataError, match=r"nobody is at 30 \(observation lasts from 0 to 9\)"):
        landmark(ROWS, at=[2, 30])
    for late in (ROWS, ROWS.drop(columns="id")):
        with pytest.raises(DataError, match=r"nobody is at 1 \(observation lasts from 3 to 8\)"):
            landmark(late[-1:], at=1)


def test_who_has_no_entry_is_there_from_the_origin_on():
    with pytest.raises(DataError, match=r"nobody is at 9 \(observation lasts from 0 to 9\)"):
        landmark(ROWS.drop(columns=["id", "entry"]), at=9)


def test_bad_rows_are_refused_as_in_fit():
    with pytest.raises(DataError, match="the table must have at least one row"):
        landmark(ROWS[:0], at=2)
    with pytest.raises(DataError, match="rows of one subject must not overlap"):
        landmark(ROWS.assign(entry=[0.0, 1.0, 0.0, 6.0, 3.0]), at=2)
    with pytest.raises(DataError, match="must not have a column 'landmark'"):
        landmark(ROWS.assign(landmark=1), at=2)
