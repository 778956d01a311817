"""What a conversion to floats would falsify is refused."""

import numpy as np
import pytest

from survtrace import DataError
from survtrace.tables.covariates.real_numbers import (
    as_array,
    dense_array,
    is_complex,
    real_numbers,
)


def test_numbers_become_floats():
    assert real_numbers(np.ma.array([1, 2]), "times").tolist() == [1.0, 2.0]
    assert real_numbers(3, "times").shape == ()


def test_masked_values_are_refused():
    with pytest.raises(DataError, match=r"times must not be missing; 1 of 3 .*\(first: row 1\)"):
        real_numbers(np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0]), "times")
    with pytest.raises(DataError, match=r"1 of 2 values are masked \(first: row 1\)"):
        real_numbers(np.ma.array([[1.0, 2.0], [3.0, 4.0]], mask=[[0, 0], [0, 1]]), "times")


@pytest.mark.parametrize("values", [1j, [1, 2j], np.array([1j]), np.array([1, 2j], dtype=object)])
def test_complex_numbers_are_refused(values):
    assert is_complex(values)
    with pytest.raises(DataError, match="weights must be real numbers; got complex"):
        real_numbers(values, "weights")


def test_a_date_among_objects_is_no_number():
    with pytest.raises(DataError, match="times must be numbers; got dates or times"):
        real_numbers(np.array([1.0, np.datetime64("2020-01-01")], dtype=object), "times")


class Unwilling:
    """An object that is no array, and says why."""

    def __init__(self, *words):
        self.words = words

    def __array__(self, *_, **__):
        raise RuntimeError(*self.words)


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ([[1.0], [1.0, 2.0]], "setting an array element.*part"),
        (Unwilling("not me.\nEver."), "not me"),
        (Unwilling(), "RuntimeError"),
    ],
    ids=["ragged", "words", "no words"],
)
def test_what_no_array_can_be_made_of_is_refused_with_the_reason(values, why):
    said = rf"no array can be made of it \({why}\)"
    with pytest.raises(ValueError, match=rf"^{said}$"):
        as_array(values)
    with pytest.raises(DataError, match=rf"^X must be a table with a row .*; {said}\. Pass a fr"):
        dense_array(values)
    assert not is_complex(values)


def test_a_structured_array_is_no_table_of_numbers():
    records = np.zeros((2, 2), dtype=[("age", float)])
    for each in (records, records[0]):
        with pytest.raises(DataError, match=r"of numbers and texts; got an array of .*Pass a fram"):
            dense_array(each)


@pytest.mark.parametrize("shape", [(), (3,), (1, 2, 3)], ids=str)
def test_a_table_has_two_axes(shape):
    with pytest.raises(DataError, match="Expected 2D array"):
        dense_array(np.zeros(shape))


def test_what_is_masked_in_a_table_is_missing():
    table = dense_array(np.ma.array([[1, 2], [3, 4]], mask=[[0, 1], [0, 0]]))
    np.testing.assert_array_equal(table, [[1.0, np.nan], [3.0, 4.0]])


@pytest.mark.parametrize(
    "table", [None, 3.5, object(), iter([[1.0]])], ids=lambda table: type(table).__name__
)
def test_what_is_no_table_is_named_by_its_type(table):
    with pytest.raises(DataError, match=f"got {type(table).__name__}. Pass a frame, or an array"):
        dense_array(table)
