"""All layers of the encoder as one operation with a gradient of its own, in blocks of subjects.

Why a kernel: torch runs a layer in some twenty passes over memory, each for all subjects. Here a
block of sixteen subjects goes through a whole layer while its numbers stay in the core's cache.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from survtrace.ops.cpu.lanes import N_LANES
from survtrace.ops.cpu.layer import F32, backward, forward, from_sheets, to_sheets
from survtrace.ops.support import LayerSizes
from survtrace.threads import automatic_threads


def encode(tokens: Tensor, sizes: LayerSizes, layers: Sequence[Tensor]) -> Any:
    """Run tokens through layers, each given by its flat parameters (member, parameter)."""
    return EncoderFunction.apply(tokens, sizes, *layers)


class EncoderFunction(torch.autograd.Function):
    """The layers over sheets of sixteen subjects (see `layer`), shared among threads."""

    @staticmethod
    def forward(ctx: Any, tokens: Tensor, sizes: LayerSizes, *layers: Tensor) -> Tensor:
        """Keep the sheets between layers, and two within each, if there will be a backward."""
        n_members, n_subjects, n_tokens, width = tokens.shape
        n_blocks, depth = -(-n_subjects // N_LANES), len(layers)
        n_kept = n_blocks if any(ctx.needs_input_grad) else 0
        sheet = width * n_tokens * N_LANES
        weights = [layer.detach().contiguous() for layer in layers]
        between = torch.empty(depth + 1, n_members, n_blocks, sheet)
        within = torch.empty(depth, 2, n_members, n_kept, sheet)
        x, out = tokens.detach().contiguous().numpy(), torch.empty(tokens.shape)

        def run(m: int, blocks: slice, subjects: slice) -> None:
            sheets = between[:, m, blocks].numpy()
            # Without a backward one sheet is overwritten by every block, and stays in the cache.
            kept = (
                within[:, :, m, blocks].numpy() if n_kept else np.empty((depth, 2, 1, sheet), F32)
            )
            to_sheets(x[m, subjects], sheets[0])
            for k, weight in enumerate(weights):
                forward(sheets[k], weight[m].numpy(), *kept[k], sheets[k + 1], n_tokens, *sizes)
            from_sheets(sheets[-1], out[m, subjects].numpy())

        _run_in_threads(run, n_members, n_subjects, n_tokens)
        ctx.save_for_backward(between, within, *weights)
        ctx.sizes = sizes
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:  # type: ignore[override]
        """Go back through the layers.

        Each part's sums over subjects are added up in the order of the parts, not in the order in
        which threads end: the same work gives the same numbers to the bit.
        """
        sizes = ctx.sizes
        between, within, *weights = ctx.saved_tensors
        transposed = [_transpose(weight, sizes) for weight in weights]
        n_members, n_subjects, n_tokens, _ = gradient.shape
        d_out, d_tokens = gradient.contiguous().numpy(), torch.empty(gradient.shape)
        sums_by_part: dict[tuple[int, int], list[Tensor]] = {}

        def run(m: int, blocks: slice, subjects: slice) -> None:
            sheets, kept = between[:, m, blocks].numpy(), within[:, :, m, blocks].numpy()
            d = np.empty_like(sheets[0])
            sums = [torch.zeros(weight.shape[1]) for weight in weights]
            to_sheets(d_out[m, subjects], d)
            for k in reversed(range(len(weights))):
                arguments = (weights[k][m].numpy(), transposed[k][m].numpy(), d, sums[k].numpy())
                backward(sheets[k], *kept[k], sheets[k + 1], *arguments, n_tokens, *sizes)
            sums_by_part[m, blocks.start] = sums
            from_sheets(d, d_tokens[m, subjects].numpy())

        _run_in_threads(run, n_members, n_subjects, n_tokens)
        d_weights = [torch.zeros_like(weight) for weight in weights]
        for m, first in sorted(sums_by_part):
            for d_weight, sums in zip(d_weights, sums_by_part[m, first], strict=True):
                d_weight[m] += sums
        return d_tokens, None, *d_weights


def _run_in_threads(
    run: Callable[[int, slice, slice], None], n_members: int, n_subjects: int, n_tokens: int
) -> None:
    """Run all members' blocks, in as many threads as torch may use and the work is worth.

    Threads of Python suffice: numba's functions release the interpreter lock (``nogil``).
    """
    n_threads = automatic_threads(n_members * n_subjects * n_tokens)
    n_parts = -(-n_threads // n_members) if n_threads > 1 else 1
    parts = [(m, *part) for m in range(n_members) for part in _split(n_subjects, n_parts)]
    if n_threads <= 1:
        for part in parts:
            run(*part)
    else:
        list(_threads(n_threads).map(lambda part: run(*part), parts))


def _split(n_subjects: int, n_parts: int) -> Iterator[tuple[slice, slice]]:
    """Blocks and subjects of each part."""
    n_blocks = -(-n_subjects // N_LANES)
    per_part = -(-n_blocks // n_parts)
    for first in range(0, n_blocks, per_part):
        last = min(first + per_part, n_blocks)
        yield slice(first, last), slice(first * N_LANES, min(last * N_LANES, n_subjects))


@cache
def _threads(n_threads: int) -> ThreadPoolExecutor:
    """The threads, started once: starting some costs as much as a small batch."""
    return ThreadPoolExecutor(n_threads, thread_name_prefix="survtrace")


# A forked child inherits the pool's memory but none of its threads, and would wait for ever.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_threads.cache_clear)


def _transpose(weights: Tensor, sizes: LayerSizes) -> Tensor:
    """Transpose each weight of a layer's flat parameters; the biases are left undefined.

    Backward multiplies by the transposed weights, and reads them as fast only if they lie so.
    """
    transposed, first = torch.empty_like(weights), 0
    for n_in, n_out in (
        (sizes.width, 3 * sizes.width),
        (sizes.width, sizes.width),
        (sizes.width, sizes.hidden),
        (sizes.hidden, sizes.width),
    ):
        last = first + n_in * n_out
        weight = weights[:, first:last].view(-1, n_in, n_out)
        transposed[:, first:last] = weight.transpose(1, 2).flatten(1)
        first = last + n_out
    return transposed
