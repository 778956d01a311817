import pytest
import torch

from survtrace import ops
from survtrace.network.member import Dropout


def test_dropout_and_its_gradient_are_those_without_a_kernel(cuda_kernels):
    layer, x = Dropout(0.3).train(), torch.randn(2, 5, 7, requires_grad=True)
    layer.generator = torch.Generator().manual_seed(4)
    with ops.plain():
        expected = layer(x)
    layer.generator.manual_seed(4)
    bits, threshold = layer.draw(x.shape[1:], x.device)
    dropped = cuda_kernels.dropout(x, bits, threshold, 1 / 0.7)
    torch.testing.assert_close(dropped, expected)
    ours, theirs = (torch.autograd.grad(y.square().sum(), x) for y in (dropped, expected))
    torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_plain_form_scales_what_is_kept_and_drops_the_rest(dtype):
    x, bits = torch.tensor([[1.0, 2.0, 3.0]], dtype=dtype), torch.tensor([-5, 4, 3]).short()
    with ops.plain():
        dropped = ops.dropout(x, bits, 4, 2.0)
    assert dropped.tolist() == [[2.0, 0.0, 6.0]]
    assert dropped.dtype == dtype


def test_next_to_no_dropout_keeps_almost_everything():
    """The threshold is no larger than sixteen bits can say."""
    layer, x = Dropout(1e-6).train(), torch.ones(1, 50, 50)
    layer.generator = torch.Generator().manual_seed(0)
    assert layer(x).count_nonzero() >= 2495
