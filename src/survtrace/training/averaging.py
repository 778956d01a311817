"""A running average of the parameters, which generalises better than where training stands."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class RunningAverage:
    """Averages a network's parameters over about the last ``horizon`` steps.

    At first a plain mean of all steps, then an exponential one. A horizon of 1 is no average.
    """

    def __init__(self, network: nn.Module, horizon: float) -> None:
        self.parameters: list[Tensor] = list(network.parameters())
        self.average = [parameter.detach().clone() for parameter in self.parameters]
        self.horizon = max(1.0, horizon)
        self.n_steps = 0

    @torch.no_grad()
    def update(self) -> None:
        """Take in the parameters after a step."""
        self.n_steps += 1
        share = max(1 / self.n_steps, 1 / self.horizon)
        torch._foreach_lerp_(self.average, self.parameters, share)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Let the network hold the average for a while."""
        self._swap()
        try:
            yield
        finally:
            self._swap()

    def _swap(self) -> None:
        for k, parameter in enumerate(self.parameters):
            parameter.data, self.average[k] = self.average[k], parameter.data
