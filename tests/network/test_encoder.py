import torch
from torch.nn.functional import selu

from survtrace.network.encoder import EncoderLayer
from survtrace.network.member import MemberLinear


def layer(dropout=0.0):
    made = EncoderLayer(2, 4, 2, 6, dropout, 0.0)
    for module in made.modules():
        if isinstance(module, MemberLinear):
            module.initialise([torch.Generator().manual_seed(seed) for seed in (0, 1)])
    return made


def test_attention_and_feed_forward_both_read_the_incoming_tokens():
    """Equations 9 and 10: the feed-forward network reads t, not r."""
    block, tokens = layer(), torch.randn(2, 3, 5, 4)
    attended = block.attention(tokens)
    for member in range(2):
        t = tokens[member]
        residual = selu(attended[member] @ block.mix.weight[member] + t)
        forward = selu(t @ block.expand.weight[member]) @ block.contract.weight[member]
        torch.testing.assert_close(block(tokens)[member], selu(forward + residual))


def test_the_answer_does_not_depend_on_asking_for_weights():
    block, tokens = layer(), torch.randn(2, 3, 5, 4)
    answer, weights = block.weighted(tokens)
    torch.testing.assert_close(block(tokens), answer)
    assert weights.shape == (2, 3, 2, 5, 5)


def test_dropout_acts_in_training_only():
    block, tokens = layer(dropout=0.5), torch.randn(2, 3, 5, 4)
    assert not torch.allclose(block.train()(tokens), block.eval()(tokens))
    assert torch.equal(block.eval()(tokens), block.eval()(tokens))
