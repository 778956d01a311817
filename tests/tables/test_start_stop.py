"""Visits and outcomes become start-stop rows, or an error that says what to do."""

import warnings

import numpy as np
import pandas as pd
import pytest

from survtrace import DataError, DataWarning, SettingError, to_start_stop
from survtrace.tables.outcome.outcome import read_outcome

VISITS = pd.DataFrame(
    {
        "id": ["a", "b", "a", "b", "a"],
        "time": [0, 0, 2, 5, 6],
        "bilirubin": [1.4, 0.7, np.nan, 0.9, 3.1],
        "ward": pd.Categorical(["x", "y", "y", None, "x"]),
        "drugs": [1, 0, 2, 1, 2],
    }
)
OUTCOMES = pd.DataFrame(
    {"id": ["b", "a"], "duration": [5.5, 9.0], "event": [0, 2], "sex": ["m", "f"]}
)


def test_time_is_cut_at_visits_and_values_are_those_last_measured():
    rows = to_start_stop(VISITS, OUTCOMES)
    assert list(rows) == ["id", "entry", "duration", "event", "sex", "bilirubin", "ward", "drugs"]
    assert rows["id"].tolist() == list("bbaaa")
    assert rows["entry"].tolist() == [0, 5, 0, 2, 6]
    assert rows["duration"].tolist() == [5, 5.5, 2, 6, 9]
    assert rows["event"].tolist() == [0, 0, 0, 0, 2]
    assert rows["sex"].tolist() == list("mmfff")
    assert rows["bilirubin"].tolist() == [0.7, 0.9, 1.4, 1.4, 3.1]
    assert rows["ward"].tolist() == list("yyxyx")
    assert rows["drugs"].tolist() == [0, 1, 1, 2, 2]
    assert rows["drugs"].dtype == VISITS["drugs"].dtype
    assert rows["ward"].dtype == VISITS["ward"].dtype


def test_no_time_is_lost_and_every_event_stays():
    rng = np.random.default_rng(0)
    n = 200
    outcomes = pd.DataFrame(
        {
            "id": rng.permutation(n),
            "entry": rng.uniform(0, 3, n),
            "duration": rng.uniform(4, 9, n),
            "event": rng.integers(0, 3, n),
        }
    )
    many = rng.integers(0, n, 3 * n)
    visits = pd.DataFrame(
        {"id": [*range(n), *many], "time": [*np.zeros(n), *rng.uniform(0, 9, 3 * n)]}
    )
    rows = to_start_stop(visits.assign(x=1.0), outcomes, after_end="drop")
    lived = (rows["duration"] - rows["entry"]).groupby(rows["id"]).sum()
    whole = outcomes.set_index("id")
    np.testing.assert_allclose(lived[whole.index], whole["duration"] - whole["entry"])
    last = rows.groupby("id").last()
    assert last.loc[whole.index, "event"].tolist() == whole["event"].tolist()
    outcome = read_outcome(rows[["id", "entry", "duration", "event"]])
    assert (outcome.event > 0).sum() == (outcomes["event"] > 0).sum()
    assert outcome.is_start_stop


def test_polars_gives_polars_and_the_same_rows():
    polars = pytest.importorskip("polars")
    visits = VISITS.assign(ward=VISITS["ward"].astype(object))
    ours = to_start_stop(polars.from_pandas(visits), polars.from_pandas(OUTCOMES))
    assert isinstance(ours, polars.DataFrame)
    expected = to_start_stop(visits, OUTCOMES)
    for name in expected:
        assert ours[name].to_list() == expected[name].tolist()
    with pytest.raises(DataError, match="frames of one kind; got polars and pandas"):
        to_start_stop(polars.from_pandas(visits), OUTCOMES)


def test_row_labels_change_nothing():
    labelled = VISITS.set_axis([5, 4, 3, 2, 1]), OUTCOMES.set_axis([1, 0])
    pd.testing.assert_frame_equal(to_start_stop(*labelled), to_start_stop(VISITS, OUTCOMES))


def test_rows_that_go_on_are_censored_in_the_words_of_the_table():
    words = OUTCOMES.assign(event=["Alive", "relapse"])
    assert to_start_stop(VISITS, words)["event"].tolist() == ["Alive"] * 4 + ["relapse"]
    named = OUTCOMES.assign(event=["well", "relapse"])
    rows = to_start_stop(VISITS, named, censored="well")
    assert rows["event"].tolist() == ["well"] * 4 + ["relapse"]
    died = OUTCOMES.assign(event=[False, True])
    assert to_start_stop(VISITS, died)["event"].tolist() == [False] * 4 + [True]


def test_what_was_measured_before_entry_is_known_at_it():
    late = OUTCOMES.assign(entry=[1.0, 3.0])
    rows = to_start_stop(VISITS, late)
    assert rows["entry"].tolist() == [1, 5, 3, 6]
    assert rows["drugs"].tolist() == [0, 1, 2, 2]


def test_until_a_late_first_visit_values_are_missing_with_one_warning():
    visits = VISITS[VISITS["time"] > 0]
    with pytest.warns(
        DataWarning, match=r"2 of 2 subjects have their first visit after .* id 'b'\)"
    ):
        rows = to_start_stop(visits, OUTCOMES)
    assert rows["entry"].tolist() == [0, 5, 0, 2, 6]
    assert rows["drugs"].isna().tolist() == [True, False, True, False, False]
    assert rows["bilirubin"].isna().tolist() == [True, False, True, True, False]


def test_names_and_aliases():
    renamed = OUTCOMES.rename(columns={"id": "patient", "duration": "stop", "event": "cause"})
    rows = to_start_stop(
        VISITS.rename(columns={"id": "patient"}), renamed, id="patient", event="cause"
    )
    assert list(rows)[:4] == ["patient", "entry", "stop", "cause"]
    assert rows["stop"].tolist() == to_start_stop(VISITS, OUTCOMES)["duration"].tolist()


BAD = {
    "a visit after the end": (
        {"time": [0, 0, 2, 5, 60]},
        {},
        r"must not come after the subject's end; 1 of 5 do \(first: row 4, id 'a': visit at 60, dur"
        r"ation 9\).*after_end='drop'",
    ),
    "two visits at one time": (
        {"time": [0, 0, 2, 5, 2]},
        {},
        r"one visit at a time; 1 visits repeat a time \(first: row 2 and row 4, id 'a': time 2\)",
    ),
    "a visit before the origin": (
        {"time": [-3, 0, 2, 5, 6]},
        {},
        r"zero or more, counted from the same origin as duration; 1 of 5 are not \(first: row 0, -3"
        r"\). To use what was measured before",
    ),
    "several visits before the origin": (
        {"time": [0, -3, 2, 5, -6]},
        {},
        r"2 of 5 are not \(first: row 1, -3\)",
    ),
    "a visit without a time": (
        {"time": [0, 0, np.nan, 5, 6]},
        {},
        r"must be a finite number; 1 of 5 are not \(first: row 2, nan\). Drop",
    ),
    "dates": (
        {"time": pd.date_range("2020-01-01", periods=5)},
        {},
        "Subtract the date of each subj",
    ),
    "a visit without an id": (
        {"id": ["a", None, "a", "b", "a"]},
        {},
        r"every row must name its subject; id is missing in 1 of 5 rows \(first: row 1\)",
    ),
    "an outcome without an id": (
        {},
        {"id": ["b", None]},
        r"every row must name its subject; id is missing in 1 of 2 rows \(first: row 1\)",
    ),
    "a visit without an outcome": (
        {"id": ["a", "b", "a", "c", "a"]},
        {},
        r"every visit must be of a subject with an outcome; 1 of 5 are not \(first: row 3, id 'c'",
    ),
    "a subject without a visit": (
        {"id": ["a"] * 5, "time": [0, 1, 2, 5, 6]},
        {},
        r"must have a visit before its end; 1 of 2 have none \(first: row 0 of outcomes, id 'b'\)",
    ),
    "an outcome twice": (
        {"id": ["a"] * 5, "time": [0, 1, 2, 5, 6]},
        {"id": ["a", "a"]},
        r"one row for each subject; 1 rows repeat one \(first: row 0 and row 1, id 'a'\). Keep the",
    ),
    "ids of two kinds": (
        {"id": [7, 8, 7, 8, 7]},
        {"id": ["8", "7"]},
        r"ids must be numbers, or texts, in both tables; got '8' in outcomes and 7 in visits. Conv",
    ),
    "entry after the end": ({}, {"entry": [1.0, 9.0]}, "entry must come before duration"),
    "no duration": ({}, {"duration": [np.nan, 9.0]}, "duration must be finite; 1 of 2 are not"),
    "a column in both": ({"sex": list("mfmfm")}, {}, r"\['sex'\] are in both. Drop them from one"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_tables_are_refused_in_words(name):
    visits, outcomes, said = BAD[name]
    with pytest.raises(DataError, match=said):
        to_start_stop(VISITS.assign(**visits), OUTCOMES.assign(**outcomes))


def test_tables_without_rows_are_refused():
    with pytest.raises(DataError, match="must have a visit before its end; 2 of 2 have none"):
        to_start_stop(VISITS[:0], OUTCOMES)
    with pytest.raises(DataError, match="outcomes must have at least one subject"):
        to_start_stop(VISITS, OUTCOMES[:0])


def test_of_outcomes_that_repeat_subjects_the_first_is_named():
    twice = pd.concat([OUTCOMES, OUTCOMES[::-1]], ignore_index=True)
    said = r"2 rows repeat one \(first: row 0 and row 3, id 'b'\)"
    with pytest.raises(DataError, match=said):
        to_start_stop(VISITS, twice)


def test_columns_that_are_not_there_are_named():
    with pytest.raises(
        DataError, match=r"visits must have the column 'day'; it has \['id', 'time'"
    ):
        to_start_stop(VISITS, OUTCOMES, time="day")
    with pytest.raises(DataError, match="outcomes must have the column 'event'"):
        to_start_stop(VISITS, OUTCOMES.drop(columns="event"))
    with pytest.raises(SettingError, match="after_end must be one of 'raise', 'drop'"):
        to_start_stop(VISITS, OUTCOMES, after_end="ignore")


def test_visits_after_the_end_are_dropped_where_that_is_said():
    later = pd.concat([VISITS, VISITS.tail(1).assign(time=30.0)], ignore_index=True)
    rows = to_start_stop(later, OUTCOMES, after_end="drop")
    pd.testing.assert_frame_equal(rows, to_start_stop(VISITS, OUTCOMES))


def test_a_visit_at_the_end_leaves_no_row():
    at_end = pd.concat([VISITS, VISITS.tail(1).assign(time=9.0)], ignore_index=True)
    rows = to_start_stop(at_end, OUTCOMES)
    pd.testing.assert_frame_equal(rows, to_start_stop(VISITS, OUTCOMES))


def test_a_subject_with_a_number_is_named_by_it():
    visits = pd.DataFrame({"id": [1, 1], "time": [0, 10], "size": [1.0, 2.0]})
    outcomes = pd.DataFrame({"id": [1], "duration": [9], "event": [1]})
    with pytest.raises(DataError, match=r"\(first: row 1, id 1: visit at 10, duration 9\)"):
        to_start_stop(visits, outcomes)


@pytest.mark.parametrize("role", ["id", "entry", "duration", "event"])
def test_a_column_that_outcomes_lack_is_missed_there(role):
    with pytest.raises(DataError, match=rf"outcomes must have the column 'no'.*{role}='\.\.\.'"):
        to_start_stop(VISITS, OUTCOMES, **{role: "no"})


@pytest.mark.parametrize(
    ("event", "label"), [([1, 2], 0), ([True, True], False), (["dead", "relapse"], "censored")]
)
def test_rows_that_go_on_are_censored_though_nobody_is_at_the_end(event, label):
    rows = to_start_stop(VISITS, OUTCOMES.assign(event=event), censored=[])
    assert rows["event"].tolist() == [label, event[0], label, label, event[1]]
    assert [type(each) for each in rows["event"].tolist()] == [type(event[0])] * 5


def test_of_visits_without_an_outcome_the_first_is_named():
    visits = VISITS.assign(id=["a", "c", "a", "b", "d"])
    with pytest.raises(DataError, match=r"2 of 5 are not \(first: row 1, id 'c'; an id of outcome"):
        to_start_stop(visits, OUTCOMES)


def test_the_values_of_many_subjects_are_their_own():
    """Each subject has a first visit at 0 and others at times that it shares with nobody."""
    n = 20
    visits = pd.DataFrame({"id": np.tile(np.arange(n), 3)})
    visits["time"] = [*np.zeros(n), *(5 - np.arange(n) / n), *(6 + np.arange(n) / n)]
    visits["x"] = np.arange(3 * n)
    outcomes = pd.DataFrame({"id": np.arange(n)[::-1], "duration": 9.0, "event": 1})
    rows = to_start_stop(visits, outcomes)
    assert rows["id"].tolist() == np.repeat(outcomes["id"], 3).tolist()
    expected = [j * n + k for k in range(n)[::-1] for j in range(3)]
    assert rows["x"].tolist() == expected
    assert rows["entry"].tolist() == visits["time"][expected].tolist()


def test_of_several_subjects_without_a_visit_the_first_is_named():
    outcomes = pd.DataFrame({"id": list("abc"), "duration": [9.0, 5.0, 7.0], "event": [1, 0, 1]})
    visits = pd.DataFrame({"id": ["a"], "time": [0.0], "bilirubin": [1.4]})
    with pytest.raises(DataError, match=r"2 of 3 have none \(first: row 1 of outcomes, id 'b'\)"):
        to_start_stop(visits, outcomes)


def test_columns_that_may_not_be_written_to_are_read():
    """All columns of pandas 3 are such ones; earlier versions are asked for them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # by which pandas 3 says that the option does nothing
        with pd.option_context("mode.copy_on_write", True):
            rows = to_start_stop(VISITS, OUTCOMES)
    assert rows["bilirubin"].tolist() == [0.7, 0.9, 1.4, 1.4, 3.1]
