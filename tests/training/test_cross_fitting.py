"""What ways of updating are compared by: questions, and how far their answers are off."""

import numpy as np
import pytest

from survtrace.metrics import aalen_johansen
from survtrace.tables.outcome.outcome import Outcome
from survtrace.training.cross_fitting import ask, ratios


@pytest.mark.parametrize("late", [False, True], ids=["from 0 on", "at landmarks"])
def test_what_was_observed_by_the_last_time_has_a_ratio_of_1(draw_cohort, late):
    _, y = draw_cohort(300, n_causes=2)
    event, duration = y["event"].to_numpy(), y["duration"].to_numpy()
    outcome = Outcome(duration, event, (1, 2), entry=duration / 3 if late else None)
    questions = ask(outcome, end=8.0)
    assert len(questions) == (2 if late else 1)
    for question in questions:
        observed = [aalen_johansen(question.outcome, k).at(question.times) for k in (1, 2)]
        answer = np.tile(observed, (len(question.rows), 1, 1))
        assert ratios(question, answer) == pytest.approx({"1": 1.0, "2": 1.0})
        answer[:, 1] *= 2
        assert ratios(question, answer) == pytest.approx({"1": 1.0, "2": 0.5})


def test_an_event_at_the_end_of_the_grid_counts_among_those_that_choose_landmarks():
    duration = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 6.0])
    event = np.array([1, 1, 1, 1, 1, 0, 0])
    outcome = Outcome(duration, event, (1,), entry=np.full(7, 0.5))
    assert [question.after for question in ask(outcome, end=5.0)] == [1.0, 3.0]


def test_two_events_are_enough_to_ask_between_them_and_one_is_not():
    duration = np.array([1.0, 3.0, 4.0, 4.0])
    (question,) = ask(Outcome(duration, np.array([1, 1, 0, 0]), (1,)), end=4.0)
    np.testing.assert_allclose(question.times, np.linspace(1.1, 2.9, 25))
    assert ask(Outcome(duration, np.array([1, 0, 0, 0]), (1,)), end=4.0) == []


def test_without_an_event_on_the_grid_nothing_is_asked_late_or_not():
    duration, event = np.array([5.0, 6.0, 7.0]), np.array([1, 1, 0])
    for entry in (None, np.array([0.5, 0.0, 1.0])):
        assert ask(Outcome(duration, event, (1,), entry=entry), end=4.0) == []
