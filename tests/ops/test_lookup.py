import pytest
import torch

from survtrace import ops
from survtrace.network.embedding import Embedding


@pytest.mark.parametrize("dropped", [False, True])
@pytest.mark.parametrize("n_members", [1, 3])
def test_tokens_and_gradients_are_those_of_the_embedding(kernels, n_members, dropped):
    torch.manual_seed(0)
    embedding = Embedding(n_members, 11, 4, 6, [0], biased=True)
    embedding.initialise([torch.Generator().manual_seed(m) for m in range(n_members)])
    rows = torch.randint(0, 11, (n_members, 9, 4), dtype=torch.int32)
    values, weights = torch.randn(n_members, 9, 4), torch.randn(n_members, 9, 4, 6)
    mask = (torch.rand(9, 4) < 0.5).float() if dropped else None
    with ops.plain():
        expected = embedding(rows, values, mask)
    table, bias = embedding.table, embedding.bias
    tokens = kernels.lookup(table, bias, rows, values, mask)
    torch.testing.assert_close(tokens, expected)
    for ours, theirs in zip(
        torch.autograd.grad((tokens * weights).sum(), [table, bias]),
        torch.autograd.grad((expected * weights).sum(), [table, bias]),
        strict=True,
    ):
        torch.testing.assert_close(ours, theirs)
