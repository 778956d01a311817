import torch

from survtrace.network.embedding import Embedding


def embedding(*seeds, silent=(0, 2), biased=False):
    layer = Embedding(len(seeds), 5, 2, 3, silent_rows=list(silent), biased=biased)
    layer.initialise([torch.Generator().manual_seed(seed) for seed in seeds])
    return layer


def test_a_token_is_the_value_times_the_row_of_the_members_own_table():
    layer = embedding(0, 1)
    rows = torch.tensor([[[1, 4]], [[3, 1]]])
    values = torch.tensor([[[2.0, 1.0]], [[-1.0, 0.5]]])
    tokens = layer(rows, values)
    assert tokens.shape == (2, 1, 2, 3)
    torch.testing.assert_close(tokens[0, 0, 0], 2.0 * layer.table[0, 1])
    torch.testing.assert_close(tokens[1, 0, 1], 0.5 * layer.table[1, 1])


def test_silent_rows_start_at_zero_and_can_learn():
    layer = embedding(0, 1)
    assert not layer.table[:, [0, 2]].any()
    assert (layer.table[:, [1, 3, 4]] != 0).all()
    layer(torch.zeros(2, 1, 1, dtype=torch.int64), torch.ones(2, 1, 1)).sum().backward()
    assert layer.table.grad[:, 0].all()
    assert not layer.table.grad[:, 1:].any()


def test_a_bias_tells_covariates_apart_where_their_values_are_zero():
    rows, values = torch.tensor([[[1, 4]]]), torch.zeros(1, 1, 2)
    plain, biased = embedding(0)(rows, values), embedding(0, biased=True)(rows, values)
    assert torch.equal(plain[0, 0, 0], plain[0, 0, 1])
    assert not torch.equal(biased[0, 0, 0], biased[0, 0, 1])


def test_rows_of_either_width_of_integers_are_taken():
    layer, values = embedding(0), torch.ones(1, 2, 1)
    rows = torch.tensor([[[1], [3]]])
    assert torch.equal(layer(rows, values), layer(rows.to(torch.int32), values))
