"""Who belongs to which group of a column, and what the groups are called."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from survtrace.errors import DataError, DataWarning
from survtrace.evaluation.subgroups import group_columns, read_groups
from survtrace.tables.covariates.covariates import open_table


def named(table, by, **settings):
    return {group.name: group.rows.sum() for group in read_groups(table, by, **settings)}


def test_a_name_tells_truly_who_is_in_the_group():
    years = np.repeat(np.arange(1995, 2004), 10)
    groups = read_groups({"year": years}, "year")
    assert [group.name for group in groups] == ["below 1998", "1998 to below 2001", "2001 or more"]
    np.testing.assert_array_equal(groups[1].rows, (years >= 1998) & (years < 2001))
    close = {"x": [0.12341, 0.12342, 0.12343, 0.12344, 0.12345, 0.12346]}
    assert list(named(close, "x", cuts={"x": [0.12344]})) == ["below 0.12344", "0.12344 or more"]


def test_codes_and_texts_are_groups_of_their_own_in_order():
    table = {
        "code": [3.0, 1.0, np.nan, 10.0],
        "text": ["b", None, "a", "a"],
        "told": [True, False, True, True],
    }
    assert named(table, "code") == {"1": 1, "3": 1, "10": 1, "missing": 1}
    assert named(table, "text") == {"a": 2, "b": 1, "missing": 1}
    assert named(table, "told") == {"False": 1, "True": 3}


def test_ordered_categories_keep_their_order():
    stage = pd.Categorical(["low", "high", "low"], categories=["low", "mid", "high"], ordered=True)
    assert named(pd.DataFrame({"stage": stage}), "stage") == {"low": 2, "high": 1}


def test_polars_and_pandas_give_the_same_groups():
    table = {"age": [None, *range(30, 60)], "sex": ["f", "m", None] * 10 + ["f"]}
    one, other = (named(kind(table), ["age", "sex"]) for kind in (pd.DataFrame, pl.DataFrame))
    assert one == other
    assert one["below 40"] == 10
    assert one["missing"] == 10


def test_every_value_of_a_centre_is_a_centre():
    table = {"ward": np.arange(80) % 60}
    assert len(read_groups(table, None, centre="ward")) == 60
    assert {group.column for group in read_groups(table, None, centre=table["ward"])} == {"centre"}


def test_a_column_named_twice_is_the_centre():
    table = {"ward": np.arange(80) % 60}
    assert len(read_groups(table, ["ward"], centre="ward")) == 60


def test_most_subjects_alike_leave_fewer_groups():
    counts = named({"visits": [0] * 50 + list(range(1, 11))}, "visits")
    assert counts == {"below 1": 50, "1 or more": 10}


def test_thirds_are_cut_at_short_numbers():
    x = np.random.default_rng(0).normal(50.0, 10.0, 900)
    counts = named({"x": x}, "x")
    assert list(counts) == ["below 45", "45 to below 54", "54 or more"]
    assert np.abs(np.array(list(counts.values())) - 300).max() < 40


@pytest.mark.parametrize("cuts", [[], [np.nan], [np.inf]])
def test_cuts_that_are_no_numbers_are_refused(cuts):
    with pytest.raises(DataError, match="cuts must be finite numbers"):
        read_groups({"x": np.arange(9.0)}, "x", cuts={"x": cuts})


@pytest.mark.parametrize("by", [3, [3], b"sex", {"sex"}], ids=str)
def test_what_can_name_no_columns_is_refused(by):
    for ask in (read_groups, lambda table, by: group_columns(by, None)):
        with pytest.raises(DataError, match="by must be the name of a column, several, or"):
            ask({"sex": ["f", "m"]}, by)


def test_dates_are_refused_by_name():
    with pytest.raises(DataError, match="'day' holds dates"):
        read_groups(pd.DataFrame({"day": pd.to_datetime(["2020-01-01"])}), "day")


def test_values_with_labels_are_taken_in_the_order_of_the_table():
    table = pd.DataFrame({"age": [40.0, 50.0, 60.0]}, index=list("abc"))
    ward = pd.Series(["north", "north", "south"], index=list("bca"))
    with pytest.warns(DataWarning, match="ward is taken in the order of X"):
        groups = read_groups(table, {"ward": ward})
    assert [group.rows.tolist() for group in groups] == [[False, True, True], [True, False, False]]


def test_a_text_that_says_missing_is_that_group():
    groups = read_groups({"smoking": ["missing", "yes", None, "no"]}, "smoking")
    assert [(group.name, int(group.rows.sum())) for group in groups] == [
        ("no", 1),
        ("yes", 1),
        ("missing", 2),
    ]
    both = read_groups({"smoking": ["missing", "yes"]}, "smoking")
    assert [group.name for group in both] == ["yes", "missing"]


def test_whole_numbers_beyond_any_float_are_labels_as_others():
    (group,) = read_groups(open_table({"age": [61.0]}), None, [10**400], None)
    assert len(group.name) == 401
