"""A running average of the parameters, which generalises better than where training stands."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Float
from torch import Tensor


class RunningAverage:
    """Averages parameters over about the last ``window`` steps.

    At first a plain mean of all steps, then an exponential one. A horizon of 1 is no average.
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
