"""All tokens of a subject become one vector that every head reads (eq. 12)."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import selu

from survtrace.network.member import MemberLinear


class Representation(nn.Module):
    """Final and embedded tokens, side by side (the shortcut), aligned by one layer."""

    def __init__(self, n_members: int, n_tokens: int, width: int, hidden: int) -> None:
        super().__init__()
        self.align = MemberLinear(n_members, 2 * n_tokens * width, hidden)

    def forward(
        self,
        final: Float[Tensor, "member subject token width"],
        embedded: Float[Tensor, "member subject token width"],
    ) -> Float[Tensor, "member subject hidden"]:
        by_final, by_embedded = self.align.weight.chunk(2, dim=1)
        aligned = torch.baddbmm(self.align.bias, final.flatten(2), by_final)
        return selu(torch.baddbmm(aligned, embedded.flatten(2), by_embedded))
