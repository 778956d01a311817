import pickle

import numpy as np
import pytest

from survtrace.errors import DataError, DataWarning
from survtrace.metrics import aalen_johansen, mean_incidence, observed_expected_ratio
from survtrace.metrics.inputs import read_outcome
from survtrace.metrics.observed_incidence import observed_incidence
from survtrace.tables.outcome.outcome import Outcome

RNG = np.random.default_rng(0)
Y = {"event": RNG.integers(0, 3, 200), "duration": RNG.integers(1, 20, 200)}
PREDICTED = RNG.uniform(0.1, 0.6, 200)
LATE = Outcome(
    np.asarray(Y["duration"], dtype=float) + 3,
    np.asarray(Y["event"]),
    (1, 2),
    entry=np.where(np.arange(200) % 3 == 0, 2.0, 0.0),
)


@pytest.mark.parametrize("y", [Y, LATE], ids=["from 0 on", "late entry"])
@pytest.mark.parametrize("cause", [1, 2])
def test_aalen_johansen_itself_has_a_ratio_of_1(y, cause):
    curve = np.full(200, float(aalen_johansen(y, cause).at(9.0)))
    ratio = observed_expected_ratio(y, curve, 9.0, cause=cause)
    assert ratio == pytest.approx(1)
    low, high = ratio.interval()
    assert low < 1 < high
    assert low * high == pytest.approx(1)


def test_twice_the_prediction_halves_ratio_and_interval():
    once = observed_expected_ratio(Y, PREDICTED / 2, 9.0, cause=1)
    twice = observed_expected_ratio(Y, PREDICTED, 9.0, cause=1)
    assert once == pytest.approx(2 * twice)
    np.testing.assert_allclose(once.interval(), 2 * np.array(twice.interval()))


def test_labels_of_causes_do_not_matter():
    named = {"event": np.array(["censored", "b", "a"])[Y["event"]], "duration": Y["duration"]}
    ours = observed_expected_ratio(Y, PREDICTED, 9.0, cause=2)
    assert observed_expected_ratio(named, PREDICTED, 9.0, cause="a") == pytest.approx(ours)


def test_it_is_the_observed_over_the_mean_prediction():
    ratio = observed_expected_ratio(LATE, PREDICTED, 9.0, cause=1)
    assert ratio.observed == pytest.approx(float(aalen_johansen(LATE, 1).at(9.0)))
    assert ratio.expected == pytest.approx(float(mean_incidence(LATE, PREDICTED, 9.0)))
    assert ratio == pytest.approx(ratio.observed / ratio.expected)


@pytest.mark.parametrize("y", [read_outcome(Y), LATE], ids=["from 0 on", "late entry"])
def test_influences_on_the_observed_sum_to_0_and_are_what_leaving_one_out_changes(y):
    observed = observed_incidence(y, 1, 9.0)
    assert observed.influence.sum() == pytest.approx(0, abs=1e-12)
    others = [observed_incidence(y.take(np.arange(200) != i), 1, 9.0) for i in range(200)]
    np.testing.assert_allclose(observed.influence, float(observed) - np.array(others), atol=3e-4)


def test_late_entry_is_counted_in_the_ratio_as_leaving_one_out_says():
    ratio = observed_expected_ratio(LATE, PREDICTED, 9.0, cause=1)
    rows = [np.arange(200) != i for i in range(200)]
    others = [observed_expected_ratio(LATE.take(k), PREDICTED[k], 9.0, cause=1) for k in rows]
    error = np.sqrt(np.sum((np.array(others) - np.mean(others)) ** 2))
    assert ratio.standard_error == pytest.approx(error, rel=0.03)


@pytest.mark.parametrize(("horizon", "observed"), [(3.0, 0), (9.0, 1)])
def test_if_nobody_or_everybody_had_the_event_the_interval_is_wilsons(horizon, observed):
    y = {"event": [1, 1, 1, 1], "duration": [9.0, 9.0, 8.0, 7.0]}
    ratio = observed_expected_ratio(y, np.full(4, 0.2), horizon)
    assert ratio == observed / 0.2
    assert ratio.interval() == pytest.approx(np.array(ratio.observed.interval()) / 0.2)
    low, high = ratio.interval()
    assert high - low > 1


def test_a_follow_up_that_ends_early_gives_nan_and_a_warning():
    y = {"event": [1, 0, 1, 0], "duration": [1.0, 2.0, 3.0, 4.0]}
    with pytest.warns(DataWarning, match="follow-up ends at 4, before the horizon 5"):
        ratio = observed_expected_ratio(y, np.full(4, 0.5), 5.0)
    assert np.isnan([ratio, *ratio.interval()]).all()


def test_it_survives_pickling():
    ratio = observed_expected_ratio(Y, PREDICTED, 9.0, cause=1)
    again = pickle.loads(pickle.dumps(ratio))
    assert (again, again.interval()) == (ratio, ratio.interval())


def test_bad_input_is_refused():
    with pytest.raises(DataError, match="mean prediction above 0; all 200 are 0"):
        observed_expected_ratio(Y, np.zeros(200), 9.0, cause=1)
    with pytest.raises(DataError, match="above 0; all 200 are 1e-300 or less"):
        observed_expected_ratio(Y, np.full(200, 1e-300), 9.0, cause=1)
    with pytest.raises(DataError, match="must be told which"):
        observed_expected_ratio(Y, PREDICTED, 9.0)
    rows = Outcome(
        np.array([1.0, 2.0, 3.0]), np.array([0, 1, 1]), (1,), entry=np.array([0.0, 1.0, 0.0]),
        id=np.array([0, 0, 1]),
    )  # fmt: skip
    with pytest.raises(DataError, match="ratio needs one row for each subject"):
        observed_expected_ratio(rows, np.full(3, 0.5), 2.0)


def test_the_smallest_predictions_that_are_taken_have_a_finite_interval():
    ratio = observed_expected_ratio(Y, np.full(200, 1e-100), 9.0, cause=1)
    assert ratio == pytest.approx(1e100 * float(aalen_johansen(Y, 1).at(9.0)))
    assert np.isfinite(ratio.interval()).all()
