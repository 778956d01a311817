"""On a CUDA device the estimator learns and answers as on the CPU, to rounding."""

import numpy as np
import pytest
import torch

from survtrace import SurvTRACE, load, ops
from survtrace.datasets import make_cohort
from survtrace.ops.support import OPERATIONS
from survtrace.training import step

pytestmark = pytest.mark.skipif(
    not torch.cuda.is_available(), reason="needs a GPU, and SURVTRACE_TEST_GPU=1 to see it"
)

TINY = {"n_members": 3, "width": 16, "depth": 2, "hidden": 16, "max_epochs": 4, "verbose": False}
TIMES = [3.0, 30.0, 100.0]


@pytest.fixture(scope="module")
def cohort():
    return make_cohort(600, missing=0.1, random_state=0)


@pytest.fixture(scope="module")
def on_cuda(cohort):
    return SurvTRACE(**TINY, device="cuda", random_state=0).fit(*cohort)


def test_training_happens_there(on_cuda):
    assert on_cuda.network_.device.type == "cuda"
    first, last = on_cuda.history_.groupby("epoch")["validation_loss"].mean().iloc[[0, -1]]
    assert last < first


def test_auto_finds_it(cohort):
    est = SurvTRACE(**{**TINY, "max_epochs": 1}, random_state=0).fit(*cohort)
    assert est.network_.device.type == "cuda"


def test_without_dropout_it_learns_what_the_cpu_learns(cohort):
    """On whole cohorts, since each kind of device shuffles in its own way."""
    quiet = {"token_dropout": 0.0, "head_dropout": 0.0, "batch_size": 600, "max_epochs": 20}
    settings = {**TINY, **quiet, "random_state": 0}
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
    assert (est.network_.recalibration_factor != 1).all()


@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_operation_in_its_plain_form_trains_the_same(cohort, operation):
    with ops.plain(operation):
        plain = losses(cohort)
    np.testing.assert_allclose(losses(cohort), plain, rtol=5e-3)


def losses(cohort, **settings):
    est = SurvTRACE(**{**TINY, "batch_size": 64, **settings}, device="cuda", random_state=0)
    return est.fit(*cohort).history_["validation_loss"].to_numpy()


def test_a_recorded_step_is_the_step(cohort, monkeypatch):
    recorded = losses(cohort)
    monkeypatch.setattr(step, "N_WARM", 10**9)
    np.testing.assert_allclose(recorded, losses(cohort), rtol=1e-3)


def test_a_step_that_cannot_be_recorded_is_taken_as_it_is(cohort, monkeypatch, caplog):
    recorded = losses(cohort)

    def refuse(*arguments):
        raise RuntimeError("operation not permitted when stream is capturing")

    monkeypatch.setattr(torch.cuda, "graph", refuse)
    with caplog.at_level("INFO", logger="survtrace"):
        np.testing.assert_allclose(recorded, losses(cohort), rtol=1e-3)
    assert "could not be recorded (operation not permitted" in caplog.text


def test_members_that_stop_leave_and_the_others_go_on(cohort):
    hasty = {"max_epochs": 40, "lr": 0.02, "patience": 2}
    est = SurvTRACE(**{**TINY, **hasty}, device="cuda", random_state=0).fit(*cohort)
    assert est.history_.groupby("member")["epoch"].max().nunique() > 1
    assert np.isfinite(est.predict(cohort[0])).all()


def test_a_file_is_learned_from_there(cohort, tmp_path):
    pytest.importorskip("pyarrow")
    X, y = cohort
    X.assign(event=y["event"], duration=y["duration"]).to_parquet(tmp_path / "cohort.parquet")
    est = SurvTRACE(**TINY, device="cuda", random_state=0)
    est.fit(tmp_path / "cohort.parquet", {"event": "event", "duration": "duration"})
    assert np.isfinite(est.predict(X)).all()


def test_a_subject_of_absurd_numbers_spoils_no_other_answer(on_cuda, cohort):
    X = cohort[0][:40].copy()
    expected = on_cuda.predict_cumulative_incidence(X, TIMES)
    X.loc[X.index[3], "age"] = 1e37
    got = on_cuda.predict_cumulative_incidence(X, TIMES)
    others = [row for row in range(40) if row != 3]
    np.testing.assert_allclose(got[others], expected[others], rtol=1e-3, atol=1e-5)
