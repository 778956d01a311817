import math

import pytest
import torch

from survtrace.network.attention import Attention


def attention(n_members=2, width=4, n_heads=2, dropout=0.0):
    layer = Attention(n_members, width, n_heads, dropout)
    seeds = range(n_members)
    layer.query_key_value.initialise([torch.Generator().manual_seed(seed) for seed in seeds])
    return layer


def test_it_is_the_textbook_formula():
    layer, tokens = attention(1, 4, 2), torch.randn(1, 1, 3, 4)
    query, key, value = (tokens[0, 0] @ layer.query_key_value.weight[0]).chunk(3, dim=-1)
    expected = []
    for head in (slice(0, 2), slice(2, 4)):
        scores = query[:, head] @ key[:, head].T / math.sqrt(2)
        expected.append(torch.softmax(scores, dim=-1) @ value[:, head])
    torch.testing.assert_close(layer(tokens)[0, 0], torch.cat(expected, dim=-1))


@pytest.mark.parametrize("n_heads", [1, 2, 4])
def test_the_fast_path_and_the_one_with_weights_agree(n_heads):
    layer, tokens = attention(3, 8, n_heads), torch.randn(3, 5, 6, 8)
    attended, weights = layer.weighted(tokens)
    torch.testing.assert_close(layer(tokens), attended)
    assert weights.shape == (3, 5, n_heads, 6, 6)
    torch.testing.assert_close(weights.sum(-1), torch.ones(3, 5, n_heads, 6))


def test_the_order_of_tokens_only_orders_the_answer():
    layer, tokens = attention(), torch.randn(2, 3, 5, 4)
    order = torch.randperm(5)
    torch.testing.assert_close(layer(tokens[:, :, order]), layer(tokens)[:, :, order])


def test_subjects_and_members_do_not_look_at_each_other():
    layer, tokens = attention(), torch.randn(2, 3, 5, 4)
    changed = tokens.clone()
    changed[0, 1] += 1
    same = layer(tokens) == layer(changed)
    assert not same[0, 1].any()
    assert same[1].all()
    assert same[0, [0, 2]].all()


def test_attention_dropout_acts_in_training_only():
    layer, tokens = attention(dropout=0.5), torch.randn(2, 3, 5, 4)
    layer.dropout.generator = torch.Generator().manual_seed(0)
    assert not torch.allclose(layer.train()(tokens), layer.eval()(tokens))
    weights = layer.train().weighted(tokens)[1]
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 3, 2, 5))
