import copy
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from survtrace import SurvTRACE, TrainingError, ops
from survtrace.cohort.batch_source import MemorySource
from survtrace.cohort.prepare import prepare
from survtrace.cohort.source import read_frame
from survtrace.network.assembly import Network
from survtrace.training.fit import plan_training
from survtrace.training.history import History
from survtrace.training.loop import tensor_cores, train, validation_loss

SEEDS = [11, 22, 33]


def estimator(tiny, **changes):
    noise = {"dropout": 0.2, "attention_dropout": 0.1, "token_dropout": 0.1, "head_dropout": 0.2}
    return SurvTRACE(**{**tiny, **noise, "n_members": 3, "max_epochs": 3, **changes})


def settings_of(est):
    return SimpleNamespace(**est.get_params())


@pytest.fixture(scope="module")
def ready(three_causes, tiny):
    """A cohort prepared for three members."""
    settings = settings_of(estimator(tiny, validation_fraction=0.2))
    with prepare(read_frame(*three_causes), settings, SEEDS) as cohort:
        return cohort


def trained(tiny, ready, members=(0, 1, 2), **changes):
    """Train some of the members on the cohort prepared for all."""
    settings = settings_of(estimator(tiny, **{"n_members": len(members), **changes}))
    seeds = [SEEDS[member] for member in members]
    shape, plan = plan_training(settings, ready, seeds, base=5)
    start = Network(shape)
    start.initialise(seeds)
    rows = (rows[list(members)] for rows in (ready.split.training, ready.split.validation))
    cohort = ready.layout.tensors(ready.store)
    batch_source = MemorySource(cohort, *rows, seeds, plan.batch_size)
    history = History()
    train(start, batch_source, plan, history)
    return start, history.frame(), batch_source


@pytest.fixture(scope="module")
def together(tiny, ready):
    return trained(tiny, ready)


def test_the_same_seed_gives_the_same_parameters_bit_for_bit(tiny, ready, together):
    again = trained(tiny, ready)[0].state_dict()
    for name, tensor in together[0].state_dict().items():
        assert torch.equal(tensor, again[name]), name


def test_different_seeds_give_different_members(together):
    for name, parameter in together[0].named_parameters():
        if name.endswith(("weight", "table")):
            assert not torch.allclose(parameter[0], parameter[1]), name


@pytest.mark.parametrize("members", [(0,), (2,), (1, 2)])
def test_members_trained_together_equal_members_trained_alone(tiny, ready, together, members):
    """With dropout everywhere: its masks are shared, so they are the same for a member alone."""
    alone, history, _ = trained(tiny, ready, members)
    for (name, parameter), expected in zip(
        alone.named_parameters(), together[0].parameters(), strict=True
    ):
        free = matters(name, parameter)
        torch.testing.assert_close(
            parameter[free], expected[list(members)][free], rtol=1e-4, atol=1e-6, msg=name
        )
    joint = together[1]
    for place, member in enumerate(members):
        np.testing.assert_allclose(
            history.loc[history["member"] == place, "validation_loss"],
            joint.loc[joint["member"] == member, "validation_loss"],
            rtol=1e-5,
        )


def matters(name, parameter):
    """All but the bias of keys: softmax ignores it, so that its gradient is rounding noise."""
    mask = torch.ones_like(parameter, dtype=torch.bool)
    if name.endswith("query_key_value.bias"):
        width = parameter.shape[-1] // 3
        mask[..., width : 2 * width] = False
    return mask


def test_each_member_ends_at_its_best_epoch(tiny, ready):
    network, history, batch_source = trained(tiny, ready, max_epochs=6, lr=0.05, patience=3)
    best = history.groupby("member")["validation_loss"].min().to_numpy()
    recomputed = validation_loss(network, batch_source, [0, 1, 2]).numpy()
    np.testing.assert_allclose(recomputed, best, rtol=1e-6)
    assert not network.training


def test_a_member_that_has_stopped_leaves_and_the_others_do_not_notice(tiny, ready):
    """One member alone meets the same losses as beside others that stop before it."""
    hasty = {"max_epochs": 30, "lr": 0.02, "patience": 2}
    _, history, _ = trained(tiny, ready, **hasty)
    last = history.groupby("member")["epoch"].max()
    assert last.nunique() > 1, "no member stops before another: choose other settings"
    slowest = int(last.idxmax())
    _, alone, _ = trained(tiny, ready, (slowest,), **hasty)
    beside = history.loc[history["member"] == slowest, "validation_loss"]
    np.testing.assert_allclose(beside, alone["validation_loss"], rtol=1e-3)


def test_training_ends_when_all_members_have_stopped(tiny, ready):
    _, history, _ = trained(tiny, ready, max_epochs=60, lr=0.3, patience=1)
    assert history["epoch"].max() < 59
    last = history[history["epoch"] == history["epoch"].max()]
    assert not last["improved"].all()


def test_the_validation_loss_does_not_depend_on_its_chunks(ready, together):
    network, _, batch_source = together
    whole = validation_loss(network, batch_source, [0, 1, 2])
    rows = ready.split.training, ready.split.validation
    in_sevens = MemorySource(batch_source.cohort, *rows, SEEDS, 32, chunk=7)
    pieces = validation_loss(network, in_sevens, [0, 1, 2])
    torch.testing.assert_close(whole, pieces)


def fail_from(monkeypatch, step, failure):
    """Let the losses fail from some step on; an epoch of 240 subjects has 6 of 32."""
    calls, real = [], ops.gradient

    def failing(*arguments):
        calls.append(None)
        return real(*arguments) if len(calls) <= step else failure(real(*arguments))

    monkeypatch.setattr(ops, "gradient", failing)


def interrupt(parts):
    raise KeyboardInterrupt


def test_an_interrupted_fit_keeps_the_best_so_far(monkeypatch, three_causes, tiny):
    fail_from(monkeypatch, 15, interrupt)
    est = SurvTRACE(**{**tiny, "max_epochs": 9})
    with pytest.warns(UserWarning, match="interrupted; the best so far is kept"):
        est.fit(*three_causes)
    assert est.history_["epoch"].max() == 1
    monkeypatch.undo()
    complete = SurvTRACE(**{**tiny, "max_epochs": 2}).fit(*three_causes)
    np.testing.assert_array_equal(est.predict(three_causes[0]), complete.predict(three_causes[0]))


def test_an_interrupt_before_the_first_epoch_is_over_goes_through(monkeypatch, one_cause, tiny):
    fail_from(monkeypatch, 1, interrupt)
    est = SurvTRACE(**tiny)
    with pytest.raises(KeyboardInterrupt):
        est.fit(*one_cause)
    assert not est.__sklearn_is_fitted__()


def test_a_loss_that_is_not_finite_names_epoch_and_batch(monkeypatch, three_causes, tiny):
    fail_from(monkeypatch, 9, lambda parts: parts * torch.nan)
    est = SurvTRACE(**{**tiny, "max_epochs": 9})
    with pytest.raises(TrainingError, match=r"finite; it is not at epoch 1, batch \d.*Lower lr"):
        est.fit(*three_causes)
    assert est.history_["epoch"].max() == 0
    assert np.isfinite(est.predict(three_causes[0])).all()
    monkeypatch.undo()
    complete = SurvTRACE(**{**tiny, "max_epochs": 1}).fit(*three_causes)
    np.testing.assert_array_equal(est.predict(three_causes[0]), complete.predict(three_causes[0]))


def test_a_loss_that_never_was_finite_leaves_nothing_fitted(monkeypatch, one_cause, tiny):
    fail_from(monkeypatch, 2, lambda parts: parts * torch.inf)
    est = SurvTRACE(**tiny)
    with pytest.raises(TrainingError, match="epoch 0, batch 2"):
        est.fit(*one_cause)
    assert not est.__sklearn_is_fitted__()


def test_after_absurd_steps_what_is_kept_is_finite(one_cause, tiny):
    est = SurvTRACE(**{**tiny, "lr": 100.0, "clip_norm": 1e12, "max_epochs": 3}).fit(*one_cause)
    assert np.isfinite(est.predict(one_cause[0])).all()


def test_steps_that_overflow_at_once_leave_nothing_fitted(one_cause, tiny):
    est = SurvTRACE(**{**tiny, "lr": 1e6, "clip_norm": 1e12, "max_epochs": 3})
    with pytest.raises(TrainingError, match="finite; it is not at epoch 0, batch 1"):
        est.fit(*one_cause)
    assert not est.__sklearn_is_fitted__()


def test_training_on_that_only_gets_worse_leaves_a_network_as_it_was(tiny, ready, together):
    trained_before, _, batch_source = together
    network = copy.deepcopy(trained_before)
    settings = settings_of(estimator(tiny, lr=1.0, max_epochs=1))
    _, plan = plan_training(settings, ready, SEEDS, base=5)
    history = History()
    train(network, batch_source, replace(plan, keep_start=True), history)
    assert not history.frame()["improved"].any()
    for name, tensor in trained_before.state_dict().items():
        assert torch.equal(network.state_dict()[name], tensor), name


def test_products_are_rounded_while_a_gpu_trains_and_not_after(monkeypatch):
    monkeypatch.setattr("torch.cuda.device", lambda _: nullcontext())
    before = torch.get_float32_matmul_precision()
    with tensor_cores(torch.device("cuda")):
        assert torch.get_float32_matmul_precision() == "high"
    assert torch.get_float32_matmul_precision() == before == "highest"
