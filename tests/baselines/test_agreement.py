"""On a numeric table a baseline is what its library says."""

import numpy as np
import pandas as pd
import pytest
import torch
from comprisk import CompetingRiskForest as TheirForest
from comprisk import FineGrayRegression
from hazardous import SurvivalBoost as TheirBoost
from pycox.models import loss
from pycox.preprocessing.label_transforms import LabTransDiscreteTime, LabTransPCHazard
from sksurv.ensemble import RandomSurvivalForest as TheirSurvivalForest
from sksurv.linear_model import CoxPHSurvivalAnalysis

from survtrace.baselines import (
    CauseSpecific,
    CauseSpecificCox,
    CompetingRiskForest,
    CoxPH,
    DeepHit,
    DeepSurv,
    DeepSurvivalMachines,
    FineGray,
    PCHazard,
    RandomSurvivalForest,
    SurvivalBoost,
)
from survtrace.baselines.cox import sksurv_target
from survtrace.baselines.deep_survival_machines import MixtureNetwork
from survtrace.baselines.pycox_networks import (
    discrete_interval,
    event_quantiles,
    interval_fraction,
)
from survtrace.baselines.seeds import seeded
from survtrace.datasets import load_metabric, make_cohort
from survtrace.metrics import concordance_cause_specific
from survtrace.tables.outcome.outcome import read_outcome

TIMES = np.array([0.1, 0.4, 0.9])


def make_numeric(n_subjects=200, n_causes=1):
    """A standardised table, which the encoding leaves alone."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(n_subjects, 3))
    table = ((table - table.mean(axis=0)) / table.std(axis=0)).astype(np.float32).astype(float)
    latent = rng.exponential(np.exp(-0.8 * table[:, [0]]), size=(n_subjects, n_causes))
    censoring = rng.exponential(2.0, n_subjects)
    first = latent.min(axis=1)
    event = np.where(first < censoring, latent.argmin(axis=1) + 1, 0)
    y = pd.DataFrame({"event": event, "duration": np.minimum(first, censoring)})
    return table, y, read_outcome(y)


def test_cox_agrees_with_scikit_survival():
    X, y, outcome = make_numeric()
    theirs = CoxPHSurvivalAnalysis(alpha=1.0).fit(X, sksurv_target(outcome))
    curves = [curve(TIMES) for curve in theirs.predict_survival_function(X)]
    ours = CoxPH(ridge=1.0).fit(X, y).predict_survival_function(X, TIMES)
    np.testing.assert_allclose(ours, curves, atol=1e-5)


def test_forest_agrees_with_scikit_survival():
    X, y, outcome = make_numeric()
    settings = {"n_estimators": 5, "min_samples_leaf": 15, "random_state": 0}
    theirs = TheirSurvivalForest(**settings).fit(X, sksurv_target(outcome))
    curves = [curve(TIMES) for curve in theirs.predict_survival_function(X)]
    ours = RandomSurvivalForest(n_times=None, **settings).fit(X, y)
    np.testing.assert_allclose(ours.predict_survival_function(X, TIMES), curves, atol=1e-4)


def test_forest_on_coarse_durations_stays_near():
    X, y, _ = make_numeric()
    settings = {"n_estimators": 20, "random_state": 0}
    fine = RandomSurvivalForest(n_times=None, **settings).fit(X, y)
    coarse = RandomSurvivalForest(n_times=30, **settings).fit(X, y)
    assert len(coarse.forest_.unique_times_) <= 31
    curves = [est.predict_survival_function(X, TIMES) for est in (fine, coarse)]
    assert np.abs(curves[0] - curves[1]).mean() < 0.05


def test_comprisk_forest_agrees_with_comprisk():
    X, y, outcome = make_numeric(n_causes=2)
    theirs = TheirForest(
        n_estimators=5, min_samples_leaf=15, min_samples_split=30, random_state=0, n_jobs=1
    ).fit(X, outcome.duration, outcome.event)
    ours = CompetingRiskForest(n_estimators=5, min_samples_leaf=15, random_state=0).fit(X, y)
    np.testing.assert_allclose(
        ours.predict_cumulative_incidence(X, TIMES), theirs.predict_cif(X, TIMES), atol=1e-3
    )


@pytest.mark.parametrize("ridge", [0.0, 1e-6])
def test_fine_gray_agrees_with_comprisk(ridge):
    X, y, outcome = make_numeric(n_causes=2)
    ours = FineGray(ridge=ridge).fit(X, y).predict_cumulative_incidence(X, TIMES)
    for number in (1, 2):
        theirs = FineGrayRegression(cause=number).fit(X, time=y["duration"], event=outcome.event)
        curves = theirs.predict_cumulative_incidence(X, TIMES)
        np.testing.assert_allclose(ours[:, number - 1], curves, atol=1e-3)


def test_fine_gray_takes_levels_and_copies(three_causes):
    X, y = three_causes
    twice = X.assign(again=X["sex"])
    with pytest.warns(UserWarning, match="copy of another"):
        est = FineGray(ridge=0.0).fit(twice, y)
    expected = FineGray(ridge=0.0).fit(X, y).predict_cumulative_incidence(X, [2.0, 5.0])
    np.testing.assert_allclose(
        est.predict_cumulative_incidence(twice, [2.0, 5.0]), expected, atol=1e-4
    )


def test_survival_boost_agrees_with_hazardous():
    X, y, outcome = make_numeric(n_causes=2)
    theirs = TheirBoost(n_iter=3, show_progressbar=False, random_state=0)
    with seeded(0):
        theirs.fit(X, {"event": outcome.event, "duration": outcome.duration})
    ours = SurvivalBoost(n_iter=3, random_state=0).fit(X, y)
    np.testing.assert_allclose(
        ours.predict_cumulative_incidence(X, TIMES),
        theirs.predict_cumulative_incidence(X, TIMES)[:, 1:],
        atol=1e-6,
    )


def test_targets_of_the_networks_are_those_of_pycox():
    _, _, outcome = make_numeric()
    transform = LabTransPCHazard(5, "quantiles").fit(outcome.duration, outcome.event)
    theirs = transform.transform(outcome.duration, outcome.event.astype(float))
    for mine, other in zip(interval_fraction(outcome, transform.cuts), theirs, strict=True):
        np.testing.assert_allclose(mine, other, atol=1e-6)
    cuts = np.append(0.0, event_quantiles(outcome, 5))
    place, event = LabTransDiscreteTime(cuts).transform(outcome.duration, outcome.event)
    inside = outcome.duration <= cuts[-1]
    np.testing.assert_array_equal(discrete_interval(outcome, cuts)[inside], place[inside])
    np.testing.assert_array_equal(outcome.event[inside] > 0, event[inside] > 0)


def test_deep_hit_for_one_cause_has_the_loss_of_pycox_for_a_single_one():
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(6, 4, generator=generator)
    place, event = torch.tensor([0, 1, 2, 3, 1, 2]), torch.tensor([1, 0, 1, 1, 1, 0])
    before = (place[:, None] < place) & (event[:, None] > 0)
    single = loss.DeepHitSingleLoss(0.2, 0.1)(logits, place, event.float(), before.float())
    any_causes = loss.DeepHitLoss(0.2, 0.1)(logits[:, None], place, event, before.float())
    torch.testing.assert_close(single, any_causes)


@pytest.mark.parametrize("method", [DeepSurv, PCHazard, DeepHit, DeepSurvivalMachines])
def test_networks_learn_who_goes_first(method):
    X, y, _ = make_numeric(400)
    est = method(max_epochs=30, random_state=0).fit(X, y)
    hurried = est.predict_cumulative_incidence(X, [0.7], cause=1)[:, 0]
    assert np.corrcoef(hurried, X[:, 0])[0, 1] > 0.7


def test_deep_surv_is_finite_when_batches_lack_events():
    X, y, _ = make_numeric()
    y.loc[y.index[12:], "event"] = 0
    est = DeepSurv(batch_size=8, max_epochs=2, random_state=0).fit(X, y)
    assert np.isfinite(est.predict_survival_function(X, TIMES)).all()


@pytest.mark.parametrize("family", ["weibull", "lognormal"])
def test_density_is_the_slope_of_survival(family):
    with seeded(0):
        network = MixtureNetwork(3, (5,), np.array([0.3, 0.2]), 4, family).double()
        inputs = torch.randn(6, 3, dtype=torch.float64)
    log_time = torch.linspace(-1, 1, 4, dtype=torch.float64).expand(6, -1).requires_grad_()
    log_density, log_survival = network(inputs, log_time)
    for k in range(2):
        survival = log_survival[:, k].exp()
        (slope,) = torch.autograd.grad(survival.sum(), log_time, retain_graph=True)
        torch.testing.assert_close(-slope / log_time.exp(), log_density[:, k].exp())


def test_one_cause_gets_the_mixture_itself():
    X, y, _ = make_numeric()
    est = DeepSurvivalMachines(max_epochs=2, random_state=0).fit(X, y)
    log_time = torch.from_numpy(TIMES / est.time_unit_).log().expand(len(X), -1)
    with torch.no_grad():
        _, log_survival = est.network_(torch.from_numpy(X), log_time)
    np.testing.assert_allclose(
        est.predict_survival_function(X, TIMES), log_survival[:, 0].exp(), atol=1e-5
    )


def test_cause_specific_cox_is_cause_specific_of_cox():
    X, y = make_cohort(300, proportions=(0.3, 0.2), random_state=0)
    ours = CauseSpecificCox(ridge=2.0).fit(X, y).predict_cumulative_incidence(X, [6.0, 60.0])
    other = CauseSpecific(CoxPH, ridge=2.0).fit(X, y).predict_cumulative_incidence(X, [6.0, 60.0])
    np.testing.assert_array_equal(ours, other)


@pytest.mark.filterwarnings("ignore:.*censored at duration 0")
def test_deep_survival_machines_come_near_the_published_metabric(shared_data, monkeypatch):
    monkeypatch.setenv("SURVTRACE_DATA_HOME", str(shared_data))
    X, y = load_metabric()
    splits = np.load(shared_data / "splits_metabric.npz")
    horizons, scores = splits["horizons"], []
    for number in range(3):
        train = np.concatenate([splits[f"train_{number}"], splits[f"val_{number}"]])
        test = splits[f"test_{number}"]
        y_train, y_test = y.iloc[train], y.iloc[test]
        est = DeepSurvivalMachines(random_state=number).fit(X.iloc[train], y_train)
        incidence = est.predict_cumulative_incidence(X.iloc[test], horizons, cause=1)
        scores.append(
            [
                float(concordance_cause_specific(y_test, column, horizon, y_train=y_train))
                for column, horizon in zip(incidence.T, horizons, strict=True)
            ]
        )
    low, high = np.array([0.69, 0.65, 0.62]), np.array([0.75, 0.72, 0.69])
    assert ((np.mean(scores, axis=0) > low) & (np.mean(scores, axis=0) < high)).all()
