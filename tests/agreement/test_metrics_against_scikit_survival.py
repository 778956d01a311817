"""Scores with ties="scikit-survival", and curves, equal scikit-survival's, ties included."""

import numpy as np
import pytest
from sksurv import metrics as sksurv
from sksurv.nonparametric import (
    CensoringDistributionEstimator,
    cumulative_incidence_competing_risks,
    kaplan_meier_estimator,
    nelson_aalen_estimator,
)
from sksurv.util import Surv

from survtrace.metrics import (
    aalen_johansen,
    auc,
    brier_score,
    brier_score_survival,
    censoring_survival,
    concordance_paper,
    integrated_brier_score,
    integrated_brier_score_survival,
    kaplan_meier,
    nelson_aalen,
)

AS_THEY_DO = {"ties": "scikit-survival"}
SHAPES = [(15, 0.3, 0), (60, 0.85, 1), (300, 0.5, 2), (300, 0.9, 3), (400, 0.1, 4)]


@pytest.fixture(params=SHAPES, ids=lambda shape: f"{shape[0]} subjects, {shape[1]:.0%} censored")
def cohort(request):
    """Train and test outcomes with many tied times, and estimates with many ties."""
    n, share_censored, seed = request.param
    rng = np.random.default_rng(seed)

    def draw():
        duration = rng.integers(1, 25, n).astype(float)
        event = rng.random(n) > share_censored
        duration[0], event[0] = 0.5, True
        duration[1], event[1] = 30.0, True  # so that G stays above 0 to the end
        return Surv.from_arrays(event, duration)

    return draw(), draw(), rng.integers(0, 12, n) / 10, rng


@pytest.mark.parametrize("horizon", [3.0, 12.0, 12.5, None])
def test_concordance_of_the_paper(cohort, horizon):
    train, test, estimate, _ = cohort
    ours = concordance_paper(test, estimate, horizon, y_train=train, **AS_THEY_DO)
    theirs = sksurv.concordance_index_ipcw(train, test, estimate, tau=horizon, tied_tol=0)[0]
    assert ours == pytest.approx(theirs, abs=1e-10)


def test_concordance_of_the_paper_counts_other_causes_as_censored(cohort):
    _, test, estimate, rng = cohort
    event = test["event"] * rng.integers(1, 3, len(test))
    event[:2] = 1
    y = {"event": event, "duration": test["time"]}
    other = Surv.from_arrays(event == 1, test["time"])
    ours = concordance_paper(y, estimate, 15.0, cause=1, **AS_THEY_DO)
    theirs = sksurv.concordance_index_ipcw(other, other, estimate, tau=15.0, tied_tol=0)[0]
    assert ours == pytest.approx(theirs, abs=1e-10)


def test_brier_scores_of_survival_and_of_incidence(cohort):
    train, test, _, rng = cohort
    times = np.array([1.0, 4.0, 9.5, 20.0])
    survival = np.sort(rng.random((len(test), 4)))[:, ::-1]
    theirs = sksurv.brier_score(train, test, survival, times)[1]
    integrated = sksurv.integrated_brier_score(train, test, survival, times)
    ours = brier_score_survival(test, survival, times, y_train=train, **AS_THEY_DO)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-10)
    ours = brier_score(test, 1 - survival, times, y_train=train, **AS_THEY_DO)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-10)
    mean = integrated_brier_score_survival(test, survival, times, y_train=train, **AS_THEY_DO)
    assert mean == pytest.approx(integrated, abs=1e-10)
    mean = integrated_brier_score(test, 1 - survival, times, y_train=train, **AS_THEY_DO)
    assert mean == pytest.approx(integrated, abs=1e-10)


@pytest.mark.parametrize("controls", ["all", "event_free"])
def test_area_under_the_curve_for_flat_and_for_timed_estimates(cohort, controls):
    train, test, estimate, rng = cohort
    times = np.array([2.0, 9.5, 20.0])
    by_time = rng.integers(0, 9, (len(test), 3)) / 10
    for values in (estimate, by_time):
        ours = auc(test, values, times, y_train=train, controls=controls, **AS_THEY_DO)
        theirs = sksurv.cumulative_dynamic_auc(train, test, values, times, tied_tol=0)[0]
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-10)


def test_censoring_survival_with_events_before_censorings(cohort):
    train, test, _, _ = cohort
    theirs = CensoringDistributionEstimator().fit(train).predict_proba(test["time"])
    np.testing.assert_allclose(censoring_survival(train).at(test["time"]), theirs, atol=1e-12)


def test_kaplan_meier_and_nelson_aalen(cohort):
    train = cohort[0]
    times, survival = kaplan_meier_estimator(train["event"], train["time"])
    hazard = nelson_aalen_estimator(train["event"], train["time"])[1]
    np.testing.assert_allclose(kaplan_meier(train).at(times), survival, atol=1e-12)
    np.testing.assert_allclose(nelson_aalen(train, cause=1).at(times), hazard, atol=1e-12)


def test_aalen_johansen_of_every_cause(cohort):
    train, _, _, rng = cohort
    event = train["event"] * rng.integers(1, 4, len(train))
    event[:3] = [1, 2, 3]
    times, incidence = cumulative_incidence_competing_risks(event, train["time"])
    ours = aalen_johansen({"event": event, "duration": train["time"]})
    np.testing.assert_allclose(ours.at(times), incidence[1:], atol=1e-12)
