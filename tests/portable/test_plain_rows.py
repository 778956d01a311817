"""Rows of plain values are encoded to the bit as columns are; all else is left to the columns."""

import math
from itertools import product

import numpy as np
import pytest

from survtrace.portable.plain_rows import PlainRows
from survtrace.portable.rows import encode_rows
from survtrace.tables.covariates.encoding import Encoding

ENCODING = Encoding.from_dict(
    {
        "age": {"mean": 61.3, "deviation": 9.7, "low": 40.0, "typical": 60.0, "high": 80.0},
        "dose": {
            "mean": 1.0, "deviation": 0.0, "low": 1.0, "typical": 1.0, "high": 1.0,
            "written": {"missing": ["999"], "low": 0.0, "high": 1000.0},
        },
        "stage": {"levels": ["1", "2", "2.5", "IV", " iv "], "typical": "1"},
        "sex": {"levels": ["f", "m"], "written": {"missing": ["x"], "levels": ["F", "m"]}},
    },
    left_out=["id"],
)  # fmt: skip
PLAIN = {
    "age": [61, 47.25, None, math.nan, -3, 1e9],
    "dose": [1.0, 7, None],
    "stage": ["1", 1, 2.0, 2.5, "IV", None, math.nan],
    "sex": ["f", "m", None],
}


@pytest.fixture(scope="module")
def plain():
    return PlainRows(ENCODING)


def test_plain_values_are_encoded_as_columns_are(plain):
    rows = [dict(zip(PLAIN, values, strict=True)) for values in product(*PLAIN.values())]
    found = plain.encode(rows)
    for part, expected in zip(found, encode_rows(ENCODING, rows), strict=True):
        assert part.dtype == expected.dtype
        np.testing.assert_array_equal(part, expected)


def test_columns_that_the_fit_left_out_may_be_there(plain):
    row = {name: values[0] for name, values in PLAIN.items()}
    assert plain.encode([{**row, "id": 7}]).rows.tolist() == plain.encode([row]).rows.tolist()


@pytest.mark.parametrize(
    "change",
    [
        {"age": "61"},
        {"age": True},
        {"age": np.float64(61)},
        {"age": [61]},
        {"age": 1e30},
        {"age": 1e12},
        {"age": 10**400},
        {"age": math.inf},
        {"dose": 999},
        {"dose": -1.0},
        {"stage": "unknown"},
        {"stage": True},
        {"stage": 10**5000},
        {"stage": b"1"},
        {"sex": "F"},
        {"sex": "x"},
        {"sex": {}},
        {"other": 1},
        {1: 1},
    ],
    ids=range(19),
)
def test_what_is_not_plain_is_left_to_the_columns(plain, change):
    row = {name: values[0] for name, values in PLAIN.items()}
    assert plain.encode([row, {**row, **change}]) is None


@pytest.mark.parametrize("X", [[], {}, None, "rows.csv", [()], np.ones((1, 4)), [{"age": 61}]])
def test_other_tables_are_left_to_the_columns(plain, X):
    assert plain.encode(X) is None
