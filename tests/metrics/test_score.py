import copy
import pickle

import numpy as np
import pytest

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


def test_an_undefined_score_has_an_undefined_error():
    assert np.isnan(Score.undefined(3))
    assert np.isnan(Score.undefined(3).standard_error)
