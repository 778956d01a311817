"""Embedding and encoder: one kernel forward through all layers, and one backward (eq. 2-11).

Why a kernel: a token is so narrow that torch spends its time launching kernels and moving tokens
to memory and back. Here a program takes some subjects of one member through all layers. Backward,
each program adds up the gradients of the weights over its subjects; their sum over programs is
taken afterwards, since adding to the same memory from all programs is slower, and rounds in
another order each time.
"""

from __future__ import annotations

import triton
import triton.language as tl

from survtrace.ops.cuda.layer import (
    attention_backward,
    attention_forward,
    clipped,
    dot,
    load_biases,
    load_side_by_side,
    load_weights,
    rounded,
    rows_of_tile,
    selu,
    selu_slope,
    side_by_side,
)

SIZES = ["n_subjects", "n_tokens", "step", "n_blocks", "n_parameters", "n_table", "n_embedding"]
MASK = ["threshold", "masked"]


@triton.jit(
    do_not_specialize=[*SIZES, *MASK, "depth", "n_slots", "n_zero"],
    do_not_specialize_on_alignment=["subjects_at", "bits_at"],
)
def encode_kernel(
    parameters_at,
    rows_at,
    values_at,
    subjects_at,
    bits_at,
    tokens_at,
    zero_at,
    n_subjects,
    n_tokens,
    step,
    n_blocks,
    n_parameters,
    n_table,
    n_embedding,
    threshold,
    masked,
    depth,
    n_slots,
    n_zero,
    WIDTH: tl.constexpr,
    HIDDEN: tl.constexpr,
    HEADS: tl.constexpr,
    ROWS: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """Embed the tokens of some subjects of a member and run them through all layers.

    The tokens before the first layer and after each are stored, (slot, member, subject, token,
    width); where there are too few slots, those of a layer replace those of the one before.
    """
    member, program, n_programs = tl.program_id(0), tl.program_id(1), tl.num_programs(1)
    LAYER: tl.constexpr = 4 * WIDTH * (WIDTH + 1) + 2 * WIDTH * HIDDEN + HIDDEN + WIDTH
    parameters_at += member * n_parameters
    subjects_at += member.to(tl.int64) * n_subjects
    n_numbers = n_subjects.to(tl.int64) * n_tokens * WIDTH
    tokens_at += member * n_numbers
    slot_size = tl.num_programs(0) * n_numbers
    feature = tl.arange(0, WIDTH)[None, :]
    # Backward adds to the gradient of the table, which must be zero by then.
    for first in range(program * 256, n_zero, n_programs * 256):
        place = first + tl.arange(0, 256)
        zeros = tl.zeros((256,), tl.float32)
        tl.store(zero_at + member * n_parameters + place, zeros, place < n_zero)
    place, token, is_token, seen = rows_of_tile(n_tokens, step, ROWS)
    for block in range(program, n_blocks, n_programs):
        subject = block * (ROWS // step) + place
        valid = is_token & (subject < n_subjects)
        index = (subject * n_tokens + token)[:, None] * WIDTH + feature
        source = tl.load(subjects_at + subject, valid, 0).to(tl.int64) * n_tokens + token
        row = tl.load(rows_at + source, valid, 0)
        value = tl.load(values_at + source, valid, 0.0)
        bits = tl.load(bits_at + (subject * n_tokens + token) * masked, valid, 0)
        kept = valid & (bits.to(tl.int32) < threshold)
        x = tl.load(parameters_at + row[:, None] * WIDTH + feature, valid[:, None], 0.0)
        x *= value[:, None]
        biased = valid & (token < (n_embedding - n_table) // WIDTH)
        bias_at = parameters_at + n_table + token[:, None] * WIDTH + feature
        x = tl.where(kept[:, None], x + tl.load(bias_at, biased[:, None], 0.0), 0.0)
        tl.store(tokens_at + index, clipped(x, PRECISION), valid[:, None])
        for layer in range(depth):
            at = parameters_at + n_embedding + layer * LAYER
            weights = load_weights(at, WIDTH, HIDDEN)
            biases = load_biases(at, WIDTH, HIDDEN)
            attention = attention_forward(x, weights, biases, seen, WIDTH, HEADS, PRECISION)
            inner = selu(dot(clipped(x, PRECISION), weights[4], PRECISION) + biases[4])
            x = selu(dot(inner, weights[5], PRECISION) + biases[5] + attention[4])
            slot = tl.minimum(layer + 1, n_slots - 1)
            slot_at = tokens_at + slot * slot_size
            tl.store(slot_at + index, clipped(x, PRECISION), valid[:, None])


@triton.jit(
    do_not_specialize=[*SIZES, *MASK, "depth", "factor"],
    do_not_specialize_on_alignment=["subjects_at", "bits_at"],
)
def encode_backward_kernel(
    parameters_at,
    rows_at,
    values_at,
    subjects_at,
    bits_at,
    tokens_at,
    d_tokens_at,
    partial_at,
    out_at,
    n_subjects,
    n_tokens,
    step,
    n_blocks,
    n_parameters,
    n_table,
    n_embedding,
    threshold,
    masked,
    depth,
    factor,
    WIDTH: tl.constexpr,
    HIDDEN: tl.constexpr,
    HEADS: tl.constexpr,
    ROWS: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """Turn gradients by final and embedded tokens into those of layers, bias and table.

    ``d_tokens_at`` has the gradient by the embedded tokens, then that by the final ones, which is
    replaced by that of each layer's input. Gradients of weights go to this program's partial sums,
    those of table and bias, times ``factor``, straight to ``out_at``.
    """
    MIX: tl.constexpr = 3 * WIDTH * WIDTH + 3 * WIDTH
    EXPAND: tl.constexpr = MIX + WIDTH * WIDTH + WIDTH
    CONTRACT: tl.constexpr = EXPAND + WIDTH * HIDDEN + HIDDEN
    LAYER: tl.constexpr = CONTRACT + HIDDEN * WIDTH + WIDTH
    member, program, n_programs = tl.program_id(0), tl.program_id(1), tl.num_programs(1)
    parameters_at += member * n_parameters
    out_at += member * n_parameters
    subjects_at += member.to(tl.int64) * n_subjects
    n_numbers = n_subjects.to(tl.int64) * n_tokens * WIDTH
    slot_size = tl.num_programs(0) * n_numbers
    tokens_at += member * n_numbers
    d_tokens_at += member * n_numbers
    partial_at += (member * n_programs + program).to(tl.int64) * depth * LAYER
    feature = tl.arange(0, WIDTH)[None, :]
    narrow, wide = tl.arange(0, WIDTH), tl.arange(0, HIDDEN)
    place, token, is_token, seen = rows_of_tile(n_tokens, step, ROWS)
    for back in range(depth):
        layer = depth - 1 - back
        at = parameters_at + n_embedding + layer * LAYER
        weights = load_weights(at, WIDTH, HIDDEN)
        w_mix, w_expand, w_contract = weights[3], weights[4], weights[5]
        w_projected = load_side_by_side(at, WIDTH)
        # Gradients of weights, transposed where a weight has few inputs: tensor cores want rows.
        dw_projected = tl.zeros((4 * WIDTH, 2 * WIDTH), tl.float32)
        dw_mix = tl.zeros((4 * WIDTH, WIDTH), tl.float32)
        dw_expand = tl.zeros((HIDDEN, 2 * WIDTH), tl.float32)
        dw_contract = tl.zeros((HIDDEN, WIDTH), tl.float32)
        db_contract = tl.zeros((WIDTH,), tl.float32)
        for block in range(program, n_blocks, n_programs):
            subject = block * (ROWS // step) + place
            valid = is_token & (subject < n_subjects)
            index = (subject * n_tokens + token)[:, None] * WIDTH + feature
            cells = valid[:, None]
            x = tl.load(tokens_at + layer * slot_size + index, cells, 0.0)
            y = tl.load(tokens_at + (layer + 1) * slot_size + index, cells, 0.0).to(tl.float32)
            d = tl.load(d_tokens_at + slot_size + index, cells, 0.0) * selu_slope(y)
            biases = load_biases(at, WIDTH, HIDDEN)
            # A column of ones beside each of the tokens': a product with it gives sums for biases.
            x_and_one = tl.reshape(tl.join(x, tl.full(x.shape, 1.0, x.dtype)), (ROWS, 2 * WIDTH))
            inner = rounded(selu(dot(x, w_expand, PRECISION) + biases[4]), PRECISION)
            dw_contract += dot(tl.trans(inner), d, PRECISION)
            db_contract += tl.sum(d, 0)
            d_inner = dot(d, tl.trans(w_contract), PRECISION) * selu_slope(inner.to(tl.float32))
            d_inner = rounded(d_inner, PRECISION)
            dw_expand += dot(tl.trans(d_inner), x_and_one, PRECISION)
            dx = dot(d_inner, tl.trans(w_expand), PRECISION)
            query, key, value, attended, residual = attention_forward(
                x, weights, biases, seen, WIDTH, HEADS, PRECISION
            )
            d = d * selu_slope(residual)
            dx += d
            d_attended = dot(d, tl.trans(w_mix), PRECISION)
            d_query, d_key, d_value = attention_backward(
                query, key, value, d_attended, seen, WIDTH, HEADS, PRECISION
            )
            d_projected = side_by_side(d_query, d_key, d_value, d, ROWS, WIDTH)
            d_projected = rounded(d_projected, PRECISION)
            dx += dot(d_projected, w_projected, PRECISION)
            dw_projected += dot(tl.trans(d_projected), x_and_one, PRECISION)
            dw_mix += dot(tl.trans(d_projected), attended, PRECISION)
            tl.store(d_tokens_at + slot_size + index, dx, cells)
        to = partial_at + layer * LAYER
        column, inputs = tl.arange(0, 4 * WIDTH), tl.arange(0, WIDTH)[None, :]
        of, unit = column % 4, column // 4
        # Gradients of weights in even columns, those of biases in the first odd one.
        pair = tl.arange(0, 2 * WIDTH)[None, :]
        even, first = pair % 2 == 0, pair == 1
        of_weight = (of * WIDTH + unit)[:, None] + pair // 2 * (3 * WIDTH)
        of_bias = 3 * WIDTH * WIDTH + (of * WIDTH + unit)[:, None]
        tl.store(to + of_weight, dw_projected, even & (of < 3)[:, None])
        tl.store(to + of_bias + 0 * pair, dw_projected, first & (of < 3)[:, None])
        tl.store(to + MIX + inputs * WIDTH + unit[:, None], dw_mix, (of == 3)[:, None])
        of_bias = MIX + WIDTH * WIDTH + unit[:, None]
        tl.store(to + of_bias + 0 * pair, dw_projected, first & (of == 3)[:, None])
        tl.store(
            to + EXPAND + pair // 2 * HIDDEN + wide[:, None], dw_expand, even | (wide < 0)[:, None]
        )
        of_bias = EXPAND + WIDTH * HIDDEN + wide[:, None]
        tl.store(to + of_bias + 0 * pair, dw_expand, first | (wide < 0)[:, None])
        tl.store(to + CONTRACT + wide[:, None] * WIDTH + inputs, dw_contract)
        tl.store(to + CONTRACT + HIDDEN * WIDTH + narrow, db_contract)
        tl.debug_barrier()  # what was stored is read again, maybe by other threads of the program
    d_bias = tl.zeros((ROWS, WIDTH), tl.float32)
    for block in range(program, n_blocks, n_programs):
        subject = block * (ROWS // step) + place
        valid = is_token & (subject < n_subjects)
        index = (subject * n_tokens + token)[:, None] * WIDTH + feature
        bits = tl.load(bits_at + (subject * n_tokens + token) * masked, valid, 0)
        cells = (valid & (bits.to(tl.int32) < threshold))[:, None]
        d = tl.load(d_tokens_at + slot_size + index, cells, 0.0).to(tl.float32)
        d = (d + tl.load(d_tokens_at + index, cells, 0.0)) * factor
        source = tl.load(subjects_at + subject, valid, 0).to(tl.int64) * n_tokens + token
        row = tl.load(rows_at + source, valid, 0)
        value = tl.load(values_at + source, valid, 0.0)
        tl.atomic_add(out_at + row[:, None] * WIDTH + feature, d * value[:, None], cells, "relaxed")
        d_bias += d
    # Every tile has the same token in the same row.
    bias_at = out_at + n_table + token[:, None] * WIDTH + feature
    has_bias = is_token & (token < (n_embedding - n_table) // WIDTH)
    tl.atomic_add(bias_at, d_bias, has_bias[:, None], "relaxed")
