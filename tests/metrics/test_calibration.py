import numpy as np
import pytest

from survtrace.errors import DataError, DataWarning, SettingError
from survtrace.metrics import (
    aalen_johansen,
    aalen_johansen_calibration,
    calibration_curve,
    kaplan_meier,
    kaplan_meier_calibration,
)

RNG = np.random.default_rng(0)
Y = {"event": RNG.integers(0, 3, 200), "duration": RNG.integers(1, 20, 200)}
TIMES = np.array([1.0, 4.0, 10.0])


def test_the_observed_curve_is_perfectly_calibrated_on_average():
    for cause in (1, 2):
        curve = np.tile(aalen_johansen(Y, cause).at(TIMES), (200, 1))
        assert aalen_johansen_calibration(Y, curve, TIMES, cause=cause) == pytest.approx(0)
    curve = np.tile(kaplan_meier(Y).at(TIMES), (200, 1))
    assert kaplan_meier_calibration(Y, curve, TIMES) == pytest.approx(0)


def test_a_constant_gap_is_squared():
    curve = np.tile(aalen_johansen(Y, 1).at(TIMES) + 0.1, (200, 1))
    assert aalen_johansen_calibration(Y, curve, TIMES, cause=1) == pytest.approx(0.01)


def test_times_with_few_subjects_left_are_left_out_with_a_warning():
    curve = np.tile(kaplan_meier(Y).at(TIMES), (200, 1))
    curve[:, 2] = 0
    with pytest.warns(DataWarning, match="1 of 3 times are left out: after 4 fewer than 80%"):
        assert kaplan_meier_calibration(Y, curve, TIMES, min_at_risk=0.8) == pytest.approx(0)
    with pytest.raises(DataError, match=r"at least two times.*1 of 3 have"):
        kaplan_meier_calibration(Y, curve, TIMES, min_at_risk=0.99)


def test_groups_compare_mean_prediction_and_observed_incidence():
    predicted = RNG.random(200)
    curve = calibration_curve(Y, predicted, 5.0, cause=2, groups=4)
    np.testing.assert_array_equal(curve.size, [50, 50, 50, 50])
    lowest = np.argsort(predicted)[:50]
    assert curve.predicted[0] == pytest.approx(predicted[lowest].mean())
    group = {"event": Y["event"][lowest], "duration": Y["duration"][lowest]}
    assert curve.observed[0] == pytest.approx(float(aalen_johansen(group, 2).at(5.0)))


def test_equal_predictions_share_a_group():
    curve = calibration_curve(Y, np.full(200, 0.3), 5.0, cause=1)
    np.testing.assert_array_equal(curve.size, [200])
    assert curve.observed[0] == pytest.approx(float(aalen_johansen(Y, 1).at(5.0)))


def test_a_group_followed_too_briefly_has_no_observed_incidence():
    y = {"event": [1, 0, 1, 0], "duration": [1.0, 2.0, 3.0, 9.0]}
    curve = calibration_curve(y, [0.1, 0.1, 0.9, 0.9], 5.0, groups=2)
    np.testing.assert_array_equal(np.isnan(curve.observed), [True, False])


def test_bad_input_is_refused():
    with pytest.raises(SettingError, match="groups must be 1 or more; got 0"):
        calibration_curve(Y, np.zeros(200), 1.0, cause=1, groups=0)
    with pytest.raises(DataError, match="incidence must lie within"):
        calibration_curve(Y, np.full(200, 2.0), 1.0, cause=1)
    with pytest.raises(DataError, match="times must increase"):
        aalen_johansen_calibration(Y, np.zeros((200, 2)), [2.0, 1.0], cause=1)


def test_the_interval_of_a_group_without_censoring_is_wilsons():
    y = {"event": [1] * 8 + [0] * 32, "duration": [1.0] * 8 + [5.0] * 32}
    curve = calibration_curve(y, np.full(40, 0.2), time=3.0, groups=1)
    assert curve.observed[0] == pytest.approx(0.2)
    assert (curve.low[0], curve.high[0]) == pytest.approx((0.1050, 0.3476), abs=1e-4)


def test_a_group_without_events_has_an_interval_that_begins_at_0():
    y = {"event": [0] * 20 + [1], "duration": [5.0] * 20 + [4.0]}
    curve = calibration_curve(y, np.full(21, 0.1), time=3.0, groups=1)
    assert curve.low[0] == 0
    assert 0.05 < curve.high[0] < 0.25


def test_censoring_widens_an_interval():
    rng = np.random.default_rng(0)
    duration, event = rng.exponential(1.0, 200), np.ones(200, dtype=int)
    censoring = rng.uniform(0, 1.5, 200)
    widths = []
    for limit in (np.full(200, 9.0), censoring):
        y = {"event": np.where(duration < limit, event, 0), "duration": np.minimum(duration, limit)}
        curve = calibration_curve(y, np.full(200, 0.5), time=0.8, groups=1)
        widths.append(curve.high[0] - curve.low[0])
    assert widths[0] < widths[1]
