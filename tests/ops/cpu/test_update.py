import pytest
import torch

from survtrace import ops
from survtrace.threads import threads
from survtrace.training.flat_parameters import RunningAverage


def take_steps(n_parameters, clip_norm, n_steps=6):
    """Parameters, running average and moments after some steps of two members."""
    draw = torch.Generator().manual_seed(0)
    parameter = torch.nn.Parameter(torch.randn(2, n_parameters, generator=draw))
    average = RunningAverage(parameter, window=4)
    optimiser = torch.optim.AdamW([parameter], lr=1e-2, weight_decay=1e-2)
    for _ in range(n_steps):
        gradient = torch.randn(2, n_parameters, generator=draw) * torch.tensor([[1.0], [1e-3]])
        parameter.grad = gradient
        ops.update(parameter, gradient, optimiser, average, clip_norm)
    moments = optimiser.state[parameter]
    return parameter.detach(), average.average, *moments.values(), average.n_steps


@pytest.mark.parametrize("n_parameters", [5, 1500, 40_007])
@pytest.mark.parametrize("clip_norm", [1.0, 1e9])
def test_a_step_is_that_of_adamw_on_clipped_gradients_with_a_running_average(
    n_parameters, clip_norm
):
    ours = take_steps(n_parameters, clip_norm)
    with ops.plain():
        plain = take_steps(n_parameters, clip_norm)
    for got, expected in zip(ours, plain, strict=True):
        torch.testing.assert_close(got, expected, rtol=1e-5, atol=2e-6)


def test_any_number_of_threads_gives_the_same_bits(monkeypatch):
    monkeypatch.setattr("survtrace.threads.TOKENS_PER_THREAD", 1)
    found = []
    for n_threads in (1, 2, 3, 5):
        with threads(n_threads):
            found.append(take_steps(70_000, clip_norm=1.0, n_steps=3))
    for other in found[1:]:
        assert all(torch.equal(a, b) for a, b in zip(found[0], other, strict=True))


def test_a_gradient_of_nothing_only_lets_weights_decay():
    parameter = torch.nn.Parameter(torch.ones(1, 20))
    average = RunningAverage(parameter, window=4)
    optimiser = torch.optim.AdamW([parameter], lr=0.1, weight_decay=0.1)
    for _ in range(2):
        parameter.grad = torch.zeros(1, 20)
        ops.update(parameter, parameter.grad, optimiser, average, clip_norm=1.0)
    torch.testing.assert_close(parameter.detach(), torch.full((1, 20), 0.99**2))
