import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from survtrace.errors import DataError, DataWarning, SettingError
from survtrace.metrics import (
    auc_at,
    auc_scorer,
    brier_scorer,
    censoring_survival,
    concordance_antolini,
    concordance_cause_specific,
    concordance_paper,
    concordance_scorer,
    integrated_brier_score,
)
from survtrace.tables.outcome.outcome import Surv, read_outcome

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 1))
HAZARDS = np.column_stack([np.exp(X[:, 0]), np.full(300, 0.4)])
LATENT, CENSORING = RNG.exponential(1 / HAZARDS), RNG.uniform(0.2, 4, 300)
FIRST = LATENT.min(axis=1)
EVENT = np.where(FIRST <= CENSORING, 1 + LATENT.argmin(axis=1), 0)
Y = Surv.from_arrays(EVENT, np.minimum(FIRST, CENSORING))


class Exponential(BaseEstimator):
    """Knows the truth, but for the effect of the covariate."""

    def __init__(self, effect=1.0, all_causes=False):
        self.effect = effect
        self.all_causes = all_causes

    def fit(self, X, y):
        outcome = read_outcome(y)
        self.causes_, self.censoring_ = outcome.causes, censoring_survival(outcome)
        return self

    def predict_cumulative_incidence(self, X, times, cause=None):
        hazards = np.stack([np.exp(self.effect * X[:, 0]), np.full(len(X), 0.4)], axis=1)
        total = hazards.sum(axis=1)[:, np.newaxis, np.newaxis]
        incidence = hazards[:, :, np.newaxis] / total * (1 - np.exp(-total * times))
        whole = self.all_causes or cause is None
        return incidence if whole else incidence[:, self.causes_.index(cause)]


SCORERS = [
    concordance_scorer(1.0, cause=1),
    concordance_scorer(1.0, cause=1, mode="paper"),
    concordance_scorer(cause=2),
    concordance_scorer(mode="antolini"),
    brier_scorer(),
    brier_scorer(times=[0.2, 0.5, 1.0], cause=1),
    auc_scorer(0.8, cause=1),
    auc_scorer(0.8),
]
ALL = pytest.mark.parametrize("scorer", SCORERS, ids=repr)


def fitted():
    return Exponential().fit(X, Y)


def at(time, cause=1):
    return fitted().predict_cumulative_incidence(X, np.atleast_1d(time), cause)


@pytest.mark.parametrize(
    ("mode", "score"),
    [("cause_specific", concordance_cause_specific), ("paper", concordance_paper)],
)
def test_a_concordance_scorer_ranks_by_incidence_at_the_horizon(mode, score):
    expected = score(Y, at(1.0)[:, 0], 1.0, cause=1, y_train=fitted().censoring_)
    assert concordance_scorer(1.0, cause=1, mode=mode)(fitted(), X, Y) == expected


def test_without_horizon_the_median_event_time_is_ranked():
    median = np.median(Y["duration"][Y["event"] == 1])
    expected = concordance_cause_specific(Y, at(median)[:, 0], cause=1)
    assert concordance_scorer(cause=1)(fitted(), X, Y) == expected


def test_antolini_is_scored_at_event_times():
    times = np.unique(Y["duration"][Y["event"] == 1])
    expected = concordance_antolini(Y, at(times), times, cause=1)
    ours = concordance_scorer(cause=1, mode="antolini")(fitted(), X, Y)
    assert ours == pytest.approx(expected, abs=0.01)


def test_a_brier_scorer_is_negative_and_averages_causes():
    times = [0.2, 0.5, 1.0]
    parts = [integrated_brier_score(Y, at(times, k), times, cause=k) for k in (1, 2)]
    assert brier_scorer(times)(fitted(), X, Y) == pytest.approx(-np.mean(parts))


def test_an_auc_scorer_calls_the_area():
    expected = auc_at(Y, at(0.8)[:, 0], 0.8, cause=1)
    assert auc_scorer(0.8, cause=1)(fitted(), X, Y) == expected


@ALL
def test_predictions_with_a_cause_axis_are_understood(scorer):
    every_cause = Exponential(all_causes=True).fit(X, Y)
    assert scorer(every_cause, X, Y) == scorer(fitted(), X, Y)


@ALL
def test_the_result_is_a_plain_float(scorer):
    assert type(scorer(fitted(), X, Y)) is float


@ALL
def test_scorers_survive_pickling_cloning_and_printing(scorer):
    for twin in (pickle.loads(pickle.dumps(scorer)), clone(scorer, safe=False), eval(repr(scorer))):
        assert twin(fitted(), X, Y) == scorer(fitted(), X, Y)


@ALL
def test_scorers_work_in_cross_validation(scorer):
    scores = cross_val_score(Exponential(), X, Y, scoring=scorer, cv=3, error_score="raise")
    assert np.isfinite(scores).all()


def test_a_grid_search_takes_several_scorers_and_finds_the_truth():
    search = GridSearchCV(
        Exponential(),
        {"effect": [-1.0, 0.0, 1.0]},
        scoring={"concordance": concordance_scorer(1.0, cause=1), "brier": brier_scorer()},
        refit="brier",
        cv=KFold(3, shuffle=True, random_state=0),
        error_score="raise",
    )
    clone(search).fit(X, Y)
    search.fit(X, Y)
    assert search.best_params_ == {"effect": 1.0}
    assert np.argmax(search.cv_results_["mean_test_concordance"]) == 2


def test_folds_without_events_are_refused():
    nobody = Surv.from_arrays(np.zeros(300, int), Y["duration"])
    with pytest.raises(DataError, match="at least one event among the subjects"):
        brier_scorer()(fitted(), X, nobody)
    only_first = Surv.from_arrays(np.where(EVENT == 2, 0, EVENT), Y["duration"])
    with pytest.raises(DataError, match="none of 300 has one of those scored"):
        concordance_scorer(cause=2)(fitted(), X, only_first)


def test_bad_settings_are_refused_at_once():
    with pytest.raises(SettingError, match=r"mode must be one of .*'harrell'"):
        concordance_scorer(mode="harrell")
    with pytest.raises(SettingError, match="takes no horizon"):
        concordance_scorer(1.0, mode="antolini")
    with pytest.raises(DataError, match="times must be a flat sequence of 2 or more"):
        brier_scorer(times=[1.0])
    with pytest.raises(DataError, match="times must increase"):
        brier_scorer([2.0, 1.0])


def late_rows():
    entry = np.where(np.arange(300) % 3, 0.0, 0.05)
    seen = Y["duration"] > entry
    y = Surv.from_arrays(Y["event"][seen], Y["duration"][seen], entry=entry[seen])
    return X[seen], y


@pytest.mark.parametrize("scorer", SCORERS, ids=repr)
def test_late_entries_are_scored_by_weights_of_their_kind(scorer):
    covariates, y = late_rows()
    by_late, by_ordinary = Exponential().fit(covariates, y), Exponential().fit(X, Y)
    assert by_late.censoring_.entered is not None
    own = Exponential().fit(covariates, y)
    del own.censoring_
    assert scorer(by_ordinary, covariates, y) == scorer(own, covariates, y)
    if scorer.settings.get("mode") != "paper":  # whose own weights count other causes as censored
        assert scorer(by_late, covariates, y) == pytest.approx(scorer(own, covariates, y))


def test_start_stop_rows_are_ranked_at_each_event_and_not_squared():
    cut = np.minimum(0.1, Y["duration"] / 2)
    first = Surv.from_arrays(np.zeros(300, int), cut, entry=np.zeros(300), id=np.arange(300))
    duration = np.concatenate([cut, Y["duration"]])
    event = np.concatenate([np.zeros(300, int), Y["event"]])
    rows = Surv.from_arrays(
        event, duration, entry=np.append(first["entry"], cut), id=[*range(300)] * 2
    )
    est, twice = Exponential().fit(X, Y), np.concatenate([X, X])
    ranked = concordance_scorer(mode="antolini", cause=1)
    assert ranked(est, twice, rows) == pytest.approx(ranked(est, X, Y), abs=1e-12)
    with pytest.raises(DataError, match=r"600 start-stop rows of 300 subjects.*survtrace.landmark"):
        brier_scorer()(est, twice, rows)


def test_without_times_a_brier_score_is_integrated_over_50_up_to_the_90_percent_quantile():
    event_times = Y["duration"][Y["event"] > 0]
    times = np.linspace(event_times.min(), np.quantile(event_times, 0.9), 50)
    expected = -integrated_brier_score(Y, at(times), times, cause=1)
    assert brier_scorer(cause=1)(fitted(), X, Y) == pytest.approx(expected, rel=1e-12)


def test_where_nearly_all_events_come_at_one_time_a_brier_score_is_integrated_from_0():
    y = Surv.from_arrays(EVENT, np.where(EVENT > 0, 0.5, Y["duration"] + 0.5))
    est, times = Exponential().fit(X, y), np.linspace(0, 0.5, 50)
    expected = -integrated_brier_score(y, at(times), times, cause=1)
    assert brier_scorer(cause=1)(est, X, y) == pytest.approx(expected, rel=1e-12)


class OneAtATime:
    """Predicts the cause it is asked for, and has to be asked for one."""

    def predict_cumulative_incidence(self, X, times, cause):
        return fitted().predict_cumulative_incidence(X, times, cause)


@pytest.mark.parametrize("cause", [None, 1, 2])
def test_an_estimator_that_predicts_one_cause_at_a_time_is_asked_for_each(cause):
    scorer = auc_scorer(0.8, cause=cause)
    assert scorer(OneAtATime(), X, Y) == pytest.approx(scorer(fitted(), X, Y))


class Counting(Exponential):
    """Notes which cause it is asked for."""

    def predict_cumulative_incidence(self, X, times, cause=None):
        self.asked_ = [*getattr(self, "asked_", []), cause]
        return super().predict_cumulative_incidence(X, times, cause)


@pytest.mark.parametrize("cause", [None, 1, 2])
def test_an_estimator_that_knows_its_causes_is_asked_once_for_those_scored(cause):
    """Its answer for all causes takes no longer than that for one."""
    for scorer in (brier_scorer(cause=cause), auc_scorer(0.8, cause=cause)):
        counting = Counting().fit(X, Y)
        assert scorer(counting, X, Y) == scorer(fitted(), X, Y)
        assert counting.asked_ == [cause]


def in_other_order():
    """Covariates and outcome as frames whose rows have the same labels in another order."""
    labels = [f"p{i}" for i in range(len(X))]
    y = pd.DataFrame({"event": Y["event"], "duration": Y["duration"]}, index=labels)
    return pd.DataFrame(X, index=labels, columns=["x"]), y.sample(frac=1, random_state=0)


class OfFrames(Exponential):
    def predict_cumulative_incidence(self, X, times, cause=None):
        return super().predict_cumulative_incidence(X.to_numpy(), times, cause)


@pytest.mark.parametrize("knows_causes", [True, False])
def test_rows_are_matched_by_their_labels_as_score_does(knows_causes):
    frame, y = in_other_order()
    estimator = OfFrames().fit(X, Y)
    expected = brier_scorer(cause=1)(fitted(), X, Y)
    if not knows_causes:
        del estimator.causes_, estimator.censoring_
        estimator.predict_cumulative_incidence = lambda X, times, cause: at(times, cause)
        expected = brier_scorer(cause=1)(estimator, X, Y)
    with pytest.warns(DataWarning, match="the same labels in another order"):
        assert brier_scorer(cause=1)(estimator, frame, y) == pytest.approx(expected)


def test_columns_of_the_table_may_be_named_as_in_score():
    frame, y = in_other_order()
    table = frame.join(y)
    y = {"event": "event", "duration": "duration"}
    expected = brier_scorer()(fitted(), X, Y)
    assert brier_scorer()(OfFrames().fit(X, Y), table, y) == pytest.approx(expected)


def test_an_event_at_zero_is_shifted_as_the_estimator_does():
    y = Y.copy()
    y["duration"][np.flatnonzero(EVENT > 0)[:3]] = 0
    estimator = fitted()
    with pytest.raises(DataError, match=f"3 of {(EVENT > 0).sum()} events are at 0"):
        brier_scorer()(estimator, X, y)
    estimator.zero_duration = "shift"
    assert np.isfinite(brier_scorer()(estimator, X, y))


def test_what_has_no_incidences_is_refused_with_the_way_out():
    pipeline = make_pipeline(StandardScaler(), fitted())
    with pytest.raises(
        SettingError, match=r"which Pipeline does not have\. Score SurvTRACE itself"
    ):
        brier_scorer()(pipeline, X, Y)
