"""Every parameter lies where the kernels look for it; shapes they cannot run are told why."""

from dataclasses import replace

import pytest
import torch

from survtrace.ops.inputs import flat_parameters
from survtrace.training.flat_parameters import gather_parameters, release

GPU = torch.device("cuda")


@pytest.fixture(autouse=True)
def sizes(cuda_kernels):
    from survtrace.ops.cuda import sizes

    return sizes


@pytest.mark.parametrize(
    "changed", [{}, {"n_causes": 1, "head_depth": 1, "token_bias": False}, {"depth": 3}]
)
def test_parameters_are_counted_as_the_network_has_them(make_network, sizes, changed):
    network = make_network(**changed)
    counted = sizes.sizes_of(network.shape)
    names = list(dict(network.named_parameters()))
    counts = [parameter[0].numel() for parameter in network.parameters()]
    assert counted.n_parameters == sum(counts)
    assert counted.align == sum(counts[: names.index("representation.align.weight")])
    assert counted.n_heads == sum(counts[names.index("representation.align.bias") + 1 :])


def test_parameters_side_by_side_are_not_copied(make_network):
    network = make_network()
    flat = flat_parameters(network)
    assert flat.data_ptr() == network.embedding.table.data_ptr()
    release(network, flat)
    apart = flat_parameters(network)
    assert torch.equal(apart, flat)
    assert apart.data_ptr() != network.embedding.table.data_ptr()
    assert torch.equal(gather_parameters(network), flat)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"width": 24}, "must be powers of two, width and hidden 16 or more; got 24, 2 and 16"),
        ({"hidden": 8}, "must be powers of two, width and hidden 16 or more; got 16, 2 and 8"),
        ({"hidden": 128}, "hidden and n_intervals 64 or less; got 16, 128 and 3"),
        ({"n_tokens": 65}, "a tile has room for 64 tokens; got 65"),
    ],
)
def test_a_shape_that_does_not_suit_is_told_why(make_network, sizes, changed, reason):
    shape = make_network().shape
    assert sizes.why_not_sizes(shape) is None
    assert reason in sizes.why_not_sizes(replace(shape, **changed))
