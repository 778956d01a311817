"""Tokens become combinations of tokens: a stack of attentive layers (eq. 9-11)."""

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import selu

from survtrace.network.attention import Attention
from survtrace.network.member import Dropout, MemberLinear


class Encoder(nn.ModuleList):
    """The layers, one after the other."""

    def forward(
        self, tokens: Float[Tensor, "member subject token width"]
    ) -> Float[Tensor, "member subject token width"]:
        for layer in self:
            tokens = layer(tokens)
        return tokens


class EncoderLayer(nn.Module):
    """Attention and feed-forward network side by side, both reading the incoming tokens."""

    def __init__(
        self,
        n_members: int,
        width: int,
        n_heads: int,
        hidden: int,
        dropout: float,
        attention_dropout: float,
    ) -> None:
        super().__init__()
        self.attention = Attention(n_members, width, n_heads, attention_dropout)
        self.mix = MemberLinear(n_members, width, width)
        self.expand = MemberLinear(n_members, width, hidden)
        self.contract = MemberLinear(n_members, hidden, width)
        self.dropout = Dropout(dropout)

    def forward(
        self, tokens: Float[Tensor, "member subject token width"]
    ) -> Float[Tensor, "member subject token width"]:
        return self._combine(tokens, self.attention(tokens))

    def weighted(
        self, tokens: Float[Tensor, "member subject token width"]
    ) -> tuple[
        Float[Tensor, "member subject token width"],
        Float[Tensor, "member subject head token token"],
    ]:
        """Return the same, with the attention weights of this layer."""
        attended, weights = self.attention.weighted(tokens)
        return self._combine(tokens, attended), weights

    def _combine(self, tokens: Tensor, attended: Tensor) -> Tensor:
        shape = tokens.shape
        tokens, attended = tokens.flatten(1, 2), attended.flatten(1, 2)
        residual = selu(self.dropout(self.mix(attended)) + tokens)
        forward = self.contract(self.dropout(selu(self.expand(tokens))))
        return selu(forward + residual).view(shape)
