"""Kernels give what the plain form gives, whatever the shape and however many threads share it."""

import copy
import os
import signal
import time

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from survtrace import ops
from survtrace.batch import Batch, no_entry
from survtrace.network.assembly import Network, Shape
from survtrace.threads import threads
from survtrace.training.flat_parameters import gather_parameters

DEFAULT = {
    "n_members": 2,
    "n_rows": 20,
    "n_tokens": 5,
    "n_causes": 2,
    "n_intervals": 4,
    "silent_rows": (0,),
    "width": 16,
    "depth": 2,
    "n_heads": 2,
    "hidden": 32,
    "head_depth": 2,
    "token_bias": True,
    "proportional": 3.0,
    "dropout": 0.0,
    "attention_dropout": 0.0,
    "token_dropout": 0.1,
    "head_dropout": 0.2,
}
WEIGHT = torch.tensor([1.0, 0.5, 0.25])


def make_network(scale=0.1, **changes):
    network = Network(Shape(**{**DEFAULT, **changes}))
    network.initialise(list(range(network.shape.n_members)))
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(scale * torch.randn(parameter.shape, generator=generator))
    return network


def make_cohort(shape, n_subjects=60):
    draw = torch.Generator().manual_seed(2)
    n_tokens, n_causes = shape.n_tokens, shape.n_causes

    def whole(n, *size):
        return torch.randint(0, n, (n_subjects, *size), generator=draw)

    def real(*size):
        return torch.rand(n_subjects, *size, generator=draw) + 0.1

    return Batch(
        rows=whole(shape.n_rows, n_tokens).to(torch.int32),
        values=torch.randn(n_subjects, n_tokens, generator=draw),
        interval=whole(shape.n_intervals),
        fraction=real() / 1.1,
        event=whole(n_causes + 1),
        stay=torch.randn(n_subjects, generator=draw),
        weight=real(),
        ips=real(n_causes),
        **no_entry(n_subjects),
    )


def draw_subjects(n_members, n_subjects, n_cohort=60):
    draw = torch.Generator().manual_seed(3)
    return torch.randint(0, n_cohort, (n_members, n_subjects), generator=draw)


def gradient_of(network, cohort, subjects, weight=WEIGHT):
    """Losses, and the gradient by each parameter."""
    dtype = network.embedding.table.dtype
    parameters = dict(network.named_parameters())
    sizes = [parameter[0].numel() for parameter in parameters.values()]
    out = torch.full((len(subjects), sum(sizes)), torch.nan, dtype=dtype)
    network.train().seed_dropout(7)
    parts = ops.gradient(network, cohort, subjects, weight.to(dtype), out)
    found = dict(zip(parameters, out.split(sizes, dim=1), strict=True))
    width = network.shape.width
    for name, gradient in found.items():
        if name.endswith("query_key_value.bias"):
            gradient[:, width : 2 * width] = 0  # softmax ignores it: its gradient is rounding noise
    return {"parts": parts, **found}


def double(cohort):
    return Batch(*(c.double() if c.is_floating_point() else c for c in cohort))


def check(subjects, enter_late, **changes):
    """All operations are as exact as their plain form, measured against double precision."""
    network = make_network(**changes)
    cohort = enter_late(make_cohort(network.shape))
    precise, exact_cohort = copy.deepcopy(network).double(), double(cohort)

    def run(network, cohort):
        batch = cohort.take(subjects)
        found = gradient_of(network, cohort, subjects)
        network.eval()
        found["survival loss"] = ops.survival_loss(network, cohort, subjects)
        found["logits"] = ops.cause_logits(network, batch.rows, batch.values)
        found["of shared subjects"] = ops.cause_logits(network, batch.rows[:1], batch.values[:1])
        return found

    assert ops.support.find_kernel("gradient", network) is not None
    got, exact = run(network, cohort), run(precise, exact_cohort)
    with ops.plain():
        plain = run(network, cohort)
    for name, tensor in exact.items():
        error, usual = ((a[name] - tensor).norm() / (tensor.norm() + 1e-2) for a in (got, plain))
        assert error < 8 * usual + 1e-5, f"{name}: {error:.1e} where {usual:.1e} is usual"
    assert got["logits"].shape == exact["logits"].shape


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"head_depth": 1},
        {"token_bias": False},
        {"token_dropout": 0.0},
        {"head_dropout": 0.0},
        {"n_causes": 1, "n_intervals": 1},
        {"n_causes": 3, "n_intervals": 17, "proportional": 0.0},
        {"width": 8, "hidden": 8, "n_heads": 8},
        {"width": 24, "hidden": 40, "n_heads": 3},
        {"width": 32, "hidden": 16, "n_heads": 1, "n_members": 3},
        {"n_tokens": 1, "depth": 1},
        {"n_tokens": 33, "depth": 1, "n_members": 1},  # shares of attention are computed again
        {"n_tokens": 18, "hidden": 64, "depth": 3},
    ],
    ids=str,
)
@pytest.mark.parametrize("n_subjects", [1, 37])
def test_every_shape_gives_what_the_plain_form_gives(changes, n_subjects, enter_late):
    n_members = changes.get("n_members", DEFAULT["n_members"])
    check(draw_subjects(n_members, n_subjects), enter_late, **changes)


@pytest.mark.parametrize("n_subjects", [1, 37])
def test_the_default_shape_gives_what_the_plain_form_gives(default_shape, n_subjects, enter_late):
    check(draw_subjects(default_shape["n_members"], n_subjects), enter_late, **default_shape)


@given(
    n_subjects=st.integers(1, 70),
    n_members=st.integers(1, 3),
    sizes=st.fixed_dictionaries(
        {
            "n_tokens": st.integers(1, 20),
            "n_causes": st.integers(1, 3),
            "n_intervals": st.integers(1, 6),
            "width": st.sampled_from([8, 16, 24]),
            "hidden": st.sampled_from([8, 24, 32]),
            "n_heads": st.sampled_from([1, 2, 4]),
            "depth": st.integers(1, 3),
            "head_depth": st.integers(1, 2),
            "token_bias": st.booleans(),
            "token_dropout": st.sampled_from([0.0, 0.3]),
            "head_dropout": st.sampled_from([0.0, 0.3]),
        }
    ),
)
def test_any_shape_gives_what_the_plain_form_gives(enter_late, n_subjects, n_members, sizes):
    check(draw_subjects(n_members, n_subjects), enter_late, n_members=n_members, **sizes)


@pytest.mark.parametrize("n_subjects", [20, 300])
def test_any_number_of_threads_gives_the_same_bits(n_subjects, monkeypatch):
    monkeypatch.setattr("survtrace.threads.TOKENS_PER_THREAD", 1)
    network = make_network()
    cohort, subjects = make_cohort(network.shape), draw_subjects(2, n_subjects)
    batch, found = cohort.take(subjects), []
    for n_threads in (1, 2, 3, 5):
        with threads(n_threads):
            result = gradient_of(network, cohort, subjects)
            network.eval()
            result["survival loss"] = ops.survival_loss(network, cohort, subjects)
            result["logits"] = ops.cause_logits(network, batch.rows, batch.values)
            found.append(result)
    for other in found[1:]:
        assert all(torch.equal(other[name], tensor) for name, tensor in found[0].items())


def test_parameters_that_are_one_tensor_give_the_same_bits():
    network = make_network()
    cohort, subjects = make_cohort(network.shape), draw_subjects(2, 20)
    before = gradient_of(network, cohort, subjects)
    gather_parameters(network)
    after = gradient_of(network, cohort, subjects)
    assert all(torch.equal(after[name], tensor) for name, tensor in before.items())


def test_members_that_are_left_go_on_without_the_others():
    network = make_network(n_members=3)
    cohort, subjects = make_cohort(network.shape), draw_subjects(3, 20)
    before = gradient_of(network, cohort, subjects)
    for parameter in network.parameters():
        parameter.data = parameter.data[1:]
    after = gradient_of(network, cohort, subjects[1:])
    assert torch.equal(after["parts"], before["parts"][:, 1:])
    assert torch.equal(after["embedding.table"], before["embedding.table"][1:])


def test_the_parts_of_a_shared_batch_drop_what_the_whole_drops():
    network = make_network()
    cohort, subjects = make_cohort(network.shape), draw_subjects(2, 20)
    whole, halves = gradient_of(network, cohort, subjects), []
    for first, last in ((0, 10), (10, 20)):
        network.share_dropout((first, last, 20))
        halves.append(gradient_of(network, cohort, subjects[:, first:last]))
    for name, tensor in whole.items():
        mean = (halves[0][name] + halves[1][name]) / 2
        torch.testing.assert_close(mean, tensor, rtol=1e-4, atol=1e-6)


def test_bits_drawn_ahead_are_those_that_would_be_drawn(monkeypatch):
    """Also where the stream starts anew, or somebody else draws from it, between two steps."""
    monkeypatch.setattr("survtrace.threads.TOKENS_PER_THREAD", 1)

    def train(network):
        found, out = [], torch.empty(2, sum(p[0].numel() for p in network.parameters()))
        network.train().seed_dropout(5)
        for n_subjects in (40, 40, 40, 70, 40, 40):
            subjects = draw_subjects(2, n_subjects)
            found.append(ops.gradient(network, cohort, subjects, WEIGHT, out))
            if len(found) == 2:
                network.seed_dropout(6)
            if len(found) == 5:
                torch.rand(3, generator=network.generator)
        return torch.stack(found), network.generator.get_state()

    network = make_network()
    cohort = make_cohort(network.shape)
    with threads(3):
        ours = train(network)
    with ops.plain():
        plain = train(network)
    torch.testing.assert_close(ours[0], plain[0])
    assert torch.equal(ours[1], plain[1])


def test_a_subject_alone_gets_the_bits_it_gets_among_others():
    network = make_network().eval()
    cohort = make_cohort(network.shape)
    together = ops.cause_logits(network, cohort.rows[None], cohort.values[None])
    for s in (0, 15, 16, 37, 59):
        alone = ops.cause_logits(
            network, cohort.rows[None, s : s + 1], cohort.values[None, s : s + 1]
        )
        assert torch.equal(alone[:, 0], together[:, s])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e37])
def test_what_is_no_number_stays_none_and_harms_no_other_subject(bad):
    network = make_network().eval()
    cohort = make_cohort(network.shape)
    expected = ops.cause_logits(network, cohort.rows[None], cohort.values[None])
    cohort.values[4, 1] = bad
    logits = ops.cause_logits(network, cohort.rows[None], cohort.values[None])
    others = [s for s in range(60) if s != 4]
    assert torch.equal(logits[:, others], expected[:, others])
    assert not torch.isfinite(logits[:, 4]).any()


def test_a_broken_value_breaks_the_losses_of_its_batch():
    network = make_network()
    cohort = make_cohort(network.shape)
    cohort.values[4] = np.nan
    subjects = torch.arange(20).expand(2, -1)
    assert gradient_of(network, cohort, subjects)["parts"].isnan().all()


@pytest.mark.parametrize("scale", [3.0, 30.0])
def test_far_logits_give_what_the_plain_form_gives(scale):
    """In both directions: softplus is all but zero, or all but its argument."""
    network = make_network(head_dropout=0.0, token_dropout=0.0)
    with torch.no_grad():
        for head in network.cause_heads:
            head.outer.weight.mul_(scale)
    cohort, subjects = make_cohort(network.shape), draw_subjects(2, 40)
    ours = gradient_of(network, cohort, subjects)
    with ops.plain():
        plain = gradient_of(network, cohort, subjects)
    for name, tensor in plain.items():
        assert (ours[name] - tensor).norm() < 1e-4 * tensor.norm() + 1e-6, name


def test_a_hazard_next_to_nothing_keeps_its_gradient():
    network = make_network(n_members=1, n_causes=1, n_intervals=1, proportional=0.0)
    head = network.cause_heads[0].outer
    with torch.no_grad():
        head.weight.zero_()
        head.bias.fill_(-200.0)
    cohort = make_cohort(network.shape)
    cohort = cohort._replace(
        event=torch.ones_like(cohort.event),
        weight=torch.ones_like(cohort.weight),
        ips=torch.ones_like(cohort.ips),
    )
    found = gradient_of(network, cohort, draw_subjects(1, 20))
    assert found["parts"][0].item() == pytest.approx(200.0)
    assert found["causes.heads.0.outer.bias"].item() == pytest.approx(-1.0)


def test_extreme_scores_stay_finite():
    network = make_network().eval()
    cohort = make_cohort(network.shape)
    cohort.values.mul_(1e4)
    logits = ops.cause_logits(network, cohort.rows[None], cohort.values[None])
    with ops.plain():
        plain = ops.cause_logits(network, cohort.rows[None], cohort.values[None])
    torch.testing.assert_close(logits, plain, rtol=1e-3, atol=1e-1)


@pytest.mark.parametrize(
    ("changes", "training", "reason"),
    [
        ({"width": 4}, False, "multiples of 8; got width=4"),
        ({"hidden": 12}, False, "multiples of 8; got width=16, hidden=12"),
        ({"dropout": 0.5}, True, "no dropout inside the encoder"),
        ({"attention_dropout": 0.5}, True, "no dropout inside the encoder"),
    ],
)
def test_what_the_kernels_cannot_do_is_left_to_the_plain_form(changes, training, reason):
    network = make_network(**changes).train(training)
    reasons = ops.reasons_for_plain(torch.device("cpu"), network.shape)
    assert reason in reasons["gradient"]
    assert ops.support.find_kernel("gradient", network) is None
    assert (reasons["cause_logits"] is None) == training


def test_a_forked_process_starts_threads_of_its_own(monkeypatch):
    monkeypatch.setattr("survtrace.threads.TOKENS_PER_THREAD", 1)
    network = make_network().eval()
    cohort, subjects = make_cohort(network.shape), draw_subjects(2, 300)
    with threads(2):
        expected = ops.survival_loss(network, cohort, subjects)
        child = os.fork()
        if child == 0:
            same = torch.equal(ops.survival_loss(network, cohort, subjects), expected)
            os._exit(7 if same else 8)
    deadline = time.monotonic() + 60
    done, status = 0, 0
    while not done and time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        time.sleep(0.01)
    if not done:
        os.kill(child, signal.SIGKILL)
    assert os.waitstatus_to_exitcode(status) == 7
