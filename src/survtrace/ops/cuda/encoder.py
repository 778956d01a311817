"""All layers of the encoder as one operation with a gradient of its own, on an NVIDIA GPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import triton
from torch import Tensor

from survtrace.ops.cuda.layer import gradient_kernel, layer_kernel
from survtrace.ops.support import LayerSizes

# Backward runs in so many programs, four for each multiprocessor of an H200, and not in one for
# each block: every program writes a gradient of all weights, which are then added up.
N_PROGRAMS = 528


def encode(tokens: Tensor, sizes: LayerSizes, layers: Sequence[Tensor]) -> Any:
    """Run tokens through layers, each given by its flat parameters (member, parameter)."""
    with torch.cuda.device_of(tokens):  # Triton launches on the current device, not the tensor's
        return EncoderFunction.apply(tokens, sizes, *layers)


class EncoderFunction(torch.autograd.Function):
    """Layers one after the other; the tokens between layers are kept for backward."""

    @staticmethod
    def forward(ctx: Any, tokens: Tensor, sizes: LayerSizes, *layers: Tensor) -> Tensor:
        """Run the tokens through the layers; in prediction, products are not rounded to TF32."""
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
        """Go back through the layers."""
        depth = len(ctx.saved_tensors) // 2
        weights, between = ctx.saved_tensors[:depth], ctx.saved_tensors[depth:]
        d_weights: list[Tensor] = []
        gradient = gradient.contiguous()
        for k in reversed(range(depth)):
            through = (between[k], between[k + 1], weights[k], gradient)
            gradient, d_weight = _backward(*through, ctx.sizes)
            d_weights.insert(0, d_weight)
        return gradient, None, *d_weights


def _forward(x: Tensor, weight: Tensor, sizes: LayerSizes, precision: str) -> Tensor:
    out, tile = torch.empty_like(x), _tile(x, 64)
    grid = (x.shape[0], _n_blocks(x, tile))
    shape = (*x.shape[1:3], weight.shape[1])
    layer_kernel[grid](x, weight, out, *shape, *sizes, PRECISION=precision, **tile)
    return out


def _backward(
    x: Tensor, out: Tensor, weight: Tensor, gradient: Tensor, sizes: LayerSizes
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
    """Rows of a block, a token each and enough for a subject, and the warps that work on it.

    A product on tensor cores has 16 rows for each warp at least; one stage, since there is no loop
    over memory to overlap with arithmetic.
    """
    n_rows = max(least, triton.next_power_of_2(x.shape[2]))
    return {"ROWS": n_rows, "num_warps": n_rows // 16, "num_stages": 1}


def _n_blocks(x: Tensor, tile: dict[str, int]) -> int:
    return int(triton.cdiv(x.shape[1], tile["ROWS"] // x.shape[2]))


def try_sizes(sizes: LayerSizes, n_tokens: int, device: torch.device) -> str | None:
    """Compile the kernels and run them on one subject; say why they cannot, None if they can."""
    n_weights = 4 * sizes.width * (sizes.width + 1) + 2 * sizes.width * sizes.hidden
    weight = torch.zeros(1, n_weights + sizes.hidden + sizes.width, device=device)
    x = torch.zeros(1, 1, n_tokens, sizes.width, device=device)
    try:
        with torch.cuda.device(device):
            _backward(x, _forward(x, weight, sizes, "tf32"), weight, x, sizes)
            torch.cuda.synchronize(device)
    except Exception as error:  # whatever Triton or its compilers lack, the plain layers do without
        return f"its sizes do not compile here ({type(error).__name__}: {error})"
    return None
