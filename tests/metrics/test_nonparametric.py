import numpy as np
import pytest

from survtrace.errors import DataError, DataWarning
from survtrace.metrics import StepFunction, aalen_johansen, kaplan_meier, nelson_aalen
from survtrace.metrics.nonparametric import event_table
from survtrace.tables.outcome.outcome import Outcome, read_outcome

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


def late(entry, duration, event, id=None, causes=(1,)):
    arrays = [np.array(duration, float), np.array(event)]
    id = None if id is None else np.array(id)
    return Outcome(*arrays, causes, entry=np.array(entry, float), id=id)


def test_who_enters_at_a_time_is_not_at_risk_then_and_who_leaves_is():
    table = event_table(late([0, 0, 1, 2], [1, 2, 2, 3], [1, 0, 1, 1]))
    np.testing.assert_array_equal(table.times, [0, 1, 2, 3])
    np.testing.assert_array_equal(table.at_risk, [0, 2, 2, 1])
    np.testing.assert_array_equal(table.entered, [2, 1, 1, 0])
    np.testing.assert_array_equal(table.censored, [0, 0, 1, 0])


def test_an_entry_of_zero_for_everybody_changes_nothing():
    y = read_outcome(TIED)
    zero = Outcome(y.duration, y.event, y.causes, entry=np.zeros(5))
    for curve in (kaplan_meier, nelson_aalen, aalen_johansen):
        np.testing.assert_array_equal(curve(zero).values, curve(y).values)
        np.testing.assert_array_equal(curve(zero).times, curve(y).times)


def test_rows_of_a_subject_that_touch_are_one_and_a_gap_is_not_at_risk():
    whole = late([0, 0], [4, 3], [1, 0])
    cut = late([0, 1, 0], [1, 4, 3], [0, 1, 0], id=[0, 0, 1])
    np.testing.assert_array_equal(event_table(cut).at_risk, event_table(whole).at_risk)
    gap = late([0, 2, 0], [1, 4, 3], [0, 1, 1], id=[0, 0, 1])
    np.testing.assert_array_equal(event_table(gap).times, [0, 1, 2, 3, 4])
    np.testing.assert_array_equal(event_table(gap).at_risk, [0, 2, 1, 2, 1])


def test_survival_that_falls_to_zero_before_all_have_entered_is_remarked_on():
    y = late([0, 2, 2], [1, 3, 4], [1, 1, 1])
    with pytest.warns(DataWarning, match="falls to 0 at 1, where all 1 at risk.* 2 subjects enter"):
        assert kaplan_meier(y).at(4.0) == 0
    with pytest.warns(DataWarning, match="falls to 0 at 1"):
        aalen_johansen(y)


def test_curves_of_late_entry_match_hand_calculation():
    y = late([0, 0, 1, 1], [1, 3, 2, 4], [1, 2, 1, 0], causes=(1, 2))
    np.testing.assert_allclose(kaplan_meier(y).at([1, 2, 3]), [1 / 2, 1 / 3, 1 / 6])
    np.testing.assert_allclose(aalen_johansen(y).at(3), [2 / 3, 1 / 6])
    np.testing.assert_allclose(nelson_aalen(y).at(3), [1 / 2 + 1 / 3, 1 / 2])
