"""A running average of the parameters, which generalises better than where training stands."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Float
from torch import Tensor


class RunningAverage:
    """Averages parameters over about the last ``horizon`` steps.

    At first a plain mean of all steps, then an exponential one. A horizon of 1 is no average.
    """

    def __init__(self, whole: Float[Tensor, "member parameter"], horizon: float) -> None:
        self.average = whole.detach().clone()
        self.horizon = max(1.0, horizon)
        self.n_steps = torch.zeros((), device=whole.device)

    @torch.no_grad()
    def update(self, whole: Float[Tensor, "member parameter"]) -> None:
        """Take in the parameters after a step."""
        self.n_steps += 1
        share = (1 / self.n_steps).clamp(min=1 / self.horizon)
        self.average.lerp_(whole, share)

    @contextmanager
    def in_place(self, whole: Float[Tensor, "member parameter"]) -> Iterator[None]:
        """Let the parameters be the average for a while."""
        current = whole.detach().clone()
        whole.data.copy_(self.average)
        try:
            yield
        finally:
            whole.data.copy_(current)
