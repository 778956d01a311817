from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binomtest, norm

from survtrace.errors import DataError, DataWarning, SettingError
from survtrace.metrics import (
    aalen_johansen,
    calibration_errors,
    calibration_intercept_slope,
    smooth_calibration_curve,
)
from survtrace.metrics.calibration_regression import CalibrationSpline, read_calibration

HORIZON = 2.0


def cohort(n, seed):
    """Two causes with known incidence at the horizon, and about a quarter censored before it."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n)
    one, two = 0.25 * np.exp(0.8 * z), np.full(n, 0.15)
    first = rng.exponential(1 / (one + two))
    event = np.where(rng.random(n) < one / (one + two), 1, 2)
    ends = rng.uniform(0.5, 8, n)
    y = {"event": np.where(first <= ends, event, 0), "duration": np.minimum(first, ends)}
    return y, one / (one + two) * -np.expm1(-(one + two) * HORIZON)


def cloglog(p):
    return np.log(-np.log1p(-p))


def inverse(x):
    return -np.expm1(-np.exp(x))


def test_a_calibrated_prediction_has_intercept_0_and_slope_1():
    y, truth = cohort(20_000, 0)
    found = calibration_intercept_slope(y, truth, HORIZON, cause=1)
    assert float(found.intercept) == pytest.approx(0, abs=0.05)
    assert float(found.slope) == pytest.approx(1, abs=0.05)
    assert found.p_value > 0.01
    low, high = found.slope.interval(0.99)
    assert low < 1 < high
    errors = calibration_errors(y, truth, HORIZON, cause=1)
    assert errors.e50 <= errors.e90 <= errors.emax
    assert errors.ici < 0.01


def test_intercept_and_slope_are_those_by_which_predictions_are_off():
    y, truth = cohort(20_000, 1)
    steep = calibration_intercept_slope(y, inverse(2 * cloglog(truth)), HORIZON, cause=1)
    whole = calibration_intercept_slope(y, truth, HORIZON, cause=1)
    assert float(steep.slope) == pytest.approx(float(whole.slope) / 2)
    low = calibration_intercept_slope(y, inverse(cloglog(truth) - 0.5), HORIZON, cause=1)
    assert float(low.intercept) == pytest.approx(float(whole.intercept) + 0.5)
    assert low.intercept.standard_error == pytest.approx(whole.intercept.standard_error)
    assert max(steep.p_value, low.p_value) < 1e-6


def test_influences_sum_to_0_and_the_order_of_subjects_does_not_matter():
    y, truth = cohort(500, 2)
    found = calibration_intercept_slope(y, truth, HORIZON, cause=1)
    assert found.slope.influence.sum() == pytest.approx(0, abs=1e-7)
    back = {name: column[::-1] for name, column in y.items()}
    again = calibration_intercept_slope(back, truth[::-1], HORIZON, cause=1)
    assert float(again.slope) == pytest.approx(float(found.slope))
    np.testing.assert_allclose(again.slope.influence[::-1], found.slope.influence, atol=1e-8)


def test_the_joint_test_rejects_the_truth_about_as_often_as_it_says():
    """150 cohorts of 300; the size over many more is in the guide."""
    rejected = 0
    for seed in range(150):
        y, truth = cohort(300, 100 + seed)
        rejected += calibration_intercept_slope(y, truth, HORIZON, cause=1).p_value < 0.05
    assert binomtest(rejected, 150, 0.05).pvalue > 0.01


def test_the_ici_of_the_truth_is_that_of_chance():
    found = []
    for seed in range(60):
        y, truth = cohort(300, 300 + seed)
        errors = calibration_errors(y, truth, HORIZON, cause=1)
        found.append((errors.ici, errors.ici_by_chance))
    seen, expected = np.mean(found, axis=0)
    assert seen == pytest.approx(expected, rel=0.15)


def test_the_band_holds_the_truth_and_stays_within_0_and_1():
    y, truth = cohort(3_000, 3)
    predicted = inverse(0.3 + 0.6 * cloglog(truth))
    curve = smooth_calibration_curve(y, predicted, HORIZON, cause=1)
    assert len(curve.predicted) == 100
    assert (curve.predicted[0], curve.predicted[-1]) == (predicted.min(), predicted.max())
    assert ((curve.low < curve.observed) & (curve.observed < curve.high)).all()
    assert curve.low.min() >= 0
    assert curve.high.max() <= 1
    at = np.quantile(predicted, [0.1, 0.3, 0.5, 0.7, 0.9])
    curve = smooth_calibration_curve(y, predicted, HORIZON, cause=1, at=at)
    expected = inverse((cloglog(at) - 0.3) / 0.6)
    np.testing.assert_allclose(curve.observed, expected, atol=0.05)
    assert ((curve.low < expected) & (expected < curve.high)).mean() >= 0.8


def test_equal_predictions_have_no_slope_and_a_flat_curve():
    y, _ = cohort(400, 4)
    with pytest.warns(DataWarning, match="the calibration slope is NaN"):
        found = calibration_intercept_slope(y, np.full(400, 0.3), HORIZON, cause=1)
    observed = float(aalen_johansen(y, 1).at(HORIZON))
    assert inverse(cloglog(0.3) + float(found.intercept)) == pytest.approx(observed, abs=1e-4)
    assert np.isnan([found.slope, found.p_value]).all()
    errors = calibration_errors(y, np.full(400, 0.3), HORIZON, cause=1)
    assert errors.ici == pytest.approx(abs(observed - 0.3), abs=1e-4)
    assert errors.ici == pytest.approx(errors.emax)


def test_two_distinct_predictions_get_a_line():
    y, truth = cohort(400, 5)
    predicted = np.where(truth > np.median(truth), 0.5, 0.1)
    curve = smooth_calibration_curve(y, predicted, HORIZON, cause=1, at=[0.1, 0.5])
    for value, observed in zip([0.1, 0.5], curve.observed, strict=True):
        group = {name: column[predicted == value] for name, column in y.items()}
        expected = float(aalen_johansen(group, 1).at(HORIZON))
        assert observed == pytest.approx(expected, abs=0.02)


def test_what_cannot_be_told_is_nan_with_a_warning():
    y, truth = cohort(60, 6)
    with pytest.warns(DataWarning, match="follow-up ends at"):
        assert np.isnan(calibration_intercept_slope(y, truth, 99.0, cause=1).intercept)
    with pytest.warns(DataWarning, match="0 events of the cause by the horizon"):
        assert np.isnan(calibration_errors(y, truth, 1e-6, cause=1).ici)
    first = y["duration"][y["event"] == 1].min()
    with pytest.warns(DataWarning, match="1 events of the cause by the horizon"):
        found = calibration_intercept_slope(y, truth, first, cause=1)
    assert np.isnan([found.intercept, found.slope]).all()
    moved = np.where(np.arange(60) < 3, 0.0, truth)
    with pytest.warns(DataWarning, match="3 of 60 are 0 or 1"):
        assert np.isfinite(calibration_intercept_slope(y, moved, HORIZON, cause=1).intercept)
    y = {"event": [1, 1, 0, 0, 0, 0], "duration": [1.0, 1, 3, 3, 3, 3]}
    with pytest.warns(DataWarning, match="no finite or no unique solution"):
        found = calibration_intercept_slope(y, [0.6, 0.5, 0.2, 0.1, 0.2, 0.1], 2.0)
    assert np.isnan(found.slope)
    assert np.isfinite(found.intercept)


def test_bad_input_is_refused():
    y, truth = cohort(60, 7)
    with pytest.raises(SettingError, match=r"knots must be one of \[3, 4, 5\]; got 2"):
        smooth_calibration_curve(y, truth, HORIZON, cause=1, knots=2)
    for at in ([0.0, 0.5], [0.5, 1.0], [1.5], [[0.5]]):
        with pytest.raises(DataError, match="at must be a flat sequence"):
            smooth_calibration_curve(y, truth, HORIZON, cause=1, at=at)
    with pytest.raises(DataError, match="incidence must lie within"):
        calibration_errors(y, truth + 1, HORIZON, cause=1)
    late = {**y, "entry": np.where(np.arange(60) < 5, y["duration"] / 2, 0)}
    with pytest.raises(DataError, match=r"calibration by regression.*enter later"):
        calibration_intercept_slope(late, truth, HORIZON, cause=1)


def test_a_line_is_found_though_half_of_the_predictions_are_all_but_certain():
    """Of two distinct predictions it goes through the share of events of each."""
    events = np.concatenate([np.repeat([1, 0], [40, 60]), np.repeat([1, 0], [70, 30])])
    y = {"event": events, "duration": np.where(events == 1, 1.0, 3.0)}
    few, many = 0.9, 1 - 1e-7
    found = calibration_intercept_slope(y, np.repeat([few, many], 100), 2.0)
    slope = (cloglog(0.7) - cloglog(0.4)) / (cloglog(many) - cloglog(few))
    assert float(found.slope) == pytest.approx(slope)


@pytest.mark.parametrize(("few", "many"), [(1 - 1e-4, 1 - 1e-7), (1e-7, 1e-5)])
def test_so_it_is_though_all_of_them_are(few, many):
    """At the calibrated line the sum of squares is flat: steps from there led nowhere."""
    events = np.concatenate([np.repeat([1, 0], [30, 70]), np.repeat([1, 0], [60, 40])])
    y = {"event": events, "duration": np.where(events == 1, 1.0, 3.0)}
    predicted = np.repeat([few, many], 100)
    found = calibration_intercept_slope(y, predicted, 2.0)
    slope = (cloglog(0.6) - cloglog(0.3)) / (cloglog(many) - cloglog(few))
    assert float(found.slope) == pytest.approx(slope)
    assert np.isfinite(found.intercept)
    curve = smooth_calibration_curve(y, predicted, 2.0, at=[few, many])
    np.testing.assert_allclose(curve.observed, [0.3, 0.6])


def test_predictions_at_which_the_curve_is_wanted_may_be_fractions():
    y, truth = cohort(200, 8)
    wanted = [Fraction(1, 5), Fraction(1, 2)]
    curve = smooth_calibration_curve(y, truth, HORIZON, cause=1, at=wanted)
    same = smooth_calibration_curve(y, truth, HORIZON, cause=1, at=[0.2, 0.5])
    np.testing.assert_array_equal(curve.observed, same.observed)


def test_a_draw_as_far_up_as_the_band_reaches_is_its_upper_end():
    y, _ = cohort(400, 9)
    predicted, pseudo, n_events = read_calibration(y, np.full(400, 0.3), HORIZON, 1)
    spline = CalibrationSpline.fit(predicted, pseudo, n_events, None)
    place = predicted[:1]
    observed, low, high = spline.at(place)
    draws = norm.ppf([[0.025], [0.5], [0.975]])
    drawn = spline.shrunken(place, np.ones(1), draws)[0, :, 0] + place
    np.testing.assert_allclose(drawn, np.concatenate([low, observed, high]))


@pytest.mark.parametrize(("n_events", "n_knots"), [(29, 3), (30, 4), (99, 4), (100, 5)])
def test_there_are_three_knots_below_30_events_four_below_100_and_else_five(n_events, n_knots):
    event = np.arange(300) < n_events
    y = {"event": event.astype(int), "duration": np.where(event, 1.0, 3.0)}
    predicted = np.random.default_rng(0).permutation(np.linspace(0.1, 0.6, 300))
    chosen = smooth_calibration_curve(y, predicted, 2.0).observed
    same = {k: smooth_calibration_curve(y, predicted, 2.0, knots=k).observed for k in (3, 4, 5)}
    assert [k for k in same if np.array_equal(same[k], chosen)] == [n_knots]


@pytest.mark.parametrize("n_distinct", [3, 4, 5])
def test_as_many_distinct_predictions_as_knots_get_a_curve_through_their_shares(n_distinct):
    """Few have the smallest one, so that it is no quantile at which a knot would lie."""
    at, size = np.linspace(0.2, 0.8, n_distinct), np.array([10, 500, 500, 500, 500])[:n_distinct]
    n_events = np.array([5, 100, 300, 200, 400])[:n_distinct]
    event = np.concatenate([np.arange(n) < k for n, k in zip(size, n_events, strict=True)])
    y = {"event": event.astype(int), "duration": np.where(event, 1.0, 3.0)}
    curve = smooth_calibration_curve(y, np.repeat(at, size), 2.0, at=at, knots=n_distinct)
    np.testing.assert_allclose(curve.observed, n_events / size)


def test_a_column_of_the_spline_is_that_of_harrell():
    """Knots at -3, -2 and 0: ((x + 3)^3 - (x + 2)^3 3 / 2 + x^3 / 2) / 3^2, positive parts only."""
    spline = CalibrationSpline(np.array([-3.0, -2, 0]), np.array([0.0, 0, 1]), np.zeros((3, 3)))
    observed, _, _ = spline.at(inverse(np.array([-4.0, -2.5, -1.0, 1.0])))
    expected = [0, 0.125 / 9, (8 - 1.5) / 9, (64 - 40.5 + 0.5) / 9]
    np.testing.assert_allclose(cloglog(observed), expected, atol=1e-9)


@pytest.mark.parametrize("knots", [3, 4, 5])
def test_the_curve_is_a_line_in_cloglog_beyond_its_outer_knots(knots):
    y, truth = cohort(500, 10)
    for inner, outer in ((0.04, 0.001), (0.96, 0.999)):
        ends = cloglog(np.quantile(truth, [inner, outer]))
        at = inverse(np.linspace(*ends, 5))
        curve = smooth_calibration_curve(y, truth, HORIZON, cause=1, at=at, knots=knots)
        np.testing.assert_allclose(np.diff(cloglog(curve.observed), n=2), 0, atol=1e-9)
