import numpy as np
import pytest

from survtrace.errors import DataError, DataWarning
from survtrace.metrics import (
    brier_score,
    brier_score_survival,
    integrated_brier_score,
    integrated_brier_score_survival,
)
from survtrace.metrics.brier import integrated_brier_scores
from survtrace.tables.outcome.outcome import Outcome

Y = {"event": [1, 2, 1, 2], "duration": [1.0, 2.0, 3.0, 4.0]}
TIMES = [1.5, 3.5]


def test_without_censoring_it_is_the_mean_squared_error():
    incidence = np.array([[0.8, 0.9], [0.1, 0.2], [0.3, 0.7], [0.0, 0.1]])
    truth = np.array([[1, 1], [0, 0], [0, 1], [0, 0]])
    expected = ((truth - incidence) ** 2).mean(axis=0)
    np.testing.assert_allclose(brier_score(Y, incidence, TIMES, cause=1), expected)
    score = integrated_brier_score(Y, incidence, TIMES, cause=1)
    assert score == pytest.approx(expected.mean())
    errors = ((truth - incidence) ** 2).mean(axis=1)
    assert score.standard_error == pytest.approx(errors.std() / 2)


def test_a_subject_censored_before_the_time_is_made_up_for_by_weights():
    y = {"event": [0, 1, 1], "duration": [1.0, 2.0, 3.0]}
    expected = 1.5 * ((1 - 0.5) ** 2 + (0 - 0.2) ** 2) / 3
    assert brier_score(y, [[0.9], [0.5], [0.2]], 2.0) == pytest.approx(expected)


def test_survival_scores_any_cause():
    survival = np.array([[0.1, 0.0], [0.9, 0.2], [0.8, 0.1], [0.9, 0.7]])
    alive = np.array([[0, 0], [1, 0], [1, 0], [1, 1]])
    expected = ((alive - survival) ** 2).mean(axis=0)
    np.testing.assert_allclose(brier_score_survival(Y, survival, TIMES), expected)
    assert integrated_brier_score_survival(Y, survival, TIMES) == pytest.approx(expected.mean())


def test_times_need_no_order_at_points():
    incidence = np.random.default_rng(0).random((4, 2))
    forward = brier_score(Y, incidence, TIMES, cause=2)
    backward = brier_score(Y, incidence[:, ::-1], TIMES[::-1], cause=2)
    np.testing.assert_array_equal(forward, backward[::-1])


def test_rounding_errors_of_probabilities_are_tolerated():
    brier_score(Y, np.full((4, 1), 1 + 1e-9), 1.0, cause=1)


@pytest.mark.parametrize("score", [brier_score, integrated_brier_score])
@pytest.mark.parametrize(
    ("incidence", "times", "message"),
    [
        ([[0, 0], [0, 1.4], [np.nan, 0], [0, 0]], TIMES, r"\[0, 1\]; 2 of 8 .*row 1, 1.4"),
        (np.zeros((3, 2)), TIMES, "incidence has 3 rows and y has 4"),
        (np.zeros((4, 3)), TIMES, r"with 2 times; got shape \(4, 3\)"),
        (np.zeros((4, 2)), [-1.0, 2.0], "not negative; 1 of 2 .*first: entry 0, -1.0"),
        (np.zeros((4, 2)), [1.0, np.nan], "not negative; 1 of 2 .*first: entry 1, nan"),
        (np.zeros((4, 2)), [[1.0, 2.0]], "times must be a flat sequence"),
    ],
)
def test_bad_input_is_refused(score, incidence, times, message):
    with pytest.raises(DataError, match=message):
        score(Y, incidence, times, cause=1)


def test_an_integral_needs_two_increasing_times():
    with pytest.raises(DataError, match="2 or more"):
        integrated_brier_score(Y, np.zeros((4, 1)), [1.0], cause=1)
    with pytest.raises(DataError, match="times must increase"):
        integrated_brier_score_survival(Y, np.zeros((4, 2)), [1.0, 1.0])


def test_the_cause_must_be_known_and_named():
    with pytest.raises(DataError, match="told which"):
        brier_score(Y, np.zeros((4, 2)), TIMES)
    with pytest.raises(DataError, match="got 'relapse'"):
        integrated_brier_score(Y, np.zeros((4, 2)), TIMES, cause="relapse")
    with pytest.raises(DataError, match="survival must lie within"):
        brier_score_survival(Y, np.full((4, 2), 3.0), TIMES)


def test_scores_of_several_causes_are_those_of_each_by_the_same_weights():
    train = {"event": [0, 1, 0, 2], "duration": [1.2, 2.0, 3.0, 4.0]}
    incidence = np.random.default_rng(0).random((4, 2, 2)) / 2
    found = integrated_brier_scores(Y, incidence, TIMES, [1, 2], y_train=train)
    for k, score in enumerate(found):
        at = {"cause": k + 1, "y_train": train}
        assert score == integrated_brier_score(Y, incidence[:, k], TIMES, **at)
        assert score != integrated_brier_score(Y, incidence[:, k], TIMES, cause=k + 1)


def test_of_one_subject_without_an_error_the_interval_is_that_of_one():
    score = integrated_brier_score({"event": [1], "duration": [5.0]}, [[0.0, 0.0]], [1.0, 2.0])
    assert score.interval() == (0.0, pytest.approx(1.959964**2 / (1 + 1.959964**2)))


def test_without_an_error_all_who_were_seen_speak_for_it():
    """Two had the event before the first time, three are followed, one was censored before."""
    y = {"event": [1, 1, 0, 1, 0, 1], "duration": [1.0, 1.5, 0.5, 3.0, 4.0, 5.0]}
    right = np.array([[1.0, 1], [1, 1], [0, 0], [0, 1], [0, 0], [0, 0]])
    score = integrated_brier_score(y, right, [2.0, 3.5])
    assert score == 0
    assert score.interval() == (0.0, pytest.approx(1.959964**2 / (5 + 1.959964**2)))


def entering_from_one():
    """Subjects of whom the first twenty enter at 1, the others later."""
    rng = np.random.default_rng(0)
    entry = 1 + np.where(np.arange(60) < 20, 0, rng.integers(0, 3, 60) / 2)
    return Outcome(entry + rng.exponential(3.0, 60), rng.integers(0, 2, 60), (1,), entry=entry)


def test_before_the_first_entry_a_score_is_nan_and_an_integral_begins_later():
    y, curves = entering_from_one(), np.tile([0.05, 0.2, 0.3], (60, 1))
    with pytest.warns(DataWarning, match=r"at 1 of 3 times \(first: 0\.5\) nobody .* is NaN"):
        found = brier_score(y, curves, [0.5, 2.0, 3.0])
    later = brier_score(y, curves[:, 1:], [2.0, 3.0])
    np.testing.assert_array_equal(found, [np.nan, *later])
    with pytest.warns(DataWarning, match="nobody has entered .* the integral leaves them out"):
        whole = integrated_brier_score(y, curves, [0.5, 2.0, 3.0])
    assert whole == integrated_brier_score(y, curves[:, 1:], [2.0, 3.0])


def test_times_in_any_order_are_refused_where_too_few_are_at_risk():
    entry = np.repeat([0.0, 2.0], [3, 57])
    y = Outcome(np.append([1.0, 1.5], np.full(58, 4.0)), np.ones(60, dtype=int), (1,), entry=entry)
    for times in ([0.5, 3.0], [3.0, 0.5]):
        with pytest.raises(DataError, match="at 1 there are 3, and the others enter later"):
            brier_score(y, np.full((60, 2), 0.5), times)
