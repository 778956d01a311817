"""Each token of a subject becomes a weighted mean of all its tokens (eq. 5-8)."""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from survtrace.network.member import Dropout, MemberLinear


class Attention(nn.Module):
    """Heads of softmax(<query, key>) over the tokens of a subject."""

    def __init__(self, n_members: int, width: int, n_heads: int, dropout: float) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.query_key_value = MemberLinear(n_members, width, 3 * width)
        self.dropout = Dropout(dropout)

    def forward(
        self, tokens: Float[Tensor, "member subject token width"]
    ) -> Float[Tensor, "member subject token width"]:
        if self.training and self.dropout.probability > 0:
            return self.weighted(tokens)[0]
        query, key, value = self._project(tokens)
        attended = nn.functional.scaled_dot_product_attention(query, key, value)
        return _merge_heads(attended, tokens.shape)

    def weighted(
        self, tokens: Float[Tensor, "member subject token width"]
    ) -> tuple[
        Float[Tensor, "member subject token width"],
        Float[Tensor, "member subject head token token"],
    ]:
        """Return the same, with the attention weights themselves (each row sums to 1)."""
        query, key, value = self._project(tokens)
        # NOTE[PAPER eq. 7]: scaled by 1/sqrt(width of a head), which the paper leaves out.
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        weights = torch.softmax(scores, dim=-1)
        dropped = self.dropout(weights.unflatten(0, tokens.shape[:2])).flatten(0, 1)
        attended = _merge_heads(dropped @ value, tokens.shape)
        return attended, weights.unflatten(0, tokens.shape[:2])

    def _project(self, tokens: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries, keys and values, each (member * subject, head, token, width / head)."""
        n_members, n_subjects, n_tokens, width = tokens.shape
        projected = self.query_key_value(tokens.flatten(1, 2)).view(
            n_members * n_subjects, n_tokens, 3, self.n_heads, width // self.n_heads
        )
        query, key, value = projected.permute(2, 0, 3, 1, 4)
        return query, key, value


def _merge_heads(attended: Tensor, shape: torch.Size) -> Tensor:
    """Concatenate the heads of each token (eq. 8)."""
    return attended.transpose(1, 2).reshape(shape)
