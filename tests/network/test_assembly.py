import json

import pytest
import torch

from survtrace.network.assembly import Network, Shape

PLAIN = {
    "n_rows": 7,
    "n_tokens": 3,
    "n_causes": 2,
    "n_intervals": 4,
    "silent_rows": (0,),
    "width": 4,
    "depth": 2,
    "n_heads": 2,
    "hidden": 6,
    "head_depth": 2,
    "token_bias": True,
    "proportional": 3.0,
    "dropout": 0.0,
    "attention_dropout": 0.0,
    "token_dropout": 0.0,
    "head_dropout": 0.0,
}


def network(*seeds, **changes):
    shape = Shape(**{**PLAIN, **changes}, n_members=len(seeds))
    made = Network(shape)
    made.initialise(list(seeds))
    return made.eval()


def covariates(n_subjects, seed=0):
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randint(0, 7, (n_subjects, 3), generator=generator)
    return rows, torch.randn(n_subjects, 3, generator=generator)


def for_every(n_members, rows, values):
    return rows.expand(n_members, -1, -1), values.expand(n_members, -1, -1)


def test_shapes_of_everything_it_says():
    net = network(0, 1, 2)
    logits = net(*for_every(3, *covariates(5)))
    assert logits.cause.shape == (3, 5, 2, 4)
    assert logits.mortality.shape == logits.stay.shape == (3, 5)
    assert net.hazards(*covariates(5)).shape == (3, 5, 2, 4)
    assert net.attention(*covariates(5)).shape == (5, 2, 2, 3, 3)


def test_without_layers_tokens_go_straight_to_the_representation_and_attention_is_empty():
    net = network(0, 1, depth=0)
    rows, values = covariates(5)
    embedded = net.embedding(*for_every(2, rows, values))
    straight = net.representation(embedded, embedded)
    torch.testing.assert_close(net.represent(*for_every(2, rows, values)), straight)
    assert net.attention(rows, values).shape == (5, 0, 2, 3, 3)


def test_a_shape_survives_json():
    shape = Shape(**PLAIN, n_members=1)
    assert Shape.from_dict(json.loads(json.dumps(shape.as_dict()))) == shape


def test_the_shape_of_an_early_file_has_neither_bias_nor_pull():
    later = ("token_bias", "proportional")
    early = {name: value for name, value in PLAIN.items() if name not in later}
    shape = Shape.from_dict({**early, "n_members": 1})
    assert not shape.token_bias
    assert shape.proportional == 0.0


def test_members_side_by_side_equal_each_alone():
    together, inputs = network(3, 4, 5), covariates(6)
    for member, seed in enumerate((3, 4, 5)):
        alone = network(seed)
        torch.testing.assert_close(together.hazards(*inputs)[member], alone.hazards(*inputs)[0])


def test_hazards_are_softplus_of_logits_at_the_fitted_level():
    net, inputs = network(0, 1), covariates(4)
    logits = net(*for_every(2, *inputs)).cause
    torch.testing.assert_close(net.hazards(*inputs), torch.nn.functional.softplus(logits))
    net.recalibration_factor[:, :, 1] = 3.0
    torch.testing.assert_close(
        net.hazards(*inputs)[:, :, 1], 3 * torch.nn.functional.softplus(logits)[:, :, 1]
    )


def test_the_dropout_stream_can_be_restarted_and_forgotten():
    net = network(0, token_dropout=0.3, head_dropout=0.3, dropout=0.3, attention_dropout=0.3)
    net.train()
    inputs = for_every(1, *covariates(5))
    answers = []
    for _ in range(2):
        net.seed_dropout(11)
        answers.append(net(*inputs).cause)
    assert torch.equal(*answers)
    assert not torch.equal(answers[0], net(*inputs).cause)
    net.seed_dropout(None)
    assert all(getattr(module, "generator", None) is None for module in net.modules())


def permuted_tokens(net, order):
    """A network that reads the tokens in another order: only alignment and bias know places."""
    width, n_tokens = net.shape.width, net.shape.n_tokens
    blocks = torch.arange(2 * n_tokens * width).view(2, n_tokens, width)
    twin = Network(net.shape)
    twin.load_state_dict(net.state_dict())
    with torch.no_grad():
        twin.representation.align.weight.copy_(
            net.representation.align.weight[:, blocks[:, order].flatten()]
        )
        twin.embedding.bias.copy_(net.embedding.bias[:, :, order])
    return twin.eval()


@pytest.mark.parametrize("order", [[2, 0, 1], [1, 0, 2]])
def test_permuted_token_parameters_give_the_same_hazards(order):
    net, (rows, values) = network(0, 1), covariates(5)
    twin = permuted_tokens(net, order)
    torch.testing.assert_close(
        twin.hazards(rows[:, order], values[:, order]), net.hazards(rows, values)
    )
    torch.testing.assert_close(
        twin.attention(rows[:, order], values[:, order]),
        net.attention(rows, values)[..., order, :][..., order],
    )


def test_permuted_heads_permute_the_cause_axis():
    net, inputs = network(0, 1, n_causes=3), covariates(5)
    expected, order = net.hazards(*inputs), [2, 0, 1]
    net.causes.heads = torch.nn.ModuleList(net.causes.heads[k] for k in order)
    torch.testing.assert_close(net.hazards(*inputs), expected[:, :, order])


def test_permuted_subjects_permute_the_answer():
    net, (rows, values) = network(0, 1), covariates(16)
    order = torch.randperm(16)
    torch.testing.assert_close(
        net.hazards(rows[order], values[order]), net.hazards(rows, values)[:, order]
    )


def test_attention_is_the_mean_over_members():
    net, inputs = network(0, 1), covariates(5)
    alone = [network(seed).attention(*inputs) for seed in (0, 1)]
    torch.testing.assert_close(net.attention(*inputs), (alone[0] + alone[1]) / 2)
    torch.testing.assert_close(net.attention(*inputs).sum(-1), torch.ones(5, 2, 2, 3))
