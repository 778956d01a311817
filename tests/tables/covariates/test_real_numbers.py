"""What a conversion to floats would falsify is refused."""

import numpy as np
import pytest

from survtrace import DataError
from survtrace.tables.covariates.real_numbers import is_complex, real_numbers


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
