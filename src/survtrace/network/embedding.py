"""A covariate becomes a token (eq. 2-4)."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn


class Embedding(nn.Module):
    """One table of rows for all covariates; a token is ``value * row``.

    A categorical covariate picks the row of its level and has value 1 (eq. 2); a numerical one
    always picks its own row and has its standardised value (eq. 3). "Missing" is a row of its
    own for both kinds, "unseen" one more for categoricals. These silent rows start at zero:
    until data teach them otherwise they say nothing, like the mean of a numerical covariate.
    """

    def __init__(self, n_members: int, n_rows: int, width: int, silent_rows: list[int]) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.empty(n_members, n_rows, width))
        self.silent_rows = silent_rows

    def initialise(self, generators: list[torch.Generator]) -> None:
        """Draw each member's rows from its own generator; silent rows start at zero."""
        scale = 0.5
        with torch.no_grad():
            for table, generator in zip(self.table, generators, strict=True):
                table.normal_(0.0, scale, generator=generator)
            self.table[:, self.silent_rows] = 0.0

    def forward(
        self,
        rows: Int[Tensor, "member subject token"],
        values: Float[Tensor, "member subject token"],
    ) -> Float[Tensor, "member subject token width"]:
        n_members, n_rows, _ = self.table.shape
        own_table = torch.arange(n_members, device=rows.device).view(-1, 1, 1) * n_rows
        tokens = nn.functional.embedding(rows + own_table, self.table.flatten(0, 1))
        return tokens * values.unsqueeze(-1)
