import pytest
import torch

from survtrace.network.heads import CauseHeads, Head
from survtrace.network.member import MemberLinear


def initialised(module, n_members=2):
    for layer in module.modules():
        if isinstance(layer, MemberLinear):
            layer.initialise([torch.Generator().manual_seed(seed) for seed in range(n_members)])
    return module


@pytest.mark.parametrize("head_depth", [1, 2])
def test_a_head_has_as_many_layers_as_asked(head_depth):
    head, x = initialised(Head(2, 4, 3, head_depth, 0.0)), torch.randn(2, 5, 4)
    inner = torch.relu(x @ head.inner.weight) if head_depth == 2 else x
    torch.testing.assert_close(head(x), inner @ head.outer.weight)
    assert sum(isinstance(layer, MemberLinear) for layer in head.modules()) == head_depth


def test_each_cause_has_a_head_of_its_own():
    heads, x = initialised(CauseHeads(2, 4, 3, 5, 2, 0.0, 3.0)), torch.randn(2, 6, 4)
    before = heads(x)
    assert before.shape == (2, 6, 3, 5)
    with torch.no_grad():
        heads.heads[1].outer.bias += 1
    changed = (heads(x) != before).flatten(0, 1).flatten(2).any(-1).any(0)
    assert changed.tolist() == [False, True, False]


def test_what_a_causes_intervals_share_is_added_and_what_sets_them_apart_is_kept():
    x = torch.randn(2, 6, 4)
    paper, pulled = (initialised(CauseHeads(2, 4, 3, 5, 2, 0.0, pull))(x) for pull in (0.0, 3.0))
    torch.testing.assert_close(pulled.mean(-1), 4 * paper.mean(-1))
    torch.testing.assert_close(pulled.diff(dim=-1), paper.diff(dim=-1))
