import copy
import pickle

import numpy as np
import pytest

from survtrace.errors import SettingError
from survtrace.metrics import Score

SCORE = Score(0.7, influence=np.array([0.1, -0.1, 0.0]))


def test_a_score_prints_and_compares_as_a_float():
    assert repr(SCORE) == "0.7"
    assert SCORE == 0.7
    assert isinstance(SCORE, float)
    assert f"{SCORE:.2f}" == "0.70"


def test_the_standard_error_is_the_root_of_summed_squares():
    assert SCORE.standard_error == pytest.approx(np.sqrt(0.02))


def test_the_interval_is_normal():
    low, high = SCORE.interval(0.9)
    assert high - low == pytest.approx(2 * 1.6448536 * np.sqrt(0.02))
    assert (low + high) / 2 == pytest.approx(0.7)


@pytest.mark.parametrize("twin", [copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))])
def test_copies_keep_the_influence(twin):
    again = twin(SCORE)
    assert again == SCORE
    np.testing.assert_array_equal(again.influence, SCORE.influence)


def test_the_error_of_a_mean_is_the_textbook_one():
    values = np.array([1.0, 2.0, 4.0, 7.0])
    score = Score.of_mean(values)
    assert score == 3.5
    assert score.standard_error == pytest.approx(values.std() / 2)
    assert score.interval()[1] == pytest.approx(3.5 + 1.959964 * values.std() / 2)


def test_the_mean_of_shares_has_an_interval_within_0_and_1():
    low, high = Score.of_mean(np.ones(50), bounded=True).interval()
    assert (low, high) == (pytest.approx(50 / (50 + 1.959964**2)), 1.0)


def test_an_undefined_score_has_an_undefined_error():
    assert np.isnan(Score.undefined(3))
    assert np.isnan(Score.undefined(3).standard_error)


def within(value, error, n_effective=50):
    return Score(value, np.array([error]), n_effective=n_effective)


@pytest.mark.parametrize("value", [0.0, 0.001, 0.5, 0.98, 1.0])
@pytest.mark.parametrize("error", [0.0, 0.02, 0.3])
def test_the_interval_of_a_bounded_score_stays_within_its_bounds(value, error):
    low, high = within(value, error).interval()
    assert 0 <= low <= value <= high <= 1


def test_without_an_error_seen_the_interval_is_that_of_as_many_subjects():
    low, high = within(1.0, 0.0, n_effective=50).interval()
    assert (low, high) == (pytest.approx(50 / (50 + 1.959964**2)), 1.0)
    assert within(1 - 1e-15, 1e-17).interval() == pytest.approx((low, high))
    assert within(0.0, 0.0).interval() == pytest.approx((0.0, 1 - low))


def test_far_from_its_bounds_the_interval_is_nearly_normal():
    assert within(0.6, 0.001).interval() == pytest.approx((0.59804, 0.60196), abs=1e-5)


def test_a_bounded_score_that_cannot_vary_is_a_point():
    assert within(0.25, 0.0).interval() == (0.25, 0.25)


def test_an_undefined_bounded_score_has_no_interval():
    assert np.isnan(within(np.nan, np.nan).interval()).all()


def test_independent_errors_are_added_and_cancel_in_a_difference():
    first = Score(0.4, np.array([0.03]), np.array([0.04]))
    second = Score(0.3, np.array([0.0]), np.array([0.04]))
    assert first.standard_error == pytest.approx(0.05)
    assert first.minus(second).standard_error == pytest.approx(0.03)
    without = Score(0.3, np.array([0.0]))
    assert first.minus(without).standard_error == pytest.approx(0.05)


@pytest.mark.parametrize("level", [95, 0, None, "high"])
def test_a_level_that_is_no_share_is_refused(level):
    score = Score(0.5, influence=np.array([0.03, -0.03]))
    with pytest.raises(SettingError, match="level must lie between 0 and 1"):
        score.interval(level)


def test_a_bounded_score_beyond_its_bounds_has_the_interval_of_the_bound():
    """Weights may carry it there, though what it estimates lies within."""
    assert within(1.2, 0.1).interval() == within(1.0, 0.1).interval()
    assert within(-0.2, 0.1).interval() == within(0.0, 0.1).interval()
