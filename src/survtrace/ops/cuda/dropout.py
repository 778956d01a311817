"""Dropout in one kernel, by random bits that all members share."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

SIZE = 1024


class DropoutFunction(torch.autograd.Function):
    """``x * scale`` where the bits are below the threshold, else 0."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, bits: Tensor, threshold: int, scale: float) -> Tensor:
        """Drop the same numbers of every member."""
        ctx.save_for_backward(bits)
        ctx.settings = threshold, scale
        return _dropped(x, bits, threshold, scale)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:  # type: ignore[override]
        """The gradient is dropped in the same places."""
        (bits,) = ctx.saved_tensors
        return _dropped(gradient, bits, *ctx.settings), None, None, None


def _dropped(x: Tensor, bits: Tensor, threshold: int, scale: float) -> Tensor:
    x, n = x.contiguous(), x[0].numel()
    out = torch.empty_like(x)
    drop_kernel[len(x), triton.cdiv(n, SIZE)](x, bits, out, n, threshold, scale, SIZE)
    return out


def try_out() -> None:
    """Run a kernel; raises whatever keeps Triton from working here."""
    bits = torch.zeros(1, dtype=torch.int16, device="cuda")
    _dropped(torch.ones(1, 1, device="cuda"), bits, 1, 1.0)
    torch.cuda.synchronize()


@triton.jit
def drop_kernel(x_at, bits_at, out_at, n, threshold, scale, SIZE: tl.constexpr):
    """Drop some of a member's numbers."""
    place = tl.program_id(1) * SIZE + tl.arange(0, SIZE)
    there, own = place < n, tl.program_id(0) * n + place
    kept = tl.load(bits_at + place, there, 0).to(tl.int32) < threshold
    tl.store(out_at + own, tl.where(kept, tl.load(x_at + own, there, 0.0) * scale, 0.0), there)
