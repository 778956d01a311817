import copy
import os
import signal
import time

import numpy as np
import pytest
import torch

from survtrace import ops
from survtrace.network.encoder import Encoder, EncoderLayer

SIZES = [  # members, subjects, tokens, width, heads, hidden, depth
    (1, 16, 1, 16, 1, 16, 1),
    (1, 1, 5, 16, 2, 32, 2),
    (2, 37, 3, 16, 8, 16, 1),
    (3, 9, 18, 16, 2, 64, 2),
    (1, 3, 41, 32, 4, 16, 2),
]
ODD = [(2, 20, 3, 8, 2, 24, 1), (1, 33, 41, 24, 3, 16, 2)]  # for processors only


def encoder(n_members, width, n_heads, hidden, depth, **dropout):
    chance = {"dropout": 0.0, "attention_dropout": 0.0, **dropout}
    made = Encoder(EncoderLayer(n_members, width, n_heads, hidden, **chance) for _ in range(depth))
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.normal_(0, 0.3, generator=generator)
    return made


def by_layers(made, tokens):
    with ops.plain():
        return made(tokens)


def by_kernel(kernels):
    def run(made, tokens):
        return kernels.encode(tokens, made[0].sizes, [layer.flat_parameters() for layer in made])

    return run


def outputs_and_gradients(run, made, tokens, weights):
    tokens = tokens.detach().clone().requires_grad_()
    made.zero_grad()
    out = run(made, tokens)
    (out * weights).sum().backward()
    for layer in made:  # softmax ignores the bias of keys: its gradient is rounding noise
        layer.attention.query_key_value.bias.grad[
            ..., layer.sizes.width : 2 * layer.sizes.width
        ] = 0
    return {"out": out, "tokens": tokens.grad, **{n: p.grad for n, p in made.named_parameters()}}


def check(run, sizes):
    n_members, n_subjects, n_tokens, width, *rest = sizes
    made = encoder(n_members, width, *rest)
    torch.manual_seed(0)
    tokens, weights = torch.randn(2, n_members, n_subjects, n_tokens, width)
    plain = outputs_and_gradients(by_layers, made, tokens, weights)
    double = copy.deepcopy(made).double()
    exact = outputs_and_gradients(by_layers, double, tokens.double(), weights.double())
    got = outputs_and_gradients(run, made, tokens, weights)
    for name, tensor in exact.items():
        error, usual = ((a[name] - tensor).norm() / (tensor.norm() + 1e-2) for a in (got, plain))
        assert error < 8 * usual + 1e-5, f"{name}: {error:.1e} where {usual:.1e} is usual"


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_the_kernel_gives_what_the_layers_give(kernels, sizes):
    """Numbers and gradients, as exact as those of the layers are."""
    check(by_kernel(kernels), sizes)


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("sizes", [*SIZES, *ODD], ids=str)
def test_one_thread_or_several_share_the_work(sizes, n_threads, monkeypatch):
    monkeypatch.setattr("survtrace.threads.TOKENS_PER_THREAD", 1)
    before = torch.get_num_threads()
    torch.set_num_threads(n_threads)
    try:
        check(lambda made, tokens: made(tokens), sizes)
    finally:
        torch.set_num_threads(before)


def test_the_same_work_gives_the_same_numbers_to_the_bit(kernels):
    made, tokens = encoder(2, 16, 2, 16, 2), torch.randn(2, 5, 4, 16)
    run = by_kernel(kernels)
    first, again = (outputs_and_gradients(run, made, tokens, tokens) for _ in range(2))
    assert all(torch.equal(first[name], again[name]) for name in first)


def test_extreme_scores_stay_finite(kernels):
    made, tokens = encoder(1, 16, 1, 16, 1), 1e4 * torch.randn(1, 5, 4, 16)
    out = by_kernel(kernels)(made, tokens)
    torch.testing.assert_close(out, by_layers(made, tokens), rtol=1e-3, atol=1e-2)


@pytest.mark.parametrize("bad", [torch.nan, torch.inf])
def test_what_is_no_number_stays_none_and_harms_no_other_subject(kernels, bad):
    made, tokens = encoder(1, 16, 2, 16, 2), torch.randn(1, 20, 3, 16)
    run = by_kernel(kernels)
    with torch.no_grad(), np.errstate(invalid="ignore", over="ignore"):
        expected = run(made, tokens)
        tokens[0, 4, 1, 2] = bad
        out = run(made, tokens)
    assert not torch.isfinite(out[0, 4]).all()
    if "cpu" in kernels.__name__:  # on a GPU the plain layers answer for such subjects
        others = [s for s in range(20) if s != 4]
        torch.testing.assert_close(out[:, others], expected[:, others])


@pytest.mark.parametrize(
    ("made", "tokens"),
    [
        (encoder(1, 4, 2, 8, 1), torch.zeros(1, 3, 2, 4)),
        (encoder(1, 8, 2, 12, 1), torch.zeros(1, 3, 2, 8)),
        (encoder(1, 8, 2, 8, 1, dropout=0.5), torch.zeros(1, 3, 2, 8)),
        (encoder(1, 8, 2, 8, 1, attention_dropout=0.5), torch.zeros(1, 3, 2, 8)),
        (encoder(1, 8, 2, 8, 1).double(), torch.zeros(1, 3, 2, 8, dtype=torch.float64)),
    ],
    ids=["narrow", "odd hidden size", "dropout", "attention dropout", "double"],
)
def test_what_the_kernel_cannot_do_is_left_to_the_layers(made, tokens):
    assert "EncoderFunction" not in made.train()(tokens).grad_fn.name()


def test_with_dropout_the_kernel_predicts_all_the_same():
    made, tokens = encoder(1, 8, 2, 8, 1, dropout=0.5).eval(), torch.randn(1, 3, 2, 8)
    assert "EncoderFunction" in made(tokens).grad_fn.name()


def test_without_gradients_the_numbers_are_the_same():
    made, tokens = encoder(2, 8, 2, 16, 3), torch.randn(2, 40, 4, 8)
    with torch.no_grad():
        alone = made(tokens)
    assert torch.equal(alone, made(tokens))


def test_a_forked_process_starts_threads_of_its_own(monkeypatch):
    monkeypatch.setattr("survtrace.threads.TOKENS_PER_THREAD", 1)
    made, tokens = encoder(2, 8, 2, 16, 1), torch.randn(2, 40, 4, 8)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    with torch.no_grad():
        made(tokens)
        child = os.fork()
        if child == 0:
            made(tokens)
            os._exit(7)
    torch.set_num_threads(before)
    deadline = time.monotonic() + 60
    done, status = 0, 0
    while not done and time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        time.sleep(0.01)
    if not done:
        os.kill(child, signal.SIGKILL)
    assert os.waitstatus_to_exitcode(status) == 7
