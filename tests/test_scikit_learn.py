"""It is an estimator like another to scikit-learn, but for a target that one column cannot hold."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    RandomizedSearchCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from survtrace import Surv, SurvTRACE
from survtrace.datasets import make_changing_cohort
from survtrace.metrics import auc_scorer, brier_scorer, concordance_scorer
from survtrace.tables.outcome.outcome import read_outcome

FOLDS = KFold(3, shuffle=True, random_state=0)


def test_settings_can_be_read_set_cloned_and_printed(tiny):
    est = SurvTRACE(**tiny)
    assert {**est.get_params(), **tiny} == est.get_params()
    assert est.set_params(width=8, lr=0.1) is est
    twin = clone(est)
    assert twin is not est
    assert twin.get_params() == est.get_params()
    assert "width=8" in repr(est)
    with pytest.raises(ValueError, match="Invalid parameter 'breadth'"):
        est.set_params(breadth=3)


def test_a_clone_forgets_what_was_learned(fitted_one):
    assert not clone(fitted_one).__sklearn_is_fitted__()
    assert fitted_one.__sklearn_is_fitted__()


def test_it_draws_itself_in_notebooks(fitted_one):
    assert "SurvTRACE" in fitted_one._repr_html_()


@pytest.mark.parametrize("form", ["frame", "structured"])
def test_cross_validation_by_its_own_score(three_causes, tiny, form):
    X, y = three_causes
    y = y if form == "frame" else Surv.from_arrays(y["event"], y["duration"])
    scores = cross_val_score(SurvTRACE(**tiny), X, y, cv=FOLDS, error_score="raise")
    assert scores.shape == (3,)
    assert ((scores < 0) & (scores > -0.5)).all()


@pytest.mark.parametrize(
    "scorer",
    [
        concordance_scorer(cause=1),
        concordance_scorer(horizon=5.0, mode="paper"),
        concordance_scorer(mode="antolini"),
        brier_scorer(times=[1.0, 3.0, 5.0]),
        auc_scorer(4.0, cause=2),
    ],
    ids=repr,
)
@pytest.mark.filterwarnings("ignore::survtrace.DataWarning")
def test_cross_validation_by_a_scorer(three_causes, tiny, scorer):
    scores = cross_val_score(
        SurvTRACE(**tiny), *three_causes, scoring=scorer, cv=FOLDS, error_score="raise"
    )
    assert np.isfinite(scores).all()


@pytest.mark.filterwarnings("ignore::survtrace.DataWarning")
def test_start_stop_rows_are_cross_validated_by_subject(tiny):
    X, y = make_changing_cohort(180, proportions=(0.5, 0.3), random_state=0)
    est = SurvTRACE(**{**tiny, "stay_weight": 0.0, "mortality_weight": 0.0})
    how = {"cv": GroupKFold(3), "groups": y["id"], "error_score": "raise"}
    scores = cross_val_score(est, X, y, **how)
    assert ((scores < 0) & (scores > -0.25)).all()


def test_cross_validated_predictions(one_cause, tiny):
    X, y = one_cause
    estimates = cross_val_predict(SurvTRACE(**tiny), X, y, cv=FOLDS)
    assert estimates.shape == (160,)
    assert ((estimates > 0) & (estimates < 1)).all()


def test_cross_validation_gives_each_fold_its_estimator(one_cause, tiny):
    result = cross_validate(SurvTRACE(**tiny), *one_cause, cv=FOLDS, return_estimator=True)
    assert len({est.predict(one_cause[0]).tobytes() for est in result["estimator"]}) == 3


def test_a_grid_search_refits_the_best(one_cause, tiny):
    search = GridSearchCV(
        SurvTRACE(**tiny), {"width": [4, 8], "lr": [1e-3]}, cv=FOLDS, error_score="raise"
    )
    search.fit(*one_cause)
    assert search.best_params_["width"] in (4, 8)
    assert search.predict(one_cause[0]).shape == (160,)
    assert search.score(*one_cause) == search.best_estimator_.score(*one_cause)


@pytest.mark.filterwarnings("ignore::survtrace.DataWarning")
def test_a_grid_search_takes_several_scorers(three_causes, tiny):
    search = GridSearchCV(
        SurvTRACE(**tiny),
        {"depth": [1, 2]},
        scoring={"brier": brier_scorer(), "concordance": concordance_scorer(cause=1)},
        refit="brier",
        cv=FOLDS,
        error_score="raise",
    )
    search.fit(*three_causes)
    results = search.cv_results_
    assert search.best_index_ == np.argmax(results["mean_test_brier"])
    assert (results["mean_test_concordance"] > 0).all()


def test_settings_drawn_by_numpy_are_taken_and_can_be_saved(one_cause, tiny, tmp_path):
    """Searches draw np.int64 and np.float64."""
    search = RandomizedSearchCV(
        SurvTRACE(**tiny),
        {"hidden": np.array([4, 8]), "dropout": np.array([0.0, 0.1])},
        n_iter=2,
        cv=2,
        random_state=0,
        error_score="raise",
    )
    search.fit(*one_cause)
    search.best_estimator_.save(tmp_path / "best")


def test_a_pipeline_hands_on_a_frame(one_cause, tiny):
    X, y = one_cause
    scaled = make_column_transformer(
        (StandardScaler(), make_column_selector(dtype_include="number")),
        remainder="passthrough",
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    pipeline = make_pipeline(scaled, SurvTRACE(**tiny)).fit(X, y)
    assert pipeline.predict(X).shape == (160,)
    assert pipeline[-1].feature_names_in_.tolist() == ["age", "size", "sex", "stage"]
    plain = SurvTRACE(**tiny).fit(X, y)
    np.testing.assert_allclose(pipeline.predict(X), plain.predict(X), atol=1e-4)
    scores = cross_val_score(pipeline, X, y, cv=FOLDS, error_score="raise")
    assert np.isfinite(scores).all()


def test_a_pipeline_of_arrays_works_too(one_cause, tiny):
    X, y = one_cause
    pipeline = make_pipeline(StandardScaler(), SurvTRACE(**tiny)).fit(X[["age", "size"]], y)
    assert np.isfinite(pipeline.predict(X[["age", "size"]])).all()


def test_sample_weights_can_be_routed_by_name(one_cause, tiny):
    X, y = one_cause
    pipeline = make_pipeline(StandardScaler(), SurvTRACE(**tiny))
    weight = np.where(y["event"] > 0, 3.0, 1.0)
    pipeline.fit(X[["age"]], y, survtrace__sample_weight=weight)
    assert np.isfinite(pipeline.predict(X[["age"]])).all()


SMALLEST = {
    "n_members": 1,
    "n_intervals": 2,
    "width": 4,
    "depth": 1,
    "n_heads": 1,
    "hidden": 4,
    "head_depth": 1,
    "batch_size": 32,
    "max_epochs": 1,
    "unknown_steps": 5,
    "device": "cpu",
    "n_threads": 1,
    "random_state": 0,
    "verbose": False,
}

PLAIN_TARGET = "passes y as one plain column, which cannot say which subjects had an event"
TOLERATED = dict.fromkeys(
    [
        "check_all_zero_sample_weights_error",
        "check_dict_unchanged",
        "check_dont_overwrite_parameters",
        "check_dtype_object",
        "check_estimators_dtypes",
        "check_estimators_fit_returns_self",
        "check_estimators_overwrite_params",
        "check_estimators_pickle",
        "check_f_contiguous_array_estimator",
        "check_fit2d_1feature",
        "check_fit2d_1sample",
        "check_fit2d_predict1d",
        "check_fit_check_is_fitted",
        "check_fit_idempotent",
        "check_fit_score_takes_y",
        "check_methods_sample_order_invariance",
        "check_methods_subset_invariance",
        "check_n_features_in",
        "check_n_features_in_after_fitting",
        "check_pipeline_consistency",
        "check_positive_only_tag_during_fit",
        "check_readonly_memmap_input",
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
        "check_sample_weights_list",
        "check_sample_weights_not_an_array",
        "check_sample_weights_not_overwritten",
        "check_sample_weights_pandas_series",
        "check_sample_weights_shape",
    ],
    PLAIN_TARGET,
)
TOLERATED_WITH_A_TARGET = {
    "check_n_features_in_after_fitting": "extra columns are ignored with a warning, by design",
    "check_sample_weight_equivalence_on_dense_data": "batches are drawn by row, at random",
    "check_sample_weight_equivalence_on_sparse_data": "1.6 asks although sparse tables are refused",
}


def checked(estimator):
    """Names of the checks that passed and of those that failed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(estimator, on_fail=None)
    outcome = {status: set() for status in ("passed", "failed", "skipped")}
    counts = dict.fromkeys(outcome, 0)
    for result in results:
        outcome[result["status"]].add(result["check_name"])
        counts[result["status"]] += 1
    return outcome, counts


def test_checks_of_scikit_learn_fail_only_for_the_reasons_given():
    outcome, counts = checked(SurvTRACE(**SMALLEST))
    assert outcome["failed"] <= set(TOLERATED)
    assert counts["passed"] > 18


class OfOneColumn(SurvTRACE):
    """Takes a plain column for the durations of subjects who all had an event."""

    def fit(self, X, y=None, sample_weight=None):
        return super().fit(X, self._target(y), sample_weight)

    def score(self, X, y):
        return super().score(X, self._target(y))

    def _target(self, y):
        column = np.asarray(y, dtype=object if y is None else float)
        column = column.ravel() if column.ndim == 2 and column.shape[1] == 1 else column
        if column.ndim != 1 or len(column) == 0:
            return y
        duration = column - column.min() + 1
        return read_outcome({"event": np.ones(len(duration), int), "duration": duration})


def test_with_a_target_they_can_pass_nearly_all_checks_pass():
    outcome, counts = checked(OfOneColumn(**SMALLEST))
    assert outcome["failed"] <= set(TOLERATED_WITH_A_TARGET)
    assert counts["passed"] >= 43


def test_an_array_with_other_columns_than_in_fit_is_refused(one_cause, tiny):
    """An array has no names by which extra columns could be told apart."""
    X, y = one_cause
    est = SurvTRACE(**tiny).fit(X[["age", "size"]].to_numpy(), y)
    with pytest.raises(ValueError, match=r"has 1 features .* is expecting 2 features"):
        est.predict(X[["age"]].to_numpy())


def test_tags_say_what_it_takes(tiny):
    tags = SurvTRACE(**tiny).__sklearn_tags__()
    assert tags.target_tags.required
    assert tags.input_tags.allow_nan
    assert tags.input_tags.categorical
    assert tags.input_tags.string


def test_feature_names_are_those_of_the_table(fitted_one, one_cause):
    assert list(fitted_one.feature_names_in_) == list(one_cause[0])
    assert isinstance(one_cause[0], pd.DataFrame)
