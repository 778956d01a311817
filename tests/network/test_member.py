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
    for layer in (token_dropout(0.5, 0.5).eval(), token_dropout(0.0, 0.0).train()):
        assert layer(rows, x[..., 0])[0] is rows


def test_all_members_share_a_mask_and_the_mean_is_kept():
    layer = Dropout(0.25).train()
    layer.generator = torch.Generator().manual_seed(0)
    dropped = layer(torch.ones(3, 100, 50))
    assert torch.equal(dropped[0], dropped[2])
    assert dropped.unique().tolist() == [0.0, pytest.approx(4 / 3)]
    assert dropped.mean().item() == pytest.approx(1.0, abs=0.02)


def token_dropout(probability, unknown_fraction):
    """Three numerical covariates (missing: rows 0, 2, 4), three categorical ones of two levels."""
    missing, unseen = [0, 2, 4, 6, 10, 14], [0, 2, 4, 7, 11, 15]
    layer = TokenDropout(probability, unknown_fraction, missing, unseen)
    layer.generator = torch.Generator().manual_seed(0)
    return layer


def some_tokens(n_subjects=4000):
    rows = torch.tensor([1, 3, 5, 8, 12, 16], dtype=torch.int32)
    return rows.expand(2, n_subjects, 6), torch.full((2, n_subjects, 6), 0.5)


def test_token_dropout_says_unknown_to_all_members_alike():
    rows, values = some_tokens()
    seen, seen_values = token_dropout(0.25, 0.0).train()(rows, values)
    hidden = seen != rows
    assert seen.dtype == rows.dtype
    assert torch.equal(seen[0], seen[1])
    assert torch.equal(seen_values, torch.where(hidden, 1.0, 0.5))
    assert hidden.float().mean().item() == pytest.approx(0.25, abs=0.01)
    assert seen[:, :, 0].unique().tolist() == [0, 1]
    assert seen[:, :, 3].unique().tolist() == [6, 7, 8]
    unseen = (seen[0, :, 3] == 7).sum() / hidden[0, :, 3].sum()
    assert unseen.item() == pytest.approx(0.25, abs=0.05)


def test_of_a_fraction_of_subjects_any_share_is_unknown_up_to_all():
    rows, values = some_tokens()
    hidden = (token_dropout(0.0, 0.4).train()(rows, values)[0] != rows)[0]
    per_subject = hidden.sum(1)
    assert (per_subject == 0).float().mean().item() == pytest.approx(0.6 + 0.4 / 1.25 / 7, abs=0.02)
    assert (per_subject == 6).float().mean().item() == pytest.approx(
        0.4 * (0.2 + 1 / 1.25 / 7), abs=0.02
    )
    assert set(per_subject.tolist()) == set(range(7))


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
