"""What kernels of every device read of a network: its parameters side by side, and random bits."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.utils.weak import WeakIdKeyDictionary

from survtrace.network.assembly import Network

NO_BITS = torch.empty(0, dtype=torch.int16)
_known_parameters = WeakIdKeyDictionary()


class DropoutBits(NamedTuple):
    """Random bits of all subjects, none where nothing is dropped, and the threshold of each draw.

    A number is kept where its bits are below the threshold; ``scale`` is that of heads.
    """

    tokens: Tensor = NO_BITS
    representation: Tensor = NO_BITS
    inner: Tensor = NO_BITS
    token_threshold: int = 0
    threshold: int = 0
    scale: float = 1.0


def draw_bits(network: Network, n_subjects: int) -> DropoutBits:
    """Draw the bits of a step in the order of the plain form: tokens, representation, inner."""
    shape, device, drawn = network.shape, network.device, DropoutBits()
    if not network.token_dropout.inactive:
        bits, threshold = network.token_dropout.draw((n_subjects, shape.n_tokens), device)
        drawn = drawn._replace(tokens=bits, token_threshold=threshold)
    dropout = network.head_dropout
    if not dropout.inactive:
        bits, threshold = dropout.draw((n_subjects, shape.hidden), device)
        scale = 1 / (1 - dropout.probability)
        drawn = drawn._replace(representation=bits, threshold=threshold, scale=scale)
        if shape.head_depth == 2:
            bits, _ = dropout.draw((n_subjects, (shape.n_causes + 2) * shape.hidden), device)
            drawn = drawn._replace(inner=bits)
    return drawn


def flat_parameters(network: Network) -> Tensor:
    """Return all parameters, (member, parameter): the tensor they are views of, or else a copy."""
    parameters, sizes = _parameters(network)
    first, n = parameters[0].detach(), sum(sizes)
    place = first.data_ptr()
    apart = len(first) > 1 and first.stride(0) != n
    for parameter, size in zip(parameters, sizes, strict=True):
        if apart or parameter.data_ptr() != place:
            return torch.cat([parameter.detach().flatten(1) for parameter in parameters], dim=1)
        place += 4 * size
    return first.as_strided((len(first), n), (n, 1))


def _parameters(network: Network) -> tuple[list[nn.Parameter], list[int]]:
    """Return the parameters of a network, and how many numbers of each a member has.

    They are remembered: to walk through all modules takes as long as many a task.
    """
    found: tuple[list[nn.Parameter], list[int]] | None = _known_parameters.get(network)
    if found is None or found[0][0] is not network.embedding.table:
        parameters = list(network.parameters())
        found = parameters, [parameter.numel() // len(parameter) for parameter in parameters]
        _known_parameters[network] = found
    return found
