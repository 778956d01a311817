"""All parameters of a network as one tensor, (member, parameter); its optimiser and average."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.optim.adamw import adamw


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


class AdamW:
    """AdamW (Loshchilov & Hutter 2019) for one tensor, by torch's own formula and names.

    torch's class does the same, but imports torch's compiler when it is made: some 870 modules,
    and a second and a half of every process that fits.
    """

    def __init__(self, parameters: Tensor, lr: float, weight_decay: float = 0.0) -> None:
        self.param_groups: list[dict[str, Any]] = [
            {
                "params": [parameters],
                "lr": lr,
                "betas": (0.9, 0.999),
                "eps": 1e-8,
                "weight_decay": weight_decay,
            }
        ]
        self.state: dict[Tensor, dict[str, Tensor]] = {
            parameters: {
                "step": torch.zeros((), device=parameters.device),
                "exp_avg": torch.zeros_like(parameters, requires_grad=False),
                "exp_avg_sq": torch.zeros_like(parameters, requires_grad=False),
            }
        }

    @torch.no_grad()
    def step(self) -> None:
        """Take a step along the parameters' gradient.

        Examples
        --------
        >>> weight = torch.nn.Parameter(torch.ones(2))
        >>> weight.grad = torch.tensor([3.0, -0.5])
        >>> AdamW(weight, lr=0.1).step()
        >>> weight.tolist()
        [0.8999999761581421, 1.100000023841858]
        """
        group = self.param_groups[0]
        (parameters,), (beta1, beta2) = group["params"], group["betas"]
        moments = self.state[parameters]
        adamw(
            [parameters],
            [parameters.grad],
            [moments["exp_avg"]],
            [moments["exp_avg_sq"]],
            [],
            [moments["step"]],
            foreach=False,
            # Made for many tensors, it would use one multiprocessor of a GPU for one.
            fused=not parameters.is_cuda,
            capturable=parameters.is_cuda,
            amsgrad=False,
            beta1=beta1,
            beta2=beta2,
            lr=group["lr"],
            weight_decay=group["weight_decay"],
            eps=group["eps"],
            maximize=False,
        )


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
