"""Explanations are true of the estimator they explain, and say how far they go."""

import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import spearmanr
from sklearn.exceptions import NotFittedError

from survtrace import DataError, SettingError, Surv, SurvTRACE, landmark
from survtrace.baselines import CauseSpecificCox
from survtrace.datasets import make_changing_cohort
from survtrace.explain import (
    attention_rollout,
    attention_table,
    attributions,
    covariate_relevance,
    faithfulness,
    partial_dependence,
    permutation_importance,
    rollout,
)
from survtrace.explain.agreement import rank_correlation
from survtrace.inference.landmark_score import integration_times
from survtrace.tables.outcome.outcome import read_outcome

TIME = 5.0


class Known:
    """An estimator whose answers are a formula: a hazard of exp(0.8 a + 0.5 b - 1), b skewed."""

    causes_ = (1,)

    def predict_cumulative_incidence(self, X, times, cause=None):
        hazard = np.exp(0.8 * X["a"].to_numpy() + 0.5 * X["b"].to_numpy() - 1)
        incidence = 1 - np.exp(-hazard[:, None, None] * np.asarray(times))
        return incidence if cause is None else incidence[:, 0]


class Linear:
    """An estimator that adds up two of its covariates; the third does nothing."""

    causes_ = (1,)

    def predict_cumulative_incidence(self, X, times, cause=None):
        incidence = 0.1 * X["a"].to_numpy() + 0.2 * (X["sex"] == "m").to_numpy()
        return np.repeat(incidence[:, None], len(times), axis=1)


def draw_known(n_subjects, rng):
    X = pd.DataFrame(
        {
            "a": rng.standard_normal(n_subjects),
            "b": rng.gamma(0.7, 1.0, n_subjects),
            "idle": rng.standard_normal(n_subjects),
        }
    )
    duration = rng.exponential(np.exp(1 - 0.8 * X["a"] - 0.5 * X["b"]))
    censoring = rng.exponential(4, n_subjects)
    event = (duration <= censoring).astype(int)
    return X, pd.DataFrame({"event": event, "duration": np.minimum(duration, censoring)})


# Attention


def test_without_layers_every_covariate_draws_on_itself_alone():
    rolled = attention_rollout(np.empty((2, 0, 1, 3, 3)))
    np.testing.assert_array_equal(rolled, np.stack([np.eye(3)] * 2))


def test_rolled_up_attention_sums_to_1_for_each_token(fitted_three, three_causes):
    rolled = attention_rollout(fitted_three.attention(three_causes[0]))
    np.testing.assert_allclose(rolled.sum(axis=2), 1, rtol=1e-6)
    assert (rolled >= 0).all()


def test_a_network_that_looks_only_at_itself_rolls_up_to_itself():
    alone = np.broadcast_to(np.eye(3), (2, 4, 2, 3, 3))
    np.testing.assert_array_equal(attention_rollout(alone), np.broadcast_to(np.eye(3), (2, 3, 3)))


def test_layers_are_multiplied_the_last_leftmost_each_half_residual():
    first, last = np.array([[0.9, 0.1], [0.5, 0.5]]), np.array([[0.2, 0.8], [0.3, 0.7]])
    weights = np.stack([first, last])[None, :, None]
    expected = (last + np.eye(2)) / 2 @ (first + np.eye(2)) / 2
    np.testing.assert_allclose(attention_rollout(weights)[0], expected)


def test_rolling_up_takes_all_five_axes():
    with pytest.raises(DataError, match=r"\(subject, layer, head, token, token\); got \(3, 3\)"):
        attention_rollout(np.eye(3))


def test_the_table_names_what_the_array_counts(fitted_three, three_causes):
    X = three_causes[0][10:14]
    table = attention_table(fitted_three, X)
    weights = fitted_three.attention(X)
    row = table.query("subject == 12 and layer == 0 and head == 1 and to == 'size'")
    assert row.set_index("from")["weight"]["sex"] == weights[2, 0, 1, 2, 1]
    sums = table.groupby(["subject", "layer", "head", "from"])["weight"].sum()
    np.testing.assert_allclose(sums, 1, rtol=1e-5)
    assert len(table) == weights.size


def test_the_rolled_up_table_has_neither_layers_nor_heads(fitted_three, three_causes):
    X = three_causes[0][:3]
    table = attention_table(fitted_three, X, rolled_up=True)
    assert list(table.columns) == ["subject", "from", "to", "weight"]
    rolled = attention_rollout(fitted_three.attention(X))
    np.testing.assert_array_equal(table["weight"].to_numpy().reshape(rolled.shape), rolled)


def test_relevances_share_1_and_are_told_what_even_would_be(fitted_three, three_causes):
    table = covariate_relevance(fitted_three, three_causes[0])
    assert list(table.columns) == ["covariate", "relevance", "low", "high"]
    assert table["relevance"].sum() == pytest.approx(1, rel=1e-6)
    assert table["relevance"].is_monotonic_decreasing
    assert (table["low"] <= table["high"]).all()
    assert table.attrs["even"] == 0.25


def test_a_cohort_is_looked_at_in_pieces(fitted_three, three_causes, monkeypatch):
    whole = covariate_relevance(fitted_three, three_causes[0])
    monkeypatch.setattr(rollout, "AT_ONCE", 50)
    pd.testing.assert_frame_equal(covariate_relevance(fitted_three, three_causes[0]), whole)


# Permutation importance


def test_importance_is_the_loss_in_the_estimators_own_score(fitted_three, three_causes):
    X, y = three_causes
    table = permutation_importance(fitted_three, X, y, n_repeats=1, random_state=7)
    order = np.random.default_rng(7).permutation(len(X))  # of the first covariate
    shuffled = X.assign(age=X["age"].to_numpy()[order])
    loss = fitted_three.score(X, y) - fitted_three.score(shuffled, y)
    mean = table[table["covariate"] == "age"]["importance"].mean()
    assert mean == pytest.approx(loss, abs=1e-12)


def test_causes_come_in_order_and_their_most_important_covariate_first(fitted_three, three_causes):
    table = permutation_importance(fitted_three, *three_causes, n_repeats=1, random_state=0)
    assert list(table.columns) == ["cause", "covariate", "importance", "low", "high"]
    assert table["cause"].tolist() == [1] * 4 + [2] * 4 + [3] * 4
    for _, rows in table.groupby("cause"):
        assert rows["importance"].is_monotonic_decreasing
        assert set(rows["covariate"]) == {"age", "size", "sex", "stage"}
    assert ((table["low"] <= table["importance"]) & (table["importance"] <= table["high"])).all()


def test_what_is_used_has_importance_and_what_is_not_has_none():
    X, y = draw_known(2000, np.random.default_rng(0))
    table = permutation_importance(Known(), X, y, random_state=0).set_index("covariate")
    assert table.loc["a", "importance"] > table.loc["b", "importance"]
    assert (table.loc[["a", "b"], "low"] > 0).all()
    assert (table.loc["idle", ["importance", "low", "high"]] == 0).all()


def test_intervals_cover_the_truth_about_as_often_as_they_say():
    rng = np.random.default_rng(1)
    truth = permutation_importance(Known(), *draw_known(50_000, rng), n_repeats=1, random_state=0)
    truth = truth.set_index("covariate")["importance"]
    hits, spread, error = [], [], []
    for seed in range(60):
        table = permutation_importance(
            Known(), *draw_known(150, rng), n_repeats=2, random_state=seed
        ).set_index("covariate")
        used = table.loc[["a", "b"]]
        hits.append((used["low"] <= truth[["a", "b"]]) & (truth[["a", "b"]] <= used["high"]))
        spread.append(used["importance"])
        error.append((used["high"] - used["low"]) / 3.92)
    assert 0.87 <= np.mean(hits) <= 0.99
    np.testing.assert_allclose(np.mean(error, axis=0), np.std(spread, axis=0), rtol=0.25)


def test_more_confidence_is_a_wider_interval(fitted_one, one_cause):
    narrow, wide = (
        permutation_importance(fitted_one, *one_cause, n_repeats=1, random_state=0, level=level)
        for level in (0.5, 0.99)
    )
    pd.testing.assert_series_equal(narrow["importance"], wide["importance"])
    assert (wide["high"] > narrow["high"]).all()


def test_a_baseline_can_be_explained_and_the_table_may_be_of_any_kind(one_cause):
    X, y = one_cause
    baseline = CauseSpecificCox().fit(X, y)
    table = permutation_importance(baseline, X, y, n_repeats=1, random_state=0)
    assert table["covariate"].iloc[0] == "age"
    assert table["low"].iloc[0] > 0
    for other in (pl.from_pandas(X), X.to_dict("list")):
        again = permutation_importance(baseline, other, y, n_repeats=1, random_state=0)
        np.testing.assert_allclose(again["importance"], table["importance"], atol=1e-12)


def test_importance_refuses_what_it_cannot_score(fitted_one, one_cause):
    X, y = one_cause
    with pytest.raises(SettingError, match="n_repeats must be a whole number of at least 1; got 0"):
        permutation_importance(fitted_one, X, y, n_repeats=0)
    with pytest.raises(DataError, match=r"same subjects|subjects"):
        permutation_importance(fitted_one, X[:-1], y)
    with pytest.raises(SettingError, match="level must lie between 0 and 1"):
        permutation_importance(fitted_one, X, y, level=95)


@pytest.fixture(scope="module")
def changing(tiny):
    """Fitted to start-stop rows, and the rows."""
    X, y = make_changing_cohort(240, proportions=(0.5, 0.3), random_state=0)
    plain = {**tiny, "stay_weight": 0.0, "mortality_weight": 0.0}
    return SurvTRACE(**plain).fit(X, y), X, y


def test_importance_at_a_landmark_is_that_among_those_under_observation(changing):
    est, X, y = changing
    found = permutation_importance(est, X, y, landmark=12.0, n_repeats=2, random_state=0)
    rows = landmark(pd.concat([X, y], axis=1), at=12.0)
    future = Surv.from_arrays(rows["event"], rows["duration"] - 12)

    class FromLandmark:
        causes_, feature_names_in_ = est.causes_, est.feature_names_in_
        score_times_ = integration_times(est, read_outcome(future), 12.0, None)

        def predict_cumulative_incidence(self, X, times):
            return est.predict_cumulative_incidence(X, 12 + times, conditional_after=12.0)

    expected = permutation_importance(
        FromLandmark(), rows[list(X)], future, n_repeats=2, random_state=0
    )
    # Weights from the scored subjects count in the intervals here, and are taken as known there.
    pd.testing.assert_frame_equal(found[list(found)[:3]], expected[list(found)[:3]])
    np.testing.assert_allclose(found["low"], expected["low"], rtol=0, atol=1e-5)


def test_start_stop_rows_are_not_shuffled_without_a_landmark(changing):
    with pytest.raises(DataError, match=r"permutation importance without a landmark needs one row"):
        permutation_importance(*changing, n_repeats=1)
    with pytest.raises(DataError, match="nobody is at 900"):
        permutation_importance(*changing, n_repeats=1, landmark=900)
    with pytest.raises(DataError, match=r"importance has one landmark; got \[6.0, 12.0\]"):
        permutation_importance(*changing, n_repeats=1, landmark=[6, 12])


def test_dependence_and_attributions_may_begin_at_a_time(fitted_three, three_causes):
    X, how = three_causes[0][:6], {"time": 6.0, "cause": 1, "conditional_after": 2.0}
    table = partial_dependence(fitted_three, X, "sex", values=["f"], **how)
    alike = X.assign(sex="f")
    expected = fitted_three.predict_cumulative_incidence(alike, [6.0], 1, conditional_after=2.0)
    assert table["incidence"].item() == pytest.approx(expected.mean())
    shares = attributions(fitted_three, X, background=3, n_permutations=1, random_state=0, **how)
    ours = fitted_three.predict_cumulative_incidence(X, [6.0], 1, conditional_after=2.0)[:, 0]
    np.testing.assert_allclose(shares.attrs["base"] + shares.sum(axis=1), ours)


def test_an_estimator_must_have_been_fitted(one_cause):
    for explain in (covariate_relevance, attention_table):
        with pytest.raises(NotFittedError, match="Call fit first"):
            explain(SurvTRACE(), one_cause[0])
    with pytest.raises(NotFittedError, match="Call fit first"):
        permutation_importance(SurvTRACE(), *one_cause)


def test_columns_seen_in_fit_must_be_there_and_others_are_left_out(fitted_one, one_cause):
    X = one_cause[0]
    with pytest.raises(DataError, match=r"missing: \['age'\]"):
        covariate_relevance(fitted_one, X.drop(columns="age"))
    more = covariate_relevance(fitted_one, X.assign(weight=1.0))
    pd.testing.assert_frame_equal(more, covariate_relevance(fitted_one, X))


# Partial dependence


def test_dependence_is_the_mean_prediction_if_all_had_the_value(fitted_three, three_causes):
    X = three_causes[0]
    table = partial_dependence(fitted_three, X, "stage", time=TIME)
    assert table["value"].tolist() == ["I", "II", "III"] * 3
    everyone = fitted_three.predict_cumulative_incidence(X.assign(stage="II"), [TIME])[:, 1, 0]
    row = table[(table["cause"] == 2) & (table["value"] == "II")].iloc[0]
    assert row["incidence"] == pytest.approx(everyone.mean())
    np.testing.assert_allclose([row["low"], row["high"]], np.quantile(everyone, [0.25, 0.75]))


def test_missing_is_a_value_of_its_own_where_it_occurs(fitted_one, one_cause):
    X = one_cause[0]
    values = partial_dependence(fitted_one, X, "size", time=TIME)["value"]
    assert np.isnan(values.iloc[-1])
    assert values.iloc[:-1].notna().all()
    assert partial_dependence(fitted_one, X, "age", time=TIME)["value"].notna().all()
    gaps = X.assign(sex=X["sex"].where(X.index % 2 == 0))
    assert partial_dependence(fitted_one, gaps, "sex", time=TIME)["value"].tolist()[:2] == [
        "f",
        "m",
    ]


def test_a_numerical_covariate_is_asked_at_values_that_occur(fitted_one, one_cause):
    X = one_cause[0]
    values = partial_dependence(fitted_one, X, "age", time=TIME)["value"]
    assert len(values) == 20
    assert values.isin(X["age"]).all()
    assert values.is_monotonic_increasing
    few = partial_dependence(fitted_one, X, "age", time=TIME, values=[55, 70])
    assert few["value"].tolist() == [55, 70]


def test_dependence_names_the_covariates_and_causes_it_knows(fitted_three, three_causes):
    X = three_causes[0]
    with pytest.raises(DataError, match=r"covariate must be one of \['age', .*got 'weight'"):
        partial_dependence(fitted_three, X, "weight", time=TIME)
    with pytest.raises(DataError, match=r"cause must be one of \[1, 2, 3\]; got 9"):
        partial_dependence(fitted_three, X, "age", time=TIME, cause=9)


# Attributions


@pytest.fixture(scope="module", name="shares")
def attributed(fitted_three, three_causes):
    pytest.importorskip("shap")
    X = three_causes[0]
    return attributions(
        fitted_three, X[:4], time=TIME, cause=2, background=X[50:80], random_state=0
    )


def test_base_and_attributions_add_up_to_the_prediction(shares, fitted_three, three_causes):
    X = three_causes[0]
    prediction = fitted_three.predict_cumulative_incidence(X, [TIME], cause=2)[:, 0]
    np.testing.assert_allclose(shares.attrs["base"] + shares.sum(axis=1), prediction[:4])
    assert shares.attrs["base"] == pytest.approx(prediction[50:80].mean())
    assert shares.shape == (4, 4)
    assert shares.index.equals(X.index[:4])


def test_a_sum_is_attributed_term_by_term_categories_and_missing_values_included():
    pytest.importorskip("shap")
    X = pd.DataFrame({"a": [1.0, 2.0, 3.0], "sex": ["m", "f", "m"], "idle": [np.nan, 5.0, np.nan]})
    shares = attributions(Linear(), X, time=TIME, background=X, n_permutations=1)
    np.testing.assert_allclose(shares["a"], [-0.1, 0.0, 0.1], atol=1e-12)
    np.testing.assert_allclose(shares["sex"], [0.2 / 3, -0.4 / 3, 0.2 / 3])
    np.testing.assert_array_equal(shares["idle"], 0)


def test_the_seed_decides_and_the_global_generator_is_left_alone(fitted_three, three_causes):
    pytest.importorskip("shap")
    X = three_causes[0][:30]
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    first, again = (
        attributions(fitted_three, X, time=TIME, cause=1, background=5, n_permutations=1,
                     random_state=3)[:2]
        for _ in range(2)
    )  # fmt: skip
    pd.testing.assert_frame_equal(first, again)
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002


def test_a_subject_alone_needs_others_to_be_compared_with(fitted_three, three_causes):
    pytest.importorskip("shap")
    X = three_causes[0]
    for explained, background in ((X[:1], 100), (X[:1], X[:0]), (X, 0)):
        with pytest.raises(DataError, match="Pass a table to compare with"):
            attributions(fitted_three, explained, time=TIME, cause=1, background=background)
    with pytest.raises(DataError, match="cause must be one of"):
        attributions(fitted_three, three_causes[0], time=TIME)


def test_without_shap_it_says_how_to_get_it(fitted_one, one_cause, monkeypatch):
    monkeypatch.setitem(sys.modules, "shap", None)
    with pytest.raises(ImportError, match=r"pip install 'survtrace\[explain\]'"):
        attributions(fitted_one, one_cause[0], time=TIME)


# Faithfulness


def tables(relevance, importance):
    names = [f"x{j}" for j in range(len(relevance))]
    looked_at = pd.DataFrame({"covariate": names, "relevance": relevance})
    used = pd.DataFrame({"cause": "stroke", "covariate": names, "importance": importance})
    return looked_at, used[::-1]


@pytest.mark.parametrize(
    ("importance", "verdict"),
    [
        (np.arange(10), "ranks covariates much as their importance does"),
        (-np.arange(10), "against their importance; do not rely on it"),
        ([3, 9, 0, 5, 1, 8, 2, 7, 4, 6], "does not tell which covariates matter"),
        (np.zeros(10), "no order to compare"),
    ],
)
def test_the_verdict_can_be_read(importance, verdict):
    found = faithfulness(*tables(np.arange(1, 11) / 55, importance))
    share, sentence = str(found).split("\n")
    assert "between 1.8 and 18.2 % of its weight; even would be 10.0 %" in share
    assert sentence.startswith("Cause stroke: ")
    assert verdict in sentence


def test_the_verdict_names_the_cause_as_the_model_does():
    """`survtrace explain` said "Cause 1" below a table that said "circulatory"."""
    found = faithfulness(*tables(np.arange(1, 11) / 55, np.arange(10)))
    _, sentence = found.sentences({"stroke": "stroke or TIA"})
    assert sentence.startswith("Stroke or TIA: attention ranks covariates")


def test_each_cause_has_its_correlation(fitted_three, three_causes):
    X, y = three_causes
    importance = permutation_importance(fitted_three, X, y, n_repeats=1, random_state=0)
    found = faithfulness(covariate_relevance(fitted_three, X), importance)
    assert found.table["cause"].tolist() == [1, 2, 3]
    assert found.table["correlation"].between(-1, 1).all()
    assert len(str(found).split("\n")) == 4


def test_covariates_that_do_not_match_are_refused():
    looked_at, used = tables([0.5, 0.5], [1.0, 2.0])
    with pytest.raises(DataError, match="must be of the same covariates"):
        faithfulness(looked_at, used[:1])


def test_the_rank_correlation_is_spearmans_within_its_interval():
    rng = np.random.default_rng(0)
    for n in (4, 9, 30):
        first, second = rng.integers(0, 6, (2, n))
        value, low, high = rank_correlation(first, second)
        assert value == pytest.approx(spearmanr(first, second).statistic)
        assert -1 <= low <= value <= high <= 1


def test_a_few_covariates_in_the_same_order_prove_nothing():
    assert rank_correlation([1, 2, 3], [1, 2, 3]) == pytest.approx((1, -1, 1))
    assert rank_correlation([1, 2, 3, 4], [1, 2, 3, 4])[1] < 0
    assert rank_correlation(range(10), range(10))[1] > 0


@pytest.mark.parametrize("values", [[[1.0], [1.0, 2.0]], [], "f", 5.0])
def test_values_to_give_to_everybody_must_be_a_list_of_them(fitted_one, one_cause, values):
    with pytest.raises(DataError, match="values"):
        partial_dependence(fitted_one, one_cause[0], "age", time=TIME, values=values)
