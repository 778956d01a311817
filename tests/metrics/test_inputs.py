import numpy as np
import pytest

from survtrace.metrics import concordance_paper
from survtrace.metrics.inputs import pick_cause, read_horizon, read_times
from survtrace.tables.outcome.outcome import Outcome, Surv, read_outcome

EVENT, DURATION = [1, 0, 1], [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    "y",
    [
        Surv.from_arrays(EVENT, DURATION),
        {"event": EVENT, "time": DURATION},
        np.array([(True, 1.0), (False, 2.0), (True, 3.0)], dtype=[("status", "?"), ("days", "f8")]),
        read_outcome({"event": EVENT, "duration": DURATION}),
    ],
)
def test_scores_accept_every_form_of_outcome(y):
    assert concordance_paper(y, [3.0, 2.0, 1.0]) == 1


def test_the_only_cause_need_not_be_named():
    assert pick_cause(read_outcome({"event": ["death", "censored"], "duration": [1, 2]})) == 1


def test_a_declared_cause_may_be_absent_from_these_subjects():
    outcome = Outcome(np.array([1.0]), np.array([1]), ("death", "relapse"))
    assert pick_cause(outcome, "relapse") == 2


def test_one_time_may_be_a_plain_number():
    np.testing.assert_array_equal(read_times(2), [2.0])


def test_no_horizon_is_infinite():
    assert read_horizon(None) == np.inf
