"""Which kernels an operation takes, and on which memory."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import triton
from torch import Tensor

from survtrace.batch import INTEGER_COLUMNS, Batch
from survtrace.ops.cuda.encoder import encode_backward_kernel, encode_kernel
from survtrace.ops.cuda.heads import heads_kernel
from survtrace.ops.cuda.launch import Launch
from survtrace.ops.cuda.products import (
    SUM_COLUMNS,
    SUM_WIDE,
    products_kernel,
    sums_kernel,
)
from survtrace.ops.cuda.sizes import Sizes

# In training factors are rounded to ten bits; in prediction each is split in two such numbers.
TRAINING, PREDICTION = "half", "tf32x3"
# Programs that go back through the encoder, two for each multiprocessor of an H200, as many as run
# at once: each writes a gradient of all its weights.
N_BACKWARD = 264
N_FORWARD = 4096
N_PRODUCTS, N_INPUTS = 1024, 32  # programs of products, inputs of a layer in each
KEEP_ALL = 2**15  # a threshold above all sixteen-bit numbers


class Dropped(NamedTuple):
    """Random bits of tokens, representation and inner layers, and the threshold of each draw."""

    tokens: Tensor
    token_threshold: int
    representation: Tensor
    inner: Tensor
    threshold: int
    scale: float
    active: tuple[bool, bool]  # of tokens, of heads


class Tile(NamedTuple):
    """Rows of a tile, rows from one subject to the next, and warps that work on it."""

    rows: int
    step: int
    n_warps: int

    def n_blocks(self, n_subjects: int) -> int:
        """Count the tiles of so many subjects."""
        return -(-n_subjects // (self.rows // self.step))


def packed_tile(n_tokens: int) -> Tile:
    """Put several subjects in a tile, without room between them."""
    return Tile(64, n_tokens, 4)


def tile_of_one(n_tokens: int) -> Tile:
    """Put one subject in a tile: where it has numbers that are none, it spoils no other's."""
    rows = max(16, triton.next_power_of_2(n_tokens))
    return Tile(rows, rows, max(1, rows // 32))


def stored_dtype() -> torch.dtype:
    """Choose the type in which training stores what products round to half precision anyway."""
    return torch.float16 if TRAINING == "half" else torch.float32


def keep_all(like: Tensor) -> Dropped:
    """No dropout; the bits are not looked at."""
    bits = torch.empty(1, dtype=torch.int16, device=like.device)
    return Dropped(bits, KEEP_ALL, bits, bits, KEEP_ALL, 1.0, (False, False))


def forward(
    sizes: Sizes,
    flat: Tensor,
    batch: tuple[Tensor, Tensor, Tensor],
    dropped: Dropped,
    n_slots: int,
    zeroed: Tensor | None,
) -> tuple[Launch, Tensor]:
    """Embed and encode the tokens of (rows, values, subjects); they come back in their slots."""
    rows, values, subjects = batch
    shape = sizes.shape
    n_members, n_subjects = subjects.shape
    training = zeroed is not None
    tile = packed_tile(shape.n_tokens) if training else tile_of_one(shape.n_tokens)
    n_blocks = tile.n_blocks(n_subjects)
    size = (n_slots, n_members, n_subjects, sizes.n_flat)
    dtype = stored_dtype() if training else torch.float32
    tokens = torch.empty(size, dtype=dtype, device=flat.device)
    launch = Launch(
        encode_kernel,
        (n_members, min(n_blocks, max(1, N_FORWARD // n_members))),
        (
            *(
                flat,
                rows,
                values,
                subjects,
                dropped.tokens,
                tokens,
                flat if zeroed is None else zeroed,
            ),
            *(n_subjects, shape.n_tokens, tile.step, n_blocks),
            *(sizes.n_parameters, sizes.n_table, sizes.n_embedding),
            *(dropped.token_threshold, int(dropped.active[0]), shape.depth, n_slots),
            *(sizes.n_embedding if training else 0, shape.width, shape.hidden, shape.n_heads),
            *(tile.rows, TRAINING if training else PREDICTION),
        ),
        {"num_warps": tile.n_warps, "num_stages": 1},
    )
    return launch, tokens


def gradient_launches(
    sizes: Sizes,
    flat: Tensor,
    cohort: Batch,
    subjects: Tensor,
    task_weight: Tensor,
    dropped: Dropped,
    out: Tensor,
) -> tuple[list[Launch], Tensor]:
    """Forward, losses, backward; the losses (part, member) come back."""
    shape, n_flat = sizes.shape, sizes.n_flat
    n_members, n_subjects = subjects.shape
    source = (cohort.rows, cohort.values, subjects)
    encode, tokens = forward(sizes, flat, source, dropped, shape.depth + 1, out)
    n_features = (1 + sizes.inner * (shape.n_causes + 2)) * shape.hidden
    n_deltas = n_features + (shape.n_causes + 2) * sizes.n_outputs

    def empty(*size: int, dtype: torch.dtype = torch.float32) -> Tensor:
        return torch.empty(size, dtype=dtype, device=flat.device)

    dtype = stored_dtype()
    features = empty(n_members, n_subjects, n_features, dtype=dtype)
    deltas = empty(n_members, n_subjects, n_deltas, dtype=dtype)
    d_tokens = empty(2, n_members, n_subjects, n_flat, dtype=dtype)
    n_programs = triton.cdiv(n_subjects, 16)
    parts, summed = empty(3, n_members, n_programs), empty(3, n_members)
    written = (features, deltas, d_tokens, parts, flat)
    heads = _heads(sizes, flat, tokens, cohort, subjects, task_weight, dropped, written, train=True)

    of_layer = triton.cdiv(shape.hidden, N_INPUTS)
    n_jobs = 2 * triton.cdiv(n_flat, N_INPUTS)
    n_jobs += (1 + sizes.inner) * (shape.n_causes + 2) * of_layer
    n_splits = max(1, min(triton.cdiv(n_subjects, 64), N_PRODUCTS // (n_jobs * n_members), 8))
    per_split = triton.cdiv(n_subjects, n_splits * 64) * 64
    rest = empty(n_splits, n_members, sizes.n_rest)
    products = Launch(
        products_kernel,
        (n_members, n_jobs, n_splits),
        (
            *(tokens, features, deltas, rest, n_subjects, n_flat, shape.depth + 1),
            *(shape.n_causes, shape.n_intervals, per_split, shape.hidden, sizes.n_outputs),
            *(sizes.inner, max(shape.hidden, sizes.n_outputs), N_INPUTS, 64, TRAINING),
        ),
        {},
    )

    tile = packed_tile(shape.n_tokens)
    n_blocks = tile.n_blocks(n_subjects)
    n_backward = min(n_blocks, max(1, N_BACKWARD // n_members))
    of_encoder = empty(n_members, n_backward, sizes.n_encoder)
    backward = Launch(
        encode_backward_kernel,
        (n_members, n_backward),
        (
            *(flat, *source, dropped.tokens, tokens, d_tokens, of_encoder, out),
            *(n_subjects, shape.n_tokens, tile.step, n_blocks),
            *(sizes.n_parameters, sizes.n_table, sizes.n_embedding),
            *(dropped.token_threshold, int(dropped.active[0]), shape.depth, 1 / n_subjects),
            *(shape.width, shape.hidden, shape.n_heads, tile.rows, TRAINING),
        ),
        {"num_warps": tile.n_warps, "num_stages": 1},
    )
    n_sums = triton.cdiv(sizes.n_encoder, SUM_COLUMNS.value)
    n_sums += triton.cdiv(sizes.n_rest, SUM_WIDE.value) + 1
    sums = Launch(
        sums_kernel,
        (n_members, n_sums),
        (
            *(
                of_encoder,
                rest,
                parts,
                task_weight,
                out,
                summed,
                sizes.n_parameters,
                sizes.n_embedding,
            ),
            *(sizes.n_encoder, n_backward, sizes.n_rest, n_splits, n_programs, 1 / n_subjects),
        ),
        {"num_warps": 8},
    )
    return [encode, heads, products, backward, sums], summed


def survival_launches(
    sizes: Sizes, flat: Tensor, cohort: Batch, subjects: Tensor
) -> tuple[list[Launch], Tensor]:
    """Forward without dropout, and the survival loss of some subjects at a time."""
    dropped = keep_all(flat)
    source = (cohort.rows, cohort.values, subjects)
    encode, tokens = forward(sizes, flat, source, dropped, 2, None)
    n_members, n_subjects = subjects.shape
    parts = torch.empty(n_members, triton.cdiv(n_subjects, 16), device=flat.device)
    written = (flat, flat, flat, parts, flat)
    heads = _heads(sizes, flat, tokens, cohort, subjects, flat, dropped, written, train=False)
    return [encode, heads], parts


def logits_launches(
    sizes: Sizes, flat: Tensor, rows: Tensor, values: Tensor
) -> tuple[list[Launch], Tensor]:
    """Forward without dropout; the logits (member, subject, cause, interval) come back."""
    dropped, shape = keep_all(flat), sizes.shape
    n_members, (n_shared, n_subjects, _) = len(flat), rows.shape
    subjects = torch.arange(n_shared * n_subjects, device=flat.device).view(n_shared, n_subjects)
    subjects = subjects.expand(n_members, n_subjects).contiguous()
    encode, tokens = forward(sizes, flat, (rows, values, subjects), dropped, 2, None)
    size = (n_members, n_subjects, shape.n_causes, shape.n_intervals)
    logits = torch.empty(size, device=flat.device)
    parts = torch.empty(n_members, triton.cdiv(n_subjects, 16), device=flat.device)
    # No outcome is known: a loss is computed of what lies at the first place, and not used.
    given = {name: subjects if name in INTEGER_COLUMNS else values for name in Batch._fields}
    nothing = Batch(**{**given, "rows": rows})
    written = (flat, flat, flat, parts, logits)
    heads = _heads(sizes, flat, tokens, nothing, None, flat, dropped, written, train=False)
    return [encode, heads], logits


def _heads(
    sizes: Sizes,
    flat: Tensor,
    tokens: Tensor,
    cohort: Batch,
    subjects: Tensor | None,
    task_weight: Tensor,
    dropped: Dropped,
    written: tuple[Tensor, ...],
    *,
    train: bool,
) -> Launch:
    shape = sizes.shape
    n_slots, n_members, n_subjects, n_flat = tokens.shape
    outcome: tuple[Any, ...] = cohort[2:]
    return Launch(
        heads_kernel,
        (n_members, triton.cdiv(n_subjects, 16)),
        (
            *(
                flat,
                tokens,
                cohort.interval if subjects is None else subjects,
                *outcome,
                task_weight,
            ),
            *(dropped.representation, dropped.inner, *written, n_subjects, n_flat),
            *(sizes.n_parameters, n_slots, shape.n_causes, shape.n_intervals),
            *(sizes.align, sizes.align + sizes.n_align, float(shape.proportional)),
            *(dropped.threshold, float(dropped.scale), int(dropped.active[1])),
            *(int(subjects is not None), shape.hidden, sizes.n_outputs, sizes.inner, train, 16, 32),
            TRAINING if train else PREDICTION,
        ),
        {"num_stages": 2},
    )
