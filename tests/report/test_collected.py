"""What is collected: scores of their own functions, patients by a rule, warnings as remarks."""

import numpy as np
import pandas as pd
import pytest

from survtrace import DataError
from survtrace.evaluation import evaluate
from survtrace.explain import permutation_importance
from survtrace.report import collect
from survtrace.report.description import describe
from survtrace.report.patients import choose_patients
from survtrace.tables.outcome.outcome import read_outcome

# In one process, so that what the fixtures fit is fitted once.
pytestmark = pytest.mark.xdist_group("report")


def test_scores_and_importance_are_those_of_their_own_functions(of_three_causes):
    est, (X, y), summary = of_three_causes.est, of_three_causes.scored, of_three_causes.summary
    table = summary.scores.table
    own = table[table["method"] == "SurvTRACE"].drop(columns="method")
    pd.testing.assert_frame_equal(own, evaluate(est, X, y, random_state=0))
    importance = permutation_importance(est, X, y, n_repeats=1, random_state=0)
    pd.testing.assert_frame_equal(summary.importance.table, importance)


def test_a_difference_is_that_of_the_scores(report):
    scores = report.summary.scores
    whole = scores.table[scores.table["score"] == "IBS"]
    value = whole.set_index(["method", "cause"])["value"].to_dict()
    for gap in scores.differences[scores.differences["score"] == "IBS"].itertuples():
        expected = value["SurvTRACE", gap.cause] - value[gap.baseline, gap.cause]
        assert gap.difference == pytest.approx(expected)
        assert gap.low <= gap.difference <= gap.high


def test_who_says_the_same_of_everybody_ranks_nobody(report):
    table = report.summary.scores.table
    floor = table[(table["method"] == "Aalen-Johansen") & table["score"].isin(["C", "AUC"])]
    assert (floor[["value", "low", "high"]] == 0.5).all(axis=None)


def test_subjects_are_counted_once(report):
    cohort, (X, y) = report.summary.cohort, report.scored
    assert cohort.n_subjects == len(X)
    assert cohort.events["events"].sum() + cohort.n_censored == len(X)
    missing = {covariate.name: covariate.n_missing for covariate in cohort.covariates}
    assert missing == X.isna().sum().to_dict()
    assert cohort.durations[0] == y["duration"].min()
    assert cohort.durations[4] == y["duration"].max()


def test_values_outside_what_was_learned_are_counted(of_three_causes):
    est, (X, y) = of_three_causes.est, of_three_causes.scored
    X = X.assign(age=1000.0, sex="unheard of")
    covariates = {c.name: c for c in describe(est, X, read_outcome(y)).covariates}
    assert covariates["age"].n_outside == covariates["sex"].n_outside == len(X)
    assert covariates["stage"].n_outside == 0


def test_patients_are_chosen_by_predicted_risk_and_carry_no_row_number(of_three_causes):
    est, (X, y) = of_three_causes.est, of_three_causes.scored
    patients = choose_patients(est, X, read_outcome(y), 1, 0, est.median_event_time_)
    risk = np.sort(est.predict(X))
    expected = [risk[int(place * len(X))] for place in (0.1, 0.5, 0.9)]
    assert [patient.risk for patient in patients.each] == expected
    for patient in patients.each:
        assert patient.covariates.index.tolist() == list(range(X.shape[1]))
        assert patient.incidence.shape == patient.high.shape == (3, len(patient.times))


def test_shares_sum_to_the_prediction(of_three_causes):
    est, (X, _) = of_three_causes.est, of_three_causes.scored
    patients = of_three_causes.summary.patients
    order = np.argsort(est.predict(X), kind="stable")
    chosen = X.iloc[[order[int(place * len(X))] for place in (0.1, 0.5, 0.9)]]
    predicted = est.predict_cumulative_incidence(chosen, [patients.time], patients.cause)[:, 0]
    summed = [patients.base + each.covariates["share"].sum() for each in patients.each]
    np.testing.assert_allclose(summed, predicted, atol=1e-6)


def test_changed_settings_come_first(of_one_cause):
    settings = of_one_cause.summary.fit.settings
    assert settings["changed"].is_monotonic_decreasing
    changed = dict(
        zip(*settings[settings["changed"]][["setting", "value"]].to_numpy().T, strict=True)
    )
    assert changed["width"] == 4
    assert "patience" not in changed
    assert set(settings["setting"]) == set(of_one_cause.est.get_params())


def test_warnings_become_remarks(of_one_cause):
    est, (X, y) = of_one_cause.est, of_one_cause.scored
    X = X.assign(stage="unheard of", note=1)
    remarks = collect(est, X, y, n_repeats=1).remarks
    assert sum("Categories not seen in fit" in remark for remark in remarks) == 1
    assert sum("Columns not seen in fit are ignored: ['note']" in remark for remark in remarks) == 1


def test_a_cause_without_events_has_no_scores_and_breaks_nothing(of_three_causes):
    est, (X, y) = of_three_causes.est, of_three_causes.scored
    some = (y["event"] != 3).to_numpy()
    summary = collect(est, X[some], y[some], train=of_three_causes.train, n_repeats=1)
    table = summary.scores.table
    assert table[(table["cause"] == 3) & (table["score"] == "C")]["value"].isna().any()
    assert summary.cohort.events.set_index("cause").loc[3, "events"] == 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda X, y: (X.drop(columns="stage"), y), "missing: \\['stage'\\]"),
        (lambda X, y: (X[:0], y[:0]), "X has no rows"),
        (lambda X, y: (X, y[1:]), "same subjects"),
        (lambda X, y: (X, y.assign(event=0)), "at least one event"),
    ],
)
def test_a_table_that_cannot_be_scored_is_refused(of_three_causes, change, words):
    with pytest.raises(DataError, match=words):
        collect(of_three_causes.est, *change(*of_three_causes.scored))


def test_training_rows_come_as_a_pair(of_one_cause):
    with pytest.raises(DataError, match="pair"):
        collect(of_one_cause.est, *of_one_cause.scored, train=3)
