"""Times are read once, and those beyond the grid get what was asked for."""

import numpy as np
import pytest

from survtrace import DataError, DataWarning, SettingError
from survtrace.inference.times import read_times

CUTS = np.array([0.0, 1.0, 4.0])


def test_times_are_the_cuts_unless_given():
    assert read_times(None, CUTS, "constant")[0].tolist() == CUTS.tolist()
    assert read_times(2, CUTS, "raise")[0].tolist() == [2.0]
    assert read_times((3, 1, 1), CUTS, "raise")[0].tolist() == [3.0, 1.0, 1.0]


def test_times_beyond_the_grid_get_what_was_asked_for():
    with pytest.warns(DataWarning, match="1 of 2 times lie beyond the grid, which ends at 4; curv"):
        assert read_times([2.0, 5.0], CUTS, "constant")[1] is None
    assert read_times([2.0, 5.0], CUTS, "nan")[1].tolist() == [False, True]
    with pytest.raises(DataError, match=r"ends at 4. Ask for earlier times"):
        read_times([2.0, 5.0], CUTS, "raise")
    assert read_times([4.0], CUTS, "raise")[1] is None
    with pytest.raises(SettingError, match=r"extrapolate must be .* got 'linear'"):
        read_times([2.0], CUTS, "linear")


@pytest.mark.parametrize("times", [[-1.0], [1.0, np.nan], [[[1.0, 2.0]]], -0.5], ids=str)
def test_bad_times_are_refused(times):
    with pytest.raises(DataError, match="times must be a flat sequence of numbers of zero or more"):
        read_times(times, CUTS, "constant")


@pytest.mark.parametrize("times", [["soon"], [None], "soon", [{}]], ids=str)
def test_times_that_are_no_numbers_are_refused_in_our_words(times):
    with pytest.raises(DataError, match="times must be a flat sequence of numbers"):
        read_times(times, CUTS, "constant")


LATE = np.array([40.0, 60.0, 80.0])


def test_each_subject_may_have_a_row_of_times():
    points, outside = read_times([[45, 55], [61, 85]], LATE, "nan")
    assert points.tolist() == [[45.0, 55.0], [61.0, 85.0]]
    assert outside.tolist() == [[False, False], [False, True]]


def test_times_before_a_late_first_cut_are_said_to_be_unknown():
    """Who asks for "the next 10 years" of a grid of ages must count from birth, not from now."""
    with pytest.warns(
        DataWarning, match="1 of 2 times lie before the grid, which begins at 40, .*"
    ):
        assert read_times([10, 50], LATE, "constant")[1] is None
    assert read_times([10, 50], LATE, "nan")[1].tolist() == [True, False]
    with pytest.raises(DataError, match=r"not from now\). Ask for later times"):
        read_times([10, 50], LATE, "raise")


def test_a_start_before_a_late_first_cut_leaves_the_future_unknown():
    with pytest.warns(DataWarning, match="1 of 2 times in conditional_after .* begins at 40: nobo"):
        assert read_times([50], LATE, "constant", after=[30, 45])[1] is None
    assert read_times([50], LATE, "nan", after=[30, 45])[1].tolist() == [[True], [False]]
    both = read_times([50, 90], LATE, "nan", after=[30, 45])[1]
    assert both.tolist() == [[True, True], [False, True]]
    with pytest.raises(DataError, match=r"is unknown. Ask from 40 on, or pass extrapolate='const"):
        read_times([50], LATE, "raise", after=30)
    assert read_times([50], LATE, "raise", after=45)[1] is None
