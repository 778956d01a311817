"""Tokens from the embedding table, and the gradient back into it (eq. 2-4).

Why a kernel: torch takes one pass over memory for the rows, the values, the bias and the mask
each, and again as many backward; this takes one forward and one backward.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numba import njit
from torch import Tensor


def lookup(table: Tensor, bias: Tensor, rows: Tensor, values: Tensor, mask: Tensor | None) -> Any:
    """Compute ``mask * (value * row + bias)`` of every token."""
    # numba compiles for types, and None is another type: no mask is an empty one.
    mask = values.new_empty(0, rows.shape[2]) if mask is None else mask
    return LookupFunction.apply(table, bias, rows, values, mask)


class LookupFunction(torch.autograd.Function):
    """The lookup, with its gradient by table and bias."""

    @staticmethod
    def forward(
        ctx: Any, table: Tensor, bias: Tensor, rows: Tensor, values: Tensor, mask: Tensor
    ) -> Tensor:
        """Look up each member's tokens in its own table."""
        ctx.save_for_backward(table, rows, values, mask)
        out = torch.empty(*rows.shape, table.shape[2])
        for m in range(len(table)):
            arguments = (table[m], bias[m, 0], rows[m], values[m], mask, out[m])
            _look_up(*(tensor.detach().numpy() for tensor in arguments))
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:  # type: ignore[override]
        """Add up the gradients of each row and each covariate."""
        table, rows, values, mask = ctx.saved_tensors
        d_table = torch.zeros(table.shape)
        d_bias = torch.zeros(len(table), 1, *gradient.shape[2:])
        gradient = gradient.contiguous()
        for m in range(len(table)):
            arguments = (gradient[m], rows[m], values[m], mask, d_table[m], d_bias[m, 0])
            _add_up(*(tensor.numpy() for tensor in arguments))
        return d_table, d_bias, None, None, None


# fastmath lets the compiler treat several features of a token in one instruction.
@njit(nogil=True, cache=True, fastmath=True)
def _look_up(table: Any, bias: Any, rows: Any, values: Any, mask: Any, out: Any) -> None:
    n_subjects, n_tokens = rows.shape
    width = table.shape[1]
    for s in range(n_subjects):
        for t in range(n_tokens):
            row, token = table[rows[s, t]], out[s, t]
            factor = mask[s, t] if len(mask) else np.float32(1)
            value = values[s, t] * factor
            for i in range(width):
                token[i] = value * row[i] + factor * bias[t, i]


@njit(nogil=True, cache=True, fastmath=True)
def _add_up(d: Any, rows: Any, values: Any, mask: Any, d_table: Any, d_bias: Any) -> None:
    n_subjects, n_tokens = rows.shape
    width = d_table.shape[1]
    for s in range(n_subjects):
        for t in range(n_tokens):
            token, row = d[s, t], d_table[rows[s, t]]
            factor = mask[s, t] if len(mask) else np.float32(1)
            value = values[s, t] * factor
            for i in range(width):
                row[i] += value * token[i]
                d_bias[t, i] += factor * token[i]
