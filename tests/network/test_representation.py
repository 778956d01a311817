import torch
from torch.nn.functional import selu

from survtrace.network.representation import Representation


def test_final_and_embedded_tokens_are_aligned_by_one_layer():
    layer = Representation(1, n_tokens=3, width=2, hidden=5)
    layer.align.initialise([torch.Generator().manual_seed(0)])
    final, embedded = torch.randn(1, 4, 3, 2), torch.randn(1, 4, 3, 2)
    beside = torch.cat([final.flatten(2), embedded.flatten(2)], dim=2)
    torch.testing.assert_close(layer(final, embedded)[0], selu(beside[0] @ layer.align.weight[0]))


def test_the_shortcut_carries_what_the_encoder_lost():
    layer = Representation(1, n_tokens=3, width=2, hidden=5)
    layer.align.initialise([torch.Generator().manual_seed(0)])
    lost, embedded = torch.zeros(1, 2, 3, 2), torch.randn(1, 2, 3, 2)
    answer = layer(lost, embedded)
    assert not torch.allclose(answer[0, 0], answer[0, 1])
