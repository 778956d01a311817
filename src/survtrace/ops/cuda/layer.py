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
def rounded(x, PRECISION: tl.constexpr):
    """Round numbers, as a product would, to halve the registers they take until then."""
    if PRECISION == "half":
        x = x.to(tl.float16)
    return x


@triton.jit
def clipped(x, PRECISION: tl.constexpr):
    """Keep tokens, and so all that is computed of them, below the largest number of 16 bits."""
    if PRECISION == "half":
        x = tl.minimum(tl.maximum(x, -1e4), 1e4)
    return x


@triton.jit
def rows_of_tile(n_tokens, step, ROWS: tl.constexpr):
    """Place of each row's subject in the tile, its token, whether it is one, and what it sees.

    A subject has a row for each token, ``step`` rows after the one before. A row sees the tokens
    of its own subject.
    """
    row = tl.arange(0, ROWS)
    place, token = row // step, row % step
    is_token = (place < ROWS // step) & (token < n_tokens)
    seen = (place[:, None] == place[None, :]) & (token < n_tokens)[None, :]
    return place, token, is_token, seen


@triton.jit
def load_weights(at, WIDTH: tl.constexpr, HIDDEN: tl.constexpr):
    """Load the weights of a layer: queries, keys, values, mix, expand, contract."""
    MIX: tl.constexpr = 3 * WIDTH * WIDTH + 3 * WIDTH
    EXPAND: tl.constexpr = MIX + WIDTH * WIDTH + WIDTH
    CONTRACT: tl.constexpr = EXPAND + WIDTH * HIDDEN + HIDDEN
    query = load_matrix(at, WIDTH, WIDTH, 3 * WIDTH)
    key = load_matrix(at + WIDTH, WIDTH, WIDTH, 3 * WIDTH)
    value = load_matrix(at + 2 * WIDTH, WIDTH, WIDTH, 3 * WIDTH)
    mix = load_matrix(at + MIX, WIDTH, WIDTH, WIDTH)
    expand = load_matrix(at + EXPAND, WIDTH, HIDDEN, HIDDEN)
    return query, key, value, mix, expand, load_matrix(at + CONTRACT, HIDDEN, WIDTH, WIDTH)


@triton.jit
def load_biases(at, WIDTH: tl.constexpr, HIDDEN: tl.constexpr):
    """Load the biases of a layer, in the order of its weights."""
    MIX: tl.constexpr = 3 * WIDTH * WIDTH + 3 * WIDTH
    EXPAND: tl.constexpr = MIX + WIDTH * WIDTH + WIDTH
    CONTRACT: tl.constexpr = EXPAND + WIDTH * HIDDEN + HIDDEN
    query = load_row(at + 3 * WIDTH * WIDTH, WIDTH)
    key = load_row(at + 3 * WIDTH * WIDTH + WIDTH, WIDTH)
    value = load_row(at + 3 * WIDTH * WIDTH + 2 * WIDTH, WIDTH)
    mix = load_row(at + MIX + WIDTH * WIDTH, WIDTH)
    expand = load_row(at + EXPAND + WIDTH * HIDDEN, HIDDEN)
    return query, key, value, mix, expand, load_row(at + CONTRACT + HIDDEN * WIDTH, WIDTH)


@triton.jit
def attention_forward(
    x, weights, biases, seen, WIDTH: tl.constexpr, HEADS: tl.constexpr, PRECISION: tl.constexpr
):
    """Return queries, keys, values, what they attend to, and SELU of its mixture and the tokens."""
    SIZE: tl.constexpr = WIDTH // HEADS
    w_query, w_key, w_value, w_mix, _, _ = weights
    b_query, b_key, b_value, b_mix, _, _ = biases
    factor = clipped(x, PRECISION)
    query = dot(factor, w_query, PRECISION) + b_query
    key = dot(factor, w_key, PRECISION) + b_key
    value = dot(factor, w_value, PRECISION) + b_value
    attended = tl.zeros_like(query)
    for head in tl.static_range(HEADS):
        of_head = (tl.arange(0, WIDTH) // SIZE == head)[None, :]
        shares = attention_shares(query, key, of_head, seen, SIZE, PRECISION)
        attended += dot(shares, tl.where(of_head, value, 0.0), PRECISION)
    residual = selu(dot(attended, w_mix, PRECISION) + b_mix + x)
    return query, key, value, attended, residual


@triton.jit
def attention_shares(query, key, of_head, seen, SIZE: tl.constexpr, PRECISION: tl.constexpr):
    """Compute attention of one head, (row, row).

    A tensor core multiplies whole tiles, which hold all heads and maybe several subjects: the
    features of other heads are set to zero, the scores between subjects to "never".
    """
    query = tl.where(of_head, query * (SIZE**-0.5 * TO_BASE_2), 0.0)
    scores = tl.where(seen, dot(query, tl.trans(key), PRECISION), FAR)
    shares = tl.exp2(scores - tl.max(scores, 1)[:, None])
    return rounded(shares * (1 / tl.sum(shares, 1))[:, None], PRECISION)


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
    """Compute the gradient by queries, keys and values."""
    SIZE: tl.constexpr = WIDTH // HEADS
    d_query, d_key, d_value = tl.zeros_like(query), tl.zeros_like(query), tl.zeros_like(query)
    for head in tl.static_range(HEADS):
        of_head = (tl.arange(0, WIDTH) // SIZE == head)[None, :]
        shares = attention_shares(query, key, of_head, seen, SIZE, PRECISION)
        d_head = tl.where(of_head, d, 0.0)
        d_shares = dot(d_head, tl.trans(value), PRECISION) * shares.to(tl.float32)
        d_scores = d_shares - shares.to(tl.float32) * tl.sum(d_shares, 1)[:, None]
        d_scores = rounded(d_scores, PRECISION)
        d_query += dot(d_scores, tl.where(of_head, key * SIZE**-0.5, 0.0), PRECISION)
        d_key += dot(tl.trans(d_scores), tl.where(of_head, query * SIZE**-0.5, 0.0), PRECISION)
        d_value += dot(tl.trans(shares), d_head, PRECISION)
    return d_query, d_key, d_value


@triton.jit
def load_matrix(at, N_IN: tl.constexpr, N_OUT: tl.constexpr, STRIDE: tl.constexpr):
    """Load a weight."""
    return tl.load(at + tl.arange(0, N_IN)[:, None] * STRIDE + tl.arange(0, N_OUT)[None, :])


@triton.jit
def load_side_by_side(at, WIDTH: tl.constexpr):
    """Load the weights of queries, keys and values as `side_by_side` lays them, transposed."""
    column, feature = tl.arange(0, 4 * WIDTH), tl.arange(0, WIDTH)
    place = (column % 4 * WIDTH + column // 4)[:, None] + feature[None, :] * (3 * WIDTH)
    return tl.load(at + place, (column % 4 < 3)[:, None], 0.0)


@triton.jit
def side_by_side(a, b, c, d, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    """Join four matrices: first the first column of each, then the second of each, ...

    One product with the joined matrix takes the place of four that are too small for the tensor
    cores; columns in turns, since a thread has the same columns of all four.
    """
    joined = tl.join(tl.join(a, c), tl.join(b, d))
    return tl.reshape(joined, (ROWS, 4 * WIDTH))


@triton.jit
def load_row(at, SIZE: tl.constexpr):
    """Load a bias."""
    return tl.load(at + tl.arange(0, SIZE))[None, :]


@triton.jit
def selu(x):
    """Compute SELU; a minimum would make a number of what is none."""
    below = tl.where(x > 0, 0.0, x)
    return tl.where(x > 0, SCALE * x, LOW * tl.exp2(below * TO_BASE_2) - LOW)


@triton.jit
def selu_slope(y):
    """Return the slope of SELU, read from its output: below zero y = LOW exp(x) - LOW."""
    return tl.where(y > 0, SCALE, y + LOW)
