"""Values as the text of a level."""

import numpy as np
import pytest

from survtrace import DataError
from survtrace.tables.covariates.covariate import Covariate
from survtrace.tables.covariates.values import (
    checked_numbers,
    numbers_in_text,
    read_levels,
    text_of,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [(2.0, "2"), (2.5, "2.5"), (np.float64(3.0), "3"), (float("nan"), None), (7, "7"), ("x", "x")],
    ids=str,
)
def test_a_value_is_written_as_the_text_of_its_level(value, text):
    assert text_of(value) == text


def test_the_bounds_of_a_data_dictionary_are_possible_values():
    age = Covariate("age", "numerical", low=0.0, high=120.0)
    values = np.array([0.0, 120.0])
    np.testing.assert_array_equal(checked_numbers(values, age), values)
    for beyond in (-1.0, 121.0):
        with pytest.raises(DataError, match="'age' must lie between 0 and 120"):
            checked_numbers(np.array([60.0, beyond]), age)


def test_a_data_dictionary_may_bound_one_side_only():
    values = np.array([-1e9, 0.0, 120.0])
    age = Covariate("age", "numerical", high=120.0)
    np.testing.assert_array_equal(checked_numbers(values, age), values)
    with pytest.raises(DataError, match=r"between -inf and 120.*1 of 2 .*\(first: row 6, 121\)"):
        checked_numbers(np.array([60.0, 121.0]), age, first_row=5)
    age = Covariate("age", "numerical", low=0.0)
    np.testing.assert_array_equal(checked_numbers(-values[:2], age), -values[:2])
    with pytest.raises(DataError, match=r"between 0 and inf.*1 of 2 .*\(first: row 0, -1\)"):
        checked_numbers(np.array([-1.0, 60.0]), age)


def test_of_a_long_text_that_is_no_number_the_first_40_letters_are_shown():
    text = "abcdefghij" * 5
    with pytest.raises(DataError, match=rf"1 of 3 .*\(first: row 2, '{text[:40]}' is no number\)"):
        numbers_in_text(np.array([0, -1, 1]), ["7", text], Covariate("crp", "numerical"))


def test_a_whole_number_too_long_to_write_is_a_level_of_its_own():
    assert text_of(2**4096 - 1) == str(2**4096 - 1)
    assert text_of(2**4096) == hex(2**4096)


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("Never", "Never"),
        (" never ", "Never"),
        ("EX  SMOKER", "ex smoker"),
        ("a", "a"),
        ("A ", "A"),
        ("BB", "Bb"),  # the first of those it can be
        ("pipe", "pipe"),
        (" ", None),
        ("Unknown ", None),
        (None, None),
    ],
)
def test_a_text_is_the_level_it_equals_but_for_case_and_spaces(text, level):
    levels = ("Never", "ex smoker", "a", "A", "Bb", "bB")
    smoker = Covariate("smoker", "categorical", missing=(" UNKNOWN",), levels=levels)
    found = read_levels(np.array([0, -1]), [float("nan") if text is None else text], smoker)
    assert found.text == ([] if level is None else [level])
    assert found.codes.tolist() == [-1 if level is None else 0, -1]


@pytest.mark.parametrize("infinity", [np.inf, -np.inf, np.float32(np.inf)], ids=str)
def test_an_infinite_number_is_no_category(infinity):
    with pytest.raises(DataError, match=r"'stage' has 2 infinite values \(first: row 6\)"):
        read_levels(
            np.array([0, 1, -1, 1]), [2.0, infinity], Covariate("stage", "categorical"), first_row=5
        )


def test_infinity_as_text_is_a_category_and_as_a_mark_of_missing_values_is_missing():
    stage = Covariate("stage", "categorical")
    assert read_levels(np.array([0]), ["inf"], stage).text == ["inf"]
    stage = Covariate("stage", "categorical", missing=("inf",))
    assert read_levels(np.array([0, 1]), [2.0, np.inf], stage).codes.tolist() == [0, -1]
