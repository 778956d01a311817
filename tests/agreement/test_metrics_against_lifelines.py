"""Curves equal those of lifelines."""

import numpy as np
import pytest
from lifelines import AalenJohansenFitter, KaplanMeierFitter, NelsonAalenFitter
from lifelines.utils import concordance_index

from survtrace.metrics import (
    CensoringSurvival,
    aalen_johansen,
    concordance_paper,
    kaplan_meier,
    nelson_aalen,
)

TIMES = np.array([0.0, 0.3, 1.0, 2.0, 2.5, 4.0])


@pytest.fixture(params=[0, 1, 2])
def tied(request):
    rng = np.random.default_rng(request.param)
    return rng.integers(0, 2, 80), rng.integers(1, 9, 80) / 2


def test_kaplan_meier_with_ties(tied):
    event, duration = tied
    theirs = KaplanMeierFitter().fit(duration, event).survival_function_at_times(TIMES)
    ours = kaplan_meier({"event": event, "duration": duration})
    np.testing.assert_allclose(ours.at(TIMES), theirs, atol=1e-12)


def test_nelson_aalen_with_ties(tied):
    event, duration = tied
    fitter = NelsonAalenFitter(nelson_aalen_smoothing=False).fit(duration, event)
    ours = nelson_aalen({"event": event, "duration": duration}, cause=1)
    theirs = fitter.cumulative_hazard_at_times(TIMES)
    np.testing.assert_allclose(ours.at(TIMES), theirs, atol=1e-12)


def test_aalen_johansen_without_ties():
    rng = np.random.default_rng(0)
    event, duration = rng.integers(0, 4, 100), rng.exponential(1, 100)
    ours = aalen_johansen({"event": event, "duration": duration})
    for cause in (1, 2, 3):
        fitter = AalenJohansenFitter(calculate_variance=False).fit(duration, event, cause)
        curve = fitter.cumulative_density_.iloc[:, 0]
        np.testing.assert_allclose(ours.at(curve.index)[cause - 1], curve, atol=1e-12)


def test_concordance_without_weights_is_that_of_harrell():
    rng = np.random.default_rng(0)
    event, duration, estimate = rng.integers(0, 2, 90), rng.random(90), rng.integers(0, 9, 90)
    unweighted = CensoringSurvival(np.array([1.0]), np.array([1.0]))
    y = {"event": event, "duration": duration}
    ours = concordance_paper(y, estimate, y_train=unweighted)
    assert ours == pytest.approx(concordance_index(duration, -estimate, event), abs=1e-12)
