import pytest
import torch

from survtrace.network.heads import CauseHeads, Head, answer
from survtrace.network.member import Dropout, MemberLinear

NONE = Dropout(0.0)


def initialised(module, n_members=2):
    for layer in module.modules():
        if isinstance(layer, MemberLinear):
            layer.initialise([torch.Generator().manual_seed(seed) for seed in range(n_members)])
    return module


def logits(causes, x):
    return causes(answer(list(causes.heads), x, NONE))


@pytest.mark.parametrize("head_depth", [1, 2])
def test_a_head_has_as_many_layers_as_asked(head_depth):
    heads = [initialised(Head(2, 4, n_out, head_depth)) for n_out in (3, 1)]
    x = torch.randn(2, 5, 4)
    said = answer(heads, x, NONE)
    assert said.shape == (2, 2, 5, 3)
    for k, (head, n_out) in enumerate(zip(heads, (3, 1), strict=True)):
        inner = torch.relu(x @ head.inner.weight) if head_depth == 2 else x
        torch.testing.assert_close(said[:, k, :, :n_out], inner @ head.outer.weight)
        assert sum(isinstance(layer, MemberLinear) for layer in head.modules()) == head_depth


def test_what_is_dropped_of_the_representation_is_dropped_for_every_head():
    dropout, x = Dropout(0.5).train(), torch.ones(1, 200, 4)
    dropout.generator = torch.Generator().manual_seed(0)
    (said,) = answer([initialised(Head(1, 4, 1, 1), 1) for _ in range(2)], x, dropout)
    first, second = said
    assert torch.equal(first, second)
    assert len(first.unique()) > 4


def test_each_cause_has_a_head_of_its_own():
    causes, x = initialised(CauseHeads(2, 4, 3, 5, 2, 3.0)), torch.randn(2, 6, 4)
    before = logits(causes, x)
    assert before.shape == (2, 6, 3, 5)
    with torch.no_grad():
        causes.heads[1].outer.bias += 1
    changed = (logits(causes, x) != before).flatten(0, 1).flatten(2).any(-1).any(0)
    assert changed.tolist() == [False, True, False]


def test_what_a_causes_intervals_share_is_added_and_what_sets_them_apart_is_kept():
    x = torch.randn(2, 6, 4)
    paper, pulled = (logits(initialised(CauseHeads(2, 4, 3, 5, 2, pull)), x) for pull in (0.0, 3.0))
    torch.testing.assert_close(pulled.mean(-1), 4 * paper.mean(-1))
    torch.testing.assert_close(pulled.diff(dim=-1), paper.diff(dim=-1))
