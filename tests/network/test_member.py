import pytest
import torch

from survtrace.network.member import Dropout, MemberLinear, TokenDropout


def generators(*seeds):
    return [torch.Generator().manual_seed(seed) for seed in seeds]


def test_each_member_has_an_affine_map_of_its_own():
    layer = MemberLinear(3, 4, 2)
    layer.initialise(generators(0, 1, 2))
    with torch.no_grad():
        layer.bias.normal_()
    x = torch.randn(3, 5, 4)
    for member in range(3):
        expected = x[member] @ layer.weight[member] + layer.bias[member]
        torch.testing.assert_close(layer(x)[member], expected)


def test_parameters_depend_on_the_members_seed_alone():
    together, alone = MemberLinear(3, 4, 2), MemberLinear(1, 4, 2)
    together.initialise(generators(7, 8, 9))
    alone.initialise(generators(8))
    assert torch.equal(together.weight[1], alone.weight[0])
    assert not torch.equal(together.weight[0], together.weight[1])


def test_initial_variance_is_a_third_of_one_over_the_inputs():
    layer = MemberLinear(1, 400, 100)
    layer.initialise(generators(0))
    assert layer.weight.std().item() == pytest.approx(1 / (1200**0.5), rel=0.05)
    assert not layer.bias.any()


@pytest.mark.parametrize("kind", [Dropout, TokenDropout])
def test_dropout_is_silent_in_prediction(kind):
    layer, x = kind(0.5), torch.randn(2, 3, 4, 5)
    assert layer.eval()(x) is x
    assert kind(0.0).train()(x) is x


def test_all_members_share_a_mask_and_the_mean_is_kept():
    layer = Dropout(0.25).train()
    layer.generator = torch.Generator().manual_seed(0)
    dropped = layer(torch.ones(3, 100, 50))
    assert torch.equal(dropped[0], dropped[2])
    assert dropped.unique().tolist() == [0.0, pytest.approx(4 / 3)]
    assert dropped.mean().item() == pytest.approx(1.0, abs=0.02)


def test_token_dropout_silences_whole_tokens_without_rescaling():
    layer = TokenDropout(0.5).train()
    layer.generator = torch.Generator().manual_seed(0)
    dropped = layer(torch.ones(2, 40, 6, 4))
    assert torch.equal(dropped[0], dropped[1])
    assert set(dropped.sum(-1).unique().tolist()) == {0.0, 4.0}


def test_masks_come_from_a_generator_of_their_own():
    layer, x = Dropout(0.5).train(), torch.ones(1, 8, 8)
    torch.manual_seed(0)
    before = torch.get_rng_state()
    layer.generator = torch.Generator().manual_seed(3)
    first = layer(x)
    assert torch.equal(torch.get_rng_state(), before)
    layer.generator = torch.Generator().manual_seed(3)
    assert torch.equal(first, layer(x))
