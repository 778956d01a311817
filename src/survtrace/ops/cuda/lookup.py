"""Tokens from the embedding table, and the gradient back into it, one kernel each (eq. 2-4).

Why a kernel: torch writes the tokens to memory four times, for rows, values, bias and mask.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

ROWS = 128


def lookup(table: Tensor, bias: Tensor, rows: Tensor, values: Tensor, mask: Tensor | None) -> Any:
    """Compute ``mask * (value * row + bias)`` of every token."""
    # A kernel takes no None: no mask is an empty one.
    mask = values.new_empty(0, rows.shape[2]) if mask is None else mask
    with torch.cuda.device_of(table):  # Triton launches on the current device, not the tensor's
        return LookupFunction.apply(table, bias, rows, values, mask)


class LookupFunction(torch.autograd.Function):
    """The lookup, with its gradient by table and bias."""

    @staticmethod
    def forward(
        ctx: Any, table: Tensor, bias: Tensor, rows: Tensor, values: Tensor, mask: Tensor
    ) -> Tensor:
        """Look up each member's tokens in its own table."""
        table, bias = table.contiguous(), bias.contiguous()
        rows, values = rows.contiguous(), values.contiguous()  # in prediction expanded to members
        ctx.save_for_backward(table, rows, values, mask)
        out = torch.empty(*rows.shape, table.shape[2], device=table.device)
        look_up_kernel[_grid(rows)](
            table, bias, rows, values, mask, out, *_sizes(rows, table, mask)
        )
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:  # type: ignore[override]
        """Add up the gradients of each row and each covariate."""
        table, rows, values, mask = ctx.saved_tensors
        n_members, n_subjects, n_tokens, width = gradient.shape
        d_table = torch.zeros_like(table)
        d_bias = torch.zeros(n_members, 1, n_tokens, width, device=table.device)
        add_up_kernel[n_members, n_tokens, triton.cdiv(n_subjects, ROWS)](
            gradient.contiguous(),
            rows,
            values,
            mask,
            d_table,
            d_bias,
            *(n_subjects, n_tokens, table.shape[1], width),
            *(triton.next_power_of_2(width), len(mask) > 0, ROWS),
        )
        return d_table, d_bias, None, None, None


def _grid(rows: Tensor) -> tuple[int, int]:
    return rows.shape[0], triton.cdiv(rows.shape[1] * rows.shape[2], ROWS)


def _sizes(rows: Tensor, table: Tensor, mask: Tensor) -> tuple[int, ...]:
    n_tokens, (n_rows, width) = rows.shape[2], table.shape[1:]
    sizes = (rows.shape[1] * n_tokens, n_tokens, n_rows, width)
    return *sizes, triton.next_power_of_2(width), len(mask) > 0, ROWS


@triton.jit
def look_up_kernel(
    table_at,
    bias_at,
    rows_at,
    values_at,
    mask_at,
    out_at,
    n,
    n_tokens,
    n_rows,
    width,
    WIDTH: tl.constexpr,
    MASKED: tl.constexpr,
    ROWS: tl.constexpr,
):
    """Some tokens of a member."""
    member, token = tl.program_id(0), tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    feature, valid = tl.arange(0, WIDTH), token < n
    valid_cells = valid[:, None] & (feature < width)[None, :]
    row = tl.load(rows_at + member * n + token, valid, 0)
    value = tl.load(values_at + member * n + token, valid, 0.0)
    index = ((member * n_rows + row) * width)[:, None] + feature[None, :]
    bias_index = ((member * n_tokens + token % n_tokens) * width)[:, None] + feature[None, :]
    tokens = value[:, None] * tl.load(table_at + index, valid_cells, 0.0)
    tokens += tl.load(bias_at + bias_index, valid_cells, 0.0)
    if MASKED:
        tokens *= tl.load(mask_at + token, valid, 0.0)[:, None]
    tl.store(
        out_at + ((member * n + token) * width)[:, None] + feature[None, :], tokens, valid_cells
    )


@triton.jit
def add_up_kernel(
    d_at,
    rows_at,
    values_at,
    mask_at,
    d_table_at,
    d_bias_at,
    n_subjects,
    n_tokens,
    n_rows,
    width,
    WIDTH: tl.constexpr,
    MASKED: tl.constexpr,
    ROWS: tl.constexpr,
):
    """Add one covariate's gradients of some subjects to those of its rows and its bias.

    A program has one covariate: its bias is then summed in registers, and added to memory once.
    """
    member, token = tl.program_id(0), tl.program_id(1)
    subject = tl.program_id(2) * ROWS + tl.arange(0, ROWS)
    feature, valid = tl.arange(0, WIDTH), subject < n_subjects
    wide = feature < width
    valid_cells = valid[:, None] & wide[None, :]
    place = (member * n_subjects + subject) * n_tokens + token
    d = tl.load(d_at + place[:, None] * width + feature[None, :], valid_cells, 0.0)
    if MASKED:
        d *= tl.load(mask_at + subject * n_tokens + token, valid, 0.0)[:, None]
    bias_at = d_bias_at + (member * n_tokens + token) * width
    tl.atomic_add(bias_at + feature, tl.sum(d, 0), wide)
    row = member * n_rows + tl.load(rows_at + place, valid, 0)
    value = tl.load(values_at + place, valid, 0.0)
    tl.atomic_add(
        d_table_at + row[:, None] * width + feature[None, :], value[:, None] * d, valid_cells
    )
