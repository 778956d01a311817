"""The encoder's layers as one operation with a gradient of its own, on an NVIDIA GPU."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
import triton
from torch import Tensor

from survtrace.ops.cuda.layer import gradient_kernel, layer_kernel
from survtrace.ops.dispatch import Sizes

N_PROGRAMS = 528  # four for each multiprocessor of an H200


class Stack(torch.autograd.Function):
    """Layers one after the other; what enters and leaves each is kept for the way back."""

    @staticmethod
    def forward(ctx: Any, tokens: Tensor, sizes: Sizes, *layers: Tensor) -> Tensor:
        """Run the tokens through the layers."""
        precision = "tf32" if any(ctx.needs_input_grad) else "ieee"
        between = [tokens.contiguous()]
        weights = [layer.contiguous() for layer in layers]
        for weight in weights:
            between.append(_forward(between[-1], weight, sizes, precision))
        ctx.save_for_backward(*weights, *between)
        ctx.sizes = sizes
        return between[-1]

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:  # type: ignore[override]
        """Back through the layers."""
        depth = len(ctx.saved_tensors) // 2
        weights, between = ctx.saved_tensors[:depth], ctx.saved_tensors[depth:]
        by_weights: list[Tensor] = []
        gradient = gradient.contiguous()
        for k in reversed(range(depth)):
            through = (between[k], between[k + 1], weights[k], gradient)
            gradient, by_weight = _backward(*through, ctx.sizes)
            by_weights.insert(0, by_weight)
        return gradient, None, *by_weights


def _forward(x: Tensor, weight: Tensor, sizes: Sizes, precision: str) -> Tensor:
    out, tile = torch.empty_like(x), _tile(x, 64)
    grid = (x.shape[0], _n_blocks(x, tile))
    shape = (*x.shape[1:3], weight.shape[1])
    layer_kernel[grid](x, weight, out, *shape, *sizes, PRECISION=precision, **tile)
    return out


def _backward(
    x: Tensor, out: Tensor, weight: Tensor, gradient: Tensor, sizes: Sizes
) -> tuple[Tensor, Tensor]:
    dx, tile, n_members = torch.empty_like(x), _tile(x, 32), x.shape[0]
    n_blocks = _n_blocks(x, tile)
    n_programs = min(n_blocks, max(1, N_PROGRAMS // n_members))
    by_program = torch.empty(n_members, n_programs, weight.shape[1], device=x.device)
    shape = (*x.shape[1:3], weight.shape[1], n_blocks)
    given = (x, out, weight, gradient, dx, by_program)
    gradient_kernel[n_members, n_programs](*given, *shape, *sizes, **tile)
    return dx, by_program.sum(1)


def _tile(x: Tensor, least: int) -> dict[str, int]:
    """Rows of a block, a token each and enough for a subject, and how it is worked on."""
    n_rows = max(least, triton.next_power_of_2(x.shape[2]))
    return {"ROWS": n_rows, "num_warps": n_rows // 16, "num_stages": 1}


def _n_blocks(x: Tensor, tile: dict[str, int]) -> int:
    return int(triton.cdiv(x.shape[1], tile["ROWS"] // x.shape[2]))


@cache
def works(sizes: Sizes, n_tokens: int, device: torch.device) -> bool:
    """Whether the kernels can be compiled and have room on this device, tried on one subject."""
    n_weights = 4 * sizes.width * (sizes.width + 1) + 2 * sizes.width * sizes.hidden
    weight = torch.zeros(1, n_weights + sizes.hidden + sizes.width, device=device)
    x = torch.zeros(1, 1, n_tokens, sizes.width, device=device)
    try:
        _backward(x, _forward(x, weight, sizes, "tf32"), weight, x, sizes)
        torch.cuda.synchronize(device)
    except Exception:  # whatever Triton or its compilers lack, the plain layers do without
        return False
    return True
