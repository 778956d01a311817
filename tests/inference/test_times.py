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


@pytest.mark.parametrize("times", [[-1.0], [1.0, np.nan], [[1.0, 2.0]], -0.5], ids=str)
def test_bad_times_are_refused(times):
    with pytest.raises(DataError, match="times must be a flat sequence of numbers of zero or more"):
        read_times(times, CUTS, "constant")


@pytest.mark.parametrize("times", [["soon"], [None], "soon", [{}]], ids=str)
def test_times_that_are_no_numbers_are_refused_in_our_words(times):
    with pytest.raises(DataError, match="times must be a flat sequence of numbers"):
        read_times(times, CUTS, "constant")
