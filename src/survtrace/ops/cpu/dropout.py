"""Dropout in one pass over memory, by random bits that all members share."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numba import njit
from torch import Tensor


class DropoutFunction(torch.autograd.Function):
    """``x * scale`` where the bits are below the threshold, else 0."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, bits: Tensor, threshold: int, scale: float) -> Tensor:
        """Drop the same numbers of every member."""
        ctx.save_for_backward(bits)
        ctx.settings = threshold, scale
        return _dropped(x.detach(), bits, threshold, scale)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:  # type: ignore[override]
        """The gradient is dropped in the same places."""
        (bits,) = ctx.saved_tensors
        return _dropped(gradient, bits, *ctx.settings), None, None, None


def _dropped(x: Tensor, bits: Tensor, threshold: int, scale: float) -> Tensor:
    out = torch.empty(x.shape)
    flat = x.contiguous().view(len(x), -1)
    limit = np.int16(min(threshold, 2**15 - 1))
    _drop(flat.numpy(), bits.numpy(), limit, np.float32(scale), out.view(len(x), -1).numpy())
    return out


@njit(nogil=True, cache=True)
def _drop(x: Any, bits: Any, threshold: Any, scale: Any, out: Any) -> None:
    for m in range(len(x)):
        own, dropped = x[m], out[m]
        for i in range(len(own)):
            dropped[i] = own[i] * scale if bits[i] < threshold else np.float32(0)
