"""All parameters of a network as one tensor, (member, parameter), of which each is a view."""

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
        own = flat_parameters[:, first:last].unflatten(1, parameter.shape[1:])
        parameter.data, parameter.grad = own, None
        first = last


def release(network: nn.Module, flat_parameters: Float[Tensor, "member parameter"]) -> None:
    """Let the network hold these parameters, each a tensor of its own again."""
    hold(network, flat_parameters)
    for parameter in network.parameters():
        parameter.data = parameter.data.clone(memory_format=torch.contiguous_format)


def gather_gradients(
    loss: Float[Tensor, ""], network: nn.Module, out: Float[Tensor, "member parameter"]
) -> None:
    """Lay the gradients of a loss side by side; that of a parameter which plays no part is zero."""
    parameters = list(network.parameters())
    gradients = torch.autograd.grad(loss, parameters, materialize_grads=True)
    torch.cat([gradient.flatten(1) for gradient in gradients], dim=1, out=out)
