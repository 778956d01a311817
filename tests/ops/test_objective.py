import pytest
import torch

from survtrace import ops
from survtrace.batch import Batch


def batch(n_members, n_subjects, n_causes, n_intervals):
    shape = (n_members, n_subjects)
    return Batch(
        rows=torch.zeros(*shape, 1, dtype=torch.int32),
        values=torch.zeros(*shape, 1),
        interval=torch.randint(0, n_intervals, shape),
        fraction=torch.rand(shape),
        event=torch.randint(0, n_causes + 1, shape),
        stay=torch.randn(shape),
        weight=torch.rand(shape),
        ips=torch.rand(*shape, n_causes),
    )


@pytest.mark.parametrize("sizes", [(1, 5, 1, 1), (2, 70, 2, 5), (3, 9, 4, 3)], ids=str)
def test_losses_and_gradients_are_those_of_the_formulas(kernels, sizes):
    """Far out in both directions as well: logits from -60 to 60."""
    torch.manual_seed(0)
    logits = [
        (20 * torch.randn(shape)).clamp(-60, 60).requires_grad_()
        for shape in (sizes, sizes[:2], sizes[:2])
    ]
    subjects, weights = batch(*sizes), torch.rand(3, sizes[0])
    with ops.plain():
        expected = ops.losses(*logits, subjects, torch.ones(3))
    parts = kernels.losses(*logits, subjects)
    torch.testing.assert_close(parts, expected, rtol=1e-5, atol=1e-5)
    for ours, theirs in zip(
        torch.autograd.grad((parts * weights).sum(), logits),
        torch.autograd.grad((expected * weights).sum(), logits),
        strict=True,
    ):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-6)


def test_a_hazard_next_to_nothing_keeps_its_gradient(kernels):
    logits = [torch.full((1, 1, 1, 1), -200.0), torch.zeros(1, 1), torch.zeros(1, 1)]
    logits[0].requires_grad_()
    one, zero = torch.ones(1, 1), torch.zeros(1, 1, dtype=torch.int64)
    outcome = Batch(zero, one, zero, one, zero + 1, one, one, one.unsqueeze(2))
    parts = kernels.losses(*logits, outcome)
    assert parts[0].item() == pytest.approx(200.0)
    (gradient,) = torch.autograd.grad(parts[0].sum(), logits[:1])
    assert gradient.item() == pytest.approx(-1.0)
