"""Distances from the calibration curve, with intervals that count what chance adds to them."""

import pickle
from dataclasses import astuple

import numpy as np
import pytest

from survtrace.errors import DataWarning, SettingError
from survtrace.metrics import calibration_errors, smooth_calibration_curve

RNG = np.random.default_rng(0)
N = 2000
TRUTH = RNG.uniform(0.05, 0.6, N)
EVENT = np.where(RNG.random(N) < TRUTH, 1, 2)
Y = {"event": EVENT, "duration": RNG.uniform(1.0, 4.0, N)}


def test_they_summarise_the_distance_to_the_smooth_curve():
    found = calibration_errors(Y, TRUTH, 5.0, cause=1)
    gap = np.abs(smooth_calibration_curve(Y, TRUTH, 5.0, cause=1, at=TRUTH).observed - TRUTH)
    expected = [gap.mean(), *np.quantile(gap, [0.5, 0.9]), gap.max()]
    np.testing.assert_allclose(astuple(found)[:4], expected)


def test_intervals_hold_their_values_and_are_wider_at_a_higher_level():
    for each in astuple(calibration_errors(Y, TRUTH**1.2, 5.0, cause=1))[:4]:
        low, high = each.interval()
        assert 0 <= low <= each <= high
        wide_low, wide_high = each.interval(0.99)
        assert wide_low <= low <= high <= wide_high


def test_what_chance_explains_may_be_0_and_what_it_does_not_may_not():
    calibrated = calibration_errors(Y, TRUTH, 5.0, cause=1)
    wrong = calibration_errors(Y, TRUTH / 2, 5.0, cause=1)
    assert [each.interval()[0] for each in astuple(calibrated)[:4]] == [0.0] * 4
    distance = TRUTH / 2
    expected = [distance.mean(), *np.quantile(distance, [0.5, 0.9]), distance.max()]
    for each, truth in zip(astuple(wrong)[:4], expected, strict=True):
        low, high = each.interval()
        assert 0.5 * truth < low < truth < high


def test_they_are_the_same_each_time_and_survive_pickling():
    found = calibration_errors(Y, TRUTH, 5.0, cause=1).ici
    again = calibration_errors(Y, TRUTH, 5.0, cause=1).ici
    kept = pickle.loads(pickle.dumps(found))
    assert found.interval() == again.interval() == kept.interval()


def test_without_a_curve_there_is_no_interval():
    few = {"event": [1, 0, 0, 0], "duration": [1.0, 2.0, 3.0, 4.0]}
    with pytest.warns(DataWarning, match="the smooth calibration curve is NaN"):
        found = calibration_errors(few, [0.1, 0.2, 0.3, 0.4], 3.5)
    assert np.isnan([found.ici, *found.ici.interval()]).all()


def test_a_level_beyond_1_is_refused():
    with pytest.raises(SettingError, match="level must lie between 0 and 1"):
        calibration_errors(Y, TRUTH, 5.0, cause=1).emax.interval(95)


def test_their_ends_by_chance_run_from_0_to_the_distance_found():
    """Of 101 subjects, who stand for themselves: each is a quantile of its own."""
    some = {"event": EVENT[:101], "duration": Y["duration"][:101]}
    for each in astuple(calibration_errors(some, TRUTH[:101], 5.0, cause=1))[:4]:
        assert len(each.shrunken) == 11
        assert each.shrunken[0] == pytest.approx(0, abs=1e-12)
        assert each.shrunken[-1] == pytest.approx(each)
