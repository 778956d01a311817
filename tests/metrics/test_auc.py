import numpy as np
import pytest

from survtrace.errors import DataError, DataWarning, SettingError
from survtrace.metrics import auc, auc_at

Y = {"event": [1, 2, 1, 0, 1], "duration": [1.0, 2.0, 3.0, 4.0, 5.0]}
ESTIMATE = [0.9, 0.8, 0.4, 0.3, 0.1]


def test_controls_may_include_those_who_had_another_event():
    assert auc(Y, ESTIMATE, [3.5], cause=1)[0] == pytest.approx(5 / 6)
    assert auc(Y, ESTIMATE, [3.5], cause=1, controls="event_free")[0] == 1


def test_without_cases_or_controls_it_is_nan():
    np.testing.assert_array_equal(np.isnan(auc(Y, ESTIMATE, [0.5, 1.0, 5.0], cause=1)), [1, 0, 0])
    event_free = auc(Y, ESTIMATE, [5.0], cause=1, controls="event_free")
    assert np.isnan(event_free).all()
    with pytest.warns(DataWarning, match="the area at time 0.5 is NaN: nobody had the event"):
        assert np.isnan(auc_at(Y, ESTIMATE, 0.5, cause=1))


def test_one_time_gives_a_score_with_an_error():
    score = auc_at(Y, ESTIMATE, 3.5, cause=1)
    assert score == auc(Y, ESTIMATE, [3.5], cause=1)[0]
    assert score.standard_error > 0
    assert abs(score.influence.sum()) < 1e-12


def test_one_time_beyond_training_follow_up_is_nan_with_a_warning():
    with pytest.warns(DataWarning, match="1 of 1 times lie"):
        assert np.isnan(auc_at(Y, ESTIMATE, 6.0, cause=1))


def test_an_estimate_may_change_with_time():
    by_time = np.column_stack([ESTIMATE, np.negative(ESTIMATE)])
    forward, backward = auc(Y, by_time, [3.0, 3.0], cause=1)
    assert forward == pytest.approx(1 - backward)


def test_bad_input_is_refused():
    with pytest.raises(SettingError, match=r"controls must be one of .*'everyone'"):
        auc(Y, ESTIMATE, [1.0], cause=1, controls="everyone")
    with pytest.raises(DataError, match=r"with 3 times; got shape \(5, 2\)"):
        auc(Y, np.zeros((5, 2)), [1.0, 2.0, 3.0], cause=1)
    with pytest.raises(DataError, match="finite; 10 of 10"):
        auc(Y, np.full((5, 2), np.nan), [1.0, 2.0], cause=1)
    with pytest.raises(DataError, match="estimate has 1 rows and y has 5"):
        auc(Y, [0.5], [1.0], cause=1)


def test_a_censoring_at_the_time_itself_counts_in_the_error_as_one_just_before():
    """Controls are divided by G(t), which has what happens at t; the censoring lies at 3."""
    rng = np.random.default_rng(0)
    duration = rng.integers(1, 7, 60).astype(float)
    train = {"event": rng.integers(0, 2, 60), "duration": duration}
    y = {"event": rng.integers(0, 3, 60), "duration": duration + 0.5}
    estimate = rng.normal(-duration, 3.0)
    at, just_after = (auc_at(y, estimate, t, cause=1, y_train=train) for t in (3, 3.1))
    assert at == just_after
    assert at.standard_error == pytest.approx(just_after.standard_error, rel=1e-12)
