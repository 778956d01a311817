"""An encoder layer and its gradient for sixteen subjects, on one core (eq. 5-11).

The mathematics of `survtrace.network.encoder`, written out. All that a block of sixteen subjects
needs stays in the core's cache, from the first product to the last.

All numbers lie in one flat array, ``work``; where the others begin is an argument, or is said by
the named tuples below. A member's parameters are flat, too, in the order of `network.parameters()`.
In all functions ``s`` is the length of a sheet's feature, ``n_tokens * N_LANES``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from survtrace.ops.cpu.compiling import either, part, piece
from survtrace.ops.cpu.lanes import (
    LOG2_E,
    N_LANES,
    SELU_ALPHA,
    SELU_SCALE,
    choose,
    every,
    exp2,
    larger,
    load,
    store,
)
from survtrace.ops.cpu.products import (
    F32,
    ONE,
    add_product,
    add_rows,
    add_tokens,
    add_totals,
    fill,
    multiply,
    padded,
    start,
    transpose_features,
)

SCALE, ALPHA = F32(SELU_SCALE), F32(SELU_ALPHA)
# With more tokens than this the shares of attention, which grow with their square, are computed
# again in backward: the cache has no room for them.
MOST_KEPT = 32


class Sizes(NamedTuple):
    """The sizes of a layer."""

    n_tokens: int
    width: int
    hidden: int
    n_heads: int


class Weights(NamedTuple):
    """Where each weight of a layer begins; its bias lies behind it."""

    query_key_value: int
    mix: int
    expand: int
    contract: int
    end: int


class Kept(NamedTuple):
    """Where the sheets begin that a layer makes and its backward reads again."""

    query_key_value: int
    shares: int
    attended: int
    residual: int
    inner: int
    out: int
    end: int


class Sums(NamedTuple):
    """Where the sums of a layer's gradient over the blocks of a group begin.

    Rows are as long as vectors ask; those of two weights are transposed, so that all have the
    length of a token. Two biases are summed by lane.
    """

    query_key_value: int
    mix: int
    expand: int
    contract: int
    mix_bias: int
    contract_bias: int
    query_key_value_bias: int
    expand_bias: int
    end: int


class Scratch(NamedTuple):
    """Where sheets begin that serve one layer after the other."""

    d_query_key_value: int
    d_inner: int
    d_attended: int
    shares: int
    d_scores: int
    x_transposed: int
    d_transposed: int
    end: int


@either
def weights_from(first: int, z: Sizes) -> Weights:
    """Tell where the weights of a layer begin."""
    width, hidden = z.width, z.hidden
    mix = first + width * 3 * width + 3 * width
    expand = mix + width * width + width
    contract = expand + width * hidden + hidden
    return Weights(first, mix, expand, contract, contract + hidden * width + width)


@either
def kept_from(first: int, z: Sizes) -> Kept:
    """Tell where the sheets of a layer begin; a sheet has room for whole vectors of features."""
    s = z.n_tokens * N_LANES
    n_shares = z.n_heads if z.n_tokens <= MOST_KEPT else 0
    shares = first + padded(3 * z.width) * s
    attended = shares + n_shares * z.n_tokens * s
    residual = attended + padded(z.width) * s
    inner = residual + padded(z.width) * s
    out = inner + padded(z.hidden) * s
    return Kept(first, shares, attended, residual, inner, out, out + padded(z.width) * s)


@either
def sums_from(first: int, z: Sizes) -> Sums:
    """Tell where the sums of a layer's gradient begin."""
    row = padded(z.width)
    mix = first + 3 * z.width * row
    expand = mix + z.width * row
    contract = expand + z.hidden * row
    mix_bias = contract + z.hidden * row
    by_lane = mix_bias + 2 * row
    expand_bias = by_lane + 3 * z.width * N_LANES
    end = expand_bias + z.hidden * N_LANES
    return Sums(first, mix, expand, contract, mix_bias, mix_bias + row, by_lane, expand_bias, end)


@either
def scratch_from(first: int, z: Sizes) -> Scratch:
    """Tell where the sheets of backward begin."""
    s, row = z.n_tokens * N_LANES, padded(z.width)
    d_inner = first + 3 * row * s
    d_attended = d_inner + padded(z.hidden) * s
    shares = d_attended + row * s
    d_scores = shares + z.n_tokens * s
    x_transposed = d_scores + z.n_tokens * s
    d_transposed = x_transposed + row * s
    end = d_transposed + row * s
    return Scratch(first, d_inner, d_attended, shares, d_scores, x_transposed, d_transposed, end)


@part
def forward(work: Any, x: int, w: Any, at: Weights, k: Kept, c: Scratch, z: Sizes) -> None:
    """Run the layer over the sheet at x; ``w`` are the member's parameters."""
    n_tokens, width, hidden, _ = z
    s = n_tokens * N_LANES
    _affine(work, k.query_key_value, w, at.query_key_value, x, width, 3 * width, n_tokens)
    _attend(work, k, c, z)
    _affine(work, k.residual, w, at.mix, k.attended, width, width, n_tokens)
    _selu_of_sum(work, k.residual, x, width * s)
    _affine(work, k.inner, w, at.expand, x, width, hidden, n_tokens)
    selu(work, k.inner, hidden * s)
    _affine(work, k.out, w, at.contract, k.inner, hidden, width, n_tokens)
    _selu_of_sum(work, k.out, k.residual, width * s)


@part
def backward(
    work: Any, x: int, d: int, w: Any, at: Weights, k: Kept, g: Sums, c: Scratch, z: Sizes
) -> None:
    """Turn the gradient by the layer's output into that by x; add up that by its weights."""
    n_tokens, width, hidden, _ = z
    s, row = n_tokens * N_LANES, padded(width)
    times_slope(work, d, k.out, width * s)
    transpose_features(work, x, width, n_tokens, c.x_transposed)
    transpose_features(work, d, width, n_tokens, c.d_transposed)
    _add_outer(work, g.contract, k.inner, hidden, c.d_transposed, s, row)
    add_rows(work, g.contract_bias, work, c.d_transposed, s, row)
    fill(work, c.d_inner, hidden * n_tokens)
    _back(work, c.d_inner, w, at.contract, d, hidden, width, n_tokens)
    times_slope(work, c.d_inner, k.inner, hidden * s)
    _add_outer(work, g.expand, c.d_inner, hidden, c.x_transposed, s, row)
    add_tokens(work, g.expand_bias, c.d_inner, hidden, n_tokens)
    times_slope(work, d, k.residual, width * s)
    transpose_features(work, d, width, n_tokens, c.d_transposed)
    _add_outer(work, g.mix, k.attended, width, c.d_transposed, s, row)
    add_rows(work, g.mix_bias, work, c.d_transposed, s, row)
    fill(work, c.d_attended, width * n_tokens)
    _back(work, c.d_attended, w, at.mix, d, width, width, n_tokens)
    _attend_back(work, k, c, z)
    _add_outer(work, g.query_key_value, c.d_query_key_value, 3 * width, c.x_transposed, s, row)
    add_tokens(work, g.query_key_value_bias, c.d_query_key_value, 3 * width, n_tokens)
    _back(work, d, w, at.expand, c.d_inner, width, hidden, n_tokens)
    _back(work, d, w, at.query_key_value, c.d_query_key_value, width, 3 * width, n_tokens)


@part
def finish(work: Any, g: Sums, out: Any, at: Weights, z: Sizes) -> None:
    """Write the sums of a group to its gradient, laid out like the parameters."""
    width, hidden, row = z.width, z.hidden, padded(z.width)
    for i in range(width):
        for j in range(3 * width):
            out[at.query_key_value + i * 3 * width + j] = work[g.query_key_value + j * row + i]
        for j in range(hidden):
            out[at.expand + i * hidden + j] = work[g.expand + j * row + i]
            out[at.contract + j * width + i] = work[g.contract + j * row + i]
        for j in range(width):
            out[at.mix + i * width + j] = work[g.mix + i * row + j]
        out[at.mix + width * width + i] = work[g.mix_bias + i]
        out[at.contract + hidden * width + i] = work[g.contract_bias + i]
    bias = at.query_key_value + width * 3 * width
    add_totals(out, bias, work, g.query_key_value_bias, 3 * width)
    add_totals(out, at.expand + width * hidden, work, g.expand_bias, hidden)


@piece
def _affine(
    work: Any, out: int, w: Any, weight: int, x: int, n_in: int, n_out: int, n_tokens: int
) -> None:
    """Map every token; the bias lies behind the weight."""
    s = n_tokens * N_LANES
    start(work, out, n_out, n_tokens, w, weight + n_in * n_out)
    add_product(work, out, s, n_out, w, weight, ONE, n_out, work, x, s, n_tokens, n_in)


@piece
def _back(
    work: Any, out: int, w: Any, weight: int, d: int, n_in: int, n_out: int, n_tokens: int
) -> None:
    """Add the gradient by a product to that by its input."""
    s = n_tokens * N_LANES
    add_product(work, out, s, n_in, w, weight, n_out, ONE, work, d, s, n_tokens, n_out)


@piece
def _add_outer(work: Any, sums: int, x: int, n: int, transposed: int, s: int, row: int) -> None:
    """Add products of features of x with transposed features, summed over tokens and lanes."""
    n_b = row // N_LANES
    add_product(work, sums, row, n, work, x, s, ONE, work, transposed, row, n_b, s)


@part
def selu(work: Any, x: int, n: int) -> None:
    """SELU in place."""
    for place in range(x, x + n, N_LANES):
        store(work, place, _selu(load(work, place)))


@part
def _selu_of_sum(work: Any, x: int, other: int, n: int) -> None:
    """SELU of the sum with another sheet, in place."""
    for place in range(0, n, N_LANES):
        store(work, x + place, _selu(load(work, x + place) + load(work, other + place)))


@part
def _selu(number: Any) -> Any:
    zero, scale, low, log2_e = every(F32(0)), every(SCALE), every(SCALE * ALPHA), every(LOG2_E)
    # exp(x) = 2^(x log2(e)). Of numbers above zero it is not needed, and could be infinite.
    below = low * exp2(choose(number, zero, number * log2_e)) - low
    return choose(number, scale * number, below)


@part
def times_slope(work: Any, d: int, y: int, n: int) -> None:
    """Multiply a gradient by the slope of SELU.

    It is read from the output: below zero ``y = low * exp(x) - low``, whose slope is ``y + low``.
    Neither the input is needed nor another exponential.
    """
    scale, low = every(SCALE), every(SCALE * ALPHA)
    for place in range(0, n, N_LANES):
        out = load(work, y + place)
        slope = choose(out, scale, out + low)
        store(work, d + place, load(work, d + place) * slope)


@part
def _attend(work: Any, k: Kept, c: Scratch, z: Sizes) -> None:
    """Compute each token's average of the values, by its attention."""
    n_tokens, width, _, n_heads = z
    s, size = n_tokens * N_LANES, width // n_heads
    for head in range(n_heads):
        q = k.query_key_value + head * size * s
        v = q + 2 * width * s
        shares = _shares_of(head, k, c, z)
        _share(work, q, shares, z)
        multiply(
            work,
            k.attended + head * size * s,
            s,
            N_LANES,
            size,
            work,
            v,
            s,
            N_LANES,
            work,
            shares,
            s,
            N_LANES,
            n_tokens,
            n_tokens,
        )


@piece
def _shares_of(head: int, k: Kept, c: Scratch, z: Sizes) -> int:
    """Tell where the shares of attention of a head lie, (query token, key token)."""
    if z.n_tokens <= MOST_KEPT:
        return k.shares + head * z.n_tokens * z.n_tokens * N_LANES
    return c.shares


@part
def _share(work: Any, q: int, out: int, z: Sizes) -> None:
    """Compute attention of each token to every token, which sums to one.

    The largest score is taken off all of them first, so that no exponential overflows.
    """
    n_tokens, width, _, n_heads = z
    s, size = n_tokens * N_LANES, width // n_heads
    multiply(
        work,
        out,
        s,
        N_LANES,
        n_tokens,
        work,
        q,
        N_LANES,
        s,
        work,
        q + width * s,
        N_LANES,
        s,
        n_tokens,
        size,
    )
    scale = every(F32(LOG2_E / np.sqrt(size)))
    for first in range(out, out + n_tokens * s, s):
        most = load(work, first)
        for t in range(first, first + s, N_LANES):
            most = larger(load(work, t), most)
        summed = every(F32(0))
        for t in range(first, first + s, N_LANES):
            share = exp2((load(work, t) - most) * scale)
            store(work, t, share)
            summed = summed + share
        summed = every(F32(1)) / summed
        for t in range(first, first + s, N_LANES):
            store(work, t, load(work, t) * summed)


@part
def _attend_back(work: Any, k: Kept, c: Scratch, z: Sizes) -> None:
    """Compute the gradient by queries, keys and values."""
    n_tokens, width, _, n_heads = z
    s, size = n_tokens * N_LANES, width // n_heads
    scale = every(F32(1 / np.sqrt(size)))
    for head in range(n_heads):
        q = k.query_key_value + head * size * s
        d_q = c.d_query_key_value + head * size * s
        d_out = c.d_attended + head * size * s
        shares = _shares_of(head, k, c, z)
        if n_tokens > MOST_KEPT:
            _share(work, q, shares, z)
        multiply(
            work,
            c.d_scores,
            s,
            N_LANES,
            n_tokens,
            work,
            d_out,
            N_LANES,
            s,
            work,
            q + 2 * width * s,
            N_LANES,
            s,
            n_tokens,
            size,
        )
        for first in range(0, n_tokens * s, s):
            mean = every(F32(0))
            for t in range(first, first + s, N_LANES):
                mean = mean + load(work, shares + t) * load(work, c.d_scores + t)
            for t in range(first, first + s, N_LANES):
                slope = load(work, shares + t) * (load(work, c.d_scores + t) - mean)
                store(work, c.d_scores + t, slope * scale)
        # By queries over the keys that a row of scores has, by keys over the queries of a column.
        multiply(
            work,
            d_q,
            s,
            N_LANES,
            size,
            work,
            q + width * s,
            s,
            N_LANES,
            work,
            c.d_scores,
            s,
            N_LANES,
            n_tokens,
            n_tokens,
        )
        multiply(
            work,
            d_q + width * s,
            s,
            N_LANES,
            size,
            work,
            q,
            s,
            N_LANES,
            work,
            c.d_scores,
            N_LANES,
            s,
            n_tokens,
            n_tokens,
        )
        multiply(
            work,
            d_q + 2 * width * s,
            s,
            N_LANES,
            size,
            work,
            d_out,
            s,
            N_LANES,
            work,
            shares,
            N_LANES,
            s,
            n_tokens,
            n_tokens,
        )
