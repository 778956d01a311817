"""The representation becomes logits: one head per cause, one per auxiliary task (eq. 17)."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import pad, relu

from survtrace.network.member import Dropout, MemberLinear


class Head(nn.Module):
    """An MLP of one or two layers with ReLU between them."""

    def __init__(self, n_members: int, hidden: int, n_out: int, head_depth: int) -> None:
        super().__init__()
        self.inner = MemberLinear(n_members, hidden, hidden) if head_depth == 2 else None
        self.outer = MemberLinear(n_members, hidden, n_out)


def answer(
    heads: Sequence[Head], representation: Float[Tensor, "member subject hidden"], dropout: Dropout
) -> Float[Tensor, "member head subject n_out"]:
    """Compute what each head says, in two products for all of them; they share what is dropped.

    A head with fewer outputs than another says 0 for those it lacks.
    """
    x = dropout(representation).unsqueeze(1)
    inner = [head.inner for head in heads if head.inner is not None]
    if inner:
        weight = torch.cat([layer.weight for layer in inner], dim=2)
        bias = torch.cat([layer.bias for layer in inner], dim=2)
        hidden = dropout(relu(torch.baddbmm(bias, x.squeeze(1), weight)))
        x = hidden.unflatten(2, (len(heads), -1)).transpose(1, 2)
    outer = [head.outer for head in heads]
    most = max(layer.weight.shape[2] for layer in outer)
    weight = torch.stack([_widened(layer.weight, most) for layer in outer], dim=1)
    return x @ weight + torch.stack([_widened(layer.bias, most) for layer in outer], dim=1)


def _widened(tensor: Tensor, n_out: int) -> Tensor:
    lacking = n_out - tensor.shape[2]
    return pad(tensor, (0, lacking)) if lacking else tensor


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
        proportional: float,
    ) -> None:
        super().__init__()
        self.proportional = proportional
        self.heads = nn.ModuleList(
            Head(n_members, hidden, n_intervals, head_depth) for _ in range(n_causes)
        )

    def forward(
        self, outputs: Float[Tensor, "member cause subject interval"]
    ) -> Float[Tensor, "member subject cause interval"]:
        """Compute logits from the outputs of the heads."""
        logits = outputs + self.proportional * outputs.mean(-1, keepdim=True)
        return logits.transpose(1, 2)

    def outputs_of(
        self, logits: Float[Tensor, "member interval"]
    ) -> Float[Tensor, "member interval"]:
        """Compute the outputs of a head from its logits: the inverse of `forward`."""
        share = self.proportional / (1 + self.proportional)
        return logits - share * logits.mean(-1, keepdim=True)
