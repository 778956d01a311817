"""The two small layers every other layer is made of, with the member axis in front."""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn


class MemberLinear(nn.Module):
    """M affine maps side by side, one batched product: ``y[m] = x[m] @ weight[m] + bias[m]``."""

    def __init__(self, n_members: int, n_in: int, n_out: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n_members, n_in, n_out))
        self.bias = nn.Parameter(torch.empty(n_members, 1, n_out))

    def initialise(self, generators: list[torch.Generator]) -> None:
        """Draw each member's parameters from its own generator, with variance 1 / (3 n_in)."""
        scale = 1 / math.sqrt(3 * self.weight.shape[1])
        with torch.no_grad():
            for weight, generator in zip(self.weight, generators, strict=True):
                weight.normal_(0.0, scale, generator=generator)
            self.bias.zero_()

    def forward(self, x: Float[Tensor, "member row n_in"]) -> Float[Tensor, "member row n_out"]:
        return torch.baddbmm(self.bias, x, self.weight)


class Dropout(nn.Module):
    """Dropout whose mask all members share, so that a member trained alone meets the same one.

    The mask comes from a generator of the network's own, never from the global one.
    """

    generator: torch.Generator | None = None

    def __init__(self, probability: float) -> None:
        super().__init__()
        self.probability = probability

    def forward(self, x: Float[Tensor, "member *rest"]) -> Float[Tensor, "member *rest"]:
        if not self.training or self.probability == 0:
            return x
        keep = 1 - self.probability
        mask = torch.empty(x.shape[1:], dtype=x.dtype, device=x.device)
        return x * mask.bernoulli_(keep, generator=self.generator).div_(keep)


class TokenDropout(Dropout):
    """Silences whole tokens: the network learns to answer when a covariate says nothing."""

    def forward(
        self, x: Float[Tensor, "member subject token width"]
    ) -> Float[Tensor, "member subject token width"]:
        if not self.training or self.probability == 0:
            return x
        mask = torch.empty(*x.shape[1:3], 1, dtype=x.dtype, device=x.device)
        return x * mask.bernoulli_(1 - self.probability, generator=self.generator)
