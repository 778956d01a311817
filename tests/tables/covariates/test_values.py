"""Values as the text of a level."""

import numpy as np
import pytest

from survtrace import DataError
from survtrace.tables.covariates.covariate import Covariate
from survtrace.tables.covariates.values import checked_numbers, text_of


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
