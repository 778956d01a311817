"""The observed incidence at one time: where it is known, and where it is not."""

import numpy as np
import pytest

from survtrace.metrics import aalen_johansen
from survtrace.metrics.observed_incidence import observed_incidence
from survtrace.tables.outcome.outcome import Outcome


def late(n_at_first):
    """Some are observed from 0 on, of whom one has the event at 1; 40 others enter at 2."""
    entry = np.repeat([0.0, 2.0], [n_at_first, 40])
    duration = np.concatenate([[1.0], np.linspace(3.0, 9.0, n_at_first + 39)])
    return Outcome(duration, np.ones(len(entry), dtype=int), (1,), entry=entry)


def test_it_is_nan_for_everybody_if_too_few_have_entered_at_the_first_event():
    found = observed_incidence(late(n_at_first=4), 1, 5.0)
    assert np.isnan([found, *found.influence]).all()


def test_it_is_aalen_johansens_if_enough_have_entered_by_then():
    y = late(n_at_first=20)
    assert float(observed_incidence(y, 1, 5.0)) == float(aalen_johansen(y, 1).at(5.0))


def test_it_is_nan_after_the_end_of_follow_up_unless_nobody_is_left():
    ends_early = Outcome(np.array([1.0, 2.0, 3.0]), np.array([1, 1, 0]), (1,))
    all_had_it = Outcome(np.array([1.0, 2.0, 3.0]), np.array([1, 1, 1]), (1,))
    assert np.isnan(observed_incidence(ends_early, 1, 4.0))
    assert observed_incidence(all_had_it, 1, 4.0) == 1


def test_its_error_is_aalen_johansens_down_to_the_last_subject():
    y = Outcome(np.array([1.0, 2.0, 3.0, 4.0, 5.0]), np.array([1, 0, 2, 1, 1]), (1, 2))
    for cause in (1, 2):
        curve = aalen_johansen(y, cause)
        for time in y.duration:
            found = observed_incidence(y, cause, time)
            assert float(found) == float(curve.at(time))
            assert found.standard_error == pytest.approx(float(curve.standard_error(time)))
            assert found.influence.sum() == pytest.approx(0, abs=1e-15)
