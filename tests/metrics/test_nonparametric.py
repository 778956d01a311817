import numpy as np
import pytest

from survtrace.errors import DataError
from survtrace.metrics import StepFunction, aalen_johansen, kaplan_meier, nelson_aalen
from survtrace.metrics.nonparametric import event_table
from survtrace.tables.outcome.outcome import read_outcome

TIED = {"event": [1, 1, 0, 2, 0], "duration": [1.0, 1.0, 1.0, 2.0, 3.0]}


def test_a_step_function_includes_a_jump_at_its_time_and_leaves_it_out_just_before():
    curve = StepFunction(np.array([1.0, 3.0]), np.array([0.6, 0.2]), initial=1.0)
    np.testing.assert_array_equal(curve.at([0, 1, 2, 3, 9]), [1, 0.6, 0.6, 0.2, 0.2])
    np.testing.assert_array_equal(curve.before([0, 1, 2, 3, 9]), [1, 1, 0.6, 0.6, 0.2])


def test_a_step_function_of_several_curves_keeps_their_axis():
    curves = StepFunction(np.array([1.0]), np.array([[0.3], [0.4]]))
    assert curves.at([0.5, 1.0, 2.0]).shape == (2, 3)
    np.testing.assert_array_equal(curves.at(5.0), [0.3, 0.4])


def test_the_event_table_counts_ties_once():
    table = event_table(read_outcome(TIED))
    np.testing.assert_array_equal(table.times, [1, 2, 3])
    np.testing.assert_array_equal(table.at_risk, [5, 2, 1])
    np.testing.assert_array_equal(table.events, [[2, 0, 0], [0, 1, 0]])
    np.testing.assert_array_equal(table.censored, [1, 0, 1])


def test_curves_of_tied_events_match_hand_calculation():
    np.testing.assert_allclose(kaplan_meier(TIED).values, [0.6, 0.3, 0.3])
    np.testing.assert_allclose(nelson_aalen(TIED).values, [[0.4, 0.4, 0.4], [0, 0.5, 0.5]])
    np.testing.assert_allclose(aalen_johansen(TIED).values, [[0.4, 0.4, 0.4], [0, 0.3, 0.3]])


def test_without_events_survival_stays_one():
    y = {"event": [0, 0], "duration": [1.0, 2.0]}
    np.testing.assert_array_equal(kaplan_meier(y).values, [1, 1])
    assert aalen_johansen(y).values.shape == (0, 2)


def test_text_causes_are_asked_for_by_label():
    y = {"event": ["relapse", "censored", "death"], "duration": [1.0, 2.0, 3.0]}
    assert aalen_johansen(y, cause="death").at(3.0) == pytest.approx(2 / 3)


def test_an_absent_cause_is_refused():
    with pytest.raises(DataError, match=r"one of the labels \[1, 2\]; got 3"):
        aalen_johansen(TIED, cause=3)


def test_an_empty_outcome_is_refused():
    with pytest.raises(DataError, match="at least one subject; got none"):
        kaplan_meier({"event": np.array([], int), "duration": np.array([], float)})
