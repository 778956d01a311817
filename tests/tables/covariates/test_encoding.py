import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

from survtrace import DataError, DataWarning
from survtrace.tables.covariates.covariates import infer_covariates, open_table
from survtrace.tables.covariates.encoding import Encoding, learn_encoding, warn_of_idle_columns
from survtrace.tables.covariates.summary import Spread
from survtrace.tables.tasks import one_by_one

X = pd.DataFrame({"age": [40.0, 60.0, np.nan], "sex": ["m", "f", None], "fit": [True, False, True]})


def learn(frame):
    table = open_table(frame)
    return learn_encoding(table, infer_covariates(table))


def test_numbers_are_standardised_and_missing_is_a_row_of_its_own():
    encoded = learn(X).encode(open_table(X))
    assert encoded.rows[:, 0].tolist() == [1, 1, 0]
    assert encoded.values[:, 0].tolist() == [-1.0, 1.0, 1.0]
    assert encoded.rows.dtype == np.int32
    assert encoded.values.dtype == np.float32


def test_levels_have_rows_after_missing_and_unseen_in_sorted_order():
    encoded = learn(X).encode(open_table(X))
    assert encoded.rows[:, 1].tolist() == [5, 4, 2]  # rows 2 missing, 3 unseen, 4 f, 5 m
    assert encoded.values[:, 1].tolist() == [1.0, 1.0, 1.0]


def test_blocks_follow_each_other_and_silent_rows_are_known():
    encoding = learn(X)
    assert encoding.first_rows.tolist() == [0, 2, 6, 10]
    assert encoding.silent_rows == (0, 2, 3, 6, 7)
    assert encoding.names.tolist() == ["age", "sex", "fit"]
    rows = encoding.encode(open_table(X)).rows
    assert (rows >= encoding.first_rows[:-1]).all()
    assert (rows < encoding.first_rows[1:]).all()


def test_an_unseen_level_is_counted_once_and_gets_the_unseen_row():
    other = pd.DataFrame({"age": [50.0, 50.0], "sex": ["x", "f"], "fit": ["maybe", "no"]})
    with pytest.warns(DataWarning, match=r"\{'sex': 1, 'fit': 2\}") as caught:
        encoded = learn(X).encode(open_table(other))
    assert len(caught) == 1
    assert encoded.rows.tolist() == [[1, 3, 7], [1, 4, 7]]


def test_missing_values_at_prediction_need_no_missing_in_fit():
    encoding = learn({"age": [1.0, 2.0], "sex": ["f", "m"]})
    encoded = encoding.encode(open_table({"age": [np.nan], "sex": [None]}))
    assert encoded.rows.tolist() == [[0, 2]]


def test_a_column_with_nothing_in_it_can_be_missing_at_prediction():
    encoding = learn({"age": [1.0, 2.0], "sex": ["f", "m"]})
    for nothing in (
        {"age": [None], "sex": [None]},
        pd.DataFrame({"age": [None], "sex": [None]}, dtype=object),
        pl.DataFrame({"age": [None], "sex": [None]}),
    ):
        assert encoding.encode(open_table(nothing)).rows.tolist() == [[0, 2]]


def test_pandas_and_polars_are_encoded_alike():
    expected = learn(X).encode(open_table(X))
    for frame in (pl.from_pandas(X), X.convert_dtypes(), X.astype({"sex": "category"})):
        for ours in (learn(X).encode(open_table(frame)), learn(frame).encode(open_table(frame))):
            np.testing.assert_array_equal(ours.rows, expected.rows)
            np.testing.assert_array_equal(ours.values, expected.values)


def test_the_order_of_columns_and_rows_does_not_matter():
    encoding = learn(X)
    expected = encoding.encode(open_table(X))
    turned = encoding.encode(open_table(X[["fit", "age", "sex"]].iloc[::-1]))
    np.testing.assert_array_equal(turned.rows[::-1], expected.rows)
    np.testing.assert_array_equal(turned.values[::-1], expected.values)


def test_it_survives_json():
    encoding = learn(X)
    assert Encoding.from_dict(json.loads(json.dumps(encoding.as_dict()))) == encoding


def test_it_knows_between_what_values_nearly_all_training_rows_lie():
    [scale] = learn({"age": np.append(np.arange(101.0), np.nan)}).columns
    assert (scale.low, scale.typical, scale.high) == (1.0, 50.0, 99.0)


def test_it_knows_the_most_common_level():
    assert learn({"sex": ["m", "f", "f", None, None, None]}).columns[0].typical == "f"


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ({"same": [7.0, 7.0, 7.0]}, r"\{'constant': \['same'\]\}"),
        ({"same": ["x", "x", "x"]}, r"\{'constant': \['same'\]\}"),
        ({"gone": [np.nan] * 3}, r"\{'all missing': \['gone'\]\}"),
        ({"gone": [None] * 3}, r"\{'all missing': \['gone'\]\}"),
        ({"years": [40.0, 60.0, np.nan]}, r"\{'a copy of another': \['years'\]\}"),
    ],
    ids=str,
)
def test_columns_that_teach_nothing_are_named_but_kept(extra, message):
    with pytest.warns(DataWarning, match=message):
        encoding = learn(X.assign(**extra))
    encoded = encoding.encode(open_table(X.assign(**extra)))
    assert encoded.rows.shape == (3, 4)
    assert np.isfinite(encoded.values).all()


@pytest.mark.parametrize("value", [0.0, 5.0, 0.1, 0.3, 36.6, 1 / 3, -1e-9, 1e15])
def test_a_constant_column_says_nothing_whatever_it_holds_later(value):
    """The deviation of a column of 0.1 is 1e-17: one ulp moved risks from .41 to .18."""
    with pytest.warns(DataWarning, match=r"\{'constant': \['a'\]\}"):
        encoding = learn({"a": np.full(1000, value), "b": np.arange(1000.0)})
    later = [value, np.nextafter(value, np.inf), value + 1, -1e19]
    encoded = encoding.encode(open_table({"a": later, "b": np.zeros(4)}))
    assert encoded.values[:, 0].tolist() == [0.0] * 4
    assert encoded.rows[:, 0].tolist() == [1] * 4


def test_constant_to_rounding_is_constant():
    with pytest.warns(DataWarning, match=r"\{'constant': \['a'\]\}"):
        encoding = learn({"a": [0.3, 0.1 + 0.2, 0.3], "b": [1.0, 2.0, 3.0]})
    assert encoding.columns[0].deviation == 0
    encoding = learn({"a": [0.3, 0.3 + 1e-12, 0.3], "b": [1.0, 2.0, 3.0]})
    assert encoding.columns[0].deviation > 0


def test_a_column_constant_but_for_missing_values_tells_only_those_apart():
    encoding = learn({"a": [0.1, np.nan, 0.1] * 50, "b": np.arange(150.0)})
    encoded = encoding.encode(open_table({"a": [0.1, np.nan, 7.0], "b": np.zeros(3)}))
    assert encoded.rows[:, 0].tolist() == [1, 0, 1]
    assert encoded.values[:, 0].tolist() == [0.0, 1.0, 0.0]
    again = Encoding.from_dict(json.loads(json.dumps(encoding.as_dict())))
    assert again == encoding


def test_a_value_far_beyond_the_training_rows_is_refused_by_name_and_row():
    encoding = learn({"a": [1.0, 3.0], "b": [1.0, 2.0]})
    near = {"a": [1e9, -1e9], "b": [1.0, 1.0]}
    assert np.isfinite(encoding.encode(open_table(near)).values).all()
    with pytest.raises(DataError, match=r"'a' has 1 of 2 values more than 1e\+09 standard .*row 1"):
        encoding.encode(open_table({"a": [1.0, 1e12], "b": [1.0, 1.0]}))
    tiny = learn({"a": [1e-100, 3e-100], "b": [1.0, 2.0]})
    with pytest.raises(DataError, match="1 of 1 values more than"):
        tiny.encode(open_table({"a": [1e19], "b": [1.0]}))


@pytest.mark.parametrize("names", [["age"], ["age", "sex"], ["age", "sex", "fit"]], ids=len)
def test_the_design_has_a_column_for_each_row_of_the_embedding_table(names):
    encoding = learn(X[names])
    encoded = encoding.encode(open_table(X[names]))
    n_rows = int(encoding.first_rows[-1])
    expected = np.zeros((len(X), n_rows))
    for subject, (rows, values) in enumerate(zip(*encoded, strict=True)):
        expected[subject, rows] = values
    np.testing.assert_array_equal(encoded.design(n_rows).toarray(), expected)


@pytest.mark.parametrize(("n", "n_runs"), [(3, 0), (16_384, 0), (16_385, 2)])
def test_threads_get_the_columns_and_the_rows_of_large_tables_only(n, n_runs):
    runs = []

    def run(task, n_tasks):
        runs.append(n_tasks)
        one_by_one(task, n_tasks)

    encoding, table = learn({"age": [40.0, 60.0]}), open_table({"age": np.arange(n) * 1.0})
    encoded = encoding.encode(table, run=run)
    np.testing.assert_allclose(encoded.values[:, 0], (np.arange(n) - 50) / 10)
    assert runs == [1, 2][:n_runs]  # one column; two blocks of rows


def test_a_number_behind_a_category_has_the_rows_behind_those_of_its_levels():
    encoding = learn({"sex": ["f", "m"], "age": [40.0, 60.0]})
    encoded = encoding.encode(open_table({"sex": ["m", "f"], "age": [50.0, np.nan]}))
    assert encoded.rows.tolist() == [[3, 5], [2, 4]]


@pytest.mark.parametrize(("first_row", "named"), [((), "row 1"), ((100,), "row 101")])
def test_columns_that_were_read_are_counted_from_their_first_row(first_row, named):
    encoding = learn({"a": [1.0, 3.0]})
    with pytest.raises(DataError, match=rf"'a' has 1 of 2 values .*{named}\b"):
        encoding.encode_columns([np.array([1.0, 1e12])], 2, *first_row)


def test_each_covariate_needs_a_summary():
    covariates = infer_covariates(open_table({"a": [1.0, 2.0], "b": [1.0, 2.0]}))
    with pytest.raises(ValueError, match="shorter"):
        warn_of_idle_columns(covariates, [Spread.of(np.array([1.0, 2.0]))])
