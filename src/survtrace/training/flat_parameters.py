"""All parameters of a network as one tensor, (member, parameter), and their running average."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Float
from torch import Tensor, nn


def gather_parameters(network: nn.Module) -> nn.Parameter:
    """Lay a network's parameters side by side and let it hold views of them.

    Examples
    --------
    >>> from survtrace.network.member import MemberLinear
    >>> layer = MemberLinear(n_members=2, n_in=3, n_out=4)
    >>> flat_parameters = gather_parameters(layer)
    >>> flat_parameters.shape
    torch.Size([2, 16])
    >>> _ = flat_parameters.data.fill_(7.0)
    >>> layer.bias[1, 0].tolist()
    [7.0, 7.0, 7.0, 7.0]
    """
    flat_parameters = nn.Parameter(
        torch.cat([p.detach().flatten(1) for p in network.parameters()], dim=1)
    )
    hold(network, flat_parameters.data)
    return flat_parameters


def hold(network: nn.Module, flat_parameters: Float[Tensor, "member parameter"]) -> None:
    """Let the network hold views of these parameters; there may be fewer members than before."""
    first = 0
    for parameter in network.parameters():
        last = first + parameter.shape[1:].numel()
        view = flat_parameters[:, first:last].unflatten(1, parameter.shape[1:])
        parameter.data, parameter.grad = view, None
        first = last


def release(network: nn.Module, flat_parameters: Float[Tensor, "member parameter"]) -> None:
    """Let the network hold these parameters, each a tensor of its own again."""
    hold(network, flat_parameters)
    for parameter in network.parameters():
        parameter.data = parameter.data.clone(memory_format=torch.contiguous_format)


class RunningAverage:
    """Average parameters over about the last ``window`` steps; that generalises better.

    At first a plain mean of all steps, then an exponential one. A window of 1 is no average.
    """

    def __init__(self, flat_parameters: Float[Tensor, "member parameter"], window: float) -> None:
        self.average = flat_parameters.detach().clone()
        self.window = max(1.0, window)
        self.n_steps = torch.zeros((), device=flat_parameters.device)

    @torch.no_grad()
    def update(self, flat_parameters: Float[Tensor, "member parameter"]) -> None:
        """Take in the parameters after a step."""
        self.n_steps += 1
        share = (1 / self.n_steps).clamp(min=1 / self.window)
        self.average.lerp_(flat_parameters, share)

    @contextmanager
    def in_place(self, flat_parameters: Float[Tensor, "member parameter"]) -> Iterator[None]:
        """Let the parameters be the average for a while."""
        current = flat_parameters.detach().clone()
        flat_parameters.data.copy_(self.average)
        try:
            yield
        finally:
            flat_parameters.data.copy_(current)
