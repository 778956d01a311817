"""Dropout in one kernel, by random bits that all members share.

Why a kernel: torch needs four for the mask and the product, and backward two more.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

SIZE = 1024


def dropout(x: Tensor, bits: Tensor, threshold: int, scale: float) -> Any:
    """Compute ``x * scale`` where the bits are below the threshold, else 0."""
    return DropoutFunction.apply(x, bits, threshold, scale)


class DropoutFunction(torch.autograd.Function):
    """Dropout, with its gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, bits: Tensor, threshold: int, scale: float) -> Tensor:
        """Drop the same numbers of every member."""
        ctx.save_for_backward(bits)
        ctx.settings = threshold, scale
        return _drop(x, bits, threshold, scale)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:  # type: ignore[override]
        """Drop the gradient in the same places: the bits are kept, not a mask of floats."""
        (bits,) = ctx.saved_tensors
        return _drop(gradient, bits, *ctx.settings), None, None, None


def _drop(x: Tensor, bits: Tensor, threshold: int, scale: float) -> Tensor:
    x, n = x.contiguous(), x[0].numel()
    out = torch.empty_like(x)
    drop_kernel[len(x), triton.cdiv(n, SIZE)](x, bits, out, n, threshold, scale, SIZE)
    return out


@triton.jit
def drop_kernel(x_at, bits_at, out_at, n, threshold, scale, SIZE: tl.constexpr):
    """Drop some of a member's numbers."""
    position = tl.program_id(1) * SIZE + tl.arange(0, SIZE)
    valid, index = position < n, tl.program_id(0) * n + position
    kept = tl.load(bits_at + position, valid, 0).to(tl.int32) < threshold
    x = tl.load(x_at + index, valid, 0.0)
    tl.store(out_at + index, tl.where(kept, x * scale, 0.0), valid)
