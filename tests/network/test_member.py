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


def test_dropout_is_silent_in_prediction():
    x, rows = torch.randn(2, 3, 4, 5), torch.zeros(2, 3, 4, dtype=torch.int32)
    assert Dropout(0.5).eval()(x) is x
    assert Dropout(0.0).train()(x) is x
    assert TokenDropout(0.5).eval()(rows) is None
    assert TokenDropout(0.0).train()(rows) is None


def test_all_members_share_a_mask_and_the_mean_is_kept():
    layer = Dropout(0.25).train()
    layer.generator = torch.Generator().manual_seed(0)
    dropped = layer(torch.ones(3, 100, 50))
    assert torch.equal(dropped[0], dropped[2])
    assert dropped.unique().tolist() == [0.0, pytest.approx(4 / 3)]
    assert dropped.mean().item() == pytest.approx(1.0, abs=0.02)


def test_token_dropout_keeps_or_silences_tokens_of_all_members():
    layer = TokenDropout(0.25).train()
    layer.generator = torch.Generator().manual_seed(0)
    kept = layer(torch.zeros(2, 400, 6, dtype=torch.int32))
    assert kept.shape == (400, 6)
    assert set(kept.unique().tolist()) == {0.0, 1.0}
    assert kept.mean().item() == pytest.approx(0.75, abs=0.03)


@pytest.mark.parametrize("rows_per_subject", [1, 5])
def test_processes_that_share_a_batch_share_its_mask(rows_per_subject):
    """Each draws the whole mask and takes its own subjects', whatever lies below a subject."""
    x = torch.ones(2, 7 * rows_per_subject, 3)

    def dropped(part, own):
        layer = Dropout(0.5).train()
        layer.generator, layer.part = torch.Generator().manual_seed(1), part
        return layer(own)

    whole, cut = dropped(None, x), 4 * rows_per_subject
    shares = dropped((0, 4, 7), x[:, :cut]), dropped((4, 7, 7), x[:, cut:])
    assert torch.equal(torch.cat(shares, dim=1), whole)


def test_masks_come_from_a_generator_of_their_own():
    layer, x = Dropout(0.5).train(), torch.ones(1, 8, 8)
    torch.manual_seed(0)
    before = torch.get_rng_state()
    layer.generator = torch.Generator().manual_seed(3)
    first = layer(x)
    assert torch.equal(torch.get_rng_state(), before)
    layer.generator = torch.Generator().manual_seed(3)
    assert torch.equal(first, layer(x))
