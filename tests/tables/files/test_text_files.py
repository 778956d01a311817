import pytest

from survtrace.tables.covariates.covariates import open_table
from survtrace.tables.files.text_files import find_decimal


@pytest.mark.parametrize(("n_before", "mark"), [(499, ","), (500, "")])
def test_the_decimal_mark_is_that_of_the_first_500_texts(n_before, mark):
    assert find_decimal(open_table({"crp": [*["1,234"] * n_before, "0,5"]})) == mark
