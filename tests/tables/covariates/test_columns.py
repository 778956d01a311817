"""Columns of any kind become numbers or levels, alike in every frame."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from survtrace import DataError
from survtrace.tables.covariates.columns import levels, numbers
from survtrace.tables.covariates.covariate import Covariate
from survtrace.tables.covariates.covariates import open_table

CODE = Covariate("a", "categorical")
UNUSED = pd.Categorical(["x", None, "z", "x"], categories=["z", "y", "x"])
WORDS = pa.chunked_array(
    [pa.array(["x", None]).dictionary_encode(), pa.array(["z", "x"]).dictionary_encode()]
)


def frame_of(column):
    if isinstance(column, pl.Series):
        return pl.DataFrame({"a": column})
    return pa.table({"a": column}) if isinstance(column, pa.ChunkedArray) else {"a": column}


def one_by_one(column):
    """The text of each row, and how many distinct ones there are, by the plainest way."""
    codes, distinct = pd.factorize(pd.Series(column, dtype=object), use_na_sentinel=True)
    whole = [int(v) if isinstance(v, float) and v.is_integer() else v for v in distinct]
    return [None if p < 0 else str(whole[p]) for p in codes]


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1.0, np.nan, 3.0]),
        pd.Series([1, None, 3], dtype="Int64"),
        pd.Series([1, None, 3], dtype=object),
        pl.Series([1, None, 3]),
        pl.Series([1.0, float("nan"), 3.0]),
    ],
    ids=lambda column: f"{type(column).__module__}-{column.dtype}",
)
def test_numbers_are_floats_with_nan_where_missing(column):
    frame = pl.DataFrame if isinstance(column, pl.Series) else pd.DataFrame
    table = open_table(frame({"a": column}))
    values = numbers(table, Covariate("a", "numerical"))
    np.testing.assert_array_equal(values, [1.0, np.nan, 3.0])
    assert values.dtype == np.float64


def test_infinity_and_text_are_no_numbers():
    age = Covariate("age", "numerical")
    with pytest.raises(DataError, match=r"'age' has 2 infinite values \(first: row 1\)"):
        numbers(open_table({"age": [1.0, np.inf, -np.inf]}), age)
    with pytest.raises(DataError, match="column 'age' is numerical"):
        numbers(open_table({"age": ["young", "old"]}), age)
    with pytest.raises(DataError, match=r"1 of 2 values .*row 1, 'old' is no number"):
        numbers(open_table({"age": np.array([1, "old"], dtype=object)}), age)


def test_whole_numbers_are_one_level_in_any_dress():
    covariate = Covariate("a", "categorical")
    for column in ([1, 2, 1], [1.0, 2.0, 1.0], ["1", "2", "1"], pd.Categorical([1, 2, 1])):
        found = levels(open_table({"a": column}), covariate)
        assert found.text == ["1", "2"]
        assert found.codes.tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(["x", None, "y"]),
        pd.Series(["x", np.nan, "y"], dtype="category"),
        pd.Series(["x", pd.NA, "y"], dtype="string"),
        pl.Series(["x", None, "y"], dtype=pl.Categorical),
    ],
    ids=lambda column: f"{type(column).__module__}-{column.dtype}",
)
def test_a_missing_level_has_no_place(column):
    frame = pl.DataFrame if isinstance(column, pl.Series) else pd.DataFrame
    found = levels(open_table(frame({"a": column})), Covariate("a", "categorical"))
    assert found.codes.tolist() == [0, -1, 1]
    assert found.text == ["x", "y"]


def test_truth_values_are_levels_in_pandas_and_polars_alike():
    covariate = Covariate("a", "categorical")
    for frame in (pd.DataFrame, pl.DataFrame):
        assert levels(open_table(frame({"a": [True, False]})), covariate).text == ["True", "False"]


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(UNUSED),
        pd.Series([3, None, 1, 3]).astype("category"),
        pd.Series([2.5, None, 1.0, 2.5]).astype("category"),
        pd.Series([True, None, False]).astype("category"),
        pd.Series(["x", None, "z", "x"]),
        pd.Series(["x", pd.NA, "z"], dtype="string"),
        pd.Series(["x", pd.NA, "z"], dtype="string[pyarrow]"),
        pd.Series(["x", None, "z", "x"], dtype=pd.ArrowDtype(pa.string())),
        pd.Series([3, None, 1, 3], dtype=pd.ArrowDtype(pa.int64())),
        pd.Series(pd.arrays.ArrowExtensionArray(pa.array([1.5, float("nan"), None, 2.0]))),
        pd.Series(pd.arrays.ArrowExtensionArray(WORDS))[2:],
        pd.Series([3, 1, 3]),
        pd.Series([3, 1, 3], dtype="uint8"),
        pd.Series([3, 1, 3], dtype="float16"),
        pd.Series([0.1, np.nan, 2.0, -0.0, 0.0]),
        pd.Series([0.1, np.nan, 2.0], dtype="float32"),
        pd.Series([2**60 + 1, None, 2**60], dtype="Int64"),
        pd.Series([1.5, None, 2.0], dtype="Float64"),
        pd.Series([True, False, True]),
        pd.Series([True, None, False], dtype="boolean"),
        pd.Series([1, 1.0, "1", True, None, np.nan, "x", Decimal("1.5")], dtype=object),
        pd.Series(["1", 1, 2], dtype=object),
        pd.Series(pd.to_datetime(["2020-01-02", None, "2020-01-01"])),
        pd.Series([None, None], dtype=object),
        pd.Series([], dtype="category"),
        pd.Series(pd.interval_range(0, 3)).astype("category"),
        pl.Series(["x", None, "z", "x"]),
        pl.Series(["x", None, "z", "x"], dtype=pl.Categorical),
        pl.Series(["x", None, "z", "x"], dtype=pl.Enum(["z", "y", "x"])),
        pl.Series([3, None, 1, 3]),
        pl.Series([2**60 + 1, None, 2**60]),
        pl.Series([0.1, None, float("nan"), 2.0]),
        pl.Series([True, None, False]),
        pl.Series([Decimal("1.50"), None]),
        pl.Series([dt.date(2020, 1, 2), None]),
        WORDS,
        pa.chunked_array([pa.array(["x", None]), pa.array(["z", "x"])]),
        pa.chunked_array([pa.array([True, None])]),
        pa.chunked_array([pa.DictionaryArray.from_arrays([0, 1, 2, 0], ["x", None, "z"])]),
        pa.chunked_array([pa.array([2**60 + 1, None])]),
    ],
    ids=lambda column: f"{type(column).__module__.split('.')[0]}-{getattr(column, 'dtype', 0)}",
)
def test_levels_are_those_of_the_values_one_by_one(column):
    found = levels(open_table(frame_of(column)), CODE)
    assert [None if p < 0 else found.text[p] for p in found.codes] == one_by_one(
        column.to_pylist() if isinstance(column, pa.ChunkedArray) else column.to_list()
    )
    assert list(dict.fromkeys(found.codes[found.codes >= 0])) == list(range(len(found.text)))
    assert len(set(found.text)) == len(found.text)
    assert found.codes.dtype == np.int64


def test_an_error_counts_rows_from_the_first_of_the_table():
    with pytest.raises(DataError, match=r"first: row 101\)"):
        numbers(open_table({"a": [1.0, np.inf]}), Covariate("a", "numerical"), first_row=100)


@pytest.mark.parametrize("n_before", [1023, 1024, 1025])
def test_a_level_that_first_occurs_far_below_is_found(n_before):
    column = pd.Categorical(["x"] * n_before + ["y", "x"], categories=["x", "y"])
    found = levels(open_table({"a": column}), CODE)
    assert (found.text, found.codes[-2:].tolist()) == (["x", "y"], [1, 0])


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (pd.Series(["x", ["y"]]), "list"),
        (pd.Series([*"x" * 200, b"y"], dtype=object), "bytes"),
        (pd.Series(["x", pd.Timestamp("2020-01-01")], dtype=object), "Timestamp"),
        (pl.Series([b"x", b"y"]), "bytes"),
        (pl.Series([[1], [2]]), "list"),
    ],
    ids=["list", "bytes far below", "date among texts", "bytes of polars", "list of polars"],
)
def test_a_cell_that_is_no_level_is_refused_whatever_the_column_was_in_the_fit(column, kind):
    with pytest.raises(DataError, match=f"column 'a' holds a {kind} in a cell"):
        levels(open_table(frame_of(column)), CODE)


@pytest.mark.parametrize("dtype", [object, "string[python]"])
def test_texts_that_pandas_takes_for_one_stay_apart(dtype):
    texts = ["a", "a\0b", "a\0", "\ud800", "\ud801", "a"]
    table = open_table(pd.DataFrame({"a": pd.Series(texts, dtype=dtype)}))
    assert levels(table, CODE).codes.tolist() == [0, 1, 2, 3, 4, 0]
