"""Labels of an event column are coded, or refused with a way out."""

import numpy as np
import pytest

from survtrace import DataError
from survtrace.errors import Answer
from survtrace.tables.outcome.censoring_labels import Followed
from survtrace.tables.outcome.label_codes import checked_labels, count_labels


def test_equal_labels_have_one_code_in_order_of_appearance():
    events = np.array(["b", 1, 1.0, "1", "b", True], dtype=object)
    codes, labels = checked_labels(events, None, 0)
    assert (codes.tolist(), labels) == ([0, 1, 1, 1, 0, 1], ["b", 1])


@pytest.mark.parametrize(
    ("events", "options"),
    [
        (["", "a", "b"], ("--censored", "empty")),
        (["a", "0", None, "alive"], ("--censored", "empty", "--censored", "0")),
    ],
    ids=str,
)
def test_what_is_missing_can_be_answered_by_options(events, options):
    with pytest.raises(DataError, match="if nothing happened to them, pass censored=") as caught:
        checked_labels(np.array(events, dtype=object), None, 0)
    [answer] = caught.value.answers
    assert answer == Answer("if nothing happened to subjects without an event", answer.options)
    assert answer.options[: len(options)] == options
    codes, labels = checked_labels(np.array(events, dtype=object), ["empty"], 0)
    assert len(codes) == len(events)
    assert "empty" in labels


def test_nobody_has_no_labels():
    codes, labels = checked_labels(np.empty(0, dtype=object), None, 0)
    assert (len(codes), labels) == (0, [])
    assert count_labels(codes, labels, np.empty(0)) == {}


def test_the_subjects_of_each_label_are_counted_with_their_follow_up():
    counts = count_labels(np.array([1, 0, 1]), ["a", 0], np.array([3.0, 5.0, 4.0]))
    assert counts == {"a": Followed(1, 5.0, 5.0, 5.0), 0: Followed(2, 7.0, 3.0, 4.0)}


def test_of_events_that_are_lists_the_first_is_named():
    events = np.array([0, [1], "a", {2}], dtype=object)
    with pytest.raises(
        DataError, match=r"2 of 4 are not \(first: row 6, \[1\]\)\. Drop or correct"
    ):
        checked_labels(events, None, 5)


def test_who_is_minus_one_may_be_censored_and_is_not_to_be_dropped():
    words = r"2 of 5 are not \(first: row 0, -1\)\. Write 0 for those who are censored"
    with pytest.raises(DataError, match=words):
        checked_labels(np.array([-1, 1, 1, -1, 1]), None, 0)


@pytest.mark.parametrize("bad", [1.5, float("inf")])
def test_numbers_that_are_no_labels_can_only_be_dropped_or_corrected(bad):
    events = np.array([0, "a", bad, 1, bad], dtype=object)
    with pytest.raises(
        DataError,
        match=rf"2 of 5 are not \(first: row 9, {bad}\)\. Drop or correct",
    ) as caught:
        checked_labels(events, None, 7)
    assert not caught.value.answers


def test_where_events_are_missing_those_are_named_before_other_bad_ones():
    events = np.array([-1, "a", None, 1], dtype=object)
    with pytest.raises(DataError, match=r"1 of 4 are not \(first: row 2, nan\)\. Drop these"):
        checked_labels(events, None, 0)


@pytest.mark.parametrize(
    "large",
    [2**63, np.uint64(2**63), 1e19, 10**400, 10**5000],
    ids=lambda large: type(large).__name__,
)
def test_a_label_of_more_than_64_bits_is_refused_since_no_model_could_be_saved_with_it(large):
    with pytest.raises(
        DataError, match=r"64 bits at most\) or as text; 1 of 2 are not \(first: row 1"
    ):
        checked_labels(np.array([0, large], dtype=object), None, 0)
    assert checked_labels(np.array([0, 2**63 - 1], dtype=object), None, 0)[1] == [0, 2**63 - 1]


@pytest.mark.parametrize("dtype", [">i8", ">i2", ">u4", ">f8", ">U3"])
def test_labels_of_another_byte_order_are_the_same_labels(dtype):
    events = np.array([2, 0, 1, 2]).astype(dtype)
    native = events.astype(events.dtype.newbyteorder("="))
    codes, labels = checked_labels(events, None, 0)
    assert codes.tolist() == [0, 1, 2, 0]
    assert labels == checked_labels(native, None, 0)[1]
