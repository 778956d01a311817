import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from scipy.integrate import trapezoid
from sklearn.exceptions import NotFittedError

from survtrace import DataError, DataWarning, SettingError, Surv, SurvTRACE
from survtrace.metrics import integrated_brier_score

TIMES = [1.0, 7.0, 2.5, 2.5]


@pytest.fixture(name="X")
def covariates(fitted, request):
    """The covariates of the estimator at hand."""
    name = "one_cause" if len(fitted.causes_) == 1 else "three_causes"
    return request.getfixturevalue(name)[0]


def test_shapes_of_every_answer(fitted, X):
    n, k, m = len(X), len(fitted.causes_), len(fitted.time_grid_)
    assert fitted.predict_survival_function(X).shape == (n, m)
    assert fitted.predict_survival_function(X, TIMES).shape == (n, 4)
    assert fitted.predict_survival_function(X, 3.0).shape == (n, 1)
    for method in (
        fitted.predict_cumulative_incidence,
        fitted.predict_net_incidence,
        fitted.predict_cumulative_hazard_function,
    ):
        assert method(X).shape == (n, k, m)
        assert method(X, TIMES).shape == (n, k, 4)
        assert method(X, TIMES, cause=1).shape == (n, 4)
        np.testing.assert_array_equal(method(X, TIMES, cause=k), method(X, TIMES)[:, k - 1])
    assert fitted.predict_proba(X, 3.0).shape == fitted.predict_proba(X).shape == (n, 1 + k)
    assert fitted.predict(X).shape == fitted.predict_rmst(X, 3.0).shape == (n,)
    assert fitted.predict_quantile(X).shape == (n,)
    assert fitted.predict_quantile(X, [0.25, 0.5, 0.75]).shape == (n, 3)
    assert fitted.attention(X).shape == (n, 1, 2, 4, 4)


def test_one_row_keeps_its_axes(fitted, X):
    k, row = len(fitted.causes_), X.iloc[[5]]
    assert fitted.predict_survival_function(row, 2.0).shape == (1, 1)
    assert fitted.predict_cumulative_incidence(row, 2.0).shape == (1, k, 1)
    assert fitted.predict_cumulative_incidence(row, 2.0, cause=1).shape == (1, 1)
    assert fitted.predict_proba(row, 2.0).shape == (1, 1 + k)
    assert fitted.predict(row).shape == (1,)
    assert fitted.attention(row).shape == (1, 1, 2, 4, 4)


def test_what_it_knows_after_fit(fitted, X, tiny):
    assert fitted.feature_names_in_.tolist() == ["age", "size", "sex", "stage"]
    assert fitted.n_features_in_ == 4
    assert fitted.time_grid_[0] == 0
    assert (np.diff(fitted.time_grid_) > 0).all()
    assert len(fitted.history_) == tiny["n_members"] * tiny["max_epochs"]
    assert fitted.history_["epoch"].tolist() == [0, 0, 1, 1]


def test_the_answers_fit_together(fitted, X):
    survival = fitted.predict_survival_function(X, TIMES)
    incidence = fitted.predict_cumulative_incidence(X, TIMES)
    hazard = fitted.predict_cumulative_hazard_function(X, TIMES)
    np.testing.assert_allclose(survival + incidence.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(hazard.sum(axis=1), -np.log(survival), atol=1e-8)
    proba = fitted.predict_proba(X, TIMES[0])
    np.testing.assert_allclose(proba.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(proba[:, 0], survival[:, 0], atol=1e-12)
    np.testing.assert_array_equal(proba[:, 1:], incidence[:, :, 0])
    median = fitted.predict_survival_function(X, fitted.median_event_time_)[:, 0]
    np.testing.assert_array_equal(fitted.predict(X), 1 - median)
    np.testing.assert_allclose(fitted.attention(X).sum(axis=-1), 1, atol=1e-5)


def test_for_one_cause_net_incidence_is_incidence(fitted_one, one_cause):
    X = one_cause[0]
    net = fitted_one.predict_net_incidence(X, TIMES)
    np.testing.assert_allclose(net, fitted_one.predict_cumulative_incidence(X, TIMES), atol=1e-12)


def test_times_may_come_in_any_order_and_twice(fitted, X):
    whole = fitted.predict_cumulative_incidence(X, sorted(set(TIMES)))
    ours = fitted.predict_cumulative_incidence(X, TIMES)
    np.testing.assert_array_equal(ours, whole[:, :, [0, 2, 1, 1]])
    hazard = fitted.predict_cumulative_hazard_function(X, TIMES)
    np.testing.assert_array_equal(hazard[..., 2], hazard[..., 3])
    each = [fitted.predict_cumulative_hazard_function(X, time)[..., 0] for time in TIMES]
    np.testing.assert_allclose(hazard, np.stack(each, axis=-1), atol=1e-9)
    assert fitted.predict_survival_function(X, []).shape == (len(X), 0)


def test_beyond_the_grid_curves_are_constant_missing_or_refused(fitted, X):
    end = fitted.time_grid_[-1]
    for method in (
        fitted.predict_survival_function,
        fitted.predict_cumulative_incidence,
        fitted.predict_net_incidence,
        fitted.predict_cumulative_hazard_function,
    ):
        with pytest.warns(DataWarning, match="1 of 2 times lie beyond the grid") as caught:
            constant = method(X, [end, end + 5])
        assert len(caught) == 1
        np.testing.assert_array_equal(constant[..., 0], constant[..., 1])
        missing = method(X, [end, end + 5], extrapolate="nan")
        np.testing.assert_array_equal(missing[..., 0], constant[..., 0])
        assert np.isnan(missing[..., 1]).all()
        with pytest.raises(DataError, match="beyond the grid"):
            method(X, [end, end + 5], extrapolate="raise")
    assert np.isnan(fitted.predict_rmst(X, end + 1, extrapolate="nan")).all()
    mean, std = fitted.predict_survival_function(X, end + 1, extrapolate="nan", return_std=True)
    assert np.isnan(mean).all()
    assert np.isnan(std).all()


@pytest.mark.parametrize("after", [0.0, 1.7, "own", 99.0])
def test_conditional_curves_are_the_future_of_those_still_event_free(fitted, X, after):
    rng = np.random.default_rng(0)
    start = rng.uniform(0, 5, len(X)) if isinstance(after, str) else np.full(len(X), after)
    given = start if isinstance(after, str) else after
    on_grid = np.minimum(start, fitted.time_grid_[-1])
    alive = fitted.predict_survival_function(X, on_grid[:, None])
    survival = fitted.predict_survival_function(X, TIMES, conditional_after=given)
    incidence = fitted.predict_cumulative_incidence(X, TIMES, conditional_after=given)
    np.testing.assert_allclose(survival + incidence.sum(axis=1), 1, atol=1e-12)
    later = start[:, None] <= np.array(TIMES)
    whole = fitted.predict_survival_function(X, TIMES)
    np.testing.assert_allclose((survival * alive)[later], whole[later], atol=1e-12)
    assert (survival[~later] == 1).all()
    assert (incidence.transpose(0, 2, 1)[~later] == 0).all()


def test_conditioning_on_nothing_changes_nothing(fitted, X):
    ours = fitted.predict_cumulative_incidence(X, TIMES, conditional_after=0)
    np.testing.assert_allclose(ours, fitted.predict_cumulative_incidence(X, TIMES), atol=1e-15)


@pytest.mark.parametrize("after", [-1, np.nan, np.inf, [1.0, 2.0], [[0.0]]], ids=str)
def test_a_bad_start_is_refused(fitted_one, one_cause, after):
    with pytest.raises(DataError, match=r"conditional_after must be a time of zero or more.* 160"):
        fitted_one.predict_survival_function(one_cause[0], conditional_after=after)


def test_a_start_that_is_no_number_is_refused_in_our_words(fitted_one, one_cause):
    with pytest.raises(DataError, match="conditional_after must be a time"):
        fitted_one.predict_survival_function(one_cause[0], conditional_after="diagnosis")


def test_the_spread_between_members(fitted, X, one_cause, tiny):
    mean, std = fitted.predict_cumulative_incidence(X, TIMES, return_std=True)
    np.testing.assert_array_equal(mean, fitted.predict_cumulative_incidence(X, TIMES))
    assert std.shape == mean.shape
    assert (std > 0).any()
    assert (fitted.predict_rmst(X, 3.0, return_std=True)[1] > 0).any()
    alone = SurvTRACE(**{**tiny, "n_members": 1, "max_epochs": 1}).fit(*one_cause)
    for after in (None, 1.0):
        _, std = alone.predict_survival_function(
            one_cause[0], TIMES, return_std=True, conditional_after=after
        )
        assert np.isnan(std).all(), "one member's deviation is not known"


def test_the_restricted_mean_beyond_the_grid_goes_on_at_the_last_survival(fitted, X):
    end = fitted.time_grid_[-1]
    with pytest.warns(DataWarning, match="beyond the grid, which ends at .*; curves are constant"):
        later, spread = fitted.predict_rmst(X, end + 100, return_std=True)
    survival = fitted.predict_survival_function(X, end)[:, 0]
    np.testing.assert_allclose(later, fitted.predict_rmst(X, end) + 100 * survival, rtol=1e-12)
    assert (spread > fitted.predict_rmst(X, end, return_std=True)[1]).any()
    assert np.isnan(fitted.predict_rmst(X, end + 100, extrapolate="nan")).all()


def test_survivors_of_what_hardly_anyone_survives_have_a_coherent_future(three_causes, tiny):
    """Survival of 1e-17 and less: the sum was .53 once."""
    X, y = three_causes
    est = SurvTRACE(**tiny).fit(X, y)
    end = est.time_grid_[-1]
    for factor in (30.0, 300.0, 3e4):
        with torch.no_grad():
            est.network_.recalibration_factor.mul_(factor)
        start, times = 0.9 * end, np.linspace(0.9 * end, end, 7)
        survival = est.predict_survival_function(X, times, conditional_after=start)
        incidence = est.predict_cumulative_incidence(X, times, conditional_after=start)
        np.testing.assert_allclose(survival + incidence.sum(axis=1), 1, rtol=0, atol=1e-12)
        assert (incidence[:, :, 0] == 0).all()
        assert (np.diff(incidence) >= 0).all()
    assert est.predict_survival_function(X, start).max() < 1e-17


def test_quantiles_invert_survival(fitted, X):
    for q in (0.05, 0.2):
        times = fitted.predict_quantile(X, q)
        known = np.isfinite(times)
        assert known.any()
        survival = fitted.predict_survival_function(X[known], times[known])
        np.testing.assert_allclose(np.diag(survival), 1 - q, atol=1e-9)
    last = fitted.predict_survival_function(X, fitted.time_grid_[-1])[:, 0]
    assert (np.isinf(fitted.predict_quantile(X, 0.5)) == (last > 0.5)).all()


@pytest.mark.parametrize("q", [0, 1, -0.1, 1.5, np.nan, [0.5, 2]], ids=str)
def test_a_quantile_lies_between_none_and_all(fitted_one, one_cause, q):
    with pytest.raises(DataError, match="q must be a number between 0 and 1"):
        fitted_one.predict_quantile(one_cause[0], q)


def test_the_restricted_mean_is_the_area_under_survival(fitted, X):
    times = np.linspace(0, fitted.time_grid_[-1], 40_001)
    area = trapezoid(fitted.predict_survival_function(X[:10], times), times, axis=1)
    ours = fitted.predict_rmst(X[:10], fitted.time_grid_[-1])
    np.testing.assert_allclose(ours, area, rtol=1e-6)


def test_a_cause_is_asked_for_by_its_label(three_causes, tiny):
    X, y = three_causes
    text = y.assign(event=y["event"].map({0: "censored", 1: "a", 2: "b", 3: "c"}))
    est = SurvTRACE(**tiny).fit(X, text)
    assert est.causes_ == ["a", "b", "c"]
    np.testing.assert_array_equal(
        est.predict_cumulative_incidence(X, TIMES, cause="b"),
        est.predict_cumulative_incidence(X, TIMES)[:, 1],
    )
    for method in (
        est.predict_cumulative_incidence,
        est.predict_net_incidence,
        est.predict_cumulative_hazard_function,
    ):
        with pytest.raises(DataError, match=r"cause must be one of \['a', 'b', 'c'\]; got 2"):
            method(X, TIMES, cause=2)


def test_labels_do_not_matter_only_their_order(fitted_three, three_causes, tiny):
    X, y = three_causes
    expected = fitted_three.predict_cumulative_incidence(X, TIMES)
    for names in ({1: 1, 2: 3, 3: 7}, {1: "heart", 2: "lung", 3: "other"}):
        renamed = y.assign(event=y["event"].map({0: 0, **names}).astype(object))
        est = SurvTRACE(**tiny).fit(X, renamed)
        assert est.causes_ == list(names.values())
        np.testing.assert_array_equal(est.predict_cumulative_incidence(X, TIMES), expected)


@pytest.mark.filterwarnings("ignore:.*events lie beyond the time grid")
@pytest.mark.parametrize("factor", [0.25, 1024.0])
def test_a_change_of_unit_changes_no_probability(one_cause, tiny, factor):
    X, y = one_cause
    grid = np.array([1.0, 3.0, 9.0])
    months = SurvTRACE(**tiny, time_grid=grid).fit(X, y)
    days = SurvTRACE(**tiny, time_grid=grid * factor).fit(
        X, y.assign(duration=y["duration"] * factor)
    )
    np.testing.assert_array_equal(
        days.predict_survival_function(X, grid * factor), months.predict_survival_function(X, grid)
    )
    by_quantiles = [
        SurvTRACE(**tiny).fit(X, y.assign(duration=y["duration"] * unit)) for unit in (1.0, factor)
    ]
    np.testing.assert_array_equal(*(est.predict(X) for est in by_quantiles))
    np.testing.assert_allclose(by_quantiles[1].time_grid_, by_quantiles[0].time_grid_ * factor)


def forms_of(X):
    """The same covariates in every dress."""
    text = X.assign(stage=X["stage"].astype(object))
    return {
        "pandas": X,
        "pandas nullable": X.convert_dtypes(),
        "pandas objects": X.astype(object),
        "pandas arrow": X.convert_dtypes(dtype_backend="pyarrow"),
        "pandas odd index": X.set_index(np.arange(len(X))[::-1] * 3),
        "polars": pl.from_pandas(X),
        "polars text": pl.from_pandas(text),
        "polars enum": pl.from_pandas(text).with_columns(
            pl.col("stage").cast(pl.Enum(["I", "II", "III"])), pl.col("sex").cast(pl.Categorical)
        ),
        "arrow": pl.from_pandas(X).to_arrow(),
        "mapping": {name: X[name].tolist() for name in X},
    }


def test_every_dress_of_a_table_predicts_the_same(fitted_three, three_causes):
    X = three_causes[0]
    expected = fitted_three.predict(X)
    for name, form in forms_of(X).items():
        np.testing.assert_array_equal(fitted_three.predict(form), expected, err_msg=name)


@pytest.mark.parametrize("name", list(forms_of(pd.DataFrame({"stage": [], "sex": []}))))
def test_every_dress_of_a_table_teaches_the_same(fitted_one, one_cause, tiny, name):
    X, y = one_cause
    est = SurvTRACE(**tiny).fit(forms_of(X)[name], y)
    np.testing.assert_array_equal(est.predict(X), fitted_one.predict(X))


def test_arrays_are_tables_too(one_cause, tiny):
    X, y = one_cause
    numbers = X[["age", "size"]]
    est = SurvTRACE(**tiny).fit(numbers.to_numpy(), y)
    assert est.feature_names_in_.tolist() == ["x0", "x1"]
    named = SurvTRACE(**tiny).fit(numbers, y)
    np.testing.assert_array_equal(est.predict(numbers.to_numpy()), named.predict(numbers))
    np.testing.assert_array_equal(est.predict(numbers.to_numpy().tolist()), named.predict(numbers))
    mixed = X.to_numpy()
    objects = SurvTRACE(**tiny).fit(mixed, y)
    np.testing.assert_array_equal(objects.predict(mixed), SurvTRACE(**tiny).fit(X, y).predict(X))


def test_columns_named_by_numbers_are_taken(one_cause, tiny):
    X, y = one_cause
    numbered = X.set_axis(range(4), axis=1)
    est = SurvTRACE(**tiny).fit(numbered, y)
    np.testing.assert_array_equal(est.predict(numbered), SurvTRACE(**tiny).fit(X, y).predict(X))


def outcomes(y):
    event, duration = y["event"].to_numpy(), y["duration"].to_numpy()
    comprisk = np.zeros(len(y), dtype=[("event", "i8"), ("time", "f8")])
    comprisk["event"], comprisk["time"] = event, duration
    return {
        "Surv": Surv.from_arrays(event=event, duration=duration),
        "scikit-survival": np.rec.fromarrays([event > 0, duration], names="event,time"),
        "comprisk": comprisk,
        "polars": pl.from_pandas(y),
        "mapping": {"time": duration, "event": event},
        "nullable": y.convert_dtypes(),
        "booleans": y.assign(event=event > 0),
    }


@pytest.mark.parametrize("name", list(outcomes(pd.DataFrame({"event": [1], "duration": [1.0]}))))
def test_every_form_of_the_outcome_teaches_the_same(fitted_one, one_cause, tiny, name):
    X, y = one_cause
    est = SurvTRACE(**tiny).fit(X, outcomes(y)[name])
    np.testing.assert_array_equal(est.predict(X), fitted_one.predict(X))
    assert est.score(X, outcomes(y)[name]) == fitted_one.score(X, y)


def test_one_label_and_nobody_censored_is_a_complete_cohort_with_one_warning(one_cause, tiny):
    X, y = one_cause
    with pytest.warns(DataWarning, match="nobody is censored: all 160") as caught:
        est = SurvTRACE(**tiny).fit(X, y.assign(event=1))
    assert len(caught) == 1
    assert np.isfinite(est.score(X, y.assign(event=1)))


def test_the_score_is_minus_the_mean_integrated_brier_score(fitted, X, request):
    name = "one_cause" if len(fitted.causes_) == 1 else "three_causes"
    y = request.getfixturevalue(name)[1]
    times = fitted.score_times_[fitted.score_times_ <= fitted.censoring_.last_usable]
    losses = [
        integrated_brier_score(
            y,
            fitted.predict_cumulative_incidence(X, times, cause=cause),
            times,
            cause=cause,
            y_train=fitted.censoring_,
        )
        for cause in fitted.causes_
    ]
    assert fitted.score(X, y) == pytest.approx(-np.mean(losses))
    assert -1 < fitted.score(X, y) < 0


def test_the_same_seed_gives_the_same_estimator_bit_for_bit(fitted_one, one_cause, tiny):
    X, y = one_cause
    again = SurvTRACE(**tiny).fit(X, y)
    np.testing.assert_array_equal(again.predict(X), fitted_one.predict(X))
    refitted = again.fit(X, y)
    np.testing.assert_array_equal(refitted.predict(X), fitted_one.predict(X))
    other = SurvTRACE(**{**tiny, "random_state": 1}).fit(X, y)
    assert not np.allclose(other.predict(X), fitted_one.predict(X))
    generator = SurvTRACE(**{**tiny, "random_state": np.random.RandomState(0)}).fit(X, y)
    np.testing.assert_array_equal(generator.predict(X), fitted_one.predict(X))


def test_fitting_draws_nothing_from_global_generators(one_cause, tiny):
    np.random.seed(0)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    SurvTRACE(**tiny).fit(*one_cause)
    assert np.array_equal(before, np.random.get_state()[1])  # noqa: NPY002


def test_neither_fit_nor_predict_touches_the_tables(one_cause, tiny):
    X, y = one_cause
    before = X.copy(), y.copy()
    SurvTRACE(**tiny).fit(X, y).predict(X)
    pd.testing.assert_frame_equal(X, before[0])
    pd.testing.assert_frame_equal(y, before[1])


def test_an_evaluation_set_stops_and_teaches_nothing(one_cause, draw_cohort, tiny):
    X, y = one_cause
    other = draw_cohort(60, 1, seed=5)
    est = SurvTRACE(**tiny).fit(X, y, eval_set=other)
    wild = other[0].assign(age=1e3, stage="IX"), other[1]
    with pytest.warns(DataWarning, match="not seen in fit"):
        twin = SurvTRACE(**tiny).fit(X, y, eval_set=wild)
    assert est.encoding_ == twin.encoding_
    np.testing.assert_array_equal(est.time_grid_, twin.time_grid_)
    pd.testing.assert_series_equal(est.history_["survival_loss"], twin.history_["survival_loss"])
    assert not np.allclose(est.history_["validation_loss"], twin.history_["validation_loss"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y: X, r"eval_set must be a pair \(X, y\)"),
        (lambda X, y: (X, y.assign(event=9)), r"one of \[1\]; the outcome also has \[9\]"),
        (lambda X, y: (X[:3], y), "X has 3 rows and y has 160"),
        (lambda X, y: (X[["age"]], y), "missing: "),
        (lambda X, y: (X[:0], y[:0]), "at least one|subjects"),
    ],
)
def test_a_bad_evaluation_set_is_refused(one_cause, tiny, change, message):
    with pytest.raises(DataError, match=message):
        SurvTRACE(**tiny).fit(*one_cause, eval_set=change(*one_cause))


def test_an_evaluation_set_needs_follow_up(one_cause, tiny):
    X, y = one_cause
    at_zero = y.assign(event=0, duration=0.0)
    with (
        pytest.warns(DataWarning, match="160 of 160 subjects are censored at duration 0"),
        pytest.raises(DataError, match="one subject with follow-up; got 0 of 160"),
    ):
        SurvTRACE(**tiny).fit(X, y, eval_set=(X, at_zero))
    some = pd.concat([y[::2], at_zero[1::2]]).loc[y.index]
    with pytest.warns(DataWarning, match="80 of 160 subjects are censored at duration 0"):
        est = SurvTRACE(**tiny).fit(X, y, eval_set=(X, some))
    twin = SurvTRACE(**tiny).fit(X, y, eval_set=(X[::2], y[::2]))
    pd.testing.assert_series_equal(
        est.history_["validation_loss"], twin.history_["validation_loss"]
    )


def test_weights_that_leave_no_event_are_refused(one_cause, tiny, tmp_path):
    X, y = one_cause
    weight = (y["event"] == 0).astype(float)
    message = r"with an event must have a weight above 0; all \d+ who are learned from have 0"
    with pytest.raises(DataError, match=message):
        SurvTRACE(**tiny).fit(X, y, sample_weight=weight)
    pd.concat([X, y, weight.rename("weight")], axis=1).to_parquet(tmp_path / "cohort.parquet")
    roles = {"event": "event", "duration": "duration", "weight": "weight"}
    with pytest.raises(DataError, match=message):
        SurvTRACE(**tiny).fit(tmp_path / "cohort.parquet", roles)


def test_sample_weights_count(one_cause, tiny):
    X, y = one_cause
    even = SurvTRACE(**tiny).fit(X, y, sample_weight=np.full(len(X), 3.0))
    plain = SurvTRACE(**tiny).fit(X, y)
    np.testing.assert_allclose(even.predict(X), plain.predict(X), atol=1e-6)
    heavy = SurvTRACE(**tiny).fit(X, y, sample_weight=np.where(y["event"] > 0, 5.0, 1.0))
    assert heavy.predict(X).mean() > plain.predict(X).mean()


def test_subjects_censored_at_zero_are_left_out_with_one_warning(one_cause, tiny):
    X, y = one_cause
    more_X = pd.concat([X, X[:2]], ignore_index=True)
    more_y = pd.concat([y, pd.DataFrame({"event": [0, 0], "duration": [0.0, 0.0]})])
    with pytest.warns(DataWarning, match="2 of 162 subjects are censored at duration 0") as caught:
        est = SurvTRACE(**tiny).fit(more_X, more_y, sample_weight=np.ones(162))
    assert len(caught) == 1
    np.testing.assert_array_equal(est.predict(X), SurvTRACE(**tiny).fit(X, y).predict(X))


def test_events_at_zero_can_be_shifted(one_cause, tiny):
    X, y = one_cause
    early = y.copy()
    early.loc[0] = [1, 0.0]
    est = SurvTRACE(**tiny, zero_duration="shift").fit(X, early)
    assert np.isfinite(est.score(X, early))


def test_missing_and_categorical_covariates_of_every_kind(one_cause, tiny):
    _, y = one_cause
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "number": rng.normal(size=160),
            "whole": pd.array(rng.integers(0, 9, 160), dtype="Int64"),
            "truth": rng.random(160) < 0.5,
            "text": rng.choice(["a", "b", "c"], 160),
            "category": pd.Categorical(rng.choice(["p", "q"], 160)),
            "object": rng.choice([1.5, 2.5, 9.0], 160).astype(object),
            "code": rng.integers(0, 3, 160),
        }
    )
    X = X.mask(rng.random(X.shape) < 0.1)
    est = SurvTRACE(**tiny, categorical=["code"]).fit(X, y)
    assert np.isfinite(est.predict(X)).all()
    assert np.isfinite(est.predict(X.mask(np.ones(X.shape, dtype=bool)))).all()
    kinds = [covariate.kind for covariate in est.encoding_.covariates]
    numerical = ["number", "whole", "object"]
    assert [n for n, k in zip(X, kinds, strict=True) if k == "numerical"] == numerical


def test_one_covariate_is_enough(one_cause, tiny):
    X, y = one_cause
    est = SurvTRACE(**tiny).fit(X[["age"]], y)
    assert est.attention(X[["age"]]).shape == (160, 1, 2, 1, 1)


def test_before_fit_every_method_says_so(one_cause, tiny):
    X, y = one_cause
    est = SurvTRACE(**tiny)
    for call in (
        lambda: est.predict(X),
        lambda: est.predict_proba(X, 1.0),
        lambda: est.predict_survival_function(X),
        lambda: est.predict_cumulative_incidence(X),
        lambda: est.predict_net_incidence(X),
        lambda: est.predict_cumulative_hazard_function(X),
        lambda: est.predict_quantile(X),
        lambda: est.predict_rmst(X, 1.0),
        lambda: est.attention(X),
        lambda: est.score(X, y),
        lambda: est.save("nowhere"),
    ):
        with pytest.raises(NotFittedError, match="SurvTRACE instance is not fitted yet"):
            call()


def test_a_refit_that_fails_leaves_the_earlier_one_whole(one_cause, three_causes, tiny):
    X, y = one_cause
    est = SurvTRACE(**tiny).fit(X, y)
    before = est.predict_cumulative_incidence(X, TIMES)
    with pytest.raises(DataError, match="'seen' holds dates"):
        est.fit(three_causes[0].assign(seen=pd.Timestamp("2020-01-01")), three_causes[1])
    assert est.causes_ == [1]
    np.testing.assert_array_equal(est.predict_cumulative_incidence(X, TIMES), before)


def test_the_settings_of_a_fitted_estimator_may_change(one_cause, tiny):
    """A wider network next time does not break the one that is fitted."""
    X, y = one_cause
    est = SurvTRACE(**tiny).fit(X, y)
    before = est.predict(X)
    est.set_params(width=8, n_members=5, n_intervals=9)
    np.testing.assert_array_equal(est.predict(X), before)


@pytest.mark.parametrize(
    ("name", "value"), [("n_threads", "two"), ("prediction_batch_size", -1), ("device", "gpu")]
)
def test_a_setting_that_predictions_use_is_checked_where_it_was_changed(
    one_cause, tiny, name, value
):
    est = SurvTRACE(**tiny).fit(*one_cause).set_params(**{name: value})
    with pytest.raises(SettingError, match=f"{name} must be"):
        est.predict(one_cause[0])


def test_settings_are_checked_in_an_update(one_cause, tiny):
    est = SurvTRACE(**tiny).fit(*one_cause).set_params(validation_fraction=5)
    with pytest.raises(SettingError, match="validation_fraction must"):
        est.update(*one_cause, how="heads")


def test_fit_is_silent(one_cause, tiny, capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SurvTRACE(**{**tiny, "verbose": "auto"}).fit(*one_cause)
    assert capsys.readouterr().out == ""


def test_a_grid_that_ends_early_predicts_what_is_true_until_its_end(tiny):
    """Two exponential causes, half of whose events lie beyond the grid."""
    rng = np.random.default_rng(0)
    first, censoring = rng.exponential(20.0, 3000), rng.uniform(8.0, 90.0, 3000)
    event = np.where(first < censoring, rng.integers(1, 3, 3000), 0)
    X = pd.DataFrame({"noise": rng.normal(size=3000)})
    y = pd.DataFrame({"event": event, "duration": np.minimum(first, censoring)})
    est = SurvTRACE(**{**tiny, "time_grid": [6, 12], "max_epochs": 8, "lr": 1e-2})
    with pytest.warns(DataWarning, match=r"1... of 2... events lie beyond the time grid"):
        est.fit(X, y)
    incidence = est.predict_cumulative_incidence(X, [12])[:, :, 0].mean(axis=0)
    assert incidence == pytest.approx([(1 - np.exp(-12 / 20)) / 2] * 2, abs=0.03)
    assert est.median_event_time_ < 12
    assert est.score_times_.max() <= 12
    assert est.censoring_.times.max() > 80, "censoring is that of the whole follow-up"
    assert np.isfinite(est.score(X, y))
    est.predict(X)
