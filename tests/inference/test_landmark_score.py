"""The score of a table with entry is that of those under observation at two landmarks."""

import numpy as np
import pandas as pd
import pytest

from survtrace import DataError, SurvTRACE, landmark
from survtrace.datasets import make_changing_cohort, make_cohort
from survtrace.evaluation import evaluate
from survtrace.inference.landmark_score import landmark_brier_score
from survtrace.tables.outcome.outcome import read_outcome


@pytest.fixture(scope="module")
def changing(tiny):
    """Fitted to start-stop rows of some subjects; the rows of others."""
    X, y = make_changing_cohort(400, proportions=(0.5, 0.3), random_state=0)
    learned = y["id"] < 250
    est = SurvTRACE(**{**tiny, "stay_weight": 0.0, "mortality_weight": 0.0})
    return est.fit(X[learned], y[learned]), X[~learned], y[~learned]


def test_it_is_the_mean_over_landmarks_and_causes_of_their_integrated_scores(changing):
    est, X, y = changing
    times = y["duration"][y["event"] > 0]
    at = np.quantile(times, [0.1, 0.5], method="lower")
    table = evaluate(est, X, y, landmarks=at, horizons=[1.0], n_resamples=2)
    integrated = table[table["score"] == "IBS"]["value"]
    assert len(integrated) == 4
    assert est.score(X, y) == pytest.approx(-integrated.mean())


def test_cutting_rows_leaves_it_unchanged(changing):
    est, X, y = changing
    middle = (y["entry"] + y["duration"]) / 2
    first, then = y.assign(duration=middle, event=0), y.assign(entry=middle)
    order = np.argsort(np.tile(np.arange(len(y)), 2), kind="stable")
    rows = np.tile(np.arange(len(y)), 2)[order]
    cut = pd.concat([first, then]).iloc[order].reset_index(drop=True)
    found = est.score(X.iloc[rows].reset_index(drop=True), cut)
    assert found == pytest.approx(est.score(X, y), rel=1e-9)


def test_late_entry_is_scored_at_landmarks_too(tiny):
    X, y = make_cohort(500, late_entry=0.5, random_state=0)
    half = len(X) // 2
    est = SurvTRACE(**{**tiny, "stay_weight": 0.0, "mortality_weight": 0.0})
    est.fit(X[:half], y[:half])
    later = landmark(y[half:], at=np.quantile(y["duration"][half:], 0.5))
    assert -0.25 < est.score(X[half:], y[half:]) < 0
    assert (later["entry"] == later["landmark"]).all()


def test_without_events_there_is_no_score(changing):
    est, X, y = changing
    outcome = read_outcome(y, causes=est.causes_)
    outcome.event[:] = 0
    with pytest.raises(DataError, match=r"a score needs at least one event; all \d+ rows are cens"):
        landmark_brier_score(est, X, outcome)


def test_a_file_has_the_score_of_its_table(changing, tmp_path):
    est, X, y = changing
    roles = {"event": "event", "duration": "duration", "entry": "entry", "id": "id"}
    X.assign(**y).to_parquet(path := tmp_path / "rows.parquet")
    assert est.score(path, roles) == pytest.approx(est.score(X, y), rel=1e-12)
