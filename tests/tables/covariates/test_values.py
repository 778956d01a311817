"""Values as the text of a level."""

import numpy as np
import pytest

from survtrace.tables.covariates.values import text_of


@pytest.mark.parametrize(
    ("value", "text"),
    [(2.0, "2"), (2.5, "2.5"), (np.float64(3.0), "3"), (float("nan"), None), (7, "7"), ("x", "x")],
    ids=str,
)
def test_a_value_is_written_as_the_text_of_its_level(value, text):
    assert text_of(value) == text
