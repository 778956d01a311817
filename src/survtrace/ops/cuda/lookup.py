"""Tokens from the embedding table, and back, in one kernel each way (eq. 2-4)."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

ROWS = 128


class Lookup(torch.autograd.Function):
    """``kept * (value * row + bias)`` of every token; ``kept`` is what token dropout left."""

    @staticmethod
    def forward(
        ctx: Any, table: Tensor, bias: Tensor, rows: Tensor, values: Tensor, kept: Tensor
    ) -> Tensor:
        """Look up each member's tokens in its own table."""
        table, bias = table.contiguous(), bias.contiguous()
        rows, values = rows.contiguous(), values.contiguous()
        ctx.save_for_backward(table, rows, values, kept)
        out = torch.empty(*rows.shape, table.shape[2], device=table.device)
        look_up_kernel[_grid(rows)](
            table, bias, rows, values, kept, out, *_sizes(rows, table, kept)
        )
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:  # type: ignore[override]
        """Add up the gradients of each row and each covariate."""
        table, rows, values, kept = ctx.saved_tensors
        n_members, n_subjects, n_tokens, width = gradient.shape
        by_table = torch.zeros_like(table)
        by_bias = torch.zeros(n_members, 1, n_tokens, width, device=table.device)
        add_up_kernel[n_members, n_tokens, triton.cdiv(n_subjects, ROWS)](
            gradient.contiguous(),
            rows,
            values,
            kept,
            by_table,
            by_bias,
            *(n_subjects, n_tokens, table.shape[1], width),
            *(triton.next_power_of_2(width), len(kept) > 0, ROWS),
        )
        return by_table, by_bias, None, None, None


def _grid(rows: Tensor) -> tuple[int, int]:
    return rows.shape[0], triton.cdiv(rows.shape[1] * rows.shape[2], ROWS)


def _sizes(rows: Tensor, table: Tensor, kept: Tensor) -> tuple[int, ...]:
    n_tokens, (n_rows, width) = rows.shape[2], table.shape[1:]
    sizes = (rows.shape[1] * n_tokens, n_tokens, n_rows, width)
    return *sizes, triton.next_power_of_2(width), len(kept) > 0, ROWS


@triton.jit
def look_up_kernel(
    table_at,
    bias_at,
    rows_at,
    values_at,
    kept_at,
    out_at,
    n,
    n_tokens,
    n_rows,
    width,
    WIDTH: tl.constexpr,
    DROPS: tl.constexpr,
    ROWS: tl.constexpr,
):
    """Tokens of a member, some rows of them."""
    member, token = tl.program_id(0), tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    feature, there = tl.arange(0, WIDTH), token < n
    both = there[:, None] & (feature < width)[None, :]
    row = tl.load(rows_at + member * n + token, there, 0)
    value = tl.load(values_at + member * n + token, there, 0.0)
    own = ((member * n_rows + row) * width)[:, None] + feature[None, :]
    own_bias = ((member * n_tokens + token % n_tokens) * width)[:, None] + feature[None, :]
    tokens = value[:, None] * tl.load(table_at + own, both, 0.0)
    tokens += tl.load(bias_at + own_bias, both, 0.0)
    if DROPS:
        tokens *= tl.load(kept_at + token, there, 0.0)[:, None]
    tl.store(out_at + ((member * n + token) * width)[:, None] + feature[None, :], tokens, both)


@triton.jit
def add_up_kernel(
    d_at,
    rows_at,
    values_at,
    kept_at,
    by_table_at,
    by_bias_at,
    n_subjects,
    n_tokens,
    n_rows,
    width,
    WIDTH: tl.constexpr,
    DROPS: tl.constexpr,
    ROWS: tl.constexpr,
):
    """Add what one covariate of some subjects says to the gradient of its rows and its bias."""
    member, token = tl.program_id(0), tl.program_id(1)
    subject = tl.program_id(2) * ROWS + tl.arange(0, ROWS)
    feature, there = tl.arange(0, WIDTH), subject < n_subjects
    wide = feature < width
    both = there[:, None] & wide[None, :]
    place = (member * n_subjects + subject) * n_tokens + token
    d = tl.load(d_at + place[:, None] * width + feature[None, :], both, 0.0)
    if DROPS:
        d *= tl.load(kept_at + subject * n_tokens + token, there, 0.0)[:, None]
    bias_at = by_bias_at + (member * n_tokens + token) * width
    tl.atomic_add(bias_at + feature, tl.sum(d, 0), wide)
    row = member * n_rows + tl.load(rows_at + place, there, 0)
    value = tl.load(values_at + place, there, 0.0)
    tl.atomic_add(by_table_at + row[:, None] * width + feature[None, :], value[:, None] * d, both)
