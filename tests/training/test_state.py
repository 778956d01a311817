import pytest
import torch

from survtrace.training.state import clip_by_member


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
