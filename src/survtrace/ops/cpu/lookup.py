"""Tokens from the embedding table, and back: a pass over memory each (eq. 2-4)."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numba import njit
from torch import Tensor


class Lookup(torch.autograd.Function):
    """``kept * (value * row + bias)`` of every token; ``kept`` is what token dropout left."""

    @staticmethod
    def forward(
        ctx: Any, table: Tensor, bias: Tensor, rows: Tensor, values: Tensor, kept: Tensor
    ) -> Tensor:
        """Look up each member's tokens in its own table."""
        ctx.save_for_backward(table, rows, values, kept)
        out = torch.empty(*rows.shape, table.shape[2])
        for m in range(len(table)):
            own = (table[m], bias[m, 0], rows[m], values[m], kept, out[m])
            _look_up(*(tensor.detach().numpy() for tensor in own))
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:  # type: ignore[override]
        """Add up the gradients of each row and each covariate."""
        table, rows, values, kept = ctx.saved_tensors
        by_table = torch.zeros(table.shape)
        by_bias = torch.zeros(len(table), 1, *gradient.shape[2:])
        gradient = gradient.contiguous()
        for m in range(len(table)):
            own = (gradient[m], rows[m], values[m], kept, by_table[m], by_bias[m, 0])
            _add_up(*(tensor.numpy() for tensor in own))
        return by_table, by_bias, None, None, None


@njit(nogil=True, cache=True, fastmath=True)
def _look_up(table: Any, bias: Any, rows: Any, values: Any, kept: Any, out: Any) -> None:
    n_subjects, n_tokens = rows.shape
    width = table.shape[1]
    for s in range(n_subjects):
        for t in range(n_tokens):
            row, token = table[rows[s, t]], out[s, t]
            keep = kept[s, t] if len(kept) else np.float32(1)
            value = values[s, t] * keep
            for i in range(width):
                token[i] = value * row[i] + keep * bias[t, i]


@njit(nogil=True, cache=True, fastmath=True)
def _add_up(d: Any, rows: Any, values: Any, kept: Any, by_table: Any, by_bias: Any) -> None:
    n_subjects, n_tokens = rows.shape
    width = by_table.shape[1]
    for s in range(n_subjects):
        for t in range(n_tokens):
            token, row = d[s, t], by_table[rows[s, t]]
            keep = kept[s, t] if len(kept) else np.float32(1)
            value = values[s, t] * keep
            for i in range(width):
                row[i] += value * token[i]
                by_bias[t, i] += keep * token[i]
