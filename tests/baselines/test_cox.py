"""Cox's regression finds its optimum, chooses its ridge, and bears many levels."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import approx_fprime

from survtrace import DataError, SettingError
from survtrace.baselines import CauseSpecific, CauseSpecificCox, CoxPH
from survtrace.baselines.cox import PartialLikelihood, search_ridge
from survtrace.baselines.design import Design
from survtrace.tables.outcome.outcome import Outcome


def simulated(n_subjects=120, n_columns=4, seed=0, strength=1.0):
    """Covariates of which the first matters, with ties and some censored before all events."""
    rng = np.random.default_rng(seed)
    design = rng.normal(size=(n_subjects, n_columns))
    duration = np.ceil(20 * rng.exponential(np.exp(-strength * design[:, 0])))
    event = (rng.random(n_subjects) < 0.7).astype(np.int64)
    event[duration <= 1] = 0
    return design, Outcome(duration, event, (1,))


def test_gradient_and_curvature_are_those_of_the_likelihood():
    design, outcome = simulated()
    likelihood, point = PartialLikelihood(design, outcome), np.array([0.3, -0.2, 0.1, 0.0])
    gradient, curvature = likelihood._derivatives(point, 2.0)
    assert gradient == pytest.approx(
        approx_fprime(point, lambda b: likelihood._penalised(b, 2.0)), rel=1e-4, abs=1e-4
    )
    rows = [approx_fprime(point, lambda b, j=j: likelihood._derivatives(b, 2.0)[0][j], 1e-6)
            for j in range(4)]  # fmt: skip
    np.testing.assert_allclose(curvature, -np.array(rows), rtol=1e-4, atol=1e-4)


def test_the_ridge_is_small_for_strong_effects_and_large_for_none():
    assert search_ridge(*simulated(strength=2.0)) <= 10
    assert search_ridge(*simulated(strength=0.0, n_columns=30)) >= 100


def test_each_cause_chooses_its_own_ridge():
    design, outcome = simulated(n_subjects=300)
    event = np.where(np.arange(300) % 3, outcome.event, 2 * outcome.event)
    y = {"event": event, "duration": outcome.duration}
    est = CauseSpecificCox(ridge="search").fit(design, y)
    assert len(est.ridges_) == 2
    assert est.ridges_ == [each.ridge_ for each in est.estimators_]


def test_a_ridge_that_is_no_number_is_refused():
    design, outcome = simulated()
    with pytest.raises(SettingError, match="ridge must be a number or 'search'; got 'best'"):
        CoxPH(ridge="best").fit(design, outcome)


def test_nobody_with_an_event_is_refused():
    design, outcome = simulated()
    nobody = Outcome(outcome.duration, np.zeros_like(outcome.event), (1,))
    with pytest.raises(DataError, match="needs at least one event; none of"):
        CoxPH().fit(design, nobody)


def test_rare_levels_share_a_column_which_unseen_ones_get_too():
    X = pd.DataFrame({"town": ["a"] * 5 + ["b"] * 4 + ["c", "d"]})
    design = Design(X, pool_below=2)
    assert design.n_pooled == 2
    assert design.matrix(X).tolist()[-3:] == [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    with pytest.warns(UserWarning, match="not seen in fit"):
        assert design.matrix({"town": ["z"]}).tolist() == [[1.0, 0.0, 0.0]]


def test_columns_are_bounded_and_the_frequent_levels_kept():
    rng = np.random.default_rng(0)
    town = rng.choice(1000, 5000, p=np.arange(1, 1001) / 500500).astype(str)
    X = pd.DataFrame({"town": town, "age": rng.normal(size=5000)})
    design = Design(X, max_columns=30)
    assert design.matrix(X).shape[1] <= 30
    most = X["town"].value_counts().index[0]
    column = design.matrix(X[X["town"] == most])
    assert (column.sum(axis=0) == len(column)).sum() == 1
    assert (design.matrix(X)[:, :-1].sum(axis=1) == 1).all()


def test_a_coarse_grid_gives_nearly_the_incidences_of_all_event_times():
    design, outcome = simulated(n_subjects=400)
    event = np.where(np.arange(400) % 2, outcome.event, 2 * outcome.event)
    rng = np.random.default_rng(1)
    y = {"event": event, "duration": outcome.duration + rng.random(400)}
    times = np.linspace(1, 60, 20)
    fine, coarse = (
        CauseSpecific(CoxPH, n_grid=n_grid)
        .fit(design, y)
        .predict_cumulative_incidence(design, times)
        for n_grid in (None, 50)
    )
    np.testing.assert_allclose(coarse, fine, atol=0.01)
