import numpy as np
import pytest

from survtrace.errors import DataError, DataWarning
from survtrace.metrics import aalen_johansen, brier_score_at, scaled_brier_score
from survtrace.metrics.inputs import read_outcome
from survtrace.tables.outcome.outcome import Outcome

RNG = np.random.default_rng(0)
Y = {"event": RNG.integers(0, 3, 200), "duration": RNG.integers(1, 20, 200)}
TRAIN = {"event": RNG.integers(0, 3, 300), "duration": RNG.integers(1, 20, 300)}
PREDICTED = RNG.uniform(0.1, 0.6, 200)
LATE = Outcome(
    np.asarray(Y["duration"], dtype=float) + 3,
    np.asarray(Y["event"]),
    (1, 2),
    entry=np.where(np.arange(200) % 3 == 0, 2.0, 0.0),
)


@pytest.mark.parametrize("y_train", [None, TRAIN])
def test_aalen_johansen_itself_scores_0_without_error(y_train):
    for cause in (1, 2):
        curve = np.full(200, float(aalen_johansen(Y, cause).at(9.0)))
        score = scaled_brier_score(Y, curve, 9.0, cause=cause, y_train=y_train)
        assert score == pytest.approx(0, abs=1e-12)
        if y_train is None:
            assert score.standard_error == pytest.approx(0, abs=1e-12)


def test_with_late_entry_too():
    curve = np.full(200, float(aalen_johansen(LATE, 1).at(9.0)))
    assert scaled_brier_score(LATE, curve, 9.0, cause=1) == pytest.approx(0, abs=1e-12)


def test_no_constant_scores_above_0():
    for level in (0.0, 0.1, 0.3, 0.5, 1.0):
        assert scaled_brier_score(Y, np.full(200, level), 9.0, cause=1) < 0


def test_who_knows_the_outcome_scores_1():
    y = {"event": [1, 2, 1, 2, 0], "duration": [1.0, 2.0, 3.0, 4.0, 9.0]}
    score = scaled_brier_score(y, [1, 0, 1, 0, 0], 5.0, cause=1)
    assert score == 1


def test_labels_of_causes_do_not_matter():
    named = {"event": np.array(["censored", "b", "a"])[Y["event"]], "duration": Y["duration"]}
    ours = scaled_brier_score(Y, PREDICTED, 9.0, cause=2)
    assert scaled_brier_score(named, PREDICTED, 9.0, cause="a") == pytest.approx(ours)


def test_it_is_1_less_the_ratio_of_two_brier_scores():
    curve = np.full(200, float(aalen_johansen(Y, 1).at(9.0)))
    ratio = brier_score_at(Y, PREDICTED, 9.0, cause=1) / brier_score_at(Y, curve, 9.0, cause=1)
    assert scaled_brier_score(Y, PREDICTED, 9.0, cause=1) == pytest.approx(1 - ratio)


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("y_train", [None, TRAIN])
def test_the_error_is_what_leaving_one_out_says(late, y_train):
    """Of the scored subjects; weights from others add errors of their own."""
    if late and y_train is not None:
        y_train = Outcome(
            np.asarray(TRAIN["duration"]) + 3.0, np.asarray(TRAIN["event"]), (1, 2),
            entry=np.where(np.arange(300) % 3 == 0, 2.0, 0.0),
        )  # fmt: skip
    y = LATE if late else read_outcome(Y)
    score = scaled_brier_score(y, PREDICTED, 9.0, cause=1, y_train=y_train)
    rows = [np.arange(200) != i for i in range(200)]
    others = [
        scaled_brier_score(y.take(k), PREDICTED[k], 9.0, cause=1, y_train=y_train) for k in rows
    ]
    error = np.sqrt(np.sum((np.array(others) - np.mean(others)) ** 2))
    assert np.sqrt(np.sum(score.influence**2)) == pytest.approx(error, rel=0.06)


def test_the_error_counts_that_the_observed_incidence_is_no_minimum_with_other_weights():
    """Of training subjects of whom most are censored before the horizon, as no scored one is."""
    rng = np.random.default_rng(0)
    y = read_outcome({"event": rng.integers(1, 3, 300), "duration": rng.uniform(0, 9, 300)})
    left = {"event": np.repeat([0, 1], [70, 30]), "duration": np.repeat([5.9, 9.0], [70, 30])}
    predicted, at = rng.uniform(0.1, 0.6, 300), {"horizon": 6.0, "cause": 1, "y_train": left}
    score = scaled_brier_score(y, predicted, **at)
    rows = [np.arange(300) != i for i in range(300)]
    others = np.array([scaled_brier_score(y.take(k), predicted[k], **at) for k in rows])
    np.testing.assert_allclose(score.influence, others.mean() - others, atol=5e-4)


def test_where_one_incidence_fits_everybody_there_is_nothing_to_beat():
    y = {"event": [1, 0, 2, 2], "duration": [9.0, 9.0, 1.0, 2.0]}
    with pytest.warns(DataWarning, match="observed one by 3 is 0, which errs nowhere"):
        assert np.isnan(scaled_brier_score(y, np.full(4, 0.2), 3.0, cause=1))


def test_bad_input_is_refused_and_a_late_horizon_is_nan():
    y = {"event": [1, 0, 1, 0], "duration": [1.0, 2.0, 3.0, 4.0]}
    with pytest.warns(DataWarning, match="censoring survival"):
        assert np.isnan(scaled_brier_score(y, np.full(4, 0.5), 5.0))
    with pytest.raises(DataError, match="incidence must lie within"):
        scaled_brier_score(y, np.full(4, 2.0), 2.0)


def test_the_error_of_weights_from_others_is_what_leaving_one_of_those_out_says():
    train = read_outcome(TRAIN)
    at = {"horizon": 9.0, "cause": 1}
    score = scaled_brier_score(Y, PREDICTED, **at, y_train=train)
    rows = [np.arange(300) != i for i in range(300)]
    others = np.array([scaled_brier_score(Y, PREDICTED, **at, y_train=train.take(k)) for k in rows])
    error = np.sqrt(np.sum((others - others.mean()) ** 2))
    assert np.sqrt(np.sum(score.independent**2)) == pytest.approx(error, rel=0.06)


def test_where_everybody_had_the_event_there_is_nothing_to_beat_either():
    y = {"event": [1, 1, 1], "duration": [1.0, 2.0, 3.0]}
    with pytest.warns(DataWarning, match="observed one by 3 is 1, which errs nowhere"):
        assert np.isnan(scaled_brier_score(y, np.full(3, 0.8), 3.0))
