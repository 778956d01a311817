import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest

from survtrace import DataError, DataWarning, Surv
from survtrace.cohort.file_source import FileSource
from survtrace.errors import rows_named
from survtrace.tables.files.formats import split_outcome
from survtrace.tables.outcome.outcome import (
    Outcome,
    has_later_row,
    join_rows,
    read_labels,
    read_outcome,
    require_same_subjects,
)
from survtrace.tables.outcome.outcome_warnings import informative, warn_of_unknown_durations
from survtrace.tables.outcome.roles import read_roles

EVENT, DURATION = np.array([0, 1, 2, 1]), np.array([3.5, 1.2, 8.0, 4.0])
ROLES = {"event": "event", "duration": "duration"}
FORMS = ["mapping", "structured", "frame", "factor", "polars", "arrow", "parquet"]
COMPRISK = np.array(
    list(zip(EVENT, DURATION, strict=True)), dtype=[("event", "i8"), ("time", "f8")]
)


@pytest.mark.parametrize(
    "y",
    [
        Surv.from_arrays(EVENT, DURATION),
        COMPRISK,
        {"event": EVENT, "time": DURATION},
        {"duration": DURATION.tolist(), "event": EVENT.tolist()},
        pd.DataFrame({"duration": DURATION, "event": EVENT}),
        pd.DataFrame({"event": EVENT, "time": DURATION}, index=[9, 9, 4, 1]),
        pd.DataFrame({"event": EVENT, "time": DURATION}).convert_dtypes(),
        pd.DataFrame({"event": pd.Categorical(EVENT), "duration": DURATION}),
        pd.DataFrame({"event": EVENT.astype(float), "duration": DURATION.astype("f4")}),
        pl.DataFrame({"event": EVENT, "duration": DURATION}),
        pl.DataFrame({"time": DURATION, "event": EVENT.astype("u1")}),
    ],
    ids=lambda y: type(y).__module__.split(".")[0],
)
def test_every_accepted_form_says_the_same(y):
    outcome = read_outcome(y)
    np.testing.assert_array_equal(outcome.event, EVENT)
    np.testing.assert_allclose(outcome.duration, DURATION, rtol=1e-6)
    assert outcome.causes == (1, 2)
    assert len(outcome) == 4


def test_scikit_survival_targets_are_read_whatever_their_names():
    y = pytest.importorskip("sksurv.util").Surv.from_arrays(
        [True, False], [2.0, 3.0], name_event="cens", name_time="days"
    )
    outcome = read_outcome(y)
    assert outcome.event.tolist() == [1, 0]
    assert outcome.duration.tolist() == [2.0, 3.0]
    assert outcome.causes == (1,)


FOLLOWED = np.array([2.0, 3.0, 5.0])
ENDED = np.array([True, False, True])


@pytest.mark.parametrize("name", ["alive", "is_alive", "censored"])
def test_a_boolean_and_a_number_are_asked_about_where_the_name_says_who_is_censored(name):
    y = pd.DataFrame({name: ~ENDED, "days": FOLLOWED})
    for form in (y, y.to_dict("series")):
        with pytest.raises(DataError, match=rf"called '{name}' .*: it may say 1 of those who are"):
            read_outcome(form)
        with pytest.raises(DataError, match=rf"called '{name}', and 1 was an event in the fit"):
            read_outcome(form, causes=[1])
    with pytest.warns(DataWarning, match="0 .* usually means censored"):
        told = Surv.from_arrays(y[name], y["days"], censored=True)
    assert read_outcome(told).event.tolist() == ENDED.tolist()


def test_a_structured_target_of_the_living_is_asked_about():
    y = np.array(list(zip(~ENDED, FOLLOWED, strict=True)), [("alive", bool), ("days", float)])
    with pytest.raises(DataError, match="called 'alive'"):
        read_outcome(y)


@pytest.mark.parametrize("name", ["entry", "start", "id"])
def test_an_entry_or_an_id_beside_a_boolean_is_no_duration(name):
    with pytest.raises(DataError, match=rf"must have the columns event and duration.*'{name}'"):
        read_outcome({"event": ENDED, name: np.array([1, 2, 3])})


def test_durations_before_events_are_read_by_name():
    y = {"duration": np.array([True, True]), "event": np.array([1, 0])}
    assert read_outcome(y).event.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("labels", "event", "causes"),
    [
        ([0, 1, 3, 3], [0, 1, 2, 2], (1, 3)),
        (["no", "yes", "No ", "yes"], [0, 1, 0, 1], ("yes",)),
        (["FALSE", "TRUE", "TRUE", "FALSE"], [0, 1, 1, 0], (1,)),
        (["0.0", "2.0", "1.0", "0"], [0, 2, 1, 0], (1, 2)),
        (["0", "10", "2", "10"], [0, 2, 1, 2], (2, 10)),
        ([0, 10, 2, 10], [0, 2, 1, 2], (2, 10)),
        ([True, False, True, False], [1, 0, 1, 0], (1,)),
        (["censored", "relapse", "death", "0"], [0, 2, 1, 0], ("death", "relapse")),
        ([0, "relapse", "death", False], [0, 2, 1, 0], ("death", "relapse")),
        ([0.0, 2.0, 1.0, 2.0], [0, 2, 1, 2], (1, 2)),
        ([0, 2, "other", 1], [0, 2, 3, 1], (1, 2, "other")),
    ],
    ids=str,
)
def test_labels_are_numbered_in_sorted_order(labels, event, causes):
    outcome = read_outcome({"event": np.array(labels, dtype=object), "duration": DURATION})
    assert outcome.event.tolist() == event
    assert outcome.causes == causes
    assert [type(cause) in (int, str) for cause in outcome.causes] == [True] * len(causes)


LAW = np.array([0, 1, 2, 2, 1, 0, 0, 1])  # 0 is censored
MONTHS = np.array([9.0, 1.0, 2.5, 4.0, 6.0, 8.0, 3.0, 5.0])
CODES = np.array([0, 1, 2], dtype=object)
WORDS = np.array(["Alive", "cancer", "other"], dtype=object)
OWN = np.array(["well", "cancer", "other"], dtype=object)


def written_as(labels, form, folder):
    """The same cohort with other labels, in another form."""
    event = labels[LAW]
    columns = {"event": event, "duration": MONTHS}
    if form == "mapping":
        return columns
    if form == "structured":
        return Surv.from_arrays(event, MONTHS)
    if form == "factor":
        return pd.DataFrame({**columns, "event": pd.Categorical(event, categories=labels)})
    if form == "polars":
        return pl.DataFrame({"event": event.tolist(), "duration": MONTHS})
    frame = pd.DataFrame(columns).infer_objects()
    if form == "arrow":
        return frame.convert_dtypes(dtype_backend="pyarrow")
    if form == "parquet":
        frame.assign(age=1.0).to_parquet(folder / "t.parquet")
        return folder / "t.parquet"
    return frame


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("labels", "causes", "censored"),
    [
        (CODES, (1, 2), None),
        (CODES.astype(float), (1, 2), None),
        (CODES.astype(str).astype(object), (1, 2), None),
        (CODES, (1, 2), 0),
        (CODES + 5, (6, 7), 5),
        (WORDS, ("cancer", "other"), None),
        (WORDS, ("cancer", "other"), "alive"),
        (OWN, ("cancer", "other"), "well"),
        (OWN, ("cancer", "other"), ["Well"]),
    ],
    ids=["codes", "floats", "digits", "named 0", "named 5", "words", "named", "own", "list"],
)
def test_every_coding_in_every_form_is_the_same_outcome(form, labels, causes, censored, tmp_path):
    y = written_as(labels, form, tmp_path)
    if form == "parquet":
        files = FileSource(y, read_roles({**ROLES, "censored": censored}), chunk_rows=3)
        scan = files.scan()
        blocks = [chunk.outcome for chunk in scan.source.chunks()]
        outcome = Outcome(
            np.concatenate([block.duration for block in blocks]),
            np.concatenate([block.event for block in blocks]),
            scan.causes,
            scan.censored,
        )
    else:
        outcome = read_outcome(y, censored=censored)
    np.testing.assert_array_equal(outcome.event, LAW)
    np.testing.assert_array_equal(outcome.duration, MONTHS)
    assert outcome.causes == causes
    assert len(outcome.censored) == 1


def test_polars_text_and_categories_are_labels():
    labels = ["censored", "relapse", "death", "relapse"]
    for dtype in (pl.String, pl.Categorical, pl.Enum(["censored", "death", "relapse"])):
        y = pl.DataFrame({"event": pl.Series(labels, dtype=dtype), "duration": DURATION})
        assert read_outcome(y).event.tolist() == [0, 2, 1, 2]


def test_known_causes_keep_their_numbers():
    y = {"event": [0, "b"], "duration": [1.0, 2.0]}
    assert read_outcome(y, causes=("a", "b")).event.tolist() == [0, 2]
    own = read_outcome(y)
    assert read_outcome(own) is own
    assert read_outcome(own, causes=("a", "b")).event.tolist() == [0, 2]
    for unread in (y, own):
        with pytest.raises(DataError, match=r"one of \['a'\]; the outcome also has \['b'\]"):
            read_outcome(unread, causes=("a",))


def test_what_is_censored_is_known_beside_known_causes():
    y = {"event": ["well", "a", "alive"], "duration": [1.0, 2.0, 3.0]}
    outcome = read_outcome(y, causes=["a"], censored=["well", "gone"])
    assert outcome.event.tolist() == [0, 1, 0]
    reverse = {"event": [0, 1], "duration": [1.0, 2.0]}
    assert read_outcome(reverse, causes=[0], censored=[1]).event.tolist() == [1, 0]
    with pytest.raises(DataError, match=r"one of \['a'\]; the outcome also has \['well'\]"):
        read_outcome(y, causes=["a"])


def test_a_fold_may_have_events_only():
    fold = {"event": [7, 7, 5, 5], "duration": DURATION}
    assert read_outcome(fold, ask=False).event.tolist() == [2, 2, 1, 1]
    with pytest.raises(DataError, match="nobody is censored, though there are several labels"):
        read_outcome(fold)


def test_a_cause_is_found_by_its_label():
    outcome = read_outcome({"event": [0, 5, 3], "duration": [1.0, 2.0, 3.0]})
    assert outcome.cause_number(5) == 2
    with pytest.raises(DataError, match=r"labels \[3, 5\]; got 1"):
        outcome.cause_number(1)


def test_some_subjects_can_be_taken_by_number_or_mask():
    outcome = Outcome(DURATION, EVENT, (1, 2))
    assert outcome.take(np.array([2, 0])).duration.tolist() == [8.0, 3.5]
    assert outcome.take(EVENT > 0).event.tolist() == [1, 2, 1]
    assert outcome.take(EVENT == 0).causes == (1, 2)


def test_an_event_at_zero_is_refused_or_shifted():
    y = {"event": [0, 2, 1], "duration": [4.0, 0.0, 3.0]}
    with pytest.raises(DataError, match=r"1 of 2 events are at 0 \(first: row 1\).*'shift'"):
        read_outcome(y)
    assert read_outcome(y, zero_duration="shift").duration.tolist() == [4.0, 1.5, 3.0]
    years = {**y, "duration": [4.0, 0.0, 0.5]}
    assert read_outcome(years, zero_duration="shift").duration.tolist() == [4.0, 0.25, 0.5]


def test_subjects_censored_at_zero_carry_no_information():
    outcome = read_outcome({"event": [1, 0, 0], "duration": [1.0, 0.0, 3.0]})
    with pytest.warns(DataWarning, match=r"1 of 3 subjects are censored .*first: row 1"):
        assert informative(outcome).tolist() == [True, False, True]
    assert informative(outcome.take(np.array([0, 2]))).all()


def test_from_arrays_keeps_the_kind_of_event():
    assert Surv.from_arrays([True, False], [1, 2]).dtype["event"] == np.dtype(bool)
    assert Surv.from_arrays([1, 0], [1, 2]).dtype["event"] == np.dtype(int)
    assert Surv.from_arrays(["a", "censored"], [1, 2]).dtype["event"] == np.dtype(object)
    with pytest.raises(DataError, match="got 2 events and 3 durations"):
        Surv.from_arrays([0, 1], [1.0, 2.0, 3.0])
    with pytest.raises(DataError, match=r"event must be one value .* shape \(2, 1\)"):
        Surv.from_arrays([[0], [1]], [1.0, 2.0])


@pytest.mark.parametrize(
    ("event", "censored", "packed", "causes"),
    [
        (["well", "ill", "worse"], "Well", [0, "ill", "worse"], ("ill", "worse")),
        ([1, 2, 2], 1, [0, 2, 2], (2,)),
        ([1, 2, 2], [], [1, 2, 2], (1, 2)),
        ([1, 2, 2], "nobody", [1, 2, 2], (1, 2)),
        (["", "ill", None], "empty", [0, "ill", 0], ("ill",)),
        (["a", "alive with disease", "b"], "a", [0, "alive with disease", "b"], None),
    ],
    ids=str,
)
def test_from_arrays_settles_who_is_censored(event, censored, packed, causes):
    y = Surv.from_arrays(event, [1.0, 2.0, 3.0], censored=censored)
    assert y["event"].tolist() == packed
    for part in (y, y[:2], y[[1]], np.concatenate([y, y]), pickle.loads(pickle.dumps(y))):
        events = read_outcome(part).event  # no question is asked again
        assert ((events == 0) == (part["event"] == 0)).all()
    assert causes in (None, read_outcome(y).causes)
    assert 0 in read_outcome(y).censored


def test_a_column_of_the_living_is_turned_round():
    with pytest.warns(DataWarning, match=r"0 \(1 subject\) usually means censored"):
        y = Surv.from_arrays([1, 0, 1], [1.0, 2.0, 3.0], censored=1)
    assert y["event"].tolist() == [0, 1, 0]
    with pytest.warns(DataWarning, match="usually means censored"):
        outcome = read_outcome({"event": [1, 0, 1], "duration": [1.0, 2.0, 3.0]}, censored=1)
    assert (outcome.event.tolist(), outcome.causes) == ([0, 1, 0], (0,))


def test_the_outcome_split_from_a_table_knows_who_is_censored():
    table = pd.DataFrame({"age": [1, 2, 3], "state": ["x", "y", "z"], "days": [1.0, 2.0, 3.0]})
    y = split_outcome(table, "days", "state", censored=["X"])[1]
    assert read_outcome(y).event.tolist() == [0, 1, 2]
    assert read_outcome(y.iloc[[1, 2]]).causes == ("y", "z")
    with pytest.raises(DataError, match=r"'w' does not\. The event column has 'x'"):
        split_outcome(table, "days", "state", censored=["w"])
    y = split_outcome(table.assign(alive=[0, 1, 1]), "days", "alive")[1]
    with pytest.raises(DataError, match="the event column is called 'alive'"):
        read_outcome(y)


@pytest.mark.parametrize(
    ("durations", "read", "words"),
    [
        (
            ["12,5", "3", "4,25"],
            [12.5, 3.0, 4.25],
            r"3 of 3 were read as numbers, decimal comma: 2",
        ),
        (
            ["12.5", 3, 4.25],
            [12.5, 3.0, 4.25],
            r"1 of 3 were read as numbers \(first: row 0, '12.5'",
        ),
        (["12 months", "3 months", "4 months"], [12.0, 3.0, 4.0], "unit: 3"),
    ],
)
def test_durations_written_as_text_are_read_with_a_remark(durations, read, words):
    y = {"event": [0, 1, 1], "duration": np.array(durations, dtype=object)}
    with pytest.warns(DataWarning, match=words) as caught:
        assert read_outcome(y).duration.tolist() == read
    assert len(caught) == 1


@pytest.mark.parametrize(
    ("duration", "message"),
    [
        (["1,234", "2", "3"], r"a number; 1 of 3 are not \(first: row 0, '1,234'"),
        (["<1", "2", "3"], "a number in one unit; the column holds bounds"),
        (["1 year", "2 months", "3 months"], "a number"),
        (["2020-01-01", "2020-02-01", "2020-03-01"], r"a number; 3 of 3 are not \(first: row 0"),
        ([1j, 2.0, 3.0], "a real number; got complex"),
        ([1.0, 10**400, 3.0], r"a number; 1 of 3 are not \(first: row 1, 10000.*\.\.\.\)"),
        ([1.0, np.nan, np.inf], r"finite; 2 of 3 are not \(first: row 1, nan\)"),
        ([1.0, 2.0, -3.0], r"zero or more; 1 of 3 are not \(first: row 2, -3.0\)"),
        ([1.0, 2.0, -1e-9], r"zero or more; 1 of 3 are not \(first: row 2, -1e-09\)"),
        (["long", 2.0, "short"], r"a number; 2 of 3 are not \(first: row 0, 'long'\)"),
        ([1.0, None, 2.0], r"1 of 3 are not \(first: row 1"),
        (pd.to_timedelta([1, 2, 3], unit="D"), r"a number; got timedelta64.*\.dt\.days"),
        (pd.to_datetime(["2020-01-01"] * 3), "a number; got datetime64"),
        ([1.0, 2.0], "3 events and 2 durations"),
        ([[1.0], [2.0], [3.0]], r"duration must be one value .* shape \(3, 1\)"),
    ],
    ids=str,
)
def test_a_bad_duration_is_named_and_counted(duration, message):
    durations = np.array(duration, dtype=object) if isinstance(duration, list) else duration
    with pytest.raises(DataError, match=message):
        read_outcome({"event": [0, 1, 1], "duration": durations})


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ([0, -1, -2], r"2 of 3 are not \(first: row 1, -1\)"),
        ([0.0, 1.0, np.nan], r"1 of 3 are not \(first: row 2, nan\)"),
        ([0.5, 1.0, 0.0], r"first: row 0, 0\.5"),
        (["censored", None, "a"], r"1 of 3 are not \(first: row 1"),
        (pd.array([0, 1, None], dtype="Int64"), r"1 of 3 are not \(first: row 2"),
        (pd.Categorical(["a", None, "b"]), r"1 of 3 are not \(first: row 1"),
        ([0, 1, np.inf], r"first: row 2, inf"),
        (["", "a", "0"], r"1 of 3 are not \(first: row 0, ''\).*censored=\['empty', '0'\]"),
        (["", "a", "b"], r"1 of 3 are not \(first: row 0, ''\).*censored='empty'"),
        (["0", "a", " - "], r"1 of 3 are not \(first: row 2, ' - '\)"),
        (["2020-01-01", "", "2021-02-03"], r"a date is no event code; 2 of 3 are dates"),
        (pd.to_datetime(["2020-01-01", None, "2021-02-03"]), r"2 of 3 are dates \(first: '2020-01"),
        (pd.to_timedelta([1, 2, 3], unit="D"), r"3 of 3 are not \(first: row 0"),
        ([0, 1j, 1], r"3 of 3 are not \(first: row 0, 0j\)"),
    ],
    ids=str,
)
def test_a_bad_event_is_named_and_counted(event, message):
    for y in ({"event": event, "duration": [1.0, 2.0, 3.0]},) * 2:
        with pytest.raises(DataError, match=message):
            read_outcome(pd.DataFrame(y))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "target y is None"),
        (np.ones(4), r"array of shape \(4,\).*for example Surv\.from_arrays"),
        (np.ones((4, 2)), r"array of shape \(4, 2\).*cannot say which is which"),
        ([1, 2], r"shape \(2,\)"),
        ("nonsense", "got str"),
        ({"event": [0, 1]}, r"columns event and duration.*got \['event'\]"),
        ({"event": [0], "duration": [1], "age": [2]}, r"got \['event', 'duration', 'age'\]"),
        ({"event": [0], "time": [1], "duration": [2]}, "each once; got"),
        ({"event": [0], "time": [1], "entry": [0], "start": [0]}, "each once; got"),
        (pd.DataFrame({"status": [0], "time": [1.0]}), r"got \['status', 'time'\]"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_y_of_another_form_gets_an_example_of_a_right_one(y, message):
    with pytest.raises(DataError, match=message) as caught:
        read_outcome(y)
    assert "Surv.from_arrays" in str(caught.value)


def test_masked_values_are_refused():
    masked = np.ma.array([0, 1, 1], mask=[0, 0, 1])
    with pytest.raises(DataError, match=r"event must not be missing; 1 of 3 .*\(first: row 2\)"):
        read_outcome({"event": masked, "duration": [1.0, 2.0, 3.0]})
    with pytest.raises(DataError, match="duration must not be missing; 1 of 3 values are masked"):
        Surv.from_arrays([0, 1, 1], np.ma.array([1.0, 2.0, 3.0], mask=[1, 0, 0]))


def test_rows_are_named_as_the_reader_counts_them_and_ways_out_are_options():
    y = {"event": [1, 1], "duration": [1.0, 0.0]}
    with (
        rows_named("line", first=2),
        pytest.raises(DataError, match=r"\(first: line 3\)") as caught,
    ):
        read_outcome(y)
    assert "Say --set zero_duration=shift" in caught.value.in_command
    with pytest.raises(DataError, match="'empty'") as caught:
        read_outcome({"event": [None, 1], "duration": [1.0, 1.0]})
    assert caught.value.in_command.endswith("say --censored empty.")


def test_covariates_and_outcome_must_be_of_the_same_subjects():
    require_same_subjects(4, Outcome(DURATION, EVENT, (1, 2)))
    with pytest.raises(DataError, match=r"X has 5 rows and y has 4\..*Surv\.from_arrays"):
        require_same_subjects(5, Outcome(DURATION, EVENT, (1, 2)))


def test_events_that_cannot_be_compared_are_counted_and_the_first_is_named():
    event = np.empty(3, dtype=object)
    event[:] = [0, [1], 1]
    with pytest.raises(DataError, match=r"1 of 3 are not \(first: row 1, \[1\]\)"):
        read_outcome({"event": event, "duration": [1.0, 2.0, 3.0]})


def test_from_arrays_names_the_row_of_a_bad_event():
    with pytest.raises(DataError, match=r"1 of 3 are not \(first: row 1, 0\.5\)"):
        Surv.from_arrays([0.0, 0.5, 1.0], [1.0, 2.0, 3.0], censored=0)


def test_the_durations_of_nobody_are_known():
    nobody = np.empty(0)
    warn_of_unknown_durations(Outcome(nobody, nobody.astype(np.int64), (1,)))


@pytest.mark.parametrize("date", [np.datetime64("2020-01-01"), np.timedelta64(3, "D")])
def test_a_date_among_durations_is_refused_not_counted_in_days(date):
    duration = pd.Series([1.0, 2.0, date], dtype=object)
    with pytest.raises(DataError, match=r"must be a number; 1 of 3 are not \(first: row 2"):
        Surv.from_arrays(event=[0, 1, 1], duration=duration)


def test_a_duration_that_is_not_known_is_to_be_dropped():
    with pytest.raises(DataError, match=r"row 1, 'Unknown'\)\..* drop subjects of whom it is not"):
        read_outcome({"event": [0, 1], "duration": ["12", "Unknown"]})


def test_columns_whose_row_labels_differ_are_refused_not_paired_by_position():
    y = {"event": pd.Series([0, 1]), "duration": pd.Series([1.0, 2.0], index=[1, 0])}
    with pytest.raises(DataError, match="of y must have the same row labels; those of 'duration'"):
        read_outcome(y)


def test_where_nobody_has_a_positive_duration_events_are_shifted_to_a_half():
    y = {"event": [1, 2], "duration": [0.0, 0.0]}
    assert read_outcome(y, zero_duration="shift", censored=[]).duration.tolist() == [0.5, 0.5]
    assert read_outcome(y, zero_duration=0.25, censored=[]).duration.tolist() == [0.25, 0.25]


def test_an_outcome_that_is_read_already_is_taken_as_it_is():
    outcome = Outcome(DURATION, EVENT, (1, 2))
    assert read_outcome(outcome) is outcome
    assert read_outcome(outcome, causes=[1, 2]) is outcome
    assert read_outcome(outcome, causes=[2, 1]).event.tolist() == [0, 2, 1, 2]


def test_the_last_row_of_a_subject_is_that_which_ends_last_wherever_it_stands():
    id, duration = np.array([8, 7, 9, 8, 9, 9]), np.array([5.0, 2.0, 3.0, 1.0, 9.0, 6.0])
    later = has_later_row(id, duration)
    assert later.tolist() == [False, False, True, True, False, True]


@pytest.mark.parametrize(
    "columns",
    [
        {},
        {"entry": np.array([1.0, 0.0, 2.0, 0.0])},
        {"id": np.array([3, 1, 2, 0])},
        {"entry": np.array([1.0, 0.0, 2.0, 0.0]), "id": np.array([3, 1, 2, 0])},
    ],
    ids=["nothing", "entry", "id", "both"],
)
def test_where_everybody_has_one_row_there_is_nothing_to_join(columns):
    outcome = Outcome(DURATION, EVENT, (1, 2), **columns)
    joined, place = join_rows(outcome)
    assert joined is outcome
    assert place.tolist() == [0, 1, 2, 3]


def test_rows_that_touch_are_joined_and_a_gap_stays():
    outcome = Outcome(
        np.array([9.0, 2.0, 4.0, 6.0]),
        np.array([1, 0, 0, 2]),
        (1, 2),
        entry=np.array([5.0, 0.0, 2.0, 1.0]),
        id=np.array([8, 8, 8, 7]),
    )
    joined, place = join_rows(outcome)
    assert joined.entry.tolist() == [1.0, 0.0, 5.0]
    assert joined.duration.tolist() == [6.0, 4.0, 9.0]
    assert joined.event.tolist() == [2, 0, 1]
    assert place.tolist() == [2, 1, 1, 0]


def test_labels_of_a_chunk_come_with_its_checked_columns():
    y = {"event": ["b", 0], "duration": [2, 3], "entry": [0, 1], "id": ["p", "q"]}
    found = read_labels(y, None, 0)
    assert (found.codes.tolist(), found.labels) == ([0, 1], ["b", 0])
    assert (found.duration.tolist(), found.entry.tolist()) == ([2.0, 3.0], [0.0, 1.0])
    assert found.id.tolist() == ["p", "q"]
    assert found.counts["b"].n == 1
    with pytest.raises(DataError, match=r"entry must be zero or more; 1 of 2 .*row 6, -1"):
        read_labels({**y, "entry": [0, -1]}, None, 5)
    assert read_labels({"event": [0], "duration": [1.0]}, None, 0).entry is None


def test_a_row_is_whole_where_it_is_all_of_a_subjects_time():
    entry, id = np.array([0.0, 1.0, 0.0, 0.0]), np.array([0, 0, 1, 2])
    outcome = Outcome(np.array([1.0, 4.0, 2.0, 3.0]), EVENT, (1, 2), entry=entry, id=id)
    assert outcome.is_whole.tolist() == [False, False, True, True]
    assert Outcome(DURATION, EVENT, (1, 2)).is_whole.all()
    assert (outcome.n_subjects, outcome.is_start_stop) == (3, True)
    assert outcome.n_events == {1: 2, 2: 1}


def test_events_of_nobody_are_whole_numbers_too():
    nobody = read_outcome({"event": [], "duration": []})
    assert nobody.event.dtype == read_outcome({"event": [0], "duration": [1.0]}).event.dtype
    assert Outcome(DURATION, EVENT, (1, 2)).event[nobody.event].tolist() == []


@pytest.mark.parametrize("form", ["mapping", "frame", "array"])
def test_causes_and_ids_that_pandas_takes_for_one_stay_apart(form):
    y = {
        "event": ["b", "b\0", "\ud800", "\ud801"],
        "duration": [1.0, 2.0, 3.0, 4.0],
        "entry": [0.0, 1.0, 0.0, 0.0],
        "id": ["7\0", "7\0b", "\ud800", "\ud801"],
    }
    if form == "frame":
        y = pd.DataFrame(y)
    elif form == "array":
        y = Surv.from_arrays(**y, censored=[])
    outcome = read_outcome(y, censored=None if form == "array" else [])
    assert outcome.causes == ("b", "b\0", "\ud800", "\ud801")
    assert not outcome.is_start_stop


@pytest.mark.parametrize("name", ["event", "duration", "entry", "id"])
def test_columns_with_other_row_labels_are_not_packed_by_position(name):
    frame = pd.DataFrame({"event": EVENT, "duration": DURATION, "entry": 0.0, "id": range(4)})
    columns = dict(frame.items())
    Surv.from_arrays(**columns)
    with pytest.raises(DataError, match="columns of the outcome must have the same row labels"):
        Surv.from_arrays(**{**columns, name: columns[name][::-1]})
    Surv.from_arrays(**{**columns, name: columns[name][::-1].to_numpy()})


def test_of_durations_that_may_be_ages_nobody_is_asked_who_lived_longer():
    y = {"event": [0, 0, 1, 1], "duration": [50.0, 55.0, 80.0, 85.0]}
    with pytest.raises(DataError, match="those with 1 were followed longer"):
        read_outcome(y, event_name="vital_status")
    y["entry"] = [45.0, 48.0, 77.0, 82.0]
    assert read_outcome(y, event_name="vital_status").causes == (1,)
