"""No rival predicts for a subject it was fitted on."""

import numpy as np

from survtrace.baselines import AalenJohansen, CauseSpecificCox
from survtrace.data.outcome import Outcome, read_outcome
from survtrace.report.rivals import foretell

TIMES = np.array([2.0, 5.0])


def test_a_cross_fitted_prediction_does_not_depend_on_the_subjects_own_duration(of_three_causes):
    est, (X, y) = of_three_causes.est, of_three_causes.scored
    outcome = read_outcome(y)
    duration = outcome.duration.copy()
    duration[7] = 0.01
    changed = Outcome(duration, outcome.event, outcome.causes)
    before = foretell(est, X, outcome, None, TIMES, random_state=0).foretold
    after = foretell(est, X, changed, None, TIMES, random_state=0).foretold
    assert set(before) == {"Aalen-Johansen", "Cox"}
    for name in before:
        np.testing.assert_array_equal(before[name].incidence[7], after[name].incidence[7])
        assert not np.array_equal(before[name].incidence, after[name].incidence)


def test_training_rows_are_what_rivals_are_fitted_on(of_three_causes):
    est, (X, y), train = of_three_causes.est, of_three_causes.scored, of_three_causes.train
    rows = train[0], read_outcome(train[1])
    found = foretell(est, X, read_outcome(y), rows, TIMES, random_state=0).foretold
    for name, rival in {"Aalen-Johansen": AalenJohansen(), "Cox": CauseSpecificCox()}.items():
        expected = rival.fit(*train).predict_cumulative_incidence(X, TIMES)
        np.testing.assert_allclose(found[name].incidence, expected)


def test_a_rival_that_cannot_be_fitted_is_left_out_with_its_reason(of_three_causes):
    est, (X, y) = of_three_causes.est, of_three_causes.scored
    rare = np.where(y["event"] == 3, 0, y["event"])
    rare[0] = 3
    outcome = read_outcome({"event": rare, "duration": y["duration"]})
    rivals = foretell(est, X, outcome, None, TIMES, random_state=0)
    assert list(rivals.foretold) == ["Aalen-Johansen"]
    assert rivals.left_out[0].startswith("Cox is left out: it could not be fitted")
