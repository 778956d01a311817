import numpy as np
import pandas as pd
import polars as pl
import pytest
from sksurv.util import Surv as SksurvSurv

from survtrace import DataError, DataWarning, Surv
from survtrace.data.outcome import Outcome, informative, read_outcome, require_same_subjects

EVENT, DURATION = np.array([0, 1, 2, 1]), np.array([3.5, 1.2, 8.0, 4.0])
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
    y = SksurvSurv.from_arrays([True, False], [2.0, 3.0], name_event="cens", name_time="days")
    outcome = read_outcome(y)
    assert outcome.event.tolist() == [1, 0]
    assert outcome.duration.tolist() == [2.0, 3.0]
    assert outcome.causes == (1,)


@pytest.mark.parametrize(
    ("labels", "event", "causes"),
    [
        ([0, 1, 3, 3], [0, 1, 2, 2], (1, 3)),
        ([7, 7, 5, 5], [2, 2, 1, 1], (5, 7)),
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
    with pytest.raises(DataError, match=r"1 of 3 events are at 0 \(first: row 1\).*'shift'"):
        read_outcome(y)
    assert read_outcome(y, zero_duration="shift").duration.tolist() == [4.0, 1.5, 3.0]


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
    ("duration", "message"),
    [
        ([1.0, np.nan, np.inf], r"finite; 2 of 3 are not \(first: row 1, nan\)"),
        ([1.0, 2.0, -3.0], r"zero or more; 1 of 3 are not \(first: row 2, -3.0\)"),
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
        ({"event": [0, 1]}, r"exactly two columns.*got \['event'\]"),
        ({"event": [0], "duration": [1], "age": [2]}, r"got \['event', 'duration', 'age'\]"),
        ({"event": [0], "time": [1], "duration": [2]}, "exactly two columns"),
        (pd.DataFrame({"status": [0], "time": [1.0]}), r"got \['status', 'time'\]"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_y_of_another_form_gets_an_example_of_a_right_one(y, message):
    with pytest.raises(DataError, match=message) as caught:
        read_outcome(y)
    assert "Surv.from_arrays" in str(caught.value)


def test_covariates_and_outcome_must_be_of_the_same_subjects():
    require_same_subjects(4, Outcome(DURATION, EVENT, (1, 2)))
    with pytest.raises(DataError, match=r"X has 5 rows and y has 4\..*Surv\.from_arrays"):
        require_same_subjects(5, Outcome(DURATION, EVENT, (1, 2)))
