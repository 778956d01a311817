"""An encoder layer and its gradient on an NVIDIA GPU: one kernel each way (eq. 5-11).

The mathematics of `survtrace.network.encoder`, written out in Triton. Why a kernel: a token is so
narrow that torch spends its time launching kernels and moving tokens to memory and back. Here a
program takes some subjects of one member, with all their tokens, from the first product to the
last, in registers. In backward each program adds up the weights' gradients of its subjects; their
sum over programs is taken afterwards, since adding to the same memory from all programs at once is
slower, and rounds in another order each time. What happens inside a layer is computed again in
backward: that costs less than to write it to memory and read it back. Products round their factors
to ten bits (TF32) in training, and not at all in prediction.
"""

from __future__ import annotations

import triton
import triton.language as tl

SCALE = tl.constexpr(1.0507009873554805)  # of SELU
LOW = tl.constexpr(1.0507009873554805 * 1.6732632423543772)


@triton.jit
def layer_kernel(
    x_at,
    weight_at,
    out_at,
    n_subjects,
    n_tokens,
    n_weights,
    WIDTH: tl.constexpr,
    HIDDEN: tl.constexpr,
    HEADS: tl.constexpr,
    ROWS: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """Run the layer over one block."""
    member = tl.program_id(0)
    weight_at += member * n_weights
    CONTRACT: tl.constexpr = 4 * WIDTH * WIDTH + 4 * WIDTH + WIDTH * HIDDEN + HIDDEN
    index, valid, same_subject = _rows_of_block(
        member, tl.program_id(1), n_subjects, n_tokens, WIDTH, HEADS, ROWS
    )
    x = tl.load(x_at + index, valid, 0.0)
    _, _, _, _, residual, inner = _inside(
        x, weight_at, same_subject, WIDTH, HIDDEN, HEADS, PRECISION
    )
    w_contract = _weight(weight_at + CONTRACT, HIDDEN, WIDTH, WIDTH)
    bias = _bias(weight_at + CONTRACT + HIDDEN * WIDTH, WIDTH)
    contracted = tl.dot(inner, w_contract, input_precision=PRECISION) + bias
    tl.store(out_at + index, _selu(contracted + residual), valid)


@triton.jit
def gradient_kernel(
    x_at,
    out_at,
    weight_at,
    d_at,
    dx_at,
    d_weights_at,
    n_subjects,
    n_tokens,
    n_weights,
    n_blocks,
    WIDTH: tl.constexpr,
    HIDDEN: tl.constexpr,
    HEADS: tl.constexpr,
    ROWS: tl.constexpr,
):
    """Turn the gradient of some blocks by the layer's output into those by input and weights."""
    MIX: tl.constexpr = WIDTH * 3 * WIDTH + 3 * WIDTH
    EXPAND: tl.constexpr = MIX + WIDTH * WIDTH + WIDTH
    CONTRACT: tl.constexpr = EXPAND + WIDTH * HIDDEN + HIDDEN
    member = tl.program_id(0)
    weight_at += member * n_weights
    w_query, w_key, w_value = _three(weight_at, WIDTH)
    w_mix = _weight(weight_at + MIX, WIDTH, WIDTH, WIDTH)
    w_expand = _weight(weight_at + EXPAND, WIDTH, HIDDEN, HIDDEN)
    w_contract = _weight(weight_at + CONTRACT, HIDDEN, WIDTH, WIDTH)
    dw_query = tl.zeros((WIDTH, WIDTH), tl.float32)
    dw_key = tl.zeros((WIDTH, WIDTH), tl.float32)
    dw_value = tl.zeros((WIDTH, WIDTH), tl.float32)
    dw_mix = tl.zeros((WIDTH, WIDTH), tl.float32)
    dw_expand = tl.zeros((WIDTH, HIDDEN), tl.float32)
    dw_contract = tl.zeros((HIDDEN, WIDTH), tl.float32)
    dw_query_bias = tl.zeros((WIDTH,), tl.float32)
    dw_key_bias = tl.zeros((WIDTH,), tl.float32)
    dw_value_bias = tl.zeros((WIDTH,), tl.float32)
    dw_mix_bias = tl.zeros((WIDTH,), tl.float32)
    dw_expand_bias = tl.zeros((HIDDEN,), tl.float32)
    dw_contract_bias = tl.zeros((WIDTH,), tl.float32)
    for block in range(tl.program_id(1), n_blocks, tl.num_programs(1)):
        index, valid, same_subject = _rows_of_block(
            member, block, n_subjects, n_tokens, WIDTH, HEADS, ROWS
        )
        x = tl.load(x_at + index, valid, 0.0)
        query, key, value, attended, residual, inner = _inside(
            x, weight_at, same_subject, WIDTH, HIDDEN, HEADS, "tf32"
        )
        d = tl.load(d_at + index, valid, 0.0) * _slope(tl.load(out_at + index, valid, 0.0))
        dw_contract += tl.dot(tl.trans(inner), d)
        dw_contract_bias += tl.sum(d, 0)
        d_inner = tl.dot(d, tl.trans(w_contract)) * _slope(inner)
        dw_expand += tl.dot(tl.trans(x), d_inner)
        dw_expand_bias += tl.sum(d_inner, 0)
        d = d * _slope(residual)
        dw_mix += tl.dot(tl.trans(attended), d)
        dw_mix_bias += tl.sum(d, 0)
        d_attended = tl.dot(d, tl.trans(w_mix))
        d_query, d_key, d_value = _attend_back(
            query, key, value, d_attended, same_subject, WIDTH, HEADS
        )
        dw_query += tl.dot(tl.trans(x), d_query)
        dw_key += tl.dot(tl.trans(x), d_key)
        dw_value += tl.dot(tl.trans(x), d_value)
        dw_query_bias += tl.sum(d_query, 0)
        dw_key_bias += tl.sum(d_key, 0)
        dw_value_bias += tl.sum(d_value, 0)
        d += tl.dot(d_inner, tl.trans(w_expand))
        d += tl.dot(d_query, tl.trans(w_query))
        d += tl.dot(d_key, tl.trans(w_key))
        d += tl.dot(d_value, tl.trans(w_value))
        tl.store(dx_at + index, d, valid)
    at = d_weights_at + (member * tl.num_programs(1) + tl.program_id(1)) * n_weights
    _put(at, dw_query, WIDTH, WIDTH, 3 * WIDTH)
    _put(at + WIDTH, dw_key, WIDTH, WIDTH, 3 * WIDTH)
    _put(at + 2 * WIDTH, dw_value, WIDTH, WIDTH, 3 * WIDTH)
    _put(at + MIX, dw_mix, WIDTH, WIDTH, WIDTH)
    _put(at + EXPAND, dw_expand, WIDTH, HIDDEN, HIDDEN)
    _put(at + CONTRACT, dw_contract, HIDDEN, WIDTH, WIDTH)
    bias = at + 3 * WIDTH * WIDTH
    narrow, wide = tl.arange(0, WIDTH), tl.arange(0, HIDDEN)
    tl.store(bias + narrow, dw_query_bias)
    tl.store(bias + WIDTH + narrow, dw_key_bias)
    tl.store(bias + 2 * WIDTH + narrow, dw_value_bias)
    tl.store(at + MIX + WIDTH * WIDTH + narrow, dw_mix_bias)
    tl.store(at + EXPAND + WIDTH * HIDDEN + wide, dw_expand_bias)
    tl.store(at + CONTRACT + HIDDEN * WIDTH + narrow, dw_contract_bias)


@triton.jit
def _inside(
    x,
    weight_at,
    same_subject,
    WIDTH: tl.constexpr,
    HIDDEN: tl.constexpr,
    HEADS: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """Compute all that comes before the last product of the layer."""
    MIX: tl.constexpr = WIDTH * 3 * WIDTH + 3 * WIDTH
    EXPAND: tl.constexpr = MIX + WIDTH * WIDTH + WIDTH
    w_query, w_key, w_value = _three(weight_at, WIDTH)
    bias_at = weight_at + 3 * WIDTH * WIDTH
    query = tl.dot(x, w_query, input_precision=PRECISION) + _bias(bias_at, WIDTH)
    key = tl.dot(x, w_key, input_precision=PRECISION) + _bias(bias_at + WIDTH, WIDTH)
    value = tl.dot(x, w_value, input_precision=PRECISION) + _bias(bias_at + 2 * WIDTH, WIDTH)
    attended = _attend(query, key, value, same_subject, WIDTH, HEADS, PRECISION)
    w_mix = _weight(weight_at + MIX, WIDTH, WIDTH, WIDTH)
    residual = _selu(
        tl.dot(attended, w_mix, input_precision=PRECISION)
        + _bias(weight_at + MIX + WIDTH * WIDTH, WIDTH)
        + x
    )
    w_expand = _weight(weight_at + EXPAND, WIDTH, HIDDEN, HIDDEN)
    inner = _selu(
        tl.dot(x, w_expand, input_precision=PRECISION)
        + _bias(weight_at + EXPAND + WIDTH * HIDDEN, HIDDEN)
    )
    return query, key, value, attended, residual, inner


@triton.jit
def _shares(query, key, of_head, same_subject, SIZE: tl.constexpr, PRECISION: tl.constexpr):
    """Attention of one head, (row, row), between the tokens of the same subject.

    A tensor core multiplies whole tiles, which hold several subjects and all heads: the scores
    between subjects are computed and set to minus infinity, the features of other heads to zero.
    """
    query = tl.where(of_head, query, 0.0) * (SIZE**-0.5)
    scores = tl.dot(query, tl.trans(key), input_precision=PRECISION)
    scores = tl.where(same_subject, scores, float("-inf"))
    shares = tl.exp(scores - tl.max(scores, 1)[:, None])
    return shares / tl.sum(shares, 1)[:, None]


@triton.jit
def _attend(
    query,
    key,
    value,
    same_subject,
    WIDTH: tl.constexpr,
    HEADS: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """Each token's average of the values, by its attention; a head owns some of the features."""
    SIZE: tl.constexpr = WIDTH // HEADS
    attended = tl.zeros_like(query)
    for head in tl.static_range(HEADS):
        of_head = (tl.arange(0, WIDTH) // SIZE == head)[None, :]
        shares = _shares(query, key, of_head, same_subject, SIZE, PRECISION)
        attended += tl.dot(shares, tl.where(of_head, value, 0.0), input_precision=PRECISION)
    return attended


@triton.jit
def _attend_back(query, key, value, d, same_subject, WIDTH: tl.constexpr, HEADS: tl.constexpr):
    """Gradient by queries, keys and values."""
    SIZE: tl.constexpr = WIDTH // HEADS
    d_query, d_key, d_value = tl.zeros_like(query), tl.zeros_like(query), tl.zeros_like(query)
    for head in tl.static_range(HEADS):
        of_head = (tl.arange(0, WIDTH) // SIZE == head)[None, :]
        shares = _shares(query, key, of_head, same_subject, SIZE, "tf32")
        d_head = tl.where(of_head, d, 0.0)
        d_shares = tl.dot(d_head, tl.trans(value))
        d_scores = shares * (d_shares - tl.sum(shares * d_shares, 1)[:, None]) * (SIZE**-0.5)
        d_query += tl.dot(d_scores, tl.where(of_head, key, 0.0))
        d_key += tl.dot(tl.trans(d_scores), tl.where(of_head, query, 0.0))
        d_value += tl.dot(tl.trans(shares), d_head)
    return d_query, d_key, d_value


@triton.jit
def _rows_of_block(
    member,
    block,
    n_subjects,
    n_tokens,
    WIDTH: tl.constexpr,
    HEADS: tl.constexpr,
    ROWS: tl.constexpr,
):
    """Index of each number of a block, which of them are valid, which rows are of the same subject.

    A block is as many whole subjects as ``ROWS`` rows hold.
    """
    per_block = ROWS // n_tokens
    row = tl.arange(0, ROWS)
    subject = row // n_tokens
    valid = (subject < per_block) & (block * per_block + subject < n_subjects)
    start = ((member * n_subjects + block * per_block) * n_tokens + row) * WIDTH
    same_subject = subject[:, None] == subject[None, :]
    return start[:, None] + tl.arange(0, WIDTH)[None, :], valid[:, None], same_subject


@triton.jit
def _weight(at, N_IN: tl.constexpr, N_OUT: tl.constexpr, STRIDE: tl.constexpr):
    return tl.load(at + tl.arange(0, N_IN)[:, None] * STRIDE + tl.arange(0, N_OUT)[None, :])


@triton.jit
def _three(at, WIDTH: tl.constexpr):
    """The weights of queries, keys and values."""
    query = _weight(at, WIDTH, WIDTH, 3 * WIDTH)
    key = _weight(at + WIDTH, WIDTH, WIDTH, 3 * WIDTH)
    return query, key, _weight(at + 2 * WIDTH, WIDTH, WIDTH, 3 * WIDTH)


@triton.jit
def _bias(at, SIZE: tl.constexpr):
    return tl.load(at + tl.arange(0, SIZE))[None, :]


@triton.jit
def _put(at, matrix, N_IN: tl.constexpr, N_OUT: tl.constexpr, STRIDE: tl.constexpr):
    tl.store(at + tl.arange(0, N_IN)[:, None] * STRIDE + tl.arange(0, N_OUT)[None, :], matrix)


@triton.jit
def _selu(x):
    return tl.where(x > 0, SCALE * x, LOW * (tl.exp(tl.where(x > 0, 0.0, x)) - 1))


@triton.jit
def _slope(y):
    """The slope of SELU, read from its output: below zero y = LOW exp(x) - LOW."""
    return tl.where(y > 0, SCALE, y + LOW)
