import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from survtrace.errors import DataError, DataWarning
from survtrace.metrics import aalen_johansen, pseudo_values
from survtrace.tables.outcome.outcome import Outcome

HORIZON = 3.0
ROW = st.tuples(st.integers(0, 2), st.integers(1, 6))


def outcome_of(rows):
    event, duration = np.array(rows).T
    return Outcome(duration.astype(float), event, (1, 2))


@given(rows=st.lists(ROW, min_size=2, max_size=12), cause=st.sampled_from([1, 2]))
def test_each_is_what_leaving_out_its_subject_says(rows, cause):
    """Ties, a last subject alone, and a curve that falls to 0 among them."""
    outcome = outcome_of([*rows, (0, 6)])
    n = len(outcome)

    def by_horizon(some):
        return float(aalen_johansen(some, cause).at(HORIZON))

    without = [by_horizon(outcome.take(np.arange(n) != i)) for i in range(n)]
    expected = n * by_horizon(outcome) - (n - 1) * np.array(without)
    found = pseudo_values(outcome, HORIZON, cause=cause)
    np.testing.assert_allclose(found, expected, atol=1e-11)


def test_without_censoring_before_the_horizon_they_say_what_happened():
    rng = np.random.default_rng(0)
    duration, event = rng.integers(1, 9, 300), rng.integers(1, 3, 300)
    event[duration > 5] = 0
    found = pseudo_values({"event": event, "duration": duration}, 5.0, cause=2)
    np.testing.assert_allclose(found, (event == 2) & (duration <= 5), atol=1e-10)


def test_their_mean_is_aalen_johansens_estimate_up_to_the_jackknifes_bias():
    rng = np.random.default_rng(1)
    y = {"event": rng.integers(0, 3, 2000), "duration": rng.exponential(5, 2000)}
    found = pseudo_values(y, 4.0, cause=1)
    assert found.mean() == pytest.approx(float(aalen_johansen(y, 1).at(4.0)), abs=1e-4)


def test_those_of_all_causes_and_of_none_sum_to_1():
    rng = np.random.default_rng(2)
    event, duration = rng.integers(0, 3, 100), rng.integers(1, 9, 100)
    both = sum(pseudo_values({"event": event, "duration": duration}, 5, cause=k) for k in (1, 2))
    any_cause = pseudo_values({"event": event > 0, "duration": duration}, 5)
    np.testing.assert_allclose(both, any_cause, atol=1e-11)


def test_before_the_first_event_nothing_has_happened():
    y = {"event": [0, 1, 1], "duration": [2.0, 3.0, 4.0]}
    np.testing.assert_array_equal(pseudo_values(y, 1.0), np.zeros(3))


def test_a_horizon_after_the_follow_up_gives_nan_with_a_warning():
    y = {"event": [1, 0], "duration": [1.0, 2.0]}
    with pytest.warns(DataWarning, match="follow-up ends at 2, before the horizon 5"):
        assert np.isnan(pseudo_values(y, 5.0)).all()
    np.testing.assert_allclose(pseudo_values({"event": [1, 1], "duration": [1, 2]}, 5.0), [1, 1])


def test_late_entry_and_start_stop_rows_are_refused():
    late = {"event": [1, 1, 0], "duration": [2.0, 3.0, 4.0], "entry": [0.0, 1.0, 0.0]}
    with pytest.raises(DataError, match=r"observed from 0 on.*1 of 3 enter later.*landmark"):
        pseudo_values(late, 2.0)
    rows = {
        "event": [0, 1, 1],
        "duration": [1.0, 3.0, 2.0],
        "entry": [0.0, 1.0, 0.0],
        "id": [1, 1, 2],
    }
    with pytest.raises(DataError, match="3 start-stop rows of 2 subjects"):
        pseudo_values(rows, 2.0)
    with pytest.raises(DataError, match="two or more subjects; got 1"):
        pseudo_values({"event": [1], "duration": [1.0]}, 1.0)
