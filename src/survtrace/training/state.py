"""All that training remembers between epochs; members that have stopped leave it."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool
from torch import Tensor, nn

from survtrace.network.assembly import Network
from survtrace.training.early_stopping import EarlyStopping
from survtrace.training.flat_parameters import AdamW, RunningAverage, hold
from survtrace.training.history import History


@dataclass
class State:
    """The network with its parameters as one tensor, optimiser, average, best so far, history."""

    network: Network
    flat_parameters: nn.Parameter
    optimiser: AdamW
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
