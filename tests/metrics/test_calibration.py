import numpy as np
import pytest
from scipy.stats import chisquare

from survtrace.errors import DataError, DataWarning, SettingError
from survtrace.metrics import (
    aalen_johansen,
    aalen_johansen_calibration,
    calibration_curve,
    d_calibration,
    d_calibration_incidence,
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


def ended(n, event=1):
    return {"event": np.full(n, event), "duration": np.arange(1.0, n + 1)}


def test_without_censoring_it_is_the_chi_square_test_of_counts():
    survival = np.random.default_rng(0).beta(2, 2, 90)
    counts = np.histogram(survival, bins=np.linspace(0, 1, 11))[0]
    expected = chisquare(counts)
    result = d_calibration(ended(90), survival)
    np.testing.assert_allclose(result.proportions * 90, counts)
    assert result.statistic == pytest.approx(expected.statistic)
    assert result.p_value == pytest.approx(expected.pvalue)


def test_a_censored_subject_is_spread_over_the_bins_below():
    result = d_calibration({"event": [0], "duration": [1.0]}, [0.5], bins=4)
    np.testing.assert_allclose(result.proportions, [0.5, 0.5, 0, 0])
    result = d_calibration({"event": [0], "duration": [1.0]}, [0.6], bins=2)
    np.testing.assert_allclose(result.proportions, [5 / 6, 1 / 6])


def test_survival_of_zero_and_one_have_their_bins():
    y = {"event": [0, 1, 1], "duration": [1.0, 2.0, 3.0]}
    result = d_calibration(y, [0.0, 0.0, 1.0], bins=2)
    np.testing.assert_allclose(result.proportions, [2 / 3, 1 / 3])


def test_incidence_counts_events_below_and_spreads_the_rest_above():
    y = {"event": [1, 2, 1, 1], "duration": [1.0, 2.0, 3.0, 9.0]}
    result = d_calibration_incidence(y, [0.1, 0.2, 0.3, 0.9], np.full(4, 0.5), 5.0, cause=1, bins=4)
    np.testing.assert_allclose(result.proportions, [0.25, 0.25, 0.25, 0.25])
    assert result.p_value == pytest.approx(1)


def test_incidence_makes_up_for_censored_subjects_by_weights():
    y = {"event": [0, 1, 2], "duration": [1.0, 2.0, 3.0]}
    result = d_calibration_incidence(y, [0.1, 0.2, 0.5], np.full(3, 0.5), 3.0, cause=1, bins=2)
    np.testing.assert_allclose(result.proportions, [0.5, 0.5])


def test_incidence_beyond_usable_follow_up_is_nan_with_a_warning():
    y = {"event": [1, 1, 0], "duration": [1.0, 2.0, 3.0]}
    with pytest.warns(DataWarning, match="the test is NaN"):
        result = d_calibration_incidence(y, [0.1, 0.2, 0.5], np.full(3, 0.5), 4.0, bins=2)
    assert np.isnan(result.p_value)


def test_bins_with_few_expected_events_are_taken_together():
    rng = np.random.default_rng(0)
    at_horizon = rng.uniform(0.1, 0.5, 400)
    at_end = at_horizon * rng.random(400)
    hit = rng.random(400) < at_horizon
    y = {"event": np.where(hit, 1, 2), "duration": np.ones(400)}
    result = d_calibration_incidence(y, at_end, at_horizon, 1.0, cause=1)
    expected = [np.clip(at_horizon - low, 0, 0.1).sum() for low in np.arange(10) / 10]
    assert result.freedom == sum(each >= 10 for each in expected)
    assert len(result.proportions) == 10
    assert result.p_value > 0.01


def test_events_that_were_said_to_be_impossible_are_refused():
    nothing = np.zeros(30)
    never = d_calibration_incidence(ended(30), nothing, nothing, 30.0)
    assert never.p_value == 0
    other = d_calibration_incidence(
        ended(30, event=2) | {"event": [1] + [2] * 29}, nothing, nothing, 30.0, cause=2
    )
    assert other.p_value == 0


def test_all_subjects_certain_of_the_event_leave_one_degree_of_freedom_less():
    at_end = (np.arange(100) + 0.5) / 100
    result = d_calibration_incidence(ended(100), at_end, np.ones(100), 100.0, bins=5)
    assert (result.freedom, result.p_value) == (4, pytest.approx(1))


def test_bad_bins_are_refused():
    with pytest.raises(SettingError, match="bins must be 2 or more; got 1"):
        d_calibration(ended(3), [0.1, 0.2, 0.3], bins=1)
    with pytest.raises(DataError, match=r"survival_at_duration must lie within \[0, 1\]; 1 of 3"):
        d_calibration(ended(3), [0.1, -0.2, 0.3])
    with pytest.raises(DataError, match="incidence_at_horizon has 2 rows and y has 3"):
        d_calibration_incidence(ended(3), [0.1, 0.2, 0.3], [0.5, 0.5], 2.0)
