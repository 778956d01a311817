"""Gradients of the weights outside the encoder as products, and the sums of all partial sums.

Why kernels: the products are small and many, and torch would take a launch for each, and copies to
bring operands and results into the order it wants.
"""

from __future__ import annotations

import triton
import triton.language as tl

from survtrace.ops.cuda.layer import dot

SIZES = ["n_subjects", "n_flat", "n_slots", "n_causes", "n_intervals", "per_split"]
SUM_ROWS = tl.constexpr(128)
SUM_COLUMNS = tl.constexpr(64)
SUM_WIDE = tl.constexpr(1024)


@triton.jit(do_not_specialize=SIZES)
def products_kernel(
    tokens_at,
    features_at,
    deltas_at,
    partial_at,
    n_subjects,
    n_flat,
    n_slots,
    n_causes,
    n_intervals,
    per_split,
    HIDDEN: tl.constexpr,
    OUTPUTS: tl.constexpr,
    INNER: tl.constexpr,
    WIDE: tl.constexpr,
    N_INPUTS: tl.constexpr,
    SUBJECTS: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """Multiply some inputs of one layer by the gradients of its outputs, over some subjects.

    The jobs, in the order of the parameters: the layer that aligns the final tokens, then the
    embedded ones; the inner layer of every head; the outer layer of every head.
    """
    member, job, split = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    n_heads = n_causes + 2
    n_features = (1 + INNER * n_heads) * HIDDEN
    n_deltas = n_features + n_heads * OUTPUTS
    of_tokens, of_layer = tl.cdiv(n_flat, N_INPUTS), tl.cdiv(HIDDEN, N_INPUTS)
    first_place = member.to(tl.int64) * n_subjects
    n_align = (2 * n_flat + 1) * HIDDEN
    n_heads_weights = n_heads * INNER * (HIDDEN + 1) * HIDDEN + (HIDDEN + 1) * (
        n_causes * n_intervals + 2
    )
    partial_at += (split * tl.num_programs(0) + member).to(tl.int64) * (n_align + n_heads_weights)

    # One job of aligning, unless it is one of a head.
    embedded = job // of_tokens
    first = (job - embedded * of_tokens) * N_INPUTS
    input_at = tokens_at + (1 - embedded) * (n_slots - 1) * (
        tl.num_programs(0) * n_subjects.to(tl.int64) * n_flat
    )
    input_at += first_place * n_flat
    deltas_at += first_place * n_deltas
    n_inputs, stride, delta, n_out = n_flat, n_flat, 0, HIDDEN
    weight, bias = embedded * n_flat * HIDDEN, 2 * n_flat * HIDDEN
    n_summed = tl.where(job == 0, n_out, 0)
    if job >= 2 * of_tokens:
        job -= 2 * of_tokens
        head = (job // of_layer) % n_heads
        outer = (job // of_layer) // n_heads + (1 - INNER)
        first = (job % of_layer) * N_INPUTS
        input_at = features_at + first_place * n_features + outer * INNER * (1 + head) * HIDDEN
        n_inputs, stride = HIDDEN, n_features
        delta = tl.where(outer == 1, n_features + head * OUTPUTS, (1 + head) * HIDDEN)
        n_out = tl.where(outer == 0, HIDDEN, tl.where(head < n_causes, n_intervals, 1))
        before = tl.minimum(head, n_causes) * n_intervals + tl.maximum(head - n_causes, 0)
        weight = n_align + head * INNER * (HIDDEN + 1) * HIDDEN + before * (HIDDEN + 1)
        weight += outer * INNER * (HIDDEN + 1) * HIDDEN
        bias = weight + HIDDEN * n_out
        n_summed = tl.where(first == 0, n_out, 0)

    number, column = first + tl.arange(0, N_INPUTS), tl.arange(0, WIDE)
    product = tl.zeros((N_INPUTS, WIDE), tl.float32)
    deltas = tl.zeros((SUBJECTS, WIDE), tl.float32)
    last = tl.minimum((split + 1) * per_split, n_subjects)
    for start in range(split * per_split, last, SUBJECTS):
        subject = start + tl.arange(0, SUBJECTS)
        valid = (subject < last)[:, None]
        inputs = valid & (number < n_inputs)[None, :]
        x = tl.load(input_at + subject[:, None] * stride + number[None, :], inputs, 0.0)
        place = subject[:, None] * n_deltas + delta
        d = tl.load(deltas_at + place + column[None, :], valid & (column < n_out)[None, :], 0.0)
        product += dot(tl.trans(x), d, PRECISION)
        deltas += d.to(tl.float32)
    used = (number < n_inputs)[:, None] & (column < n_out)[None, :]
    to = partial_at + weight + number[:, None] * n_out + column[None, :]
    tl.store(to, product, used)
    tl.store(partial_at + bias + column, tl.sum(deltas, 0), column < n_summed)


SUMMED = ["n_parameters", "n_embedding", "n_encoder", "n_programs", "n_rest", "n_splits", "n_parts"]


@triton.jit(do_not_specialize=SUMMED)
def sums_kernel(
    encoder_at,
    rest_at,
    parts_at,
    task_weight_at,
    out_at,
    sums_at,
    n_parameters,
    n_embedding,
    n_encoder,
    n_programs,
    n_rest,
    n_splits,
    n_parts,
    factor,
):
    """Add up the partial sums of some parameters of a member, or of its losses."""
    member, n_members, block = tl.program_id(0), tl.num_programs(0), tl.program_id(1)
    of_encoder, of_rest = tl.cdiv(n_encoder, SUM_COLUMNS), tl.cdiv(n_rest, SUM_WIDE)
    out_at += member * n_parameters + n_embedding
    if block < of_encoder:
        column = block * SUM_COLUMNS + tl.arange(0, SUM_COLUMNS)
        total = tl.zeros((SUM_ROWS, SUM_COLUMNS), tl.float32)
        for first in range(0, n_programs, SUM_ROWS):
            row = first + tl.arange(0, SUM_ROWS)
            at = (member * n_programs + row).to(tl.int64)[:, None] * n_encoder + column[None, :]
            cells = (row < n_programs)[:, None] & (column < n_encoder)[None, :]
            total += tl.load(encoder_at + at, cells, 0.0)
        tl.store(out_at + column, tl.sum(total, 0) * factor, column < n_encoder)
    elif block < of_encoder + of_rest:
        wide_column = (block - of_encoder) * SUM_WIDE + tl.arange(0, SUM_WIDE)
        wide_total = tl.zeros((SUM_WIDE,), tl.float32)
        for split in range(n_splits):
            rest = (split * n_members + member).to(tl.int64) * n_rest + wide_column
            wide_total += tl.load(rest_at + rest, wide_column < n_rest, 0.0)
        tl.store(out_at + n_encoder + wide_column, wide_total * factor, wide_column < n_rest)
    else:
        for task in tl.static_range(3):
            losses = tl.zeros((SUM_WIDE,), tl.float32)
            for first_part in range(0, n_parts, SUM_WIDE):
                part = first_part + tl.arange(0, SUM_WIDE)
                parts = parts_at + (task * n_members + member) * n_parts + part
                losses += tl.load(parts, part < n_parts, 0.0)
            loss = tl.sum(losses) * factor * tl.load(task_weight_at + task)
            tl.store(sums_at + task * n_members + member, loss)
