"""An encoder layer and its gradient on an NVIDIA GPU: one kernel each way (eq. 5-11).

The mathematics of `survtrace.network.encoder`, written out in Triton. A program takes some
subjects of one member, with all their tokens, from the first product to the last, in registers.
On the way back each program adds up the weights' gradients of its subjects; their sum over
programs is taken afterwards. Products round their factors to ten bits (TF32) in training, and
not at all in prediction.
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
    place, there, together = _places(
        member, tl.program_id(1), n_subjects, n_tokens, WIDTH, HEADS, ROWS
    )
    x = tl.load(x_at + place, there, 0.0)
    _, _, _, _, residual, inner = _inside(x, weight_at, together, WIDTH, HIDDEN, HEADS, PRECISION)
    w_contract = _weight(weight_at + CONTRACT, HIDDEN, WIDTH, WIDTH)
    bias = _bias(weight_at + CONTRACT + HIDDEN * WIDTH, WIDTH)
    contracted = tl.dot(inner, w_contract, input_precision=PRECISION) + bias
    tl.store(out_at + place, _selu(contracted + residual), there)


@triton.jit
def gradient_kernel(
    x_at,
    out_at,
    weight_at,
    d_at,
    dx_at,
    by_program_at,
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
    by_query = tl.zeros((WIDTH, WIDTH), tl.float32)
    by_key = tl.zeros((WIDTH, WIDTH), tl.float32)
    by_value = tl.zeros((WIDTH, WIDTH), tl.float32)
    by_mix = tl.zeros((WIDTH, WIDTH), tl.float32)
    by_expand = tl.zeros((WIDTH, HIDDEN), tl.float32)
    by_contract = tl.zeros((HIDDEN, WIDTH), tl.float32)
    by_query_bias = tl.zeros((WIDTH,), tl.float32)
    by_key_bias = tl.zeros((WIDTH,), tl.float32)
    by_value_bias = tl.zeros((WIDTH,), tl.float32)
    by_mix_bias = tl.zeros((WIDTH,), tl.float32)
    by_expand_bias = tl.zeros((HIDDEN,), tl.float32)
    by_contract_bias = tl.zeros((WIDTH,), tl.float32)
    for block in range(tl.program_id(1), n_blocks, tl.num_programs(1)):
        place, there, together = _places(member, block, n_subjects, n_tokens, WIDTH, HEADS, ROWS)
        x = tl.load(x_at + place, there, 0.0)
        query, key, value, attended, residual, inner = _inside(
            x, weight_at, together, WIDTH, HIDDEN, HEADS, "tf32"
        )
        d = tl.load(d_at + place, there, 0.0) * _slope(tl.load(out_at + place, there, 0.0))
        by_contract += tl.dot(tl.trans(inner), d)
        by_contract_bias += tl.sum(d, 0)
        d_inner = tl.dot(d, tl.trans(w_contract)) * _slope(inner)
        by_expand += tl.dot(tl.trans(x), d_inner)
        by_expand_bias += tl.sum(d_inner, 0)
        d = d * _slope(residual)
        by_mix += tl.dot(tl.trans(attended), d)
        by_mix_bias += tl.sum(d, 0)
        d_attended = tl.dot(d, tl.trans(w_mix))
        d_query, d_key, d_value = _attend_back(
            query, key, value, d_attended, together, WIDTH, HEADS
        )
        by_query += tl.dot(tl.trans(x), d_query)
        by_key += tl.dot(tl.trans(x), d_key)
        by_value += tl.dot(tl.trans(x), d_value)
        by_query_bias += tl.sum(d_query, 0)
        by_key_bias += tl.sum(d_key, 0)
        by_value_bias += tl.sum(d_value, 0)
        d += tl.dot(d_inner, tl.trans(w_expand))
        d += tl.dot(d_query, tl.trans(w_query))
        d += tl.dot(d_key, tl.trans(w_key))
        d += tl.dot(d_value, tl.trans(w_value))
        tl.store(dx_at + place, d, there)
    at = by_program_at + (member * tl.num_programs(1) + tl.program_id(1)) * n_weights
    _put(at, by_query, WIDTH, WIDTH, 3 * WIDTH)
    _put(at + WIDTH, by_key, WIDTH, WIDTH, 3 * WIDTH)
    _put(at + 2 * WIDTH, by_value, WIDTH, WIDTH, 3 * WIDTH)
    _put(at + MIX, by_mix, WIDTH, WIDTH, WIDTH)
    _put(at + EXPAND, by_expand, WIDTH, HIDDEN, HIDDEN)
    _put(at + CONTRACT, by_contract, HIDDEN, WIDTH, WIDTH)
    bias = at + 3 * WIDTH * WIDTH
    narrow, wide = tl.arange(0, WIDTH), tl.arange(0, HIDDEN)
    tl.store(bias + narrow, by_query_bias)
    tl.store(bias + WIDTH + narrow, by_key_bias)
    tl.store(bias + 2 * WIDTH + narrow, by_value_bias)
    tl.store(at + MIX + WIDTH * WIDTH + narrow, by_mix_bias)
    tl.store(at + EXPAND + WIDTH * HIDDEN + wide, by_expand_bias)
    tl.store(at + CONTRACT + HIDDEN * WIDTH + narrow, by_contract_bias)


@triton.jit
def _inside(
    x,
    weight_at,
    together,
    WIDTH: tl.constexpr,
    HIDDEN: tl.constexpr,
    HEADS: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """All that comes before the last product of the layer."""
    MIX: tl.constexpr = WIDTH * 3 * WIDTH + 3 * WIDTH
    EXPAND: tl.constexpr = MIX + WIDTH * WIDTH + WIDTH
    w_query, w_key, w_value = _three(weight_at, WIDTH)
    bias_at = weight_at + 3 * WIDTH * WIDTH
    query = tl.dot(x, w_query, input_precision=PRECISION) + _bias(bias_at, WIDTH)
    key = tl.dot(x, w_key, input_precision=PRECISION) + _bias(bias_at + WIDTH, WIDTH)
    value = tl.dot(x, w_value, input_precision=PRECISION) + _bias(bias_at + 2 * WIDTH, WIDTH)
    attended = _attend(query, key, value, together, WIDTH, HEADS, PRECISION)
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
def _shares(query, key, own, together, SIZE: tl.constexpr, PRECISION: tl.constexpr):
    """Attention of one head, (row, row), between the tokens of the same subject."""
    query = tl.where(own, query, 0.0) * (SIZE**-0.5)
    scores = tl.dot(query, tl.trans(key), input_precision=PRECISION)
    scores = tl.where(together, scores, float("-inf"))
    shares = tl.exp(scores - tl.max(scores, 1)[:, None])
    return shares / tl.sum(shares, 1)[:, None]


@triton.jit
def _attend(
    query,
    key,
    value,
    together,
    WIDTH: tl.constexpr,
    HEADS: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """Each token's average of the values, by its attention; a head owns some of the features."""
    SIZE: tl.constexpr = WIDTH // HEADS
    attended = tl.zeros_like(query)
    for head in tl.static_range(HEADS):
        own = (tl.arange(0, WIDTH) // SIZE == head)[None, :]
        shares = _shares(query, key, own, together, SIZE, PRECISION)
        attended += tl.dot(shares, tl.where(own, value, 0.0), input_precision=PRECISION)
    return attended


@triton.jit
def _attend_back(query, key, value, d, together, WIDTH: tl.constexpr, HEADS: tl.constexpr):
    """Gradient by queries, keys and values."""
    SIZE: tl.constexpr = WIDTH // HEADS
    d_query, d_key, d_value = tl.zeros_like(query), tl.zeros_like(query), tl.zeros_like(query)
    for head in tl.static_range(HEADS):
        own = (tl.arange(0, WIDTH) // SIZE == head)[None, :]
        shares = _shares(query, key, own, together, SIZE, "tf32")
        d_own = tl.where(own, d, 0.0)
        d_shares = tl.dot(d_own, tl.trans(value))
        d_scores = shares * (d_shares - tl.sum(shares * d_shares, 1)[:, None]) * (SIZE**-0.5)
        d_query += tl.dot(d_scores, tl.where(own, key, 0.0))
        d_key += tl.dot(tl.trans(d_scores), tl.where(own, query, 0.0))
        d_value += tl.dot(tl.trans(shares), d_own)
    return d_query, d_key, d_value


@triton.jit
def _places(
    member,
    block,
    n_subjects,
    n_tokens,
    WIDTH: tl.constexpr,
    HEADS: tl.constexpr,
    ROWS: tl.constexpr,
):
    """Where the numbers of a block lie, which of them there are, and which tokens are together.

    A block is as many whole subjects as ``ROWS`` rows hold.
    """
    per_block = ROWS // n_tokens
    row = tl.arange(0, ROWS)
    subject = row // n_tokens
    there = (subject < per_block) & (block * per_block + subject < n_subjects)
    start = ((member * n_subjects + block * per_block) * n_tokens + row) * WIDTH
    together = subject[:, None] == subject[None, :]
    return start[:, None] + tl.arange(0, WIDTH)[None, :], there[:, None], together


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
    """The slope of SELU, read from its output."""
    return tl.where(y > 0, SCALE, y + LOW)
