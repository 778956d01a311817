"""All that training remembers between epochs; members that have stopped leave it."""

from typing import NamedTuple

import torch
from jaxtyping import Bool
from torch import Tensor, nn

from survtrace.training.averaging import RunningAverage
from survtrace.training.early_stopping import EarlyStopping
from survtrace.training.history import History


class State(NamedTuple):
    """The network with its optimiser and running average, best parameters so far, history."""

    network: nn.Module
    optimiser: torch.optim.Optimizer
    average: RunningAverage
    stopping: EarlyStopping
    history: History

    @torch.no_grad()
    def keep(self, members: Bool[Tensor, " member"]) -> None:
        """Go on with some of the members; the others cost nothing from now on."""
        kept = {}
        for module in self.network.modules():
            for name, parameter in list(module.named_parameters(recurse=False)):
                kept[parameter] = nn.Parameter(parameter[members])
                setattr(module, name, kept[parameter])
        self._optimise(kept, members)
        self.average.parameters = list(self.network.parameters())
        self.average.average = [average[members] for average in self.average.average]

    def _optimise(
        self, kept: dict[nn.Parameter, nn.Parameter], members: Bool[Tensor, " member"]
    ) -> None:
        """Hand the optimiser the parameters kept, with their moments."""
        for group in self.optimiser.param_groups:
            group["params"] = [kept[parameter] for parameter in group["params"]]
        for parameter, smaller in kept.items():
            self.optimiser.state[smaller] = {
                name: value[members] if value.dim() else value
                for name, value in self.optimiser.state.pop(parameter, {}).items()
            }
