import pickle

import numpy as np
import pytest

from survtrace.errors import DataWarning
from survtrace.metrics import (
    CensoringSurvival,
    auc,
    brier_score,
    censoring_survival,
    concordance_cause_specific,
    concordance_paper,
    integrated_brier_score,
)

TRAIN = {"event": [1, 0, 1, 0, 0], "duration": [1.0, 2.0, 2.0, 3.0, 4.0]}


def test_of_tied_times_the_event_comes_first():
    np.testing.assert_allclose(censoring_survival(TRAIN).values, [1, 2 / 3, 1 / 3, 0])


def test_other_causes_count_as_censored_on_request():
    y = {"event": [1, 2, 1], "duration": [1.0, 2.0, 3.0]}
    np.testing.assert_array_equal(censoring_survival(y).values, [1, 1, 1])
    np.testing.assert_array_equal(censoring_survival(y, cause=1).values, [1, 0.5, 0.5])


def test_without_censoring_it_is_one_and_unknown_after_the_longest_duration():
    G = censoring_survival({"event": [1, 1], "duration": [1.0, 5.0]})
    np.testing.assert_array_equal(G.at([0, 5]), [1, 1])
    assert G.last_usable == 5.0
    np.testing.assert_array_equal(G.inverse([5.0, 5.1]), [1, np.nan])


def test_the_last_usable_time_is_just_before_it_falls_below_the_floor():
    G = censoring_survival(TRAIN, floor=0.5)
    assert G.last_usable == np.nextafter(3.0, 0)
    np.testing.assert_allclose(G.inverse([2.999, 3.0]), [1.5, np.nan])


def test_it_divides_by_left_limits_too():
    G = censoring_survival(TRAIN)
    np.testing.assert_allclose(G.inverse_before([2.0, 3.0]), [1.0, 1.5])


def test_it_can_be_stored_as_plain_arrays():
    G = censoring_survival(TRAIN, floor=0.4)
    again = CensoringSurvival(np.array(G.times.tolist()), np.array(G.values.tolist()), floor=0.4)
    assert again.last_usable == G.last_usable
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(G)).at([1, 3]), G.at([1, 3]))


TEST = {"event": [1, 1, 0, 1, 1], "duration": [1.0, 2.5, 3.5, 6.0, 7.0]}
ESTIMATE = [0.9, 0.4, 0.5, 0.3, 0.1]


@pytest.mark.parametrize("score", [concordance_paper, concordance_cause_specific])
def test_events_beyond_training_follow_up_truncate_a_concordance_with_one_warning(score):
    with pytest.warns(DataWarning, match="2 of 4 events lie; the score is truncated") as seen:
        truncated = score(TEST, ESTIMATE, y_train=TRAIN)
    assert len(seen) == 1
    assert seen[0].filename == __file__
    assert truncated == score(TEST, ESTIMATE, horizon=3.9, y_train=TRAIN)


@pytest.mark.parametrize("score", [brier_score, auc])
def test_times_beyond_training_follow_up_are_nan_with_one_warning(score):
    prediction = np.column_stack([ESTIMATE] * 3)
    times = [1.0, 2.0, 5.0]
    with pytest.warns(DataWarning, match="1 of 3 times lie and 2 of 5 subjects") as seen:
        values = score(TEST, prediction, times, y_train=TRAIN)
    assert len(seen) == 1
    assert seen[0].filename == __file__
    np.testing.assert_array_equal(np.isnan(values), [False, False, True])


def test_an_integral_ends_where_the_censoring_survival_does():
    prediction = np.column_stack([ESTIMATE] * 4)
    with pytest.warns(DataWarning, match="the integral ends there") as seen:
        truncated = integrated_brier_score(TEST, prediction, [1, 2, 5, 6], y_train=TRAIN)
    assert len(seen) == 1
    assert truncated == integrated_brier_score(TEST, prediction[:, :2], [1, 2], y_train=TRAIN)


def test_an_integral_with_fewer_than_two_times_left_is_nan():
    prediction = np.column_stack([ESTIMATE] * 2)
    with pytest.warns(DataWarning, match="1 of 2 times"):
        assert np.isnan(integrated_brier_score(TEST, prediction, [1, 5], y_train=TRAIN))


def test_a_floor_of_ones_own_is_respected():
    G = censoring_survival(TRAIN, floor=0.5)
    with pytest.warns(DataWarning, match=r"below 0\.5 or unknown after time 3"):
        brier_score(TEST, ESTIMATE, 3.0, y_train=G)
