"""An encoder layer and its gradient for sixteen subjects at a time, on one core (eq. 5-11).

The mathematics of `survtrace.network.encoder`, written out. All that a block of sixteen subjects
needs stays in the core's cache, from the first product to the last.

A *sheet* holds the tokens of a block of sixteen subjects as a flat array laid out (feature, token,
lane), a subject in each lane (see `lanes`): the numbers of feature i and token t begin at
``(i * n_tokens + t) * N_LANES``. The lane comes last so that one instruction loads the same number
of all sixteen subjects. A member's parameters of a layer are one flat array too, in the order of
`Places`. In all loops below ``s`` is the length of a sheet's feature, ``n_tokens * N_LANES``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from survtrace.ops.cpu.lanes import (
    N_LANES,
    choose,
    every,
    exp2,
    gather,
    larger,
    load,
    scatter,
    spread,
    store,
    total,
)

F32 = np.float32
SCALE, ALPHA = F32(1.0507009873554805), F32(1.6732632423543772)  # of SELU
LOG2_E = F32(np.log2(np.e))


class Places(NamedTuple):
    """Where each weight of a layer begins in its flat parameters; a bias follows its weight."""

    query_key_value: int
    mix: int
    expand: int
    contract: int
    end: int


@njit(nogil=True, cache=True)
def places(width: int, hidden: int) -> Places:
    """Where the weights of a layer begin."""
    mix = width * 3 * width + 3 * width
    expand = mix + width * width + width
    contract = expand + width * hidden + hidden
    return Places(0, mix, expand, contract, contract + hidden * width + width)


@njit(nogil=True, cache=True)
def forward(
    x: Any,
    weights: Any,
    attended: Any,
    residual: Any,
    out: Any,
    n_tokens: int,
    width: int,
    hidden: int,
    n_heads: int,
) -> None:
    """Run the layer over blocks: ``weights`` is flat, the others are (block, sheet).

    ``attended`` and ``residual`` are kept for backward if they have a sheet for each block; with a
    single sheet, every block overwrites it. The other products are computed again in backward:
    that costs less than to write them to memory and read them back.
    """
    sheet, at = n_tokens * N_LANES, places(width, hidden)
    qkv, inner = np.empty(3 * width * sheet, F32), np.empty(hidden * sheet, F32)
    row = np.empty(sheet, F32)
    for block in range(len(x)):
        tokens, summed, result = x[block], residual[block % len(residual)], out[block]
        by_attention = attended[block % len(attended)]
        _project(tokens, weights, qkv, width, 3 * width, n_tokens)
        _attend(qkv, by_attention, row, n_tokens, width, n_heads)
        _start(summed, weights[at.mix + width * width :], tokens, n_tokens)
        _add_product(summed, by_attention, weights[at.mix :], width, width, n_tokens)
        _selu(summed)
        _project(tokens, weights[at.expand :], inner, width, hidden, n_tokens)
        _selu(inner)
        _start(result, weights[at.contract + hidden * width :], summed, n_tokens)
        _add_product(result, inner, weights[at.contract :], hidden, width, n_tokens)
        _selu(result)


@njit(nogil=True, cache=True)
def backward(
    x: Any,
    attended: Any,
    residual: Any,
    out: Any,
    weights: Any,
    transposed: Any,
    gradient: Any,
    weights_gradient: Any,
    n_tokens: int,
    width: int,
    hidden: int,
    n_heads: int,
) -> None:
    """Turn the gradient by the layer's output into that by ``x``; add up that by the weights."""
    sheet = n_tokens * N_LANES
    at = places(width, hidden)
    qkv, inner = np.empty(3 * width * sheet, F32), np.empty(hidden * sheet, F32)
    row = np.empty(sheet, F32)
    d_qkv, d_attended = np.empty(3 * width * sheet, F32), np.empty(width * sheet, F32)
    d_inner = np.empty(hidden * sheet, F32)
    shares, d_scores = np.empty(n_tokens * sheet, F32), np.empty(n_tokens * sheet, F32)
    # Sums by lane: adding up the lanes once at the end saves doing it for every block.
    sums = np.zeros(at.end * N_LANES, F32)
    for block in range(len(x)):
        tokens, d = x[block], gradient[block]
        _project(tokens, weights, qkv, width, 3 * width, n_tokens)
        _project(tokens, weights[at.expand :], inner, width, hidden, n_tokens)
        _selu(inner)
        _times_slope(d, out[block])
        _add_outer(sums[at.contract * N_LANES :], inner, d, hidden, width, n_tokens)
        d_inner[:] = 0
        _add_product(d_inner, d, transposed[at.contract :], width, hidden, n_tokens)
        _times_slope(d_inner, inner)
        _add_outer(sums[at.expand * N_LANES :], tokens, d_inner, width, hidden, n_tokens)
        _times_slope(d, residual[block])
        _add_outer(sums[at.mix * N_LANES :], attended[block], d, width, width, n_tokens)
        d_attended[:] = 0
        _add_product(d_attended, d, transposed[at.mix :], width, width, n_tokens)
        _attend_back(qkv, d_attended, d_qkv, row, shares, d_scores, n_tokens, width, n_heads)
        _add_outer(sums, tokens, d_qkv, width, 3 * width, n_tokens)
        _add_product(d, d_inner, transposed[at.expand :], hidden, width, n_tokens)
        _add_product(d, d_qkv, transposed, 3 * width, width, n_tokens)
    for number in range(at.end):
        weights_gradient[number] += total(load(sums, number * N_LANES))


@njit(nogil=True, cache=True)
def to_sheets(x: Any, out: Any) -> None:
    """Subjects (subject, token, feature) become sheets (block, sheet); lanes left over get 0."""
    n, n_tokens, width = x.shape
    flat, stride = x.reshape(-1), n_tokens * width
    for block in range(n // N_LANES):
        for i in range(width):
            for t in range(n_tokens):
                numbers = gather(flat, (block * N_LANES * n_tokens + t) * width + i, stride)
                store(out[block], (i * n_tokens + t) * N_LANES, numbers)
    for s in range(n // N_LANES * N_LANES, len(out) * N_LANES):
        for i in range(width):
            for t in range(n_tokens):
                out[-1, (i * n_tokens + t) * N_LANES + s % N_LANES] = x[s, t, i] if s < n else 0


@njit(nogil=True, cache=True)
def from_sheets(x: Any, out: Any) -> None:
    """Sheets (block, sheet) become subjects (subject, token, feature)."""
    n, n_tokens, width = out.shape
    flat, stride = out.reshape(-1), n_tokens * width
    for block in range(n // N_LANES):
        for t in range(n_tokens):
            for i in range(width):
                numbers = load(x[block], (i * n_tokens + t) * N_LANES)
                scatter(flat, (block * N_LANES * n_tokens + t) * width + i, stride, numbers)
    for s in range(n // N_LANES * N_LANES, n):
        for i in range(width):
            for t in range(n_tokens):
                out[s, t, i] = x[-1, (i * n_tokens + t) * N_LANES + s % N_LANES]


@njit(nogil=True, cache=True)
def _project(x: Any, weight: Any, out: Any, n_in: int, n_out: int, n_tokens: int) -> None:
    """An affine map of every token; the bias lies behind the weight."""
    _start(out, weight[n_in * n_out :], x[:0], n_tokens)
    _add_product(out, x, weight, n_in, n_out, n_tokens)


@njit(nogil=True, cache=True)
def _start(out: Any, bias: Any, other: Any, n_tokens: int) -> None:
    """Begin a sheet with its bias, plus another sheet where there is one."""
    sheet = n_tokens * N_LANES
    for place in range(0, len(out), N_LANES):
        numbers = spread(bias, place // sheet)
        store(out, place, numbers + load(other, place) if len(other) else numbers)


@njit(nogil=True, cache=True)
def _add_product(out: Any, x: Any, weight: Any, n_in: int, n_out: int, n_tokens: int) -> None:
    """Add ``weight[i, j] * x[i]``, summed over i, to every feature j.

    Eight features at a time, written out: each ``x[i]`` that is loaded serves eight products, and
    the eight sums stay in registers; in an array they would go to memory and back for every i.
    """
    s = n_tokens * N_LANES
    for j in range(0, n_out, 8):
        for t in range(0, s, N_LANES):
            o, p = j * s + t, (j + 4) * s + t
            a0, a1, a2, a3 = load(out, o), load(out, o + s), load(out, o + 2 * s), load(out, p - s)
            a4, a5, a6, a7 = (
                load(out, p),
                load(out, p + s),
                load(out, p + 2 * s),
                load(out, p + 3 * s),
            )
            for i in range(n_in):
                x_i, w = load(x, i * s + t), i * n_out + j
                a0 = a0 + spread(weight, w) * x_i
                a1 = a1 + spread(weight, w + 1) * x_i
                a2 = a2 + spread(weight, w + 2) * x_i
                a3 = a3 + spread(weight, w + 3) * x_i
                a4 = a4 + spread(weight, w + 4) * x_i
                a5 = a5 + spread(weight, w + 5) * x_i
                a6 = a6 + spread(weight, w + 6) * x_i
                a7 = a7 + spread(weight, w + 7) * x_i
            _store4(out, o, s, a0, a1, a2, a3)
            _store4(out, p, s, a4, a5, a6, a7)


@njit(nogil=True, cache=True)
def _store4(out: Any, place: int, stride: int, a: Any, b: Any, c: Any, d: Any) -> None:
    store(out, place, a)
    store(out, place + stride, b)
    store(out, place + 2 * stride, c)
    store(out, place + 3 * stride, d)


@njit(nogil=True, cache=True)
def _add_outer(sums: Any, x: Any, d: Any, n_in: int, n_out: int, n_tokens: int) -> None:
    """Add ``x[i] * d[j]`` over tokens to the sums of weight (i, j), and ``d[j]`` to its bias's.

    Four by four weights at a time, written out: eight loads serve sixteen products, whose sums
    stay in registers until all tokens are added up.
    """
    s = n_tokens * N_LANES
    for i in range(0, n_in, 4):
        for j in range(0, n_out, 4):
            zero = every(F32(0))
            a0, a1, a2, a3, b0, b1, b2, b3 = zero, zero, zero, zero, zero, zero, zero, zero
            c0, c1, c2, c3, e0, e1, e2, e3 = zero, zero, zero, zero, zero, zero, zero, zero
            for t in range(0, s, N_LANES):
                p = j * s + t
                d0, d1, d2, d3 = load(d, p), load(d, p + s), load(d, p + 2 * s), load(d, p + 3 * s)
                p = i * s + t
                x0, x1, x2, x3 = load(x, p), load(x, p + s), load(x, p + 2 * s), load(x, p + 3 * s)
                a0, a1, a2, a3 = a0 + x0 * d0, a1 + x0 * d1, a2 + x0 * d2, a3 + x0 * d3
                b0, b1, b2, b3 = b0 + x1 * d0, b1 + x1 * d1, b2 + x1 * d2, b3 + x1 * d3
                c0, c1, c2, c3 = c0 + x2 * d0, c1 + x2 * d1, c2 + x2 * d2, c3 + x2 * d3
                e0, e1, e2, e3 = e0 + x3 * d0, e1 + x3 * d1, e2 + x3 * d2, e3 + x3 * d3
            o, next_row = (i * n_out + j) * N_LANES, n_out * N_LANES
            _add4(sums, o, a0, a1, a2, a3)
            _add4(sums, o + next_row, b0, b1, b2, b3)
            _add4(sums, o + 2 * next_row, c0, c1, c2, c3)
            _add4(sums, o + 3 * next_row, e0, e1, e2, e3)
    for j in range(n_out):
        a = load(sums, (n_in * n_out + j) * N_LANES)
        for t in range(0, s, N_LANES):
            a = a + load(d, j * s + t)
        store(sums, (n_in * n_out + j) * N_LANES, a)


@njit(nogil=True, cache=True)
def _add4(sums: Any, place: int, a: Any, b: Any, c: Any, d: Any) -> None:
    store(sums, place, load(sums, place) + a)
    store(sums, place + N_LANES, load(sums, place + N_LANES) + b)
    store(sums, place + 2 * N_LANES, load(sums, place + 2 * N_LANES) + c)
    store(sums, place + 3 * N_LANES, load(sums, place + 3 * N_LANES) + d)


@njit(nogil=True, cache=True)
def _selu(x: Any) -> None:
    """SELU in place."""
    zero, scale, low, log2_e = every(F32(0)), every(SCALE), every(SCALE * ALPHA), every(LOG2_E)
    for place in range(0, len(x), N_LANES):
        number = load(x, place)
        # exp(x) = 2^(x log2(e)). Of numbers above zero it is not needed, and could be infinite.
        below = low * exp2(choose(number, zero, number * log2_e)) - low
        store(x, place, choose(number, scale * number, below))


@njit(nogil=True, cache=True)
def _times_slope(d: Any, y: Any) -> None:
    """Multiply a gradient by the slope of SELU.

    It is read from the output: below zero ``y = low * exp(x) - low``, whose slope is ``y + low``.
    Neither the input is needed nor another exponential.
    """
    scale, low = every(SCALE), every(SCALE * ALPHA)
    for place in range(0, len(d), N_LANES):
        out = load(y, place)
        store(d, place, load(d, place) * choose(out, scale, out + low))


@njit(nogil=True, cache=True)
def _attend(qkv: Any, out: Any, row: Any, n_tokens: int, width: int, n_heads: int) -> None:
    """Each token's average of the values, by its attention."""
    s, size = n_tokens * N_LANES, width // n_heads
    for q in range(0, width * s, size * s):
        k, v = q + width * s, q + 2 * width * s
        for i in range(0, s, N_LANES):
            _share(qkv, q + i, k, row, 0, size, n_tokens)
            _average(out, q + i, row, 0, N_LANES, qkv, v, size, n_tokens)


@njit(nogil=True, cache=True)
def _attend_back(
    qkv: Any,
    d_out: Any,
    d_qkv: Any,
    row: Any,
    shares: Any,
    d_scores: Any,
    n_tokens: int,
    width: int,
    n_heads: int,
) -> None:
    """Gradient by queries, keys and values; shares and scores are (query token, key token).

    The shares of attention are computed again: keeping them would take n_tokens times the memory.
    """
    s, size = n_tokens * N_LANES, width // n_heads
    scale = every(F32(1 / np.sqrt(size)))
    for q in range(0, width * s, size * s):
        k, v = q + width * s, q + 2 * width * s
        for i in range(n_tokens):
            _share(qkv, q + i * N_LANES, k, shares, i * s, size, n_tokens)
            _inner(row, 0, d_out, q + i * N_LANES, qkv, v, size, n_tokens)
            mean = every(F32(0))
            for t in range(0, s, N_LANES):
                mean = mean + load(shares, i * s + t) * load(row, t)
            for t in range(0, s, N_LANES):
                slope = load(shares, i * s + t) * (load(row, t) - mean)
                store(d_scores, i * s + t, slope * scale)
            _average(d_qkv, q + i * N_LANES, d_scores, i * s, N_LANES, qkv, k, size, n_tokens)
        for t in range(0, s, N_LANES):
            _average(d_qkv, k + t, d_scores, t, s, qkv, q, size, n_tokens)
            _average(d_qkv, v + t, shares, t, s, d_out, q, size, n_tokens)


@njit(nogil=True, cache=True)
def _share(qkv: Any, query: int, key: int, out: Any, place: int, size: int, n_tokens: int) -> None:
    """Attention of one token to every token, which sums to one.

    The largest score is taken off all of them first, so that no exponential overflows.
    """
    last = place + n_tokens * N_LANES
    _inner(out, place, qkv, query, qkv, key, size, n_tokens)
    scale, most = every(F32(LOG2_E / np.sqrt(size))), load(out, place)
    for t in range(place, last, N_LANES):
        most = larger(load(out, t), most)
    summed = every(F32(0))
    for t in range(place, last, N_LANES):
        share = exp2((load(out, t) - most) * scale)
        store(out, t, share)
        summed = summed + share
    summed = every(F32(1)) / summed
    for t in range(place, last, N_LANES):
        store(out, t, load(out, t) * summed)


@njit(nogil=True, cache=True)
def _inner(
    out: Any, place: int, x: Any, at_x: int, y: Any, at_y: int, size: int, n_tokens: int
) -> None:
    """Inner products of one token of x with every token of y.

    Four features at a time: the sum of a token is loaded and stored once for four products.
    """
    s = n_tokens * N_LANES
    for t in range(place, place + s, N_LANES):
        store(out, t, every(F32(0)))
    for d in range(0, size // 4 * 4 * s, 4 * s):
        p = at_x + d
        x0, x1, x2, x3 = load(x, p), load(x, p + s), load(x, p + 2 * s), load(x, p + 3 * s)
        for t in range(0, s, N_LANES):
            p = at_y + d + t
            a, b = x0 * load(y, p) + x1 * load(y, p + s), x2 * load(y, p + 2 * s)
            store(out, place + t, load(out, place + t) + a + b + x3 * load(y, p + 3 * s))
    for d in range(size // 4 * 4 * s, size * s, s):
        x0 = load(x, at_x + d)
        for t in range(0, s, N_LANES):
            store(out, place + t, load(out, place + t) + x0 * load(y, at_y + d + t))


@njit(nogil=True, cache=True)
def _average(
    out: Any,
    place: int,
    share: Any,
    at_share: int,
    stride: int,
    y: Any,
    at_y: int,
    size: int,
    n_tokens: int,
) -> None:
    """Sums over the tokens of y, each times its share.

    Four features at a time: each share that is loaded serves four products.
    """
    s = n_tokens * N_LANES
    for d in range(0, size // 4 * 4 * s, 4 * s):
        zero = every(F32(0))
        a, b, c, e = zero, zero, zero, zero
        for t in range(n_tokens):
            f, p = load(share, at_share + t * stride), at_y + d + t * N_LANES
            a, b = a + f * load(y, p), b + f * load(y, p + s)
            c, e = c + f * load(y, p + 2 * s), e + f * load(y, p + 3 * s)
        _store4(out, place + d, s, a, b, c, e)
    for d in range(size // 4 * 4 * s, size * s, s):
        a = every(F32(0))
        for t in range(n_tokens):
            a = a + load(share, at_share + t * stride) * load(y, at_y + d + t * N_LANES)
        store(out, place + d, a)
