"""At a landmark, those under observation are predicted from what is known then, and scored."""

import numpy as np
import pandas as pd
import pytest

from survtrace import DataError, DataWarning, Surv, SurvTRACE, landmark
from survtrace.baselines import CauseSpecificCox
from survtrace.datasets import make_changing_cohort, make_cohort
from survtrace.errors import LearnedRowsWarning
from survtrace.evaluation import evaluate
from survtrace.evaluation.learned_rows import holds_learned, looks_learned
from survtrace.metrics import auc_at, brier_score_at, censoring_survival, concordance_cause_specific
from survtrace.tables.outcome.outcome import read_outcome

QUICK = {"n_resamples": 2}


class FixedHazards:
    """A true estimator of exponential causes, whose rates grow with x."""

    causes_, time_grid_ = [1, 2], np.array([0.0, 100.0])

    def rates(self, X):
        rate = np.exp(X["x"].to_numpy()) / 20
        return np.stack([rate, np.full(len(X), 0.02)], axis=1)

    def predict_cumulative_incidence(self, X, times, conditional_after=0.0):
        rates, lived = self.rates(X), np.maximum(np.asarray(times) - conditional_after, 0)
        total = rates.sum(axis=1)
        struck = -np.expm1(-total[:, None] * lived) / total[:, None]
        return rates[:, :, None] * struck[:, None]


def changing(n, seed=0):
    """Start-stop rows whose covariate jumps at 5, exponential causes and censoring in between."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    est = FixedHazards()
    time, cause = np.full(n, np.inf), np.zeros(n, dtype=int)
    for part, (begin, end) in enumerate([(0.0, 5.0), (5.0, np.inf)]):
        rates = est.rates(pd.DataFrame({"x": x[:, part]}))
        latent = begin + rng.exponential(1 / rates)
        first = latent.min(axis=1)
        struck = np.isinf(time) & (first < end)
        time[struck], cause[struck] = first[struck], latent.argmin(axis=1)[struck] + 1
    censoring = rng.uniform(2, 40, n)
    duration, event = np.minimum(time, censoring), np.where(time <= censoring, cause, 0)
    early = pd.DataFrame({"id": np.arange(n), "entry": 0.0, "duration": np.minimum(duration, 5)})
    early = early.assign(event=np.where(duration <= 5, event, 0), x=x[:, 0])
    late = pd.DataFrame({"id": np.arange(n), "entry": 5.0, "duration": duration, "event": event})
    late = late.assign(x=x[:, 1])[duration > 5]
    return pd.concat([early, late]).sort_values(["id", "entry"], ignore_index=True)


ROLES = {"id": "id", "entry": "entry", "duration": "duration", "event": "event"}


def test_scores_are_those_of_the_landmark_table_counted_from_the_landmark():
    rows, est = changing(300), FixedHazards()
    scores = evaluate(est, rows, ROLES, landmarks=[2.0, 8.0], horizons=[3.0], **QUICK)
    assert list(scores)[:2] == ["landmark", "cause"]
    for s in (2.0, 8.0):
        table = landmark(rows, at=s)
        y = Surv.from_arrays(table["event"], table["duration"] - s)
        for k, cause in enumerate(est.causes_):
            at_three = est.predict_cumulative_incidence(table, [s + 3], s)[:, k, 0]
            own = scores[(scores["landmark"] == s) & (scores["cause"] == cause)]
            found = own.set_index("score")["value"]
            how = {"cause": cause}
            assert found["C"] == concordance_cause_specific(y, at_three, 3.0, **how)
            assert found["AUC"] == auc_at(y, at_three, 3.0, **how)
            assert found["Brier"] == brier_score_at(y, at_three, 3.0, **how)
            assert found["predicted"] == pytest.approx(at_three.mean())


def test_true_predictions_are_calibrated_at_every_landmark():
    """What is predicted at a landmark for the next times is what is then observed."""
    scores = evaluate(
        FixedHazards(),
        changing(8000),
        ROLES,
        landmarks=[0.0, 5.0, 9.0],
        horizons=[4.0],
        n_resamples=20,
    )
    observed = scores[scores["score"] == "observed"].reset_index()
    predicted = scores[scores["score"] == "predicted"].reset_index()
    assert np.abs(observed["value"] - predicted["value"]).max() < 0.02
    # The covariate of before the jump would not do.
    stale = changing(8000)
    stale["x"] = stale.groupby("id")["x"].transform("first")
    worse = evaluate(FixedHazards(), stale, ROLES, landmarks=[5.0], horizons=[4.0], **QUICK)
    c = [
        table.set_index(["landmark", "cause", "score"])["value"][5.0, 1, "C"]
        for table in (scores, worse)
    ]
    assert c[0] > c[1] + 0.1


def test_ordinary_and_late_tables_have_landmarks_too():
    X, y = make_cohort(300, random_state=0)
    est = CauseSpecificCox().fit(X, y)
    scores = evaluate(est, X, y, landmarks=[12.0], horizons=[24.0], **QUICK)
    known = y["duration"] > 12
    future = y[known].assign(duration=y["duration"][known] - 12)
    predicted = est.predict_cumulative_incidence(X[known], [36.0], 1, conditional_after=12.0)[:, 0]
    found = scores[scores["cause"] == 1].set_index("score")["value"]
    assert found["Brier"] == pytest.approx(float(brier_score_at(future, predicted, 24.0, cause=1)))
    X, y = make_cohort(400, late_entry=0.5, random_state=0)
    scores = evaluate(est, X, y, landmarks=[24.0], horizons=[24.0], **QUICK)
    assert set(scores["landmark"]) == {24.0}
    assert scores["value"].notna().all()


def test_horizons_are_by_default_quartiles_of_the_event_times_after_the_landmark():
    rows = changing(300)
    scores = evaluate(FixedHazards(), rows, ROLES, landmarks=[5.0], **QUICK)
    table = landmark(rows, at=5.0)
    times = table["duration"][table["event"] > 0] - 5
    found = scores["horizon"].dropna().unique()
    np.testing.assert_allclose(found, np.quantile(times, [0.25, 0.5, 0.75]))


def test_weights_may_come_from_those_under_observation_in_another_table():
    rows, other = changing(200), changing(300, seed=1)
    how = {"landmarks": [6.0], "horizons": [4.0], **QUICK}
    outcome = other[["id", "entry", "duration", "event"]]
    found = evaluate(FixedHazards(), rows, ROLES, y_train=outcome, **how)
    own = evaluate(FixedHazards(), rows, ROLES, **how)
    changed = found["value"] != own["value"]
    assert set(found["score"][changed]) == {"C", "AUC", "Brier", "IBS"}
    with pytest.raises(DataError, match="with landmarks y_train must be an outcome"):
        evaluate(FixedHazards(), rows, ROLES, y_train=censoring_survival(outcome), **how)


def test_start_stop_rows_without_landmarks_are_refused():
    with pytest.raises(DataError, match=r"a score table without landmarks needs one row .* landma"):
        evaluate(FixedHazards(), changing(50), ROLES)


def test_who_comes_back_after_a_gap_is_said():
    rows = changing(100)
    rows.loc[rows["entry"] == 5, "entry"] = 5.5
    rows = rows[rows["duration"] > rows["entry"]]
    with pytest.warns(DataWarning, match="come back after a gap"):
        evaluate(FixedHazards(), rows, ROLES, landmarks=[1.0], horizons=[2.0], **QUICK)


def test_errors_say_at_which_landmark():
    rows = changing(60)
    with pytest.raises(
        DataError, match=r"at the landmark 5, from which times count: horizons must"
    ):
        evaluate(FixedHazards(), rows, ROLES, landmarks=[5.0], horizons=[90.0], **QUICK)
    with pytest.raises(DataError, match="nobody is at 90"):
        evaluate(FixedHazards(), rows, ROLES, landmarks=[90.0])
    none = rows.assign(event=np.where(rows["duration"] > 5, 0, rows["event"]))
    with pytest.raises(DataError, match=r"at the landmark .*: scores need at least one event"):
        evaluate(FixedHazards(), none, ROLES, landmarks=[5.0])


def test_a_fitted_estimator_is_scored_at_landmarks(tiny):
    X, y = make_changing_cohort(300, random_state=0)
    half = y["id"] < 200
    est = SurvTRACE(**{**tiny, "stay_weight": 0.0, "mortality_weight": 0.0})
    est.fit(X[half], y[half])
    how = {"landmarks": [6.0, 24.0], "horizons": [12.0], **QUICK}
    scores = evaluate(est, X[~half], y[~half], **how)
    assert scores.groupby("landmark").size().tolist() == [12, 12]
    closed = scores[scores["score"] != "observed"]
    assert (closed["low"] <= closed["value"]).all()
    with pytest.warns(LearnedRowsWarning, match="rows the model was trained on"):
        evaluate(est, X[half], y[half], **how)


def test_rows_learned_from_are_known_again_however_they_are_cut(tiny):
    X, y = make_changing_cohort(200, proportions=(0.5, 0.3), random_state=0)
    est = SurvTRACE(**{**tiny, "stay_weight": 0.0, "mortality_weight": 0.0}).fit(X, y)
    middle = (y["entry"] + y["duration"]) / 2
    cut = pd.concat([y.assign(duration=middle, event=0), y.assign(entry=middle)])
    cut = cut.sort_values(["id", "entry"]).assign(id=lambda rows: 1000 - rows["id"])
    assert looks_learned(est, read_outcome(y))
    assert looks_learned(est, read_outcome(cut))
    assert holds_learned(est, read_outcome(cut))
    other = make_changing_cohort(200, proportions=(0.5, 0.3), random_state=1)[1]
    assert not looks_learned(est, read_outcome(other))
    assert not holds_learned(est, read_outcome(other))
