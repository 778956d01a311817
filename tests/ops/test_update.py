import pytest
import torch

from survtrace import ops
from survtrace.ops.dispatch import clip_by_member
from survtrace.training.flat_parameters import RunningAverage


def test_the_kernel_takes_a_step_of_adamw_on_clipped_gradients_with_a_running_average(
    cuda_kernels, cuda_device
):
    torch.manual_seed(0)
    flat = torch.randn(2, 1500, device=cuda_device)
    parameter = torch.nn.Parameter(flat.clone())
    expected, average = RunningAverage(parameter, window=4), RunningAverage(flat, window=4)
    optimiser = torch.optim.AdamW([parameter], lr=1e-2, weight_decay=1e-2)
    moments = {name: torch.zeros_like(flat) for name in ("exp_avg", "exp_avg_sq")}
    moments["step"] = torch.zeros((), device=cuda_device)
    for _ in range(6):
        gradient = torch.randn_like(flat) * torch.tensor([[1.0], [1e-3]], device=cuda_device)
        parameter.grad = gradient.clone()
        with ops.plain():
            ops.update(parameter, parameter.grad, optimiser, expected, 1.0)
        cuda_kernels.update(flat, gradient, moments, optimiser.param_groups[0], average, 1.0)
    torch.testing.assert_close(flat, parameter.detach(), rtol=1e-5, atol=2e-6)
    torch.testing.assert_close(average.average, expected.average, rtol=1e-5, atol=2e-6)
    assert average.n_steps == expected.n_steps == moments["step"]


def test_the_gradient_of_each_member_is_clipped_alone():
    before = torch.ones(3, 6) * torch.tensor([[1.0], [1e6], [1e-3]])
    gradient = before.clone()
    clip_by_member(gradient, 10.0)
    assert gradient[1].norm().item() == pytest.approx(10.0, rel=1e-5)
    assert torch.equal(gradient[[0, 2]], before[[0, 2]])
    assert (gradient[1] / before[1]).std() < 1e-9


def test_a_gradient_of_nothing_stays_nothing():
    gradient = torch.zeros(1, 6)
    clip_by_member(gradient, 1.0)
    assert not gradient.any()
