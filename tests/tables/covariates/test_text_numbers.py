"""Numbers written as text."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from survtrace.tables.covariates.text_numbers import parse_numbers

REALS = st.floats(-1e9, 1e9, allow_nan=False).map(lambda x: round(x, 2))


def grouped(number, thousands, decimal):
    text = f"{number:,.2f}".replace(",", "_").replace(".", decimal)
    return text.replace("_", thousands)


@given(st.lists(REALS, min_size=1), st.sampled_from([("", "."), ("", ","), (",", "."), (".", ",")]))
def test_what_was_formatted_is_read_back(numbers, marks):
    texts = [grouped(number, *marks) for number in numbers]
    np.testing.assert_allclose(parse_numbers(texts).numbers, numbers)


@given(st.lists(REALS, min_size=1), st.sampled_from(["'", "\u2019", " ", "\u00a0", "\u202f"]))
def test_spaces_and_apostrophes_group_digits(numbers, thousands):
    read = parse_numbers([grouped(number, thousands, ",") for number in numbers])
    np.testing.assert_allclose(read.numbers, numbers)


@pytest.mark.parametrize(
    ("text", "number", "kinds"),
    [
        ("<0.6", 0.6, {"bound"}),
        ("> 200", 200, {"bound"}),
        ("≥ 1,5", 1.5, {"bound", "decimal comma"}),
        ("90+", 90, {"bound"}),
        ("12 mg/dl", 12, {"unit"}),
        ("37.5 °C", 37.5, {"unit"}),
        ("45%", 45, {"unit"}),
        ("4,5 x10^9/l", 4.5, {"unit", "decimal comma"}),
        ("\u22123.5", -3.5, {"minus sign"}),
        ("1e-5", 1e-5, set()),
        ("  7 ", 7, set()),
        ("1.234.567", 1234567, {"thousands separator"}),
    ],
)
def test_a_text_becomes_a_number_and_says_what_was_changed(text, number, kinds):
    read = parse_numbers([text])
    assert read.numbers.tolist() == [number]
    assert set(read.changes) == kinds
    assert not read.unreadable.any()


@pytest.mark.parametrize(
    "text",
    ["120/80", "40-49", "12.01.2020", "12 Jan 2020", "C50", "3 or more", "inf", "1_000", "1,2,3"],
)
def test_what_is_no_number_is_not_read(text):
    read = parse_numbers([text, "7"])
    assert read.unreadable.tolist() == [True, False]
    assert np.isnan(read.numbers[0])


def test_a_comma_before_three_digits_is_not_guessed():
    read = parse_numbers(["1,234", "5,678", "12"])
    assert read.decimal is None
    assert read.ambiguous.tolist() == [True, True, False]


def test_a_point_before_three_digits_is_read_beside_texts_that_leave_no_doubt():
    assert parse_numbers(["1.234", "3.5"]).numbers.tolist() == [1.234, 3.5]
    assert parse_numbers(["1.234", "3,5"]).numbers.tolist() == [1234, 3.5]


@pytest.mark.parametrize(
    ("other", "number"), [("0,5", 1.234), ("1,234,567", 1234), ("3.5", 1234), ("2.345,6", 1.234)]
)
def test_other_texts_of_the_column_say_what_a_comma_means(other, number):
    assert parse_numbers(["1,234", other]).numbers[0] == number


def test_the_user_can_say_what_a_comma_means():
    assert parse_numbers(["1,234"], decimal=",").numbers.tolist() == [1.234]
    assert parse_numbers(["1,234"], decimal=".").numbers.tolist() == [1234]
    assert parse_numbers(["1.234"], decimal=",").numbers.tolist() == [1234]


def test_only_points_are_taken_for_decimal_marks_where_that_is_clear():
    for unit in ("", " mg"):
        read = parse_numbers([f"{n}{unit}" for n in ("1.234", "1,234", "2.5")], decimal="clear")
        assert read.numbers[[0, 2]].tolist() == [1.234, 2.5]
        assert read.ambiguous.tolist() == [False, True, False]


def test_neither_mark_before_three_digits_is_guessed_beside_the_other():
    for unit in ("", " mg"):
        assert parse_numbers([f"1.234{unit}", f"1,234{unit}"]).ambiguous.all()


def test_both_marks_in_one_column_are_read_where_each_text_is_clear():
    read = parse_numbers(["3.5", "4,5"])
    assert (read.numbers.tolist(), read.decimal) == ([3.5, 4.5], "any")
    assert parse_numbers(["3.5", "4,5", "1,234"]).ambiguous.tolist() == [False, False, True]


def test_a_letter_behind_some_numbers_is_no_unit():
    assert parse_numbers(["1", "2", "2c", "3"]).unreadable.tolist() == [False, False, True, False]


def test_different_units_are_counted():
    assert parse_numbers(["90 mg/dl", "5 mmol/l", "91 MG/DL"]).units == {"mg/dl": 2, "mmol/l": 1}


def test_marks_of_missing_values_are_missing_in_any_case():
    read = parse_numbers(["Unknown", "-", "", None, 3, "4"], missing=["unknown", "-"])
    assert read.missing.tolist() == [True, True, True, True, False, False]
    assert read.numbers[4:].tolist() == [3, 4]
    assert not read.unreadable.any()


@pytest.mark.parametrize(
    ("texts", "n_read"),
    [
        (["1 foo", "2 foo", "3", "4"], 4),  # half of the numbers
        (["1 foo", "2", "3"], 2),
        (["3a", "4a"], 2),  # all of them
        (["3a", "4a", "5"], 1),
        (["1 mg", "2", "3"], 3),  # a usual unit
    ],
    ids=str,
)
def test_an_unusual_word_is_a_unit_if_half_of_the_numbers_have_it_and_a_letter_if_all(
    texts, n_read
):
    assert np.isfinite(parse_numbers(texts).numbers).sum() == n_read


def test_a_mark_of_missing_values_does_not_say_what_a_comma_means():
    assert parse_numbers(["1,234", "9.9"]).numbers.tolist() == [1234, 9.9]
    assert parse_numbers(["1,234", "9.9"], missing=["9.9"]).ambiguous.tolist() == [True, False]


def test_a_point_before_three_digits_is_not_guessed_beside_both_marks():
    read = parse_numbers(["3.5", "4,5", "1.234"])
    assert read.decimal is None
    assert read.ambiguous.tolist() == [False, False, True]


@pytest.mark.parametrize(
    ("text", "decimal", "kinds"),
    [
        ("1,234", ",", {"decimal comma": 1}),
        ("1,234", ".", {"thousands separator": 1}),
        ("1.234 mg", ",", {"unit": 1, "thousands separator": 1}),
        ("1.234 mg", ".", {"unit": 1}),
        ("1.234 mg", "clear", {"unit": 1}),
    ],
)
def test_what_a_mark_before_three_digits_was_taken_for_is_said(text, decimal, kinds):
    assert parse_numbers([text], decimal=decimal).changes == kinds
