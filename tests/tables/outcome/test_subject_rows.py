"""When each row entered, and the rows of each subject: in order, apart, the event last."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from survtrace import DataError, DataWarning, Surv
from survtrace.tables.files.formats import split_outcome
from survtrace.tables.outcome.outcome import Outcome, read_outcome
from survtrace.tables.outcome.outcome_warnings import warn_of_entry
from survtrace.tables.outcome.pairing import pair
from survtrace.tables.outcome.subject_rows import RowsInChunks, number_subjects

ROWS = {  # two patients, whose rows do not stand one below the other
    "id": ["a", "b", "a", "a"],
    "entry": [0.0, 1.0, 2.0, 5.0],
    "duration": [2.0, 9.0, 5.0, 6.0],
    "event": [0, 0, 0, 1],
}


def changed(**columns):
    return {**ROWS, **columns}


@pytest.mark.parametrize(
    "y",
    [
        ROWS,
        Surv.from_arrays(ROWS["event"], ROWS["duration"], entry=ROWS["entry"], id=ROWS["id"]),
        pd.DataFrame(ROWS),
        pl.DataFrame(ROWS),
        pd.DataFrame(ROWS).rename(columns={"entry": "start", "duration": "stop"}),
        pd.DataFrame(ROWS).astype({"id": "category"}),
        changed(id=[7, 3, 7, 7]),
        changed(id=[7.0, 3.0, 7.0, 7.0]),
        changed(id=["a", "b ", " a", "a"]),
        changed(id=[("x", 1), ("x", 2), ("x", 1), ("x", 1)]),
        changed(id=pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-01", "2020-01-01"])),
    ],
    ids=lambda y: type(y).__module__.split(".")[0],
)
def test_every_form_of_start_stop_rows_says_the_same(y):
    outcome = read_outcome(y)
    assert outcome.id.tolist() == [0, 1, 0, 0]
    assert outcome.entry.tolist() == ROWS["entry"]
    assert outcome.goes_on.tolist() == [True, False, True, False]
    assert outcome.is_start_stop
    assert outcome.n_subjects == 2


def test_from_arrays_has_a_field_for_what_is_given_alone():
    event, duration = [0, 1], [3.0, 2.0]
    assert Surv.from_arrays(event, duration, entry=[1, 0]).dtype.names == (
        *("event", "duration"),
        "entry",
    )
    assert Surv.from_arrays(event, duration, id=[4, 7]).dtype["id"] == np.dtype(int)
    assert Surv.from_arrays(event, duration, id=["a", "b"])["id"].tolist() == ["a", "b"]
    named = Surv.from_arrays(["w", "x"], duration, [1, 0], ["a", "b"], "w")
    assert read_outcome(named).event.tolist() == [0, 1]
    with pytest.raises(DataError, match="event, duration and entry must describe the same"):
        Surv.from_arrays(event, duration, entry=[0.0])
    with pytest.raises(DataError, match="got 2 events, 2 durations and 3 ids"):
        Surv.from_arrays(event, duration, id=[1, 2, 3])


def test_from_arrays_refuses_an_entry_that_is_not_before_the_end():
    with pytest.raises(
        DataError, match=r"in 1 of 2 rows it does not \(first: row 1, id 'b': entry"
    ):
        Surv.from_arrays([0, 1], [5, 9], entry=[0, 9], id=["a", "b"])
    kept = Surv.from_arrays([0, 1], [0, np.nan], entry=[0, 1])  # left to who reads it
    assert len(kept) == 2


@pytest.mark.parametrize("entry", [np.zeros(3), [0, 0, 0], ["0", "0", "0"]])
@pytest.mark.filterwarnings("ignore:entries are written as text")
def test_an_entry_of_zero_for_everybody_is_an_ordinary_table(entry):
    y = {"event": [0, 1, 0], "duration": [3.0, 2.0, 0.0], "entry": entry, "id": [3, 2, 1]}
    outcome = read_outcome(y)
    assert outcome.entry is None
    assert outcome.id is None
    assert outcome.n_subjects == 3
    assert outcome.is_empty.tolist() == [False, False, True]


def test_an_entry_of_zero_for_everybody_is_in_the_unit_of_the_durations():
    warn_of_entry(Outcome(np.array([3.0, 2.0]), np.array([0, 1]), (1,), entry=np.zeros(2)))


def test_late_entry_with_one_row_each_needs_no_id():
    y = {"event": [0, 1, 0], "duration": [3.0, 2.0, 0.0], "entry": [1.0, 0.0, 0.0]}
    for with_id in (y, {**y, "id": ["c", "a", "b"]}):
        outcome = read_outcome(with_id)
        assert outcome.entry.tolist() == [1.0, 0.0, 0.0]
        assert outcome.id is None
        assert not outcome.is_start_stop
        assert outcome.is_whole.tolist() == [False, True, True]


def test_an_event_at_zero_may_be_shifted_beside_late_entries():
    y = {"event": [0, 1], "duration": [3.0, 0.0], "entry": [1.0, 0.0]}
    with pytest.raises(DataError, match="an event needs a duration above 0"):
        read_outcome(y)
    assert read_outcome(y, zero_duration="shift").duration.tolist() == [3.0, 1.5]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"entry": [0.0, 9.0, 2.0, 5.0]},
            r"same origin in the same unit; in 1 of 4 rows it does not \(first: row 1, id 'b': "
            r"entry 9, duration 9\)\. If duration counts from entry, pass entry \+ duration",
        ),
        ({"entry": [0.0, -1.0, 2.0, 5.0]}, r"entry must be zero or more; 1 of 4 .*row 1, -1\.0"),
        (
            {"entry": [0.0, np.nan, 2.0, 5.0]},
            r"entry must be finite; 1 of 4 .*row 1, nan.*is 0 for",
        ),
        ({"entry": [0.0, None, 2.0, 5.0]}, "entry must be finite; 1 of 4"),
        ({"entry": pd.to_datetime(["2020-01-01"] * 4)}, r"entry must be a number; got datetime64"),
        ({"entry": ["soon", 0, 2, 5]}, r"entry must be a number; 1 of 4 are not .*'soon'"),
        (
            {"entry": [0.0, 1.0, 1.5, 5.0]},
            r"must not overlap; 1 of 4 rows begin before .*\(first: row 0 and row 2, id 'a': "
            r"from 0 to 2, and from 1\.5 to 5\)",
        ),
        ({"entry": [0.0, 1.0, 0.0, 5.0], "duration": [2.0, 9.0, 2.0, 6.0]}, "must not overlap"),
        (
            {"entry": [2.0, 1.0, 0.0, 5.0], "duration": [5.0, 9.0, 2.0, 6.0]},
            r"in the order of time; 1 of 4 rows follow a later one \(first: row 0 and row 2, "
            r"id 'a': from 2, then from 0\)\. Sort the table",
        ),
        (
            {"event": [0, 0, 1, 0]},
            r"in the last row of its subject; 1 of 2 subjects have rows after an event \(first: "
            r"row 2 and row 3, id 'a': event at 5, and a row to 6\).*write 0 in all but the last",
        ),
        ({"id": ["a", None, "a", "a"]}, r"id is missing in 1 of 4 rows \(first: row 1\)"),
        ({"id": ["a", " ", "a", "a"]}, "id is missing in 1 of 4 rows"),
        ({"id": [1.0, np.nan, 1.0, 1.0]}, "id is missing in 1 of 4 rows"),
        ({"id": pd.Series([7, 3, "7", 7])}, "7 in row 0 and '7' in row 2 may be the same subject"),
        ({"id": np.ones((4, 2))}, r"id must be one value .* shape \(4, 2\)"),
        ({"id": [["a"], "b", ["a"], ["a"]]}, "id must be a number or a text for each row"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_bad_rows_are_named_and_counted(change, message):
    y = changed(**change)
    if "id" in change and isinstance(change["id"][0], list):
        y["id"] = np.array([*y["id"], None], dtype=object)[:-1]
    with pytest.raises(DataError, match=message):
        read_outcome(y)


def test_repeated_ids_without_entry_are_a_question():
    y = {name: ROWS[name] for name in ("id", "duration", "event")}
    message = r"1 of 2 subjects have several rows \(first: row 0 and row 2, id 'a'\).*pass entry="
    with pytest.raises(DataError, match=message) as caught:
        read_outcome(y)
    assert "--entry COLUMN" in caught.value.in_command
    assert "--drop" in caught.value.in_command


def test_rounding_errors_are_neither_gaps_nor_overlaps():
    y = changed(entry=[0.0, 1.0, 0.1 + 0.2, 5.0 - 1e-12], duration=[0.3, 9.0, 5.0, 6.0])
    outcome = read_outcome(y)
    assert outcome.entry.tolist() == [0.0, 1.0, 0.3, 5.0]
    assert y["entry"][2] != 0.3
    warn_of_entry(outcome)


def test_what_is_more_than_rounding_is_an_overlap():
    y = changed(entry=[0.0, 1.0, 2.0 - 1e-7, 5.0])
    with pytest.raises(DataError, match="overlap"):
        read_outcome(y)


def test_gaps_are_allowed_and_told_once():
    outcome = read_outcome(changed(entry=[0.0, 1.0, 3.0, 5.5]))
    with pytest.warns(
        DataWarning, match=r"1 of 2 subjects have gaps .*first: before row 2, from 3"
    ):
        warn_of_entry(outcome)


def test_an_entry_far_smaller_than_every_duration_may_be_in_another_unit():
    years, days = [0.0, 2.5, 6.0], [900.0, 2400.0, 3100.0]
    outcome = read_outcome({"event": [0, 1, 0], "duration": days, "entry": years})
    with pytest.warns(DataWarning, match="entry is at most 6, and duration 2400 in the median"):
        warn_of_entry(outcome)
    months = read_outcome({"event": [0, 1, 0], "duration": days, "entry": [0.0, 75.0, 180.0]})
    warn_of_entry(months)
    warn_of_entry(read_outcome({"event": [0, 1], "duration": [1.0, 2.0]}))


def test_columns_of_a_table_are_entry_and_id_by_name():
    table = pd.DataFrame(ROWS).assign(age=[61, 47, 62, 63])
    found = pair(table, {"event": "event", "stop": "duration", "start": "entry", "id": "id"})
    assert list(found.X.columns) == ["age"]
    assert read_outcome(found.y).goes_on.tolist() == [True, False, True, False]
    X, y = split_outcome(table, "duration", "event", entry="entry", id="id")
    assert list(X.columns) == ["age"]
    assert read_outcome(y).goes_on.tolist() == [True, False, True, False]


def test_taking_rows_keeps_their_subjects():
    outcome = read_outcome(ROWS).take(np.array([3, 0]))
    assert outcome.id.tolist() == [0, 0]
    assert outcome.goes_on.tolist() == [False, True]
    assert read_outcome(outcome, causes=(1, 2)).entry.tolist() == [5.0, 0.0]


def in_chunks(y, *, size, event=(False, True)):
    rows = RowsInChunks()
    for first in range(0, len(y["event"]), size):
        some = slice(first, first + size)
        rows.add(
            None if y["id"] is None else np.array(y["id"], dtype=object)[some],
            None if y["entry"] is None else np.array(y["entry"])[some],
            np.array(y["duration"])[some],
            np.array(y["event"])[some],
        )
    return rows.finish(np.array(event), label_of=lambda row: y["id"][row])


@pytest.mark.parametrize("size", [1, 2, 3, 9])
def test_chunks_say_what_the_whole_table_says(size):
    found, whole = in_chunks(ROWS, size=size), read_outcome(ROWS)
    np.testing.assert_array_equal(found.id, whole.id)
    np.testing.assert_array_equal(found.entry, whole.entry)
    np.testing.assert_array_equal(found.goes_on, whole.goes_on)
    late = in_chunks(changed(id=None), size=size)
    assert late.entry.tolist() == ROWS["entry"]
    assert late.id is None
    assert in_chunks({**ROWS, "entry": [0.0] * 4, "id": [3, 2, 1, 0]}, size=size) is None
    assert in_chunks({**ROWS, "entry": None, "id": [3, 2, 1, 0]}, size=size) is None


@pytest.mark.parametrize("size", [1, 2, 9])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"entry": [0.0, 9.0, 2.0, 5.0]}, "first: row 1, id 'b': entry 9, duration 9"),
        ({"entry": [0.0, 1.0, 1.5, 5.0]}, "must not overlap.*row 0 and row 2, id 'a'"),
        ({"entry": [0.0, 1.0, 2.0, 0.0], "duration": [2.0, 9.0, 5.0, 1.0]}, "must not overlap"),
        ({"entry": [2.0, 1.0, 0.0, 5.0], "duration": [5.0, 9.0, 2.0, 6.0]}, "order of time"),
        ({"event": [0, 0, 1, 0]}, "last row of its subject.*row 2 and row 3, id 'a'"),
        ({"id": ["a", None, "a", "a"]}, r"id is missing in 1 of \d rows \(first: row 1\)"),
        ({"entry": None}, "have several rows.*row 0 and row 2, id 'a'"),
    ],
    ids=str,
)
def test_chunks_refuse_what_the_whole_table_refuses(size, change, message):
    with pytest.raises(DataError, match=message):
        in_chunks(changed(**change), size=size)


def test_the_meaning_of_labels_decides_what_is_an_event_before_the_last_row():
    with pytest.raises(DataError, match="last row of its subject"):
        in_chunks(ROWS, size=2, event=(True, False))


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9), st.integers(1, 9)), max_size=8),
    st.integers(1, 4),
)
def test_a_table_is_refused_in_chunks_just_as_it_is_in_memory(rows, size):
    if not rows:
        return
    id, entry, lasted = (list(column) for column in zip(*rows, strict=True))
    duration = [float(begin + span) for begin, span in zip(entry, lasted, strict=True)]
    y = {"id": id, "entry": [float(e) for e in entry], "duration": duration}
    y["event"] = [0] * len(rows)
    try:
        whole = str(read_outcome({**y, "event": [0] * len(rows)}).goes_on)
    except DataError as error:
        whole = str(error)
    try:
        found = in_chunks(y, size=size)
        chunked = str(None if found is None else found.goes_on)
    except DataError as error:
        chunked = str(error)
    assert chunked == whole


def test_subjects_are_numbered_as_they_appear():
    assert number_subjects(np.array([9, 4, 9, 2])).tolist() == [0, 1, 0, 2]
    assert number_subjects(np.array([b"x", "x", "y"], dtype=object)).tolist() == [0, 0, 1]


def test_rows_that_miss_each_other_by_a_billionth_touch():
    y = changed(duration=[1e9, 9.0, 5e9, 6e9], entry=[0.0, 1.0, 1e9 + 1, 5e9])
    assert read_outcome(y).entry.tolist() == [0.0, 1.0, 1e9, 5e9]
    apart = changed(duration=[1e9, 9.0, 5e9, 6e9], entry=[0.0, 1.0, 1e9 + 2, 5e9])
    assert read_outcome(apart).entry.tolist() == apart["entry"]


def test_a_row_that_ends_before_it_begins_is_refused_in_its_chunk():
    rows, ids = RowsInChunks(), np.array(["a", "b"], dtype=object)
    rows.add(ids, np.zeros(2), np.ones(2), np.zeros(2, dtype=int))
    with pytest.raises(
        DataError, match=r"in 1 of 2 rows it does not \(first: row 3, id 'b': entry"
    ):
        rows.add(ids, np.array([1.0, 3.0]), np.array([2.0, 2.0]), np.zeros(2, dtype=int))


@pytest.mark.parametrize(
    ("entry", "way_out"),
    [
        ([0.0, 2.0, 4.0, 5.0, 8.0], "end it where the next begins"),
        ([0.0, 1.0, 4.0, 5.0, 8.0], "end it where the next begins"),
        ([0.0, 1.0, 3.0, 5.0, 8.0], "Since most do: entry and duration must count from the same"),
    ],
    ids=["one of four", "two of four", "three of four"],
)
def test_where_most_rows_overlap_the_origin_or_the_id_may_be_wrong(entry, way_out):
    duration = [2.0, 4.0, 6.0, 8.0, 10.0]
    y = {"id": ["a"] * 5, "entry": entry, "duration": duration, "event": [0, 0, 0, 0, 1]}
    with pytest.raises(DataError, match=rf"must not overlap.*{way_out}"):
        read_outcome(y)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (
            {"entry": [2.0, 3.0, 0.0, 0.0], "duration": [4.0, 5.0, 2.0, 3.0], "event": [0] * 4},
            r"2 of 4 rows follow a later one \(first: row 0 and row 2, id 'a': from 2, then from 0",
        ),
        (
            {"entry": [0.0, 0.0, 2.0, 3.0], "duration": [2.0, 3.0, 4.0, 5.0], "event": [1] * 4},
            r"2 of 2 subjects have rows after an event \(first: row 0 and row 2, id 'a': event at "
            r"2, and a row to 4\)",
        ),
    ],
    ids=["order", "event"],
)
def test_of_two_subjects_with_bad_rows_both_rows_of_the_first_are_named(columns, said):
    with pytest.raises(DataError, match=said):
        read_outcome({"id": ["a", "b", "a", "b"], **columns})


def test_a_table_without_rows_is_an_ordinary_one():
    nobody = read_outcome({name: [] for name in ROWS})
    assert (nobody.entry, nobody.id, nobody.goes_on) == (None, None, None)
