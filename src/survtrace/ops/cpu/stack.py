"""The encoder's layers as one operation with a gradient of its own, in blocks of subjects."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from survtrace.ops.cpu.lanes import N_LANES
from survtrace.ops.cpu.layer import F32, backward, forward, from_sheets, to_sheets
from survtrace.ops.dispatch import Sizes

ENOUGH = 2**14  # tokens that make a thread worth its start


class Stack(torch.autograd.Function):
    """Layers over sheets of sixteen subjects, shared among threads."""

    @staticmethod
    def forward(ctx: Any, tokens: Tensor, sizes: Sizes, *layers: Tensor) -> Tensor:
        """Keep the sheets between layers, and two within each, if a gradient may be asked for."""
        n_members, n_subjects, n_tokens, width = tokens.shape
        n_blocks, depth = -(-n_subjects // N_LANES), len(layers)
        n_kept = n_blocks if any(ctx.needs_input_grad) else 0
        sheet = width * n_tokens * N_LANES
        passing = (depth, 2, 1, sheet)
        weights = [layer.detach().contiguous() for layer in layers]
        between = torch.empty(depth + 1, n_members, n_blocks, sheet)
        within = torch.empty(depth, 2, n_members, n_kept, sheet)
        given, out = tokens.detach().contiguous().numpy(), torch.empty(tokens.shape)

        def work(m: int, blocks: slice, subjects: slice) -> None:
            sheets = between[:, m, blocks].numpy()
            kept = within[:, :, m, blocks].numpy() if n_kept else np.empty(passing, F32)
            to_sheets(given[m, subjects], sheets[0])
            for k, weight in enumerate(weights):
                forward(sheets[k], weight[m].numpy(), *kept[k], sheets[k + 1], n_tokens, *sizes)
            from_sheets(sheets[-1], out[m, subjects].numpy())

        _share(work, n_members, n_subjects, n_tokens)
        ctx.save_for_backward(between, within, *weights)
        ctx.sizes = sizes
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:  # type: ignore[override]
        """Back through the layers; each part's sums over subjects are added up in order."""
        sizes = ctx.sizes
        between, within, *weights = ctx.saved_tensors
        turned = [_transposed(weight, sizes) for weight in weights]
        n_members, n_subjects, n_tokens, _ = gradient.shape
        given, out = gradient.contiguous().numpy(), torch.empty(gradient.shape)
        found: dict[tuple[int, int], list[Tensor]] = {}

        def work(m: int, blocks: slice, subjects: slice) -> None:
            sheets, kept = between[:, m, blocks].numpy(), within[:, :, m, blocks].numpy()
            d = np.empty_like(sheets[0])
            sums = [torch.zeros(weight.shape[1]) for weight in weights]
            to_sheets(given[m, subjects], d)
            for k in reversed(range(len(weights))):
                own = (weights[k][m].numpy(), turned[k][m].numpy(), d, sums[k].numpy())
                backward(sheets[k], *kept[k], sheets[k + 1], *own, n_tokens, *sizes)
            found[m, blocks.start] = sums
            from_sheets(d, out[m, subjects].numpy())

        _share(work, n_members, n_subjects, n_tokens)
        totals = [torch.zeros_like(weight) for weight in weights]
        for m, first in sorted(found):
            for total, sums in zip(totals, found[m, first], strict=True):
                total[m] += sums
        return out, None, *totals


def _share(
    work: Callable[[int, slice, slice], None], n_members: int, n_subjects: int, n_tokens: int
) -> None:
    """Do the work of all members, in as many threads as torch may use and the work is worth."""
    n_threads = min(torch.get_num_threads(), n_members * n_subjects * n_tokens // ENOUGH)
    n_parts = -(-n_threads // n_members) if n_threads > 1 else 1
    parts = [(m, *part) for m in range(n_members) for part in _cut(n_subjects, n_parts)]
    if n_threads <= 1:
        for part in parts:
            work(*part)
    else:
        list(_threads(n_threads).map(lambda part: work(*part), parts))


def _cut(n_subjects: int, n_parts: int) -> Iterator[tuple[slice, slice]]:
    """Blocks and subjects of each part."""
    n_blocks = -(-n_subjects // N_LANES)
    per_part = -(-n_blocks // n_parts)
    for first in range(0, n_blocks, per_part):
        last = min(first + per_part, n_blocks)
        yield slice(first, last), slice(first * N_LANES, min(last * N_LANES, n_subjects))


@cache
def _threads(n_threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(n_threads, thread_name_prefix="survtrace")


if hasattr(os, "register_at_fork"):  # a child has no threads, only the memory of them
    os.register_at_fork(after_in_child=_threads.cache_clear)


def _transposed(weights: Tensor, sizes: Sizes) -> Tensor:
    """Parameters of a layer with each weight transposed, biases left out of account."""
    turned, first = torch.empty_like(weights), 0
    for n_in, n_out in (
        (sizes.width, 3 * sizes.width),
        (sizes.width, sizes.width),
        (sizes.width, sizes.hidden),
        (sizes.hidden, sizes.width),
    ):
        last = first + n_in * n_out
        weight = weights[:, first:last].view(-1, n_in, n_out)
        turned[:, first:last] = weight.transpose(1, 2).flatten(1)
        first = last + n_out
    return turned
