import torch

from survtrace import ops
from survtrace.network.member import Dropout


def test_dropout_and_its_gradient_are_those_without_a_kernel(module):
    layer, x = Dropout(0.3).train(), torch.randn(2, 5, 7, requires_grad=True)
    layer.generator = torch.Generator().manual_seed(4)
    with ops.plain():
        expected = layer(x)
    layer.generator.manual_seed(4)
    bits, threshold = layer.draw(x.shape[1:], x.device)
    dropped = module("dropout").DropoutFunction.apply(x, bits, threshold, 1 / 0.7)
    torch.testing.assert_close(dropped, expected)
    ours, theirs = (torch.autograd.grad(y.square().sum(), x) for y in (dropped, expected))
    torch.testing.assert_close(ours, theirs)
