"""Small networks and cohorts on the GPU; where none is seen, its kernels are interpreted."""

import pytest
import torch

from survtrace.batch import Batch, no_entry
from survtrace.network.assembly import Network, Shape
from survtrace.training.flat_parameters import gather_parameters

SMALL = {
    "n_members": 2,
    "n_rows": 11,
    "n_tokens": 3,
    "n_causes": 2,
    "n_intervals": 3,
    "silent_rows": (0,),
    "width": 16,
    "depth": 2,
    "n_heads": 2,
    "hidden": 16,
    "head_depth": 2,
    "token_bias": True,
    "proportional": 3.0,
    "dropout": 0.0,
    "attention_dropout": 0.0,
    "token_dropout": 0.1,
    "head_dropout": 0.2,
}


@pytest.fixture
def make_network(cuda_device):
    """Make a network of a shape like `SMALL`, its parameters views of one tensor."""

    def make(**changed):
        shape = Shape(**{**SMALL, **changed})
        network = Network(shape)
        generator = torch.Generator().manual_seed(1)
        with torch.no_grad():  # much larger ones would make much of rounding
            for parameter in network.parameters():
                parameter.normal_(0.0, 0.15, generator=generator)
        network.to(cuda_device)
        gather_parameters(network)
        return network

    return make


@pytest.fixture
def draw_subjects(cuda_device, enter_late):
    """Draw a cohort, half of it entering late, and which subjects each member sees."""

    def draw(shape, n_subjects, seed=2):
        generator = torch.Generator().manual_seed(seed)
        n = n_subjects + 7

        def whole(most, *size):
            return torch.randint(0, most, (n, *size), generator=generator)

        def number(*size):
            return torch.rand(n, *size, generator=generator)

        cohort = Batch(
            rows=whole(shape.n_rows, shape.n_tokens).to(torch.int32),
            values=4 * number(shape.n_tokens) - 2,
            interval=whole(shape.n_intervals),
            fraction=number(),
            event=whole(shape.n_causes + 1),
            stay=number() - 0.5,
            weight=2 * number(),
            ips=2 * number(shape.n_causes),
            **no_entry(n),
        )
        orders = [torch.randperm(n, generator=generator) for _ in range(shape.n_members)]
        return enter_late(cohort).to(cuda_device), torch.stack(orders)[:, :n_subjects].to(
            cuda_device
        )

    return draw
