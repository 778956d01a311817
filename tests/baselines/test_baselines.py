"""Baselines keep the same contract as SurvTRACE, and are what they say they are."""

import numpy as np
import pandas as pd
import pytest
from lifelines import CoxPHFitter

from survtrace.baselines import AalenJohansen, CauseSpecificCox
from survtrace.datasets import make_cohort
from survtrace.metrics import aalen_johansen

TIMES = np.array([0.0, 6.0, 24.0, 60.0, 100.0])


@pytest.fixture(scope="module")
def cohort():
    return make_cohort(800, linear=True, proportions=(0.3, 0.2), random_state=0)


@pytest.mark.parametrize("method", [AalenJohansen, CauseSpecificCox])
def test_curves_are_coherent(cohort, method):
    X, y = cohort
    est = method().fit(X, y)
    incidence = est.predict_cumulative_incidence(X, TIMES)
    survival = est.predict_survival_function(X, TIMES)
    assert incidence.shape == (len(X), 2, len(TIMES))
    np.testing.assert_allclose(survival + incidence.sum(axis=1), 1, atol=1e-12)
    assert (np.diff(incidence, axis=-1) >= 0).all()
    assert (incidence[..., 0] == 0).all()
    one = est.predict_cumulative_incidence(X, TIMES, cause=est.causes_[1])
    np.testing.assert_array_equal(one, incidence[:, 1])


def test_aalen_johansen_tells_everybody_the_same(cohort):
    X, y = cohort
    incidence = AalenJohansen().fit(X, y).predict_cumulative_incidence(X, TIMES)
    assert (incidence == incidence[0]).all()
    np.testing.assert_array_equal(incidence[0], aalen_johansen(y).at(TIMES))


def test_coefficients_agree_with_lifelines():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=400), "b": rng.normal(size=400)})
    duration = rng.exponential(np.exp(-0.7 * X["a"] + 0.3 * X["b"]))
    y = pd.DataFrame({"event": rng.integers(0, 3, 400), "duration": duration})
    ours = CauseSpecificCox(ridge=1e-8).fit(X, y)
    scaled = (X - X.mean()) / X.std(ddof=0)
    for cause, coefficients in zip(ours.causes_, ours.coefficients_, strict=True):
        table = scaled.assign(t=duration, e=y["event"] == cause)
        theirs = CoxPHFitter().fit(table, "t", "e").params_
        np.testing.assert_allclose(coefficients, theirs, atol=1e-4)


def test_missing_values_and_text_are_taken_as_they_come():
    X, y = make_cohort(400, missing=0.1, random_state=1)
    incidence = CauseSpecificCox().fit(X, y).predict_cumulative_incidence(X[:5], [12.0])
    assert np.isfinite(incidence).all()
