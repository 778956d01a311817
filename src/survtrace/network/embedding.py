"""A covariate becomes a token (eq. 2-4)."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import embedding


class Embedding(nn.Module):
    """One table of rows for all covariates; a token is ``value * row``, plus a bias.

    A categorical covariate picks the row of its level and has value 1 (eq. 2); a numerical one
    always picks its own row and has its standardised value (eq. 3). "Missing" is a row of its
    own for both kinds, "unseen" one more for categoricals. These silent rows start at zero,
    like the mean of a numerical covariate, until data teach them otherwise.

    NOTE[PAPER eq. 3]: the bias, one vector for each covariate, is not in the paper. Without it a
    numerical covariate at its mean is a token of zeros, the same as any other's.
    """

    def __init__(
        self,
        n_members: int,
        n_rows: int,
        n_tokens: int,
        width: int,
        silent_rows: list[int],
        biased: bool,
    ) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.empty(n_members, n_rows, width))
        self.bias = nn.Parameter(torch.empty(n_members, 1, n_tokens, width)) if biased else None
        self.silent_rows = silent_rows

    def initialise(self, generators: list[torch.Generator]) -> None:
        """Draw each member's rows from its own generator; silent rows start at zero."""
        drawn = [(self.table, 0.5)] if self.bias is None else [(self.table, 0.5), (self.bias, 0.2)]
        with torch.no_grad():
            for parameter, scale in drawn:
                for of_member, generator in zip(parameter, generators, strict=True):
                    of_member.normal_(0.0, scale, generator=generator)
            self.table[:, self.silent_rows] = 0.0

    def forward(
        self,
        rows: Int[Tensor, "member subject token"],
        values: Float[Tensor, "member subject token"],
        mask: Float[Tensor, "subject token"] | None = None,
    ) -> Float[Tensor, "member subject token width"]:
        """``mask * (value * row + bias)`` of every token."""
        n_members, n_rows, _ = self.table.shape
        first_row = torch.arange(n_members, device=rows.device).view(-1, 1, 1) * n_rows
        tokens = embedding(rows + first_row, self.table.flatten(0, 1)) * values.unsqueeze(-1)
        tokens = tokens if self.bias is None else tokens + self.bias
        return tokens if mask is None else tokens * mask.unsqueeze(-1)
