import datetime as dt

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from survtrace import DataError, DataWarning, SettingError
from survtrace.tables.covariates.columns import levels, numbers
from survtrace.tables.covariates.covariate import Covariate
from survtrace.tables.covariates.covariates import infer_covariates, open_table, select_columns


def kinds(X, **settings):
    return [covariate.kind for covariate in infer_covariates(open_table(X), **settings)]


@pytest.mark.parametrize(
    "X",
    [
        {"a": [1, 2], "b": ["x", "y"]},
        pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}),
        pl.DataFrame({"a": [1, 2], "b": ["x", "y"]}),
        pl.DataFrame({"a": [1, 2], "b": ["x", "y"]}).to_arrow(),
    ],
    ids=lambda X: type(X).__module__.split(".")[0],
)
def test_frames_and_mappings_are_opened_by_name(X):
    table = open_table(X)
    assert table.columns == ["a", "b"]
    assert kinds(X) == ["numerical", "categorical"]
    assert levels(table, Covariate("b", "categorical")).text == ["x", "y"]


def test_arrays_get_names_and_a_list_of_rows_is_an_array():
    assert open_table([[1.0, 2.0]]).columns == ["x0", "x1"]
    assert kinds(np.array([[1.0, "f"], [2.0, "m"]], dtype=object)) == ["numerical", "categorical"]
    assert kinds(np.array([["1", "f"]])) == ["categorical", "categorical"]


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros(3), r"a row for each subject; got shape \(3,\)"),
        (np.zeros((2, 2, 2)), r"got shape \(2, 2, 2\)"),
        (np.zeros((2, 2), dtype=complex), "Complex data not supported"),
        (pd.DataFrame({"b": [1.0], "a": [2j]}), "column 'a' holds complex numbers"),
        (pd.DataFrame({"a": [1.0, 2j, "x"]}, dtype=object), "column 'a' holds complex numbers"),
        (sparse.csr_matrix(np.eye(2)), r"dense table; got a sparse matrix.*toarray"),
        (pd.DataFrame(np.zeros((1, 2)), columns=["a", "a"]), r"must differ; \['a'\]"),
    ],
    ids=str,
)
def test_what_is_no_table_is_refused(X, message):
    with pytest.raises(DataError, match=message):
        open_table(X)


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (pd.Series([1, 2]), "numerical"),
        (pd.Series([1.5, None]), "numerical"),
        (pd.Series([1, None], dtype="Int64"), "numerical"),
        (pd.Series([1.5, None], dtype="Float32"), "numerical"),
        (pd.Series([1, 2.5], dtype=object), "numerical"),
        (pd.Series([np.nan, np.nan]), "numerical"),
        (pd.Series(["x", None]), "categorical"),
        (pd.Series(["x", None], dtype="string"), "categorical"),
        (pd.Series([True, False]), "categorical"),
        (pd.Series([True, None], dtype="boolean"), "categorical"),
        (pd.Series([True, None], dtype=object), "categorical"),
        (pd.Series([1, "x"], dtype=object), "categorical"),
        (pd.Series([1, 2]).astype("category"), "categorical"),
        (pl.Series([1, None]), "numerical"),
        (pl.Series([1.5, None], dtype=pl.Float32), "numerical"),
        (pl.Series(["x", None], dtype=pl.Categorical), "categorical"),
        (pl.Series(["x", None], dtype=pl.Enum(["x"])), "categorical"),
        (pl.Series([True, None]), "categorical"),
        (pl.Series(["x", None]), "categorical"),
    ],
    ids=lambda value: (
        value if isinstance(value, str) else f"{type(value).__module__}-{value.dtype}"
    ),
)
def test_the_dtype_tells_the_kind(column, kind):
    frame = pl.DataFrame if isinstance(column, pl.Series) else pd.DataFrame
    assert kinds(frame({"a": column})) == [kind]


def test_columns_can_be_named_or_counted_categorical():
    X = {"age": [1.0, 2.0], "stage": [1, 2], "grade": [3, 4]}
    assert kinds(X, categorical=["stage", 2]) == ["numerical", "categorical", "categorical"]
    with pytest.raises(SettingError, match=r"\['size'\] are not among \['age'"):
        kinds(X, categorical=["size"])
    with pytest.raises(SettingError, match=r"got the text 'stage'\. Write categorical=\['stage'\]"):
        kinds(X, categorical="stage")


def test_a_column_number_outside_the_table_is_a_setting_error():
    with pytest.raises(SettingError, match="categorical"):
        kinds({"age": [1.0, 2.0]}, categorical=[5])


@pytest.mark.parametrize(
    "dates",
    [
        pd.to_datetime(["2020-01-01", None]),
        pd.to_timedelta([1, None], unit="D"),
        np.array([dt.date(2020, 1, 1), None], dtype=object),
        pd.period_range("2020-01", periods=2, freq="M").astype(object),
        pl.Series([dt.date(2020, 1, 1), None]),
        pl.Series([dt.timedelta(1), None]),
    ],
    ids=lambda value: str(value.dtype),
)
def test_dates_are_refused_by_name(dates):
    frame = pl.DataFrame if isinstance(dates, pl.Series) else pd.DataFrame
    with pytest.raises(DataError, match=r"column 'visit' holds dates or times.*age in years"):
        kinds(frame({"visit": dates}))


def test_what_is_masked_is_missing():
    table = open_table(np.ma.array([[1.0, 2.0], [3.0, 4.0]], mask=[[0, 1], [0, 0]]))
    assert np.isnan(numbers(table, Covariate("x1", "numerical"))).tolist() == [True, False]


@pytest.mark.parametrize(
    ("values", "message"),
    [(np.array([1 + 2j, 3j]), "complex numbers"), ([["a"], []], "a list in a cell")],
)
def test_one_real_value_a_row(values, message):
    with pytest.raises(DataError, match=f"column 'a' holds {message}"):
        kinds(pd.DataFrame({"a": pd.Series(values)}))


def test_lists_are_not_covariates():
    with pytest.raises(DataError, match="column 'a' holds List"):
        kinds(pl.DataFrame({"a": [[1, 2], [3]]}))


def test_columns_are_selected_by_name():
    learned = (Covariate("a", "numerical"), Covariate("b", "numerical"))
    assert select_columns(open_table({"b": [1], "a": [2]}), learned).columns == ["a", "b"]
    with pytest.warns(DataWarning, match=r"ignored: \['c'\]"):
        select_columns(open_table({"c": [0], "b": [1], "a": [2]}), learned)
    with pytest.raises(DataError, match=r"missing: \['a'\].*\['b', 'c'\]"):
        select_columns(open_table({"b": [1], "c": [2]}), learned)


def test_columns_named_by_numbers_are_read():
    table = open_table(pd.DataFrame(np.array([[1.0, 2.0]])))
    covariates = infer_covariates(table)
    assert [covariate.name for covariate in covariates] == ["0", "1"]
    selected = select_columns(table, covariates)
    assert numbers(selected, covariates[1]).tolist() == [2.0]


def test_columns_of_a_mapping_whose_row_labels_differ_are_refused_not_filled_with_gaps():
    columns = {"age": pd.Series([61.0, 47.0]), "size": pd.Series([1.0, 2.0], index=[1, 2])}
    with pytest.raises(DataError, match="of X must have the same row labels; those of 'size'"):
        open_table(columns)


def test_a_name_with_half_a_character_is_refused():
    frame = pd.DataFrame([[1.0], [2.0]], columns=pd.Index(["\ud800"], dtype=object))
    for table in (frame, {"\ud800": [1.0, 2.0]}):
        with pytest.raises(DataError, match="whole characters"):
            open_table(table)


def test_a_frame_that_is_yet_to_be_computed_is_refused_with_the_way_to_do_so():
    lazy = pl.LazyFrame({"age": [61.0, 47.0]})
    for frame in (lazy, nw.from_native(lazy)):
        with pytest.raises(DataError, match=r"LazyFrame, which is yet to be .* what \.collect\(\)"):
            open_table(frame)
