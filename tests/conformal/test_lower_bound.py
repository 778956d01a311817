"""Lower bounds of event times hold as often as promised, whatever the estimator predicts."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from survtrace import DataError, DataWarning, SettingError, SurvTRACE
from survtrace.conformal import SurvivalLowerBound

CAUSES = np.array([[0.8, -0.5], [-0.4, 0.6]])  # effects of two covariates on two causes


class Exponential:
    """Predictions from constant hazards: the true ones, times a factor, or without covariates."""

    causes_ = (1, 2)

    def __init__(self, factor=1.0, effects=CAUSES):
        self.factor, self.effects = factor, effects

    def hazards(self, X):
        return self.factor * np.exp(np.asarray(X) @ self.effects.T) / [10.0, 20.0]

    def predict_survival_function(self, X, times):
        return np.exp(-self.hazards(X).sum(axis=1)[:, None] * times)

    def predict_cumulative_incidence(self, X, times, cause):
        hazards = self.hazards(X)
        share = hazards[:, [cause - 1]] / hazards.sum(axis=1)[:, None]
        return share * (1 - self.predict_survival_function(X, times))


def draw(n, seed, censoring="independent"):
    """Covariates, censored outcome, true event times and their causes."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 2)), columns=["a", "b"])
    latent = rng.exponential(1 / Exponential().hazards(X))
    slope = {"independent": 0.0, "depends": 1.5}[censoring]  # those at risk leave early
    scale = 12.0 * np.exp(-slope * X["a"].to_numpy())
    first, cause = latent.min(axis=1), latent.argmin(axis=1) + 1
    end = rng.exponential(scale, n)
    y = {"event": np.where(first <= end, cause, 0), "duration": np.minimum(first, end)}
    return X, pd.DataFrame(y), first, cause


def mean_coverage(est, n, n_repeats, law="independent", cause=None, **settings):
    """The share of new subjects that outlive their bound, over many calibrations."""
    held = []
    for seed in range(n_repeats):
        X, y, _, _ = draw(n, [seed, 0], law)
        new, _, first, struck = draw(500, [seed, 1], law)
        bound = SurvivalLowerBound(est, cause=cause, **settings).fit(X, y).predict(new)
        missed = (first < bound) & (True if cause is None else struck == cause)
        held.append(1 - missed.mean())
    return np.mean(held), np.std(held) / np.sqrt(n_repeats)


@pytest.fixture(scope="module")
def table():
    return draw(400, 0)


@pytest.fixture(scope="module")
def fitted(draw_cohort, tiny):
    return SurvTRACE(**tiny).fit(*draw_cohort(200, 2, seed=5))


@pytest.mark.parametrize("factor", [0.4, 2.5])
def test_bounds_hold_as_often_as_promised_whatever_the_level_of_the_predictions(factor):
    settings = {"level": 0.8, "censoring": "kaplan-meier"}
    coverage, error = mean_coverage(Exponential(factor), 150, 40, **settings)
    assert 0.8 - 3 * error < coverage < 0.83


def test_bounds_hold_where_the_predictions_know_no_covariates():
    settings = {"level": 0.8, "censoring": "kaplan-meier"}
    coverage, error = mean_coverage(Exponential(effects=0 * CAUSES), 150, 40, **settings)
    assert 0.8 - 3 * error < coverage < 0.83


def test_bounds_of_one_cause_count_its_events_only():
    settings = {"level": 0.9, "censoring": "kaplan-meier", "cause": 2}
    coverage, error = mean_coverage(Exponential(), 200, 30, **settings)
    assert 0.9 - 3 * error < coverage


def test_censoring_that_depends_on_covariates_is_weighted_by_them():
    constant = Exponential(effects=0 * CAUSES)
    how = {"level": 0.7, "law": "depends"}
    cox, error = mean_coverage(constant, 400, 12, **how)
    alike, _ = mean_coverage(constant, 400, 12, censoring="kaplan-meier", **how)
    assert 0.7 - 3 * error < cox < 0.74
    assert alike < cox - 0.015  # the same subjects: weights that are too small promise too much


def test_without_censoring_the_bound_is_the_conformal_quantile():
    X, _, first, _ = draw(99, 3)
    y = pd.DataFrame({"event": 1, "duration": first})
    est = Exponential()
    bound = SurvivalLowerBound(est, level=0.8).fit(X, y)
    at_event = 1 - np.exp(-est.hazards(X).sum(axis=1) * first)
    assert bound.incidence_ == pytest.approx(np.sort(at_event)[19], rel=0.02)


def test_the_level_of_the_predictions_moves_no_bound(table):
    X, y, _, _ = table
    bounds = [SurvivalLowerBound(Exponential(each)).fit(X, y).predict(X) for each in (0.5, 1.0)]
    np.testing.assert_allclose(*bounds, rtol=0.02)


def test_a_higher_level_gives_earlier_bounds(table):
    X, y, _, _ = table
    levels = (0.5, 0.7, 0.9)
    bounds = [SurvivalLowerBound(Exponential(), level).fit(X, y).predict(X) for level in levels]
    assert (np.diff(bounds, axis=0) < 0).all()


def test_few_subjects_promise_nothing(table):
    X, y, _, _ = table
    with pytest.warns(DataWarning, match=r"from 30 subjects, and all bounds are 0: 39 or more"):
        bound = SurvivalLowerBound(Exponential()).fit(X[:30], y[:30])
    assert bound.predict(X[:5]).tolist() == [0.0] * 5


def test_no_bound_exceeds_what_was_followed(table):
    X, y, _, _ = table
    early = y.assign(duration=y["duration"].clip(upper=0.5))
    early["event"] = np.where(y["duration"] <= 0.5, y["event"], 0)
    bound = SurvivalLowerBound(Exponential(), level=0.5).fit(X, early)
    assert bound.predict(X).max() <= 0.5


def test_without_events_bounds_are_as_late_as_can_be_told(table):
    X, y, _, _ = table
    bound = SurvivalLowerBound(Exponential(), cause=1).fit(X, y.replace({"event": {1: 0}}))
    assert bound.incidence_ == np.inf
    bounds = bound.predict(X)
    assert (bounds > 0).all()
    assert np.isfinite(bounds).all()


def test_a_subject_alone_gets_the_bound_it_gets_in_a_table(fitted, draw_cohort, monkeypatch):
    X, y = draw_cohort(150, 2, seed=6)
    bound = SurvivalLowerBound(fitted, level=0.8).fit(X, y)
    together = bound.predict(X)
    assert bound.predict(X[3:4]) == together[3:4]
    monkeypatch.setattr("survtrace.conformal.lower_bound.CHUNK_ROWS", 40)
    np.testing.assert_array_equal(bound.predict(X), together)
    assert 0 < bound.incidence_ < 1
    assert (together <= fitted.time_grid_[-1]).all()


def test_an_unseen_category_is_told_once(fitted, draw_cohort):
    X, y = draw_cohort(150, 2, seed=6)
    bound = SurvivalLowerBound(fitted, level=0.8).fit(X, y)
    with pytest.warns(DataWarning, match="unseen token") as caught:
        bound.predict(X.assign(sex="other"))
    assert len(caught) == 1


def test_learned_rows_are_refused(fitted, draw_cohort):
    with pytest.raises(DataError, match="has not learned from; the durations given are those"):
        SurvivalLowerBound(fitted).fit(*draw_cohort(200, 2, seed=5))


def test_late_entry_and_start_stop_rows_are_refused(table, late_entry, cut):
    X, y, _, _ = table
    with pytest.raises(DataError, match="of 400 enter late, and who had an event before"):
        SurvivalLowerBound(Exponential()).fit(X, late_entry(y))
    words = r"one row each.* start-stop rows of 400 subjects\. Pass one row of each"
    with pytest.raises(DataError, match=words):  # a landmark's rows enter late, and are no way out
        SurvivalLowerBound(Exponential()).fit(*cut(X, y))


def test_wrong_settings_are_named(table):
    X, y, _, _ = table
    with pytest.raises(SettingError, match="level must lie between 0 and 1; got 90"):
        SurvivalLowerBound(Exponential(), 90).fit(X, y)
    with pytest.raises(SettingError, match="level must lie between 0 and 1; got 'high'"):
        SurvivalLowerBound(Exponential(), "high").fit(X, y)
    with pytest.raises(NotFittedError, match="This SurvTRACE has no causes_ yet"):
        SurvivalLowerBound(SurvTRACE()).fit(X, y)
    with pytest.raises(SettingError, match=r"censoring must be one of .* got 'km'"):
        SurvivalLowerBound(Exponential(), censoring="km").fit(X, y)
    with pytest.raises(DataError, match=r"cause must be one of the labels \[1, 2\]; got 3"):
        SurvivalLowerBound(Exponential(), cause=3).fit(X, y)
    with pytest.raises(DataError, match="X has 400 rows and y has 3"):
        SurvivalLowerBound(Exponential()).fit(X, {"event": [1, 0, 2], "duration": [1, 2, 3]})
    with pytest.raises(SettingError, match="fit was not called"):
        SurvivalLowerBound(Exponential()).predict(X)
