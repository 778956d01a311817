"""No baseline predicts for a subject it was fitted on."""

import warnings

import numpy as np
import pandas as pd
import pytest

from survtrace import SurvTRACE
from survtrace.baselines import AalenJohansen, CauseSpecificCox
from survtrace.errors import DataWarning
from survtrace.report import baselines
from survtrace.report.baselines import predict_baselines
from survtrace.tables.outcome.outcome import Outcome, read_outcome

# In one process, so that what the fixtures fit is fitted once.
pytestmark = pytest.mark.xdist_group("report")
TIMES = np.array([2.0, 5.0])


def test_a_cross_fitted_prediction_does_not_depend_on_the_subjects_own_duration(of_three_causes):
    est, (X, y) = of_three_causes.est, of_three_causes.scored
    outcome = read_outcome(y)
    duration = outcome.duration.copy()
    duration[7] = 0.01
    changed = Outcome(duration, outcome.event, outcome.causes)
    before = predict_baselines(est, X, outcome, None, TIMES, random_state=0).incidences
    after = predict_baselines(est, X, changed, None, TIMES, random_state=0).incidences
    assert set(before) == {"Aalen-Johansen", "Cox", "Forest"}
    for name in before:
        np.testing.assert_array_equal(before[name][7], after[name][7])
        assert not np.array_equal(before[name], after[name])


def test_training_rows_are_what_baselines_are_fitted_on(of_three_causes):
    est, (X, y), train = of_three_causes.est, of_three_causes.scored, of_three_causes.train
    rows = train[0], read_outcome(train[1])
    found = predict_baselines(est, X, read_outcome(y), rows, TIMES, random_state=0).incidences
    cox = CauseSpecificCox(ridge="search", pool_below=10, max_columns=100, n_grid=500)
    for name, baseline in {"Aalen-Johansen": AalenJohansen(), "Cox": cox}.items():
        expected = baseline.fit(*train).predict_cumulative_incidence(X, TIMES)
        np.testing.assert_allclose(found[name], expected)


def test_a_baseline_that_cannot_be_fitted_is_left_out_with_its_reason(of_three_causes):
    est, (X, y) = of_three_causes.est, of_three_causes.scored
    rare = np.where(y["event"] == 3, 0, y["event"])
    rare[0] = 3
    outcome = read_outcome({"event": rare, "duration": y["duration"]})
    found = predict_baselines(est, X, outcome, None, TIMES, random_state=0)
    assert "Cox" not in found.incidences
    assert found.left_out[0].startswith("Cox is left out: it could not be fitted")
    assert "at least one event" in found.left_out[0]


def test_the_ridges_chosen_are_told(of_three_causes):
    notes = of_three_causes.summary.scores.notes
    assert "Cox: ridge" in notes[0]
    assert "for cause 3, chosen from 0.1 to 1000 by cross-validation" in notes[0]


def wide_table(n_subjects=600, n_levels=1500):
    """A categorical covariate with more levels than a regression can bear."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "clinic": [f"clinic {number}" for number in rng.integers(0, n_levels, n_subjects)],
            "group": rng.choice(list("abcdefgh"), n_subjects),
        }
    )
    duration = rng.exponential(1.0, n_subjects)
    return X, pd.DataFrame({"event": rng.integers(0, 3, n_subjects), "duration": duration})


def test_a_wide_categorical_table_is_pooled_and_the_report_says_so(tiny):
    X, y = wide_table()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        est = SurvTRACE(**tiny).fit(X[:400], y[:400])
    told = []
    found = predict_baselines(est, X, read_outcome(y), None, np.array([0.5]), 0, told.append)
    assert set(found.incidences) == {"Aalen-Johansen", "Cox", "Forest"}
    assert any("too rare for the baselines" in note for note in found.notes)
    assert "fitting Cox, fold 5 of 5" in told


def test_a_table_too_large_for_a_baseline_leaves_it_out(of_three_causes, monkeypatch):
    est, (X, y) = of_three_causes.est, of_three_causes.scored
    sizes = {"Cox": {"learning_rows": 50}, "Forest": {"scored_rows": 10}}
    makers = baselines._baselines
    monkeypatch.setattr(
        baselines,
        "_baselines",
        lambda *given: [each._replace(**sizes.get(each.name, {})) for each in makers(*given)],
    )
    found = predict_baselines(est, X, read_outcome(y), None, TIMES, random_state=0)
    assert list(found.incidences) == ["Aalen-Johansen", "Cox"]
    assert any("Cox learned from 50 of" in note for note in found.notes)
    assert "more than the 10 that it predicts for" in found.left_out[0]


def test_baselines_get_numbers_where_numbers_are_written_as_text(three_causes, tiny):
    """A raw export and its clean table give the baselines the same predictions."""
    X, y = three_causes
    raw = X.assign(age=[f"{age:.2f}".replace(".", ",") for age in X["age"]])
    clean = X.assign(age=X["age"].round(2))
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        for table in (clean, raw):
            est = SurvTRACE(**tiny).fit(table, y)
            times = np.array([3.0])
            told = predict_baselines(est, table, read_outcome(y), None, times, random_state=0)
            found.append(told.incidences["Cox"])
    np.testing.assert_allclose(*found, atol=1e-12)
