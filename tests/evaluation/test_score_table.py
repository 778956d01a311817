"""What an evaluation says is what the scores say."""

import numpy as np
import pandas as pd
import pytest

from survtrace import DataError, DataWarning, SurvTRACE
from survtrace.errors import LearnedRowsWarning
from survtrace.evaluation import evaluate
from survtrace.explain import permutation_importance
from survtrace.metrics import (
    aalen_johansen,
    auc_at,
    brier_score,
    censoring_survival,
    concordance_cause_specific,
)

pytestmark = pytest.mark.filterwarnings("ignore::survtrace.errors.LearnedRowsWarning")


@pytest.fixture(scope="module")
def scored(fitted_three, three_causes):
    X, y = three_causes
    with pytest.warns(LearnedRowsWarning, match="These seem to be rows the model was trained on"):
        return evaluate(fitted_three, X, y, horizons=[2.0, 6.0])


def test_each_score_is_that_of_its_function(scored, fitted_three, three_causes):
    X, y = three_causes
    incidence = fitted_three.predict_cumulative_incidence(X, [2.0, 6.0])
    known = {"y_train": fitted_three.censoring_}
    for k, cause in enumerate(fitted_three.causes_):
        brier = brier_score(y, incidence[:, k], [2.0, 6.0], cause=cause, **known)
        for j, horizon in enumerate([2.0, 6.0]):
            estimate = incidence[:, k, j]
            expected = {
                "C": concordance_cause_specific(y, estimate, horizon, cause=cause, **known),
                "AUC": auc_at(y, estimate, horizon, cause=cause, **known),
                "Brier": brier[j],
                "predicted": estimate.mean(),
                "observed": aalen_johansen(y, cause).at(horizon),
            }
            own = scored[(scored["cause"] == cause) & (scored["horizon"] == horizon)]
            found = own.set_index("score")["value"]
            assert found.to_dict() == pytest.approx({k: float(v) for k, v in expected.items()})


def test_the_integrated_scores_average_to_the_estimators_own(scored, fitted_three, three_causes):
    integrated = scored[scored["score"] == "IBS"]
    assert integrated["horizon"].isna().all()
    assert -integrated["value"].mean() == pytest.approx(fitted_three.score(*three_causes))


def test_intervals_hold_their_values(scored):
    assert (scored["low"] <= scored["value"]).all()
    assert (scored["value"] <= scored["high"]).all()


def test_horizons_are_by_default_quartiles_of_the_event_times(fitted_three, three_causes):
    X, y = three_causes
    found = evaluate(fitted_three, X, y, n_resamples=2)["horizon"].dropna().unique()
    times = y["duration"][y["event"] > 0]
    np.testing.assert_allclose(found, np.quantile(times, [0.25, 0.5, 0.75]))


def test_censoring_may_come_from_elsewhere(fitted_three, three_causes, scored):
    X, y = three_causes
    other = evaluate(fitted_three, X, y, horizons=[2.0, 6.0], y_train=y[:50], n_resamples=2)
    changed = other["value"] != scored["value"]
    assert set(scored["score"][changed]) == {"C", "AUC", "Brier", "IBS"}
    known = evaluate(
        fitted_three, X, y, horizons=[2.0, 6.0], y_train=censoring_survival(y[:50]), n_resamples=2
    )
    np.testing.assert_array_equal(known["value"], other["value"])


@pytest.mark.parametrize("horizons", [[0.0], [1e6]])
def test_horizons_beyond_follow_up_are_refused(fitted_three, three_causes, horizons):
    with pytest.raises(DataError, match="within the follow-up of the scored subjects"):
        evaluate(fitted_three, *three_causes, horizons=horizons)


def test_without_events_there_is_nothing_to_score(fitted_three, three_causes):
    X, y = three_causes
    with pytest.raises(DataError, match=r"at least one event; all 240 subjects are censored"):
        evaluate(fitted_three, X, y.assign(event=0))


@pytest.mark.parametrize("factor", [30.0, 1 / 30])
def test_durations_in_another_unit_are_asked_about(fitted_three, three_causes, factor):
    X, y = three_causes
    y = y.assign(duration=y["duration"] * factor)
    with pytest.warns(DataWarning) as said:
        evaluate(fitted_three, X, y, horizons=[y["duration"].median()], n_resamples=2)
    words = "\n".join(str(each.message) for each in said)
    assert ("events lie beyond the time grid" in words) == (factor > 1)
    assert ("times the events that the model expects" in words) == (factor < 1)
    assert "Are durations in the same unit" in words


def test_no_events_by_an_early_horizon_are_no_sign_of_another_unit(fitted_three, three_causes):
    X, y = three_causes
    few = y.assign(event=y["event"].where(y["duration"] > 0.05, 0))
    with pytest.warns(DataWarning) as said:
        evaluate(fitted_three, X, few, horizons=[0.05], n_resamples=2)
    assert "same unit" not in "".join(str(each.message) for each in said)


def test_the_estimator_knows_who_is_censored(three_causes, tiny):
    X, y = three_causes
    words = y.assign(event=y["event"].map({0: "well", 1: "a", 2: "b", 3: "c"}))
    table = X.join(words)
    roles = {"event": "event", "duration": "duration"}
    est = SurvTRACE(**tiny).fit(table, {**roles, "censored": "well"})
    expected = evaluate(est, X, words, horizons=[6.0], n_resamples=2)
    by_names = evaluate(est, table, roles, horizons=[6.0], n_resamples=2)
    pd.testing.assert_frame_equal(by_names, expected)
    labelled = [part.set_axis([f"p{i}" for i in range(len(X))]) for part in (X, words)]
    with pytest.warns(DataWarning, match="same labels in another order"):
        shuffled = evaluate(est, labelled[0], labelled[1][::-1], horizons=[6.0], n_resamples=2)
    pd.testing.assert_frame_equal(shuffled, expected)
    weighted = evaluate(est, X, words, horizons=[6.0], n_resamples=2, y_train=words)
    coded = evaluate(est, X, words, horizons=[6.0], n_resamples=2, y_train=censoring_survival(y))
    pd.testing.assert_frame_equal(weighted, coded)
    table = permutation_importance(est, X, words, n_repeats=1, random_state=0)
    assert set(table["cause"]) == {"a", "b", "c"}
