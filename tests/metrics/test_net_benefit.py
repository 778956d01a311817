import numpy as np
import pytest

from survtrace.errors import DataError, DataWarning
from survtrace.metrics import aalen_johansen, net_benefit, net_benefit_difference
from survtrace.metrics.inputs import read_outcome
from survtrace.tables.outcome.outcome import Outcome

RNG = np.random.default_rng(0)
Y = {"event": RNG.integers(0, 3, 200), "duration": RNG.integers(1, 20, 200)}
PREDICTED, OTHER = RNG.uniform(0.1, 0.6, (2, 200))
LATE = Outcome(
    np.asarray(Y["duration"], dtype=float) + 3,
    np.asarray(Y["event"]),
    (1, 2),
    entry=np.where(np.arange(200) % 3 == 0, 2.0, 0.0),
)
LEVELS = np.array([0.0, 0.15, 0.3, 0.45])
BOTH = pytest.mark.parametrize("y", [read_outcome(Y), LATE], ids=["from 0 on", "late entry"])


@BOTH
def test_treating_all_is_what_the_observed_incidence_says_and_treating_none_is_0(y):
    curve = net_benefit(y, PREDICTED, 9.0, LEVELS, cause=1)
    observed = float(aalen_johansen(y, 1).at(9.0))
    odds = LEVELS / (1 - LEVELS)
    np.testing.assert_allclose(curve.treat_all, observed - (1 - observed) * odds)
    np.testing.assert_array_equal(curve.treat_none, 0)
    assert [each.interval() for each in curve.treat_none] == [(0, 0)] * 4


@BOTH
def test_a_threshold_below_all_predictions_treats_all_and_one_above_treats_none(y):
    curve = net_benefit(y, PREDICTED, 9.0, [0.05, 0.7], cause=2)
    assert curve.by_prediction[0] == pytest.approx(curve.treat_all[0])
    assert curve.by_prediction[0].interval() == pytest.approx(curve.treat_all[0].interval())
    assert curve.by_prediction[1] == 0
    np.testing.assert_array_equal(curve.share_treated, [1, 0])


def test_without_censoring_it_counts_events_less_needless_treatments():
    y = {"event": np.where(Y["event"] > 0, Y["event"], 2), "duration": Y["duration"]}
    hit = (y["event"] == 1) & (y["duration"] <= 9)
    curve = net_benefit(y, PREDICTED, 9.0, LEVELS, cause=1)
    for level, score in zip(LEVELS, curve.by_prediction, strict=True):
        gain = np.where(hit, 1.0, -level / (1 - level)) * (level < PREDICTED)
        assert score == pytest.approx(gain.mean())
        assert score.standard_error == pytest.approx(gain.std() / np.sqrt(200))


def test_who_is_predicted_exactly_the_threshold_is_not_treated():
    curve = net_benefit(Y, np.full(200, 0.3), 9.0, [0.3, 0.2999], cause=1)
    np.testing.assert_array_equal(curve.share_treated, [0, 1])


def test_labels_of_causes_do_not_matter():
    named = {"event": np.array(["censored", "b", "a"])[Y["event"]], "duration": Y["duration"]}
    ours = net_benefit(Y, PREDICTED, 9.0, LEVELS, cause=2).by_prediction
    theirs = net_benefit(named, PREDICTED, 9.0, LEVELS, cause="a").by_prediction
    np.testing.assert_allclose(ours, theirs)


@BOTH
def test_a_difference_is_that_of_two_curves_and_its_sign_turns(y):
    ours = net_benefit_difference(y, PREDICTED, OTHER, 9.0, LEVELS, cause=1)
    one, other = (net_benefit(y, p, 9.0, LEVELS, cause=1).by_prediction for p in (PREDICTED, OTHER))
    np.testing.assert_allclose(ours, np.subtract(one, other))
    turned = net_benefit_difference(y, OTHER, PREDICTED, 9.0, LEVELS, cause=1)
    np.testing.assert_allclose(turned, np.negative(ours))
    errors = [[each.standard_error for each in scores] for scores in (ours, turned)]
    np.testing.assert_allclose(*errors)


def test_a_prediction_does_not_differ_from_itself():
    same = net_benefit_difference(Y, PREDICTED, PREDICTED, 9.0, LEVELS, cause=1)
    assert [each.interval() for each in same] == [(0, 0)] * 4


def test_predicting_1_treats_all_and_predicting_0_treats_none():
    curve = net_benefit(Y, PREDICTED, 9.0, LEVELS, cause=1)
    ours = net_benefit_difference(Y, np.ones(200), np.zeros(200), 9.0, LEVELS, cause=1)
    np.testing.assert_allclose(ours, curve.treat_all)


@BOTH
def test_errors_are_what_leaving_one_out_says(y):
    curve = net_benefit(y, PREDICTED, 9.0, [0.3], cause=1).by_prediction[0]
    assert curve.influence.sum() == pytest.approx(0, abs=1e-12)
    rows = [np.arange(200) != i for i in range(200)]
    others = [
        net_benefit(y.take(k), PREDICTED[k], 9.0, [0.3], cause=1).by_prediction[0] for k in rows
    ]
    error = np.sqrt(np.sum((np.array(others) - np.mean(others)) ** 2))
    assert curve.standard_error == pytest.approx(error, rel=0.03)


def test_those_above_a_threshold_may_be_followed_too_briefly():
    y = {"event": [1, 0, 1, 0], "duration": [1.0, 9.0, 3.0, 4.0]}
    with pytest.warns(DataWarning, match=r"NaN at 1 of 2 thresholds \(first: 0.5, with 2 subj"):
        curve = net_benefit(y, [0.2, 0.3, 0.8, 0.9], 5.0, [0.1, 0.5])
    np.testing.assert_array_equal(np.isnan(curve.by_prediction), [False, True])


@pytest.mark.parametrize("bad", [1.0, [-0.1, 0.2], [[0.1]], [], [np.nan]])
def test_thresholds_lie_from_0_to_below_1(bad):
    with pytest.raises(DataError, match="thresholds must be a flat sequence of numbers from 0"):
        net_benefit(Y, PREDICTED, 9.0, bad, cause=1)


def test_bad_predictions_are_named():
    with pytest.raises(DataError, match="other_incidence must lie within"):
        net_benefit_difference(Y, PREDICTED, 2 + OTHER, 9.0, LEVELS, cause=1)
