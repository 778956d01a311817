import numpy as np
import pytest

from survtrace import DataError
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
