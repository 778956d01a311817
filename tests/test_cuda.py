"""On a CUDA device the estimator learns and answers as on the CPU, to rounding."""

import numpy as np
import pytest
import torch

from survtrace import SurvTRACE, load
from survtrace.datasets import make_cohort

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")

TINY = {"n_members": 3, "width": 8, "depth": 2, "hidden": 16, "max_epochs": 4, "verbose": False}
TIMES = [3.0, 30.0, 100.0]


@pytest.fixture(scope="module")
def cohort():
    return make_cohort(600, missing=0.1, random_state=0)


@pytest.fixture(scope="module")
def on_cuda(cohort):
    return SurvTRACE(**TINY, device="cuda", random_state=0).fit(*cohort)


def test_training_happens_there(on_cuda):
    assert on_cuda.network_.level.device.type == "cuda"
    first, last = on_cuda.history_.groupby("epoch")["validation_loss"].mean().iloc[[0, -1]]
    assert last < first


def test_auto_finds_it(cohort):
    est = SurvTRACE(**{**TINY, "max_epochs": 1}, random_state=0).fit(*cohort)
    assert est.network_.level.device.type == "cuda"


def test_without_dropout_it_learns_what_the_cpu_learns(cohort):
    settings = {**TINY, "token_dropout": 0.0, "head_dropout": 0.0, "random_state": 0}
    X = cohort[0]
    there, here = (
        SurvTRACE(**settings, device=device).fit(*cohort).predict_cumulative_incidence(X, TIMES)
        for device in ("cuda", "cpu")
    )
    np.testing.assert_allclose(there, here, atol=2e-3)


def test_answers_are_the_same_on_both_and_survive_saving(on_cuda, cohort, tmp_path):
    X = cohort[0]
    on_cuda.save(tmp_path / "est")
    here = load(tmp_path / "est").set_params(device="cpu")
    for ask in (
        lambda est: est.predict_cumulative_incidence(X, TIMES),
        lambda est: est.predict_survival_function(X, TIMES, conditional_after=2.0),
        lambda est: est.predict_cumulative_hazard_function(X[:20], TIMES),
        lambda est: est.predict_rmst(X, 60.0),
        lambda est: est.attention(X[:20]),
    ):
        np.testing.assert_allclose(ask(on_cuda), ask(here), rtol=1e-3, atol=1e-5)
    on_cuda.set_params(device="cuda")


def test_a_killed_fit_goes_on_there(cohort, tmp_path):
    settings = {**TINY, "device": "cuda", "random_state": 0, "checkpoint_dir": tmp_path / "state"}
    SurvTRACE(**{**settings, "max_epochs": 2}).fit(*cohort)
    resumed = SurvTRACE(**settings).fit(*cohort)
    whole = SurvTRACE(**{**settings, "checkpoint_dir": None}).fit(*cohort)
    X = cohort[0]
    np.testing.assert_allclose(resumed.predict(X), whole.predict(X), atol=1e-3)


def test_weighted_training_is_recalibrated_there(cohort):
    est = SurvTRACE(**TINY, ips="events", device="cuda", random_state=0).fit(*cohort)
    assert (est.network_.level != 1).all()
