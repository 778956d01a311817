from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from survtrace.errors import DataError, DataWarning, SettingError
from survtrace.metrics import (
    aalen_johansen,
    aalen_johansen_calibration,
    calibration_curve,
    kaplan_meier,
    kaplan_meier_calibration,
    mean_incidence,
)
from survtrace.tables.outcome.outcome import Outcome

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
    with pytest.warns(DataWarning, match=r"1 of 3 times are left out \(first: 10\).*than 80%"):
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
    with pytest.warns(DataWarning, match=r"NaN in 1 of 2 groups \(first: number 1, of 2 subjects"):
        curve = calibration_curve(y, [0.1, 0.1, 0.9, 0.9], 5.0, groups=2)
    np.testing.assert_array_equal(np.isnan(curve.observed), [True, False])


def test_bad_input_is_refused():
    with pytest.raises(SettingError, match="groups must be a whole number of at least 1; got 0"):
        calibration_curve(Y, np.zeros(200), 1.0, cause=1, groups=0)
    with pytest.raises(DataError, match="incidence must lie within"):
        calibration_curve(Y, np.full(200, 2.0), 1.0, cause=1)
    with pytest.raises(DataError, match="times must increase"):
        aalen_johansen_calibration(Y, np.zeros((200, 2)), [2.0, 1.0], cause=1)
    with pytest.raises(DataError, match="times must increase"):
        kaplan_meier_calibration(Y, np.zeros((200, 2)), [2.0, 1.0])
    with pytest.raises(SettingError, match=r"min_at_risk must be .* got 1\.5"):
        kaplan_meier_calibration(Y, np.zeros((200, 2)), [1.0, 2.0], min_at_risk=1.5)


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


def test_who_had_another_event_first_counts_as_seen_where_nobody_had_this_one():
    """Wilson's interval of 0 in 40: nobody is censored by then, of whatever they had an event."""
    y = {"event": [1] * 20 + [2] * 20, "duration": [1.0] * 20 + [5.0] * 20}
    curve = calibration_curve(y, np.full(40, 0.1), time=3.0, cause=2, groups=1)
    assert (curve.low[0], curve.high[0]) == pytest.approx((0.0, 0.0876), abs=1e-4)


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


def late_cohort(n, seed):
    """Two risk groups; half of the subjects enter late, if they are event-free then."""
    rng = np.random.default_rng(seed)
    hazard = np.where(rng.random(3 * n) < 0.5, 0.3, 1.0)
    time = rng.exponential(1 / hazard)
    entry = np.where(rng.random(3 * n) < 0.5, 0, rng.uniform(0, 1, 3 * n))
    leaves = entry + rng.uniform(0.5, 4, 3 * n)
    seen = np.flatnonzero(time > entry)[:n]
    duration, event = np.minimum(time, leaves)[seen], (time <= leaves).astype(int)[seen]
    return Outcome(duration, event, (1,), entry=entry[seen]), 1 - np.exp(-hazard[seen])


def test_late_entries_stand_for_the_population_they_came_from():
    y, predicted = late_cohort(20_000, seed=0)
    exact = (1 - np.exp(-np.array([0.3, 1.0]))).mean()
    curve = calibration_curve(y, predicted, time=1.0, groups=1)
    assert predicted.mean() < exact - 0.01  # who is seen is fitter
    np.testing.assert_allclose([curve.predicted[0], curve.observed[0]], exact, atol=0.01)
    assert curve.low[0] < exact < curve.high[0]
    assert mean_incidence(y, predicted, 1.0) == pytest.approx(curve.predicted[0], abs=1e-12)
    times = np.array([0.3, 0.6, 1.0])
    curves = 1 - (1 - predicted[:, np.newaxis]) ** times
    assert aalen_johansen_calibration(y, curves, times) < 2e-5
    assert kaplan_meier_calibration(y, 1 - curves, times) < 2e-5


def test_early_times_at_which_few_have_entered_are_left_out_with_a_warning():
    y, _ = late_cohort(2000, seed=2)
    late = y.take((y.entry > 0.2) | (np.arange(2000) < 60))
    curves = np.tile(kaplan_meier(late).at([0.05, 0.6, 1.0]), (len(late), 1))
    with pytest.warns(DataWarning, match=r"1 of 3 times are left out \(first: 0.05\)"):
        gap = kaplan_meier_calibration(late, curves, [0.05, 0.6, 1.0], min_at_risk=0.1)
    assert gap == pytest.approx(0, abs=1e-12)


def test_who_enters_after_the_time_says_nothing_of_what_happens_until_it():
    entry = np.repeat([0.0, 2.0], [50, 950])
    y = Outcome(np.full(1000, 3.0), np.ones(1000, dtype=int), (1,), entry=entry)
    seen = y.take(np.arange(50))
    few, all_ = (calibration_curve(some, np.zeros(len(some)), 1.0) for some in (seen, y))
    assert few.high[0] > 0.05
    np.testing.assert_allclose(all_.high, few.high)
    few, all_ = (mean_incidence(some, np.zeros(len(some)), 1.0) for some in (seen, y))
    assert all_.interval() == pytest.approx(few.interval())


def test_the_plain_mean_is_that_of_subjects_observed_from_the_start():
    assert mean_incidence(Y, np.linspace(0, 1, 200), 4.0) == np.linspace(0, 1, 200).mean()


def test_a_group_of_whom_few_have_entered_early_has_no_observed_incidence():
    y, predicted = late_cohort(400, seed=1)
    late = np.flatnonzero((predicted > 0.5) & ((y.entry > 0.1) | (y.duration < 0.05)))
    low = np.flatnonzero(predicted < 0.5)
    chosen = np.concatenate([late, low])
    with pytest.warns(DataWarning, match=r"NaN in 1 of 2 groups .* too few have entered"):
        curve = calibration_curve(y.take(chosen), predicted[chosen], time=1.0, groups=2)
    np.testing.assert_array_equal(np.isnan(curve.observed), [False, True])


def test_start_stop_rows_are_refused_with_the_way_out():
    rows = Outcome(
        np.array([1.0, 4.0]),
        np.array([0, 1]),
        (1,),
        entry=np.array([0.0, 1.0]),
        id=np.zeros(2, int),
    )
    for score in (calibration_curve, mean_incidence):
        with pytest.raises(DataError, match=r"2 start-stop rows of 1 subjects.*survtrace.landmark"):
            score(rows, [0.1, 0.2], 2.0)


def test_the_share_at_risk_may_be_a_fraction():
    y = {"event": [1, 0], "duration": [1.0, 2.0]}
    with pytest.raises(DataError, match=r"must have a share of 0\.333333 of the subjects"):
        kaplan_meier_calibration(y, np.full((2, 2), 0.5), [3.0, 4.0], min_at_risk=Fraction(1, 3))


def test_a_mean_over_time_needs_two_times():
    half = np.full((200, 1), 0.5)
    with pytest.raises(DataError, match="times must be a flat sequence of 2 or more"):
        aalen_johansen_calibration(Y, half, [4.0], cause=1)
    with pytest.raises(DataError, match="times must be a flat sequence of 2 or more"):
        kaplan_meier_calibration(Y, half, [4.0])


def test_of_a_censoring_tied_with_an_event_the_event_comes_first():
    y, predicted = late_cohort(400, seed=0)
    tied = replace(y, duration=np.ceil(10 * y.duration) / 10)
    later = replace(tied, duration=tied.duration + np.where(tied.event, 0, 1e-6))
    found, expected = (mean_incidence(each, predicted, 1.05) for each in (tied, later))
    assert found == pytest.approx(expected)
    np.testing.assert_allclose(found.influence, expected.influence, atol=1e-12)


def test_a_group_that_stands_for_nobody_by_then_has_no_mean_prediction():
    """The ten with the highest prediction enter at 0.5 and are all censored before 2."""
    entry = np.repeat([0.0, 0.5], [30, 10])
    duration = np.append(np.linspace(2.5, 6.0, 30), np.linspace(0.6, 1.5, 10))
    y = Outcome(duration, np.repeat([1, 0], [30, 10]), (1,), entry=entry)
    with pytest.warns(DataWarning, match="NaN in 1 of 2 groups"):
        curve = calibration_curve(y, np.repeat([0.1, 0.5], [30, 10]), 2.0, groups=2)
    np.testing.assert_allclose(curve.predicted, [0.1, np.nan])
    np.testing.assert_array_equal(curve.observed, [0.0, np.nan])


def test_times_before_the_first_entry_are_left_out_whatever_the_share_at_risk():
    y = Outcome(np.linspace(2.0, 8.0, 40), np.ones(40, dtype=int), (1,), entry=np.ones(40))
    curves = np.tile(kaplan_meier(y).at([0.5, 3.0, 4.0]), (40, 1))
    with pytest.warns(DataWarning, match=r"first: 0\.5\), at which none of 40 subjects"):
        assert kaplan_meier_calibration(y, curves, [0.5, 3.0, 4.0], min_at_risk=0) == 0
