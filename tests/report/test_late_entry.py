"""Reports on subjects who entered late, and on start-stop rows: scored at landmarks."""

import numpy as np
import pandas as pd
import pytest

from survtrace import SurvTRACE
from survtrace.evaluation import evaluate
from survtrace.report import collect, render
from survtrace.report.at_landmark import AtLandmark, choose_landmarks
from survtrace.report.description import describe
from survtrace.tables.landmarks import after_landmark
from survtrace.tables.outcome.outcome import read_outcome

# In one process, so that what the fixtures fit is fitted once.
pytestmark = pytest.mark.xdist_group("report")
WITHOUT_TASKS = {"mortality_weight": 0.0, "stay_weight": 0.0, "time_unit": "years"}


def aged(y, seed=0):
    """The same follow-up with age as the clock; people enter between 50 and 60."""
    entry = np.random.default_rng(seed).uniform(50, 60, len(y))
    return y.assign(entry=entry, duration=entry + y["duration"])


def cut(X, y, seed=0):
    """The same subjects in start-stop rows, cut once or not at all; their size changes then."""
    rng = np.random.default_rng(seed)
    half = y["duration"] * rng.uniform(0.2, 0.8, len(y))
    early, late = y.assign(id=range(len(y)), entry=0.0), y.assign(id=range(len(y)), entry=half)
    early = early.assign(event=0, duration=half)
    twice = rng.random(len(y)) < 0.5
    whole = y.assign(id=range(len(y)), entry=0.0)[~twice]
    rows = pd.concat([early[twice], late[twice], whole]).sort_values(["id", "entry"])
    return X.loc[rows.index].assign(size=rng.gamma(2, 3, len(rows))).reset_index(drop=True), (
        rows.reset_index(drop=True)
    )


@pytest.fixture(scope="session")
def by_age(draw_cohort, tiny):
    X, y = draw_cohort(420, 2, seed=3)
    X, y = X.drop(columns="age"), aged(y)
    est = SurvTRACE(**tiny, **WITHOUT_TASKS, time_name="age").fit(X[:220], y[:220])
    return est, X[220:], y[220:], collect(est, X[220:], y[220:], n_repeats=1)


@pytest.fixture(scope="session")
def start_stop(draw_cohort, tiny):
    X, y = cut(*draw_cohort(400, 2, seed=4))
    train = (y["id"] < 220).to_numpy()
    est = SurvTRACE(**tiny, **WITHOUT_TASKS).fit(X[train], y[train])
    scored = X[~train], y[~train]
    return est, *scored, collect(est, *scored, n_repeats=1, train=(X[train], y[train]))


def test_who_entered_when_and_who_is_at_risk_are_counted(by_age):
    _, _, y, summary = by_age
    seen = summary.cohort.observation
    assert seen.n_late == len(y)
    assert seen.entries[0] == y["entry"].min()
    assert seen.entries[2] == pytest.approx(y["entry"].median())
    assert seen.total == pytest.approx((y["duration"] - y["entry"]).sum())
    for row in seen.at_risk.itertuples():
        assert row.subjects == ((y["entry"] < row.time) & (row.time <= y["duration"])).sum()
    assert summary.cohort.median_follow_up < 30  # years since entry, not an age


def test_a_page_by_age_speaks_of_ages_and_begins_where_the_curves_do(by_age):
    est, _, _, summary = by_age
    page = render(summary).replace("\N{NO-BREAK SPACE}", " ")
    assert summary.cohort.times[0] == (summary.cohort.since or est.time_grid_[0]) >= 50
    for words in ("Everybody came under observation late", "the clock is age", "At risk"):
        assert words in page
    for patient in summary.patients.each:
        assert patient.times[0] == patient.entry == summary.scores.landmark
        np.testing.assert_allclose(patient.incidence[:, 0], 0, atol=1e-12)
        assert f"From age {patient.entry:.4g} years on" in page


def test_scores_at_landmarks_are_those_of_evaluate(start_stop):
    est, X, y, summary = start_stop
    landmarks = summary.scores.landmarks
    for landmark in landmarks["landmark"].unique():
        there = landmarks[landmarks["landmark"] == landmark]
        own = evaluate(est, X, y, landmarks=[landmark], horizons=[there["by"].iloc[0]])
        np.testing.assert_allclose(there["value"].astype(float), own["value"].astype(float))
        entered = (y["entry"] <= landmark) & (y["duration"] > landmark)
        assert (there["at_risk"] == entered.sum()).all()


def test_start_stop_rows_are_scored_at_a_landmark_beside_cox(start_stop):
    _, _, y, summary = start_stop
    scores = summary.scores
    assert scores.landmark in choose_landmarks(read_outcome(y))
    assert scores.methods == ["SurvTRACE", "Aalen-Johansen", "Cox"]
    assert "Forest is left out" in scores.left_out[0]
    rows, future = after_landmark(read_outcome(y), scores.landmark)
    assert scores.n_scored == len(rows)
    assert scores.n_events == future.n_events
    page = render(summary).replace("\N{NO-BREAK SPACE}", " ")
    for words in ("Scored at a landmark", "after the landmark", "start-stop rows", "At landmarks"):
        assert words in page


def test_a_subject_counts_once_however_many_rows_it_has(start_stop):
    est, X, y, summary = start_stop
    cohort = summary.cohort
    assert cohort.n_subjects == y["id"].nunique() < cohort.n_rows == len(y)
    last = y.groupby("id").last()
    assert cohort.n_censored == (last["event"] == 0).sum()
    assert cohort.observation.most_rows == 2
    assert cohort.observation.n_late == cohort.observation.n_gaps == 0
    gap = y.assign(duration=np.where(y["id"].duplicated(keep="last"), 0.9, 1) * y["duration"])
    assert describe(est, X, read_outcome(gap)).observation.n_gaps == len(y) - y["id"].nunique()


def test_where_too_few_were_observed_early_subjects_are_scored_at_a_landmark(draw_cohort, tiny):
    X, y = draw_cohort(400, 2, seed=5)
    y = y.assign(entry=1.5, duration=y["duration"] + 2)
    y.loc[[0, 1, 200, 201], ["entry", "duration", "event"]] = [0.0, 0.5, 1]
    y.loc[[1, 201], "duration"] = 1.0
    est = SurvTRACE(**tiny, **WITHOUT_TASKS).fit(X[:200], y[:200])
    assert est.time_grid_[0] == 0
    summary = collect(est, X[200:], y[200:], n_repeats=1)
    assert summary.scores.landmark is not None
    [remark] = [each for each in summary.remarks if each.startswith("Subjects are scored")]
    assert "at risk" in remark
    assert "survtrace.landmark" not in remark


def test_where_some_were_observed_from_the_start_scores_count_from_there(draw_cohort, tiny):
    X, y = draw_cohort(400, 2, seed=6)
    entry = np.where(np.arange(400) % 2, 0.0, 0.3 * y["duration"])
    est = SurvTRACE(**tiny, **WITHOUT_TASKS).fit(X[:200], y.assign(entry=entry)[:200])
    summary = collect(est, X[200:], y.assign(entry=entry)[200:], n_repeats=1)
    assert summary.scores.landmark is None
    assert summary.cohort.observation.n_late == 100
    assert len(summary.scores.landmarks)
    page = render(summary).replace("\N{NO-BREAK SPACE}", " ")
    assert "100 of them (50.0 %) came under observation late" in page
    assert "corrected for censoring and late entry" in page


def test_subjects_seen_from_the_start_are_weighted_by_themselves_after_late_entries(
    draw_cohort, tiny
):
    X, y = draw_cohort(400, 2, seed=7)
    entry = np.where(np.arange(400) % 2, 0.0, 0.3 * y["duration"])
    est = SurvTRACE(**tiny, **WITHOUT_TASKS).fit(X[:200], y.assign(entry=entry)[:200])
    summary = collect(est, X[200:], y[200:], n_repeats=1)
    assert summary.scores.landmark is None
    scores = evaluate(est, X[200:], y[200:], horizons=summary.scores.horizons)
    again = evaluate(est, X[200:], y[200:], horizons=summary.scores.horizons, y_train=y[200:])
    pd.testing.assert_series_equal(scores["value"], again["value"])
    assert "corrected for censoring by the scored subjects" in render(summary)
    ours = summary.scores.table[summary.scores.table["method"] == "SurvTRACE"]
    pd.testing.assert_frame_equal(ours[scores.columns].reset_index(drop=True), scores)


def test_an_estimator_at_a_landmark_counts_times_from_it(start_stop):
    est, X, _, _ = start_stop
    there = AtLandmark(est, 2.0)
    expected = est.predict_cumulative_incidence(X, [3.0, 5.0], conditional_after=2.0)
    np.testing.assert_array_equal(there.predict_cumulative_incidence(X, [1.0, 3.0]), expected)
    assert not hasattr(there, "censoring_")
    assert there.causes_ == est.causes_


def test_an_ordinary_report_has_no_landmarks(of_three_causes):
    scores = of_three_causes.summary.scores
    assert scores.landmark is None
    assert scores.landmarks.empty
    assert of_three_causes.summary.cohort.observation is None
    assert "landmark" not in of_three_causes.page


def test_an_observed_incidence_begins_where_enough_are_at_risk(draw_cohort, tiny):
    """One early event among two subjects would take half of all."""
    X, outcome = draw_cohort(300)
    y = pd.DataFrame({"event": outcome["event"], "duration": outcome["duration"] + 20.0})
    y = y.assign(entry=20.0)
    y.loc[0, ["entry", "duration", "event"]] = [1.0, 3.0, 1]
    y.loc[1, ["entry", "duration", "event"]] = [1.0, 60.0, 0]
    est = SurvTRACE(**{**tiny, "mortality_weight": 0, "stay_weight": 0}).fit(X, y)
    cohort = describe(est, X, read_outcome(y))
    assert cohort.since == cohort.times[0] == 3.0
    assert (cohort.incidence[:, 0] == 0).all()
