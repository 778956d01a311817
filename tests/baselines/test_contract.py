"""Every baseline takes raw tables, gives curves of one shape, and repeats itself from a seed."""

import math
import pickle
import sys
from functools import partial

import numpy as np
import pandas as pd
import pytest
import torch

from survtrace import baselines
from survtrace.baselines import (
    AalenJohansen,
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
from survtrace.errors import DataError

# In one process, so that what the fixtures fit is fitted once.
pytestmark = pytest.mark.xdist_group("contract of baselines")
TIMES = np.array([0.0, 0.5, 2.0, 5.0, 9.0, 15.0, 100.0])
NETWORK = {"nodes": (8,), "max_epochs": 3, "random_state": 0}

ONE_CAUSE = {
    "CoxPH": CoxPH,
    "RandomSurvivalForest": partial(RandomSurvivalForest, n_estimators=5, random_state=0),
    "DeepSurv": partial(DeepSurv, **NETWORK),
    "PCHazard": partial(PCHazard, n_intervals=4, **NETWORK),
}
ANY_CAUSES = {
    "AalenJohansen": AalenJohansen,
    "CauseSpecificCox": CauseSpecificCox,
    "CauseSpecific(PCHazard)": partial(CauseSpecific, PCHazard, n_intervals=4, **NETWORK),
    "CauseSpecific(forest)": partial(
        CauseSpecific, RandomSurvivalForest, n_estimators=3, random_state=0
    ),
    "DeepHit": partial(DeepHit, n_intervals=4, **NETWORK),
    "DeepSurvivalMachines": partial(DeepSurvivalMachines, **NETWORK),
    "DeepSurvivalMachines(lognormal)": partial(DeepSurvivalMachines, family="lognormal", **NETWORK),
    "CompetingRiskForest": partial(CompetingRiskForest, n_estimators=5, random_state=0),
    "FineGray": FineGray,
    "SurvivalBoost": partial(SurvivalBoost, n_iter=3, min_samples_leaf=10, random_state=0),
}
CASES = [(name, "one_cause") for name in ONE_CAUSE | ANY_CAUSES]
CASES += [(name, "three_causes") for name in ANY_CAUSES]
NOT_MONOTONE = {"SurvivalBoost"}
MAY_EXCEED_1 = {"FineGray"}


@pytest.fixture(scope="module", params=CASES, ids=lambda case: "-".join(case))
def case(request):
    """A baseline fitted to a cohort with gaps and text."""
    name, cohort = request.param
    X, y = request.getfixturevalue(cohort)
    return name, (ONE_CAUSE | ANY_CAUSES)[name]().fit(X, y), X


def test_curves_have_the_shapes_of_the_contract_and_are_probabilities(case):
    _, est, X = case
    incidence = est.predict_cumulative_incidence(X, TIMES)
    survival = est.predict_survival_function(X, TIMES)
    assert incidence.shape == (len(X), len(est.causes_), len(TIMES))
    assert survival.shape == (len(X), len(TIMES))
    for curves in (incidence, survival):
        assert (curves >= -1e-12).all()
        assert (curves <= 1 + 1e-12).all()
    last = est.predict_cumulative_incidence(X, TIMES, cause=est.causes_[-1])
    np.testing.assert_array_equal(last, incidence[:, -1])
    with pytest.raises(DataError, match=r"cause must be one of \[1.*\]; got 9"):
        est.predict_cumulative_incidence(X, TIMES, cause=9)


def test_survival_and_incidences_sum_to_1_unless_documented_otherwise(case):
    name, est, X = case
    total = est.predict_cumulative_incidence(X, TIMES).sum(axis=1)
    survival = est.predict_survival_function(X, TIMES)
    coherent = np.maximum(1 - total, 0) if name in MAY_EXCEED_1 else 1 - total
    np.testing.assert_allclose(survival, coherent, atol=1e-9)


def test_incidences_start_at_0_and_grow_unless_documented_otherwise(case):
    name, est, X = case
    if name in NOT_MONOTONE:
        pytest.skip("hazardous promises neither")
    incidence = est.predict_cumulative_incidence(X, TIMES)
    assert (np.diff(incidence, axis=-1) >= -1e-12).all()
    np.testing.assert_allclose(incidence[..., 0], 0, atol=1e-12)


def test_a_time_gets_the_same_answer_alone_and_among_others(case):
    _, est, X = case
    together = est.predict_cumulative_incidence(X[:7], TIMES)
    alone = [est.predict_cumulative_incidence(X[:7], [time]) for time in TIMES[::-1]][::-1]
    np.testing.assert_allclose(np.concatenate(alone, axis=-1), together, atol=1e-6)


def test_one_subject_keeps_its_axis(case):
    _, est, X = case
    everyone = est.predict_cumulative_incidence(X, TIMES)
    assert est.predict_survival_function(X[:1], TIMES).shape == (1, len(TIMES))
    one = est.predict_cumulative_incidence(X[3:4], TIMES)
    np.testing.assert_allclose(one, everyone[3:4], atol=1e-6)


def test_a_fitted_baseline_can_be_pickled(case):
    _, est, X = case
    again = pickle.loads(pickle.dumps(est))
    np.testing.assert_array_equal(
        again.predict_survival_function(X, TIMES), est.predict_survival_function(X, TIMES)
    )


def test_text_labels_of_causes_are_kept(three_causes):
    X, y = three_causes
    y = y.assign(event=y["event"].map({0: "censored", 1: "b", 2: "c", 3: "a"}))
    est = CauseSpecificCox().fit(X, y)
    assert est.causes_ == ["a", "b", "c"]


SEEDED = {
    "RandomSurvivalForest": partial(RandomSurvivalForest, n_estimators=3),
    "DeepSurv": partial(DeepSurv, nodes=(8,), max_epochs=2),
    "PCHazard": partial(PCHazard, nodes=(8,), max_epochs=2),
    "DeepHit": partial(DeepHit, nodes=(8,), max_epochs=2),
    "DeepSurvivalMachines": partial(DeepSurvivalMachines, nodes=(8,), max_epochs=2),
    "CompetingRiskForest": partial(CompetingRiskForest, n_estimators=3),
    "SurvivalBoost": partial(SurvivalBoost, n_iter=2, min_samples_leaf=10),
}


@pytest.mark.parametrize("name", SEEDED)
def test_the_same_seed_gives_the_same_curves_and_another_seed_others(one_cause, name):
    X, y = one_cause
    curves = [
        SEEDED[name](random_state=seed).fit(X, y).predict_survival_function(X, TIMES)
        for seed in (0, 0, 1)
    ]
    np.testing.assert_array_equal(curves[0], curves[1])
    assert (curves[0] != curves[2]).any()


@pytest.mark.parametrize("name", SEEDED)
def test_fitting_leaves_the_global_generators_as_they_were(one_cause, name):
    numpy_before = np.random.get_state()[1].copy()  # noqa: NPY002
    torch_before = torch.get_rng_state()
    SEEDED[name](random_state=0).fit(*one_cause)
    np.testing.assert_array_equal(np.random.get_state()[1], numpy_before)  # noqa: NPY002
    assert torch.equal(torch.get_rng_state(), torch_before)


@pytest.mark.parametrize("name", ONE_CAUSE)
def test_a_baseline_for_one_cause_refuses_more_and_says_what_to_use(three_causes, name):
    with pytest.raises(DataError, match=rf"takes one cause.*CauseSpecific\({name}\)"):
        ONE_CAUSE[name]().fit(*three_causes)


MISSING = {
    "sksurv.ensemble": RandomSurvivalForest,
    "pycox.models": DeepSurv,
    "hazardous": SurvivalBoost,
    "comprisk": CompetingRiskForest,
}


@pytest.mark.parametrize("module", MISSING)
def test_a_missing_library_is_named_with_the_way_to_install_it(one_cause, monkeypatch, module):
    monkeypatch.setitem(sys.modules, module, None)
    name = module.partition(".")[0]
    with pytest.raises(ImportError, match=rf"needs {name}.*'survtrace\[baselines\]'"):
        MISSING[module]().fit(*one_cause)


TUNED = [
    getattr(baselines, name)
    for name in baselines.__all__
    if name not in ("AalenJohansen", "CauseSpecific", "CauseSpecificCox")
]


@pytest.mark.parametrize("method", TUNED)
def test_the_search_space_is_small_and_holds_the_defaults(method):
    assert 4 <= math.prod(len(values) for values in method.search_space.values()) <= 8
    for setting, values in method.search_space.items():
        assert getattr(method(), setting) in values
        for value in values:
            assert getattr(method(**{setting: value}), setting) == value


def test_cause_specific_searches_what_its_baseline_searches():
    assert CauseSpecific(PCHazard).search_space == PCHazard.search_space
    assert CauseSpecificCox().search_space == CoxPH.search_space


def test_subjects_censored_at_0_are_left_out_with_a_warning(one_cause):
    X, y = one_cause
    more_X = pd.concat([X, X[:1]], ignore_index=True)
    more_y = pd.concat([y, pd.DataFrame({"event": [0], "duration": [0.0]})], ignore_index=True)
    with pytest.warns(UserWarning, match="censored at duration 0"):
        est = PCHazard(**NETWORK).fit(more_X, more_y)
    assert np.isfinite(est.predict_survival_function(X, TIMES)).all()


def test_table_and_outcome_must_match(one_cause):
    X, y = one_cause
    with pytest.raises(DataError, match="same subjects"):
        CoxPH().fit(X[:-1], y)
