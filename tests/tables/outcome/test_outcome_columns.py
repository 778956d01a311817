import numpy as np
import pandas as pd
import polars as pl
import pytest

from survtrace import DataError, DataWarning
from survtrace.tables.outcome.outcome_columns import (
    as_ids,
    checked_durations,
    columns_by_name,
    duration_numbers,
)


def test_durations_whose_squares_and_ratios_are_finite_are_taken():
    durations = np.array([0.0, 1e-20, 1e-18, 1.0, 1e20])
    np.testing.assert_array_equal(checked_durations(durations), durations)
    for bad, rule in ((9e-21, "0, or at least 1e-20"), (1.1e20, r"at most 1e\+20")):
        with pytest.raises(
            DataError, match=rf"duration must be {rule}, .*\(first: row 8, {str(bad)[:3]}"
        ):
            checked_durations(np.array([1.0, bad]), first_row=7)


@pytest.mark.parametrize("bound", ["<3", ">3", "\u22643", "\u22653", "~3", "3+"])
def test_of_bounds_among_durations_the_first_is_shown(bound):
    durations = np.array(["5", "7", bound, "9+"], dtype=object)
    with pytest.raises(
        DataError, match=f"in one unit; the column holds bounds such as .{bound[0]}"
    ):
        duration_numbers(durations)


def test_several_units_of_durations_are_shown():
    durations = np.array(["1 year", "2 months", "3 months"], dtype=object)
    with pytest.raises(DataError, match=r"the column holds units \['year', 'months'\]"):
        duration_numbers(durations)


@pytest.mark.parametrize("ids", [[("a", 1), ("a", 2)], ((1, 2), 3, (4, 5))], ids=repr)
def test_an_id_that_is_a_tuple_stays_one(ids):
    found = as_ids(ids)
    assert found.shape == (len(ids),)
    assert found.tolist() == list(ids)


def test_ids_of_a_mapping_may_be_tuples():
    y = {"event": [0, 1], "duration": [1.0, 2.0], "id": [("a", 1), ("a", 2)]}
    assert columns_by_name(y).id.tolist() == y["id"]


def test_durations_in_one_unit_are_read_with_a_remark():
    durations = np.array(["3 months", "5 months", ""], dtype=object)
    with pytest.warns(DataWarning, match=r"2 of 3 were read as numbers.*row 4, '3 months' is 3\)"):
        np.testing.assert_array_equal(duration_numbers(durations, first_row=4), [3, 5, np.nan])


@pytest.mark.parametrize(
    ("y", "seen"),
    [
        (np.ones((3, 2)), r"an array of shape \(3, 2\)"),
        ([1, 2, 3], r"an array of shape \(3,\)"),
        (7.5, "got float"),
    ],
    ids=["array", "list", "number"],
)
def test_an_outcome_without_names_is_refused_by_its_shape_or_type(y, seen):
    with pytest.raises(DataError, match=rf"y must name its columns.*{seen}\. A plain array"):
        columns_by_name(y)


@pytest.mark.parametrize("form", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_a_truth_value_and_a_number_of_a_frame_are_an_outcome_whatever_their_names(form):
    found = columns_by_name(form({"dead": [True, False], "days": [2.5, 3.0]}))
    assert found.event.tolist() == [True, False]
    assert (found.event.dtype.kind, found.duration.dtype.kind) == ("b", "f")
    assert found.duration.tolist() == [2.5, 3.0]


@pytest.mark.parametrize("odd", [10**400, [2.0], object], ids=["beyond floats", "list", "class"])
def test_a_duration_that_no_float_can_be_is_counted_and_its_row_named(odd):
    durations = np.array([1.0, None, odd, odd, 3], dtype=object)
    with pytest.raises(DataError, match=r"entry must be a number; 2 of 5 are not \(first: row 9,"):
        duration_numbers(durations, first_row=7, name="entry")


def test_points_that_may_part_thousands_are_asked_about():
    """A file in German, read as text, has 1.155 days beside 386."""
    with pytest.raises(DataError, match=r"'1\.155' can be 1\.155 or 1155"):
        duration_numbers(np.array(["386", "1.155", "12.005", ""], dtype=object))
    for texts in (["386", "1.155", "2.5"], ["386.000", "1.155"], ["0.155", "386"]):
        with pytest.warns(DataWarning, match="were read as numbers"):
            assert duration_numbers(np.array(texts, dtype=object)).max() == 386
