"""The mathematics of an encoder layer and its gradient, on a tile of tokens (eq. 5-11).

What `survtrace.network.encoder` says, written out in Triton. A tile is as many rows, a token each,
as whole subjects fit in; it stays in registers from the first product to the last. What happens
inside a layer is computed again in backward: that costs less than to write it to memory and read
it back.
"""

from __future__ import annotations

import triton
import triton.language as tl

SCALE = tl.constexpr(1.0507009873554805)  # of SELU
LOW = tl.constexpr(1.0507009873554805 * 1.6732632423543772)
TO_BASE_2 = tl.constexpr(1.4426950408889634)  # exp(x) = 2 ** (TO_BASE_2 * x), which a GPU computes
FAR = tl.constexpr(-1e30)  # for "never", finite so that a row of nothing else gives no NaN


@triton.jit
def dot(a, b, PRECISION: tl.constexpr):
    """Multiply two matrices; "half" rounds their numbers to ten bits, and so does "tf32"."""
    if PRECISION == "half":
        product = tl.dot(a.to(tl.float16), b.to(tl.float16))
    else:
        product = tl.dot(a, b, input_precision=PRECISION)
    return product


@triton.jit
def rows_of_block(block, n_subjects, n_tokens, step, ROWS: tl.constexpr):
    """Place of each row's subject in the block, its token, its subject, and whether it is one.

    A subject has a row for each token, ``step`` rows after the one before.
    """
    row, per_block = tl.arange(0, ROWS), ROWS // step
    place, token = row // step, row % step
    subject = block * per_block + place
    valid = (place < per_block) & (token < n_tokens) & (subject < n_subjects)
    return place, token, subject, valid


@triton.jit
def layer_forward(
    x,
    at,
    seen,
    WIDTH: tl.constexpr,
    HIDDEN: tl.constexpr,
    HEADS: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """Run a tile through a layer whose parameters lie at ``at``."""
    CONTRACT: tl.constexpr = 4 * WIDTH * WIDTH + 4 * WIDTH + WIDTH * HIDDEN + HIDDEN
    _, _, _, _, residual = attention_forward(x, at, seen, WIDTH, HEADS, PRECISION)
    inner = expand_forward(x, at, WIDTH, HIDDEN, PRECISION)
    contracted = dot(inner, load_matrix(at + CONTRACT, HIDDEN, WIDTH, WIDTH), PRECISION)
    return selu(contracted + load_row(at + CONTRACT + HIDDEN * WIDTH, WIDTH) + residual)


@triton.jit
def attention_forward(
    x, at, seen, WIDTH: tl.constexpr, HEADS: tl.constexpr, PRECISION: tl.constexpr
):
    """Queries, keys, values, what they attend to, and SELU of its mixture and the tokens."""
    MIX: tl.constexpr = 3 * WIDTH * WIDTH + 3 * WIDTH
    SIZE: tl.constexpr = WIDTH // HEADS
    w_query, w_key, w_value = load_three(at, WIDTH)
    bias_at = at + 3 * WIDTH * WIDTH
    query = dot(x, w_query, PRECISION) + load_row(bias_at, WIDTH)
    key = dot(x, w_key, PRECISION) + load_row(bias_at + WIDTH, WIDTH)
    value = dot(x, w_value, PRECISION) + load_row(bias_at + 2 * WIDTH, WIDTH)
    attended = tl.zeros_like(query)
    for head in tl.static_range(HEADS):
        of_head = (tl.arange(0, WIDTH) // SIZE == head)[None, :]
        shares, total = attention_shares(query, key, of_head, seen, SIZE, PRECISION)
        averaged = dot(shares, tl.where(of_head, value, 0.0), PRECISION)
        attended += averaged * (1 / total)[:, None]
    mixed = dot(attended, load_matrix(at + MIX, WIDTH, WIDTH, WIDTH), PRECISION)
    residual = selu(mixed + load_row(at + MIX + WIDTH * WIDTH, WIDTH) + x)
    return query, key, value, attended, residual


@triton.jit
def attention_shares(query, key, of_head, seen, SIZE: tl.constexpr, PRECISION: tl.constexpr):
    """Attention of one head, (row, row), up to a factor for each row: their total.

    A tensor core multiplies whole tiles, which hold all heads and maybe several subjects: the
    features of other heads are set to zero, the scores between subjects to "never".
    """
    query = tl.where(of_head, query * (SIZE**-0.5 * TO_BASE_2), 0.0)
    scores = tl.where(seen, dot(query, tl.trans(key), PRECISION), FAR)
    shares = tl.exp2(scores - tl.max(scores, 1)[:, None])
    return shares, tl.sum(shares, 1)


@triton.jit
def expand_forward(
    x, at, WIDTH: tl.constexpr, HIDDEN: tl.constexpr, PRECISION: tl.constexpr
):
    """The hidden units of the feed-forward network."""
    EXPAND: tl.constexpr = 4 * WIDTH * WIDTH + 4 * WIDTH
    expanded = dot(x, load_matrix(at + EXPAND, WIDTH, HIDDEN, HIDDEN), PRECISION)
    return selu(expanded + load_row(at + EXPAND + WIDTH * HIDDEN, HIDDEN))


@triton.jit
def attention_backward(
    query,
    key,
    value,
    d,
    seen,
    WIDTH: tl.constexpr,
    HEADS: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """Gradient by queries, keys and values."""
    SIZE: tl.constexpr = WIDTH // HEADS
    d_query, d_key, d_value = tl.zeros_like(query), tl.zeros_like(query), tl.zeros_like(query)
    for head in tl.static_range(HEADS):
        of_head = (tl.arange(0, WIDTH) // SIZE == head)[None, :]
        shares, total = attention_shares(query, key, of_head, seen, SIZE, PRECISION)
        shares *= (1 / total)[:, None]
        d_head = tl.where(of_head, d, 0.0)
        d_shares = dot(d_head, tl.trans(value), PRECISION)
        d_scores = shares * (d_shares - tl.sum(shares * d_shares, 1)[:, None])
        d_query += dot(d_scores, tl.where(of_head, key * SIZE**-0.5, 0.0), PRECISION)
        d_key += dot(tl.trans(d_scores), tl.where(of_head, query * SIZE**-0.5, 0.0), PRECISION)
        d_value += dot(tl.trans(shares), d_head, PRECISION)
    return d_query, d_key, d_value


@triton.jit
def load_matrix(at, N_IN: tl.constexpr, N_OUT: tl.constexpr, STRIDE: tl.constexpr):
    """Load a weight."""
    return tl.load(at + tl.arange(0, N_IN)[:, None] * STRIDE + tl.arange(0, N_OUT)[None, :])


@triton.jit
def load_three(at, WIDTH: tl.constexpr):
    """Load the weights of queries, keys and values, which lie side by side."""
    query = load_matrix(at, WIDTH, WIDTH, 3 * WIDTH)
    key = load_matrix(at + WIDTH, WIDTH, WIDTH, 3 * WIDTH)
    return query, key, load_matrix(at + 2 * WIDTH, WIDTH, WIDTH, 3 * WIDTH)


@triton.jit
def load_row(at, SIZE: tl.constexpr):
    """Load a bias."""
    return tl.load(at + tl.arange(0, SIZE))[None, :]


@triton.jit
def store_matrix(at, matrix, N_IN: tl.constexpr, N_OUT: tl.constexpr, STRIDE: tl.constexpr):
    """Store the gradient of a weight."""
    tl.store(at + tl.arange(0, N_IN)[:, None] * STRIDE + tl.arange(0, N_OUT)[None, :], matrix)


@triton.jit
def selu(x):
    """Compute SELU."""
    return tl.where(x > 0, SCALE * x, LOW * tl.exp2(tl.minimum(x, 0.0) * TO_BASE_2) - LOW)


@triton.jit
def selu_slope(y):
    """The slope of SELU, read from its output: below zero y = LOW exp(x) - LOW."""
    return tl.where(y > 0, SCALE, y + LOW)
