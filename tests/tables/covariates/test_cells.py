import datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import torch

from survtrace import DataError
from survtrace.tables.covariates.cells import require_plain_cells
from survtrace.tables.covariates.columns import levels, numbers
from survtrace.tables.covariates.covariate import Covariate
from survtrace.tables.covariates.covariates import open_table

ODD = {
    "list": [1, 2],
    "tuple": (1, 2),
    "dict": {},
    "frozenset": frozenset({1}),
    "bytes": b"ab",
    "ndarray": np.array([1.0]),
    "Tensor": torch.tensor(1.0, requires_grad=True),
    "ellipsis": ...,
    "type": int,
    "Decimal": Decimal("sNaN"),
}


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("others", [["a"] * 150, [1.5] * 150], ids=["texts", "numbers"])
def test_a_cell_that_is_no_value_is_refused_wherever_it_stands(kind, others):
    column = np.empty(len(others) + 1, dtype=object)
    column[:-1] = others
    column[-1] = ODD[kind]
    table = open_table(pd.DataFrame({"x": pd.Series(column, dtype=object)}))
    match = f"'x' holds a {kind} in a cell; .*1 of 151 .*row 150"
    for read, as_kind in ((levels, "categorical"), (numbers, "numerical")):
        with pytest.raises(DataError, match=match):
            read(table, Covariate("x", as_kind))


@pytest.mark.parametrize(
    "value",
    [
        *(None, np.nan, pd.NA, pd.NaT, np.datetime64("NaT"), np.timedelta64("NaT"), ""),
        *(True, np.int8(1), 10**30, Decimal(1), Decimal("NaN"), Fraction(1, 3)),
    ],
)
def test_missing_values_numbers_and_texts_are_cells(value):
    require_plain_cells([value, "a", 1.5], "x")


def test_dates_alone_are_cells_and_among_numbers_they_are_refused():
    dates = [datetime.date(2020, 1, 1), pd.Timestamp("2020"), None, pd.Interval(0, 1)]
    require_plain_cells(dates, "x")
    with pytest.raises(DataError, match=r"'x' holds a date in a cell; .*numbers or texts, too"):
        require_plain_cells([*dates, 1.0], "x")


def test_complex_numbers_are_named_as_such():
    with pytest.raises(DataError, match="must be real numbers; column 'x' holds complex numbers"):
        require_plain_cells([1.0, 2j], "x")


def test_bytes_are_to_be_decoded():
    with pytest.raises(DataError, match=r"\.str\.decode\('utf-8'\)"):
        require_plain_cells([b"f"], "x")
