import pytest
import torch

from survtrace.training.flat_parameters import RunningAverage
from survtrace.training.state import clip_by_member

pytest.importorskip("triton", reason="Triton, which interprets kernels, is not installed")


def test_it_is_a_step_of_adamw_on_clipped_gradients_with_a_running_average():
    from survtrace.ops.cuda.update import Moments, Rates, update

    torch.manual_seed(0)
    whole = torch.randn(2, 1500)
    parameter = torch.nn.Parameter(whole.clone())
    expected = RunningAverage(parameter, window=4)
    optimiser = torch.optim.AdamW([parameter], lr=1e-2, weight_decay=1e-2)
    mean, square, n_steps = torch.zeros_like(whole), torch.zeros_like(whole), torch.zeros(())
    average = whole.clone()
    for _ in range(6):
        gradient = torch.randn_like(whole) * torch.tensor([[1.0], [1e-3]])
        parameter.grad = gradient.clone()
        clip_by_member(parameter.grad, 1.0)
        optimiser.step()
        expected.update(parameter)
        n_steps += 1
        moments = Moments(whole, gradient, mean, square, average, n_steps)
        update(moments, Rates(1.0, 1e-2, 1e-2, 0.9, 0.999, 1e-8, 1 / 4))
    torch.testing.assert_close(whole, parameter.detach(), rtol=1e-5, atol=2e-6)
    torch.testing.assert_close(average, expected.average, rtol=1e-5, atol=2e-6)
