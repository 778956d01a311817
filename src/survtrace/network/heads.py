"""The representation becomes logits: one head per cause, one per auxiliary task (eq. 17)."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import relu

from survtrace.network.member import Dropout, MemberLinear


class Head(nn.Module):
    """An MLP of one or two layers with ReLU between them."""

    def __init__(
        self, n_members: int, hidden: int, n_out: int, head_depth: int, dropout: float
    ) -> None:
        super().__init__()
        self.inner = MemberLinear(n_members, hidden, hidden) if head_depth == 2 else None
        self.outer = MemberLinear(n_members, hidden, n_out)
        self.dropout = Dropout(dropout)

    def forward(
        self, representation: Float[Tensor, "member subject hidden"]
    ) -> Float[Tensor, "member subject n_out"]:
        x = self.dropout(representation)
        if self.inner is not None:
            x = self.dropout(relu(self.inner(x)))
        return self.outer(x)


class CauseHeads(nn.Module):
    """One head per cause, m logits each.

    NOTE[PAPER eq. 17]: the mean of a cause's logits is added to each ``proportional`` times. What
    all intervals have in common, a proportional hazard, is so learned before what sets them
    apart; the hazards that can be expressed are the same.
    """

    def __init__(
        self,
        n_members: int,
        hidden: int,
        n_causes: int,
        n_intervals: int,
        head_depth: int,
        dropout: float,
        proportional: float,
    ) -> None:
        super().__init__()
        self.proportional = proportional
        self.heads = nn.ModuleList(
            Head(n_members, hidden, n_intervals, head_depth, dropout) for _ in range(n_causes)
        )

    def forward(
        self, representation: Float[Tensor, "member subject hidden"]
    ) -> Float[Tensor, "member subject cause interval"]:
        logits = torch.stack([head(representation) for head in self.heads], dim=2)
        return logits + self.proportional * logits.mean(-1, keepdim=True)
