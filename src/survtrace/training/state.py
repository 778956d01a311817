"""All that training remembers between epochs; members that have stopped leave it."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from survtrace import ops
from survtrace.network.assembly import Network
from survtrace.training.early_stopping import EarlyStopping
from survtrace.training.flat_parameters import RunningAverage, hold
from survtrace.training.history import History


def clip_by_member(gradient: Float[Tensor, "member parameter"], largest: float) -> None:
    """Scale each member's gradient to a norm of at most ``largest``, in place."""
    norm = gradient.norm(dim=1, keepdim=True)
    gradient.mul_((largest / norm).clamp(max=1.0))


@dataclass
class State:
    """The network with its parameters as one tensor, optimiser, average, best so far, history."""

    network: Network
    flat_parameters: nn.Parameter
    optimiser: torch.optim.Optimizer
    average: RunningAverage
    stopping: EarlyStopping
    history: History

    @property
    def gradient(self) -> Tensor:
        """The gradient by all parameters, written anew in every step."""
        if self.flat_parameters.grad is None:
            self.flat_parameters.grad = torch.zeros_like(self.flat_parameters)
        return self.flat_parameters.grad

    @torch.no_grad()
    def advance(self, clip_norm: float) -> None:
        """Clip the gradient of each member, take a step of the optimiser, update the average."""
        moments = self.optimiser.state.get(self.flat_parameters)
        if moments and self.flat_parameters.is_cuda and ops.available(self.flat_parameters):
            self._advance_at_once(clip_norm, moments)
            return
        clip_by_member(self.gradient, clip_norm)
        self.optimiser.step()
        self.average.update(self.flat_parameters)

    def _advance_at_once(self, clip_norm: float, moments: dict[str, Tensor]) -> None:
        """The same by a kernel; the optimiser's own memory is used."""
        group, average = self.optimiser.param_groups[0], self.average
        moments["step"] += 1
        average.n_steps += 1
        rates = (group["lr"], group["weight_decay"], *group["betas"], group["eps"])
        ops.update(
            self.flat_parameters.data,
            self.gradient,
            moments,
            average.average,
            [clip_norm, *rates, 1 / average.window],
        )

    @torch.no_grad()
    def keep(self, members: Bool[Tensor, " member"]) -> None:
        """Go on with some of the members; the others cost nothing from now on."""
        moments = self.optimiser.state.pop(self.flat_parameters, {})
        self.flat_parameters = nn.Parameter(self.flat_parameters[members])
        self.optimiser.param_groups[0]["params"] = [self.flat_parameters]
        self.optimiser.state[self.flat_parameters] = {
            name: value[members] if value.dim() else value for name, value in moments.items()
        }
        self.average.average = self.average.average[members]
        hold(self.network, self.flat_parameters.data)
