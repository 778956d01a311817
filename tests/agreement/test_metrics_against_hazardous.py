"""Scores of competing causes equal hazardous's, where its rules and ours coincide.

hazardous divides by no less than 0.05 and orders tied events and censorings otherwise; so times
have no such ties here and censoring is light.
"""

import numpy as np
import pandas as pd
import pytest
from hazardous.metrics import (
    brier_score_incidence,
    concordance_index_incidence,
    integrated_brier_score_incidence,
)
from hazardous.metrics._aj_calibration import aj_calibration_per_event

from survtrace.metrics import (
    aalen_johansen_calibration,
    brier_score,
    concordance_cause_specific,
    integrated_brier_score,
    kaplan_meier_calibration,
)


@pytest.fixture(params=[(30, 0), (150, 1), (500, 2)], ids=lambda shape: f"{shape[0]} subjects")
def cohort(request):
    n, seed = request.param
    rng = np.random.default_rng(seed)

    def draw():
        latent, censoring = rng.exponential(2, (n, 2)), rng.uniform(0.3, 9, n)
        first = latent.min(axis=1)
        event = np.where(first <= censoring, 1 + latent.argmin(axis=1), 0)
        return pd.DataFrame({"event": event, "duration": np.minimum(first, censoring)})

    return draw(), draw(), rng


@pytest.mark.parametrize("cause", [1, 2])
@pytest.mark.parametrize("horizon", [0.7, 2.0])
def test_cause_specific_concordance(cohort, cause, horizon):
    train, test, rng = cohort
    estimate = rng.integers(0, 15, len(test)) / 20
    ours = concordance_cause_specific(test, estimate, horizon, cause=cause, y_train=train)
    theirs = concordance_index_incidence(
        test,
        np.column_stack([estimate, estimate]),
        train,
        time_grid=np.array([0.0, horizon]),
        taus=[horizon],
        event_of_interest=cause,
    )
    assert ours == pytest.approx(theirs[0], abs=1e-10)


def test_cause_specific_concordance_with_events_of_both_causes_at_one_time(cohort):
    train, _, rng = cohort
    tied = pd.DataFrame(
        {"event": rng.integers(1, 3, 80), "duration": rng.integers(1, 5, 80) / 4 + 0.001}
    )
    estimate = rng.integers(0, 15, 80) / 20
    ours = concordance_cause_specific(tied, estimate, cause=1, y_train=train)
    theirs = concordance_index_incidence(
        tied, np.column_stack([estimate, estimate]), train, event_of_interest=1
    )
    assert ours == pytest.approx(theirs[0], abs=1e-10)


@pytest.mark.parametrize("cause", [1, 2])
def test_brier_score_of_a_cause(cohort, cause):
    train, test, rng = cohort
    times = np.array([0.2, 0.5, 1.1, 2.0])
    incidence = np.sort(rng.random((len(test), 4)))
    ours = brier_score(test, incidence, times, cause=cause, y_train=train)
    theirs = brier_score_incidence(train, test, incidence, times, event_of_interest=cause)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-10)
    ours = integrated_brier_score(test, incidence, times, cause=cause, y_train=train)
    theirs = integrated_brier_score_incidence(
        train, test, incidence, times, event_of_interest=cause
    )
    assert ours == pytest.approx(theirs, abs=1e-10)


def test_calibration_against_the_observed_curves(cohort):
    _, test, rng = cohort
    times = np.linspace(0, 1.5, 7)
    parts = rng.dirichlet(np.ones(3), (len(test), 7)).transpose(0, 2, 1)
    theirs = aj_calibration_per_event(test, times, parts)
    survival = kaplan_meier_calibration(test, parts[:, 0], times)
    assert survival == pytest.approx(theirs[0], abs=1e-10)
    for cause in (1, 2):
        ours = aalen_johansen_calibration(test, parts[:, cause], times, cause=cause)
        assert ours == pytest.approx(theirs[cause], abs=1e-10)
