"""Representation, heads and losses of sixteen subjects, and their gradients (eq. 12-23).

As in `layer`, all numbers lie in ``work``. A block of the representation has a vector for each
feature: a sheet with one token.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from survtrace.ops.cpu.compiling import either, part, piece
from survtrace.ops.cpu.lanes import N_LANES, choose, every, larger, load, store
from survtrace.ops.cpu.layer import selu, times_slope
from survtrace.ops.cpu.products import (
    F32,
    ONE,
    add_product,
    add_rows,
    fill,
    padded,
    read_mask,
    start,
    transpose_features,
)

FAR = F32(-10.0)


class HeadSizes(NamedTuple):
    """The sizes of representation and heads; the last two heads are those of auxiliary tasks."""

    n_tokens: int
    width: int
    hidden: int
    n_causes: int
    n_intervals: int
    n_heads: int
    depth: int


class HeadPlaces(NamedTuple):
    """Where the vectors of representation and heads begin."""

    shared: int
    mask: int
    dropped: int
    inner: int
    outputs: int
    d_outputs: int
    d_dropped: int
    d: int
    transposed: int
    tile: int
    end: int


class Noise(NamedTuple):
    """Dropout: the threshold below which random bits keep a number, and what it is scaled by."""

    drop: bool
    threshold: int
    scale: float


class Moment(NamedTuple):
    """A point in time: the interval in which it lies, and how much of it lies before."""

    interval: int
    fraction: float


@either
def head_places_from(first: int, z: HeadSizes) -> HeadPlaces:
    """Tell where the vectors begin; there is room for whole vectors of features."""
    whole = padded(z.hidden) * N_LANES
    n_out = padded(z.n_causes * z.n_intervals + 2) * N_LANES
    most = padded(max(z.hidden, z.n_intervals)) * N_LANES
    mask = first + whole
    dropped = mask + whole
    inner = dropped + whole
    outputs = inner + z.n_heads * whole
    d_outputs = outputs + n_out
    d_dropped = d_outputs + n_out
    d = d_dropped + whole
    transposed = d + most
    tile = transposed + most
    end = tile + N_LANES * N_LANES
    return HeadPlaces(
        first, mask, dropped, inner, outputs, d_outputs, d_dropped, d, transposed, tile, end
    )


@either
def n_outputs(head: int, z: HeadSizes) -> int:
    """Count the outputs of a head."""
    return z.n_intervals if head < z.n_causes else 1


@part
def represent(
    work: Any, final: int, embedded: int, w: Any, align: int, h: HeadPlaces, z: HeadSizes
) -> None:
    """Align all final and embedded tokens of a subject."""
    n_tokens, width, hidden = z.n_tokens, z.width, z.hidden
    s = n_tokens * N_LANES
    start(work, h.shared, hidden, ONE, w, align + 2 * n_tokens * width * hidden)
    for half in range(2):
        x = embedded if half else final
        for t in range(n_tokens):
            weight = align + (half * n_tokens + t) * width * hidden
            add_product(
                work,
                h.shared,
                N_LANES,
                hidden,
                w,
                weight,
                ONE,
                hidden,
                work,
                x + t * N_LANES,
                s,
                ONE,
                width,
            )
    selu(work, h.shared, hidden * N_LANES)


@part
def represent_back(
    work: Any,
    final: int,
    embedded: int,
    d_final: int,
    d_embedded: int,
    w: Any,
    align: int,
    gradient: Any,
    h: HeadPlaces,
    z: HeadSizes,
) -> None:
    """Turn the gradient by the representation (at ``h.d``) into those by the tokens."""
    n_tokens, width, hidden = z.n_tokens, z.width, z.hidden
    s, row = n_tokens * N_LANES, padded(hidden)
    transpose_features(work, h.d, hidden, ONE, h.transposed)
    add_rows(gradient, align + 2 * n_tokens * width * hidden, work, h.transposed, N_LANES, row)
    for half in range(2):
        x, d_x = (embedded, d_embedded) if half else (final, d_final)
        fill(work, d_x, width * n_tokens)
        for t in range(n_tokens):
            weight, place = align + (half * n_tokens + t) * width * hidden, t * N_LANES
            add_product(
                work, d_x + place, s, width, w, weight, hidden, ONE, work, h.d, N_LANES, ONE, hidden
            )
            _add_outer(gradient, weight, hidden, work, x + place, s, width, h.transposed)


@piece
def _add_outer(
    gradient: Any, weight: int, n_out: int, work: Any, x: int, xa: int, n_in: int, transposed: int
) -> None:
    """Add products of inputs with the transposed gradient by outputs, summed over lanes.

    A vector may reach beyond a row of the weight, where zeros are added (see `_pad`). Rows
    are stored in their order, so that what a row stores beyond its end is stored anew by the next.
    """
    row = padded(n_out)
    add_product(
        gradient,
        weight,
        n_out,
        n_in,
        work,
        x,
        xa,
        ONE,
        work,
        transposed,
        row,
        row // N_LANES,
        N_LANES,
    )


@piece
def _pad(work: Any, x: int, n: int) -> None:
    """Set the vectors behind the ``n`` of a block to zero, up to a whole number of sixteen."""
    fill(work, x + n * N_LANES, padded(n) - n)


@part
def answer(
    work: Any,
    w: Any,
    heads: int,
    bits: Any,
    bits_inner: Any,
    subject: int,
    n_lanes: int,
    noise: Noise,
    h: HeadPlaces,
    z: HeadSizes,
) -> None:
    """Compute the outputs of all heads, and from them the logits; they share what is dropped."""
    hidden, block = z.hidden, padded(z.hidden) * N_LANES
    read = h.shared
    if noise.drop:
        read_mask(
            bits,
            subject * hidden,
            hidden,
            n_lanes,
            hidden,
            noise.threshold,
            F32(noise.scale),
            work,
            h.tile,
            h.mask,
        )
        for place in range(0, hidden * N_LANES, N_LANES):
            store(
                work, h.dropped + place, load(work, h.shared + place) * load(work, h.mask + place)
            )
        read = h.dropped
    out, zero = h.outputs, every(F32(0))
    for head in range(z.n_heads):
        n_out, x = n_outputs(head, z), read
        if z.depth == 2:
            x = h.inner + head * block
            start(work, x, hidden, ONE, w, heads + hidden * hidden)
            add_product(
                work, x, N_LANES, hidden, w, heads, ONE, hidden, work, read, N_LANES, ONE, hidden
            )
            for place in range(x, x + hidden * N_LANES, N_LANES):
                store(work, place, larger(zero, load(work, place)))
            if noise.drop:
                row = z.n_heads * hidden
                read_mask(
                    bits_inner,
                    subject * row + head * hidden,
                    row,
                    n_lanes,
                    hidden,
                    noise.threshold,
                    F32(noise.scale),
                    work,
                    h.tile,
                    h.d,
                )
                for place in range(0, hidden * N_LANES, N_LANES):
                    store(work, x + place, load(work, x + place) * load(work, h.d + place))
            heads += hidden * hidden + hidden
        start(work, out, n_out, ONE, w, heads + hidden * n_out)
        add_product(work, out, N_LANES, n_out, w, heads, ONE, n_out, work, x, N_LANES, ONE, hidden)
        heads += hidden * n_out + n_out
        out += n_out * N_LANES


@part
def add_mean(work: Any, x: int, share: float, z: HeadSizes) -> None:
    """Add to each interval of a cause ``share`` times the mean of the cause's intervals.

    Outputs become logits so, and the gradient by logits that by outputs.
    """
    n = z.n_intervals * N_LANES
    for first in range(x, x + z.n_causes * n, n):
        summed = every(F32(0))
        for place in range(first, first + n, N_LANES):
            summed = summed + load(work, place)
        summed = summed * every(F32(share / z.n_intervals))
        for place in range(first, first + n, N_LANES):
            store(work, place, load(work, place) + summed)


@part
def answer_back(
    work: Any, w: Any, heads: int, gradient: Any, noise: Noise, h: HeadPlaces, z: HeadSizes
) -> None:
    """Turn the gradient by the outputs into that by the representation, at ``h.d``."""
    hidden, block, zero = z.hidden, padded(z.hidden) * N_LANES, every(F32(0))
    read = h.dropped if noise.drop else h.shared
    fill(work, h.d_dropped, hidden)
    scale = every(F32(noise.scale))
    out = h.d_outputs
    for head in range(z.n_heads):
        n_out, inner = n_outputs(head, z), h.inner + head * block
        outer = heads + (hidden * hidden + hidden if z.depth == 2 else 0)
        x = inner if z.depth == 2 else read
        for place in range(0, n_out * N_LANES, N_LANES):
            store(work, h.d + place, load(work, out + place))
        _pad(work, h.d, n_out)
        transpose_features(work, h.d, n_out, ONE, h.transposed)
        _add_outer(gradient, outer, n_out, work, x, N_LANES, hidden, h.transposed)
        bias = outer + hidden * n_out
        add_rows(gradient, bias, work, h.transposed, N_LANES, padded(n_out))
        if z.depth == 1:
            add_product(
                work,
                h.d_dropped,
                N_LANES,
                hidden,
                w,
                outer,
                n_out,
                ONE,
                work,
                out,
                N_LANES,
                ONE,
                n_out,
            )
        else:
            fill(work, h.d, padded(hidden))
            add_product(
                work, h.d, N_LANES, hidden, w, outer, n_out, ONE, work, out, N_LANES, ONE, n_out
            )
            for place in range(0, hidden * N_LANES, N_LANES):
                # What ReLU cut or dropout dropped is zero; of all else the slope is the scale.
                slope = choose(load(work, inner + place), scale, zero)
                store(work, h.d + place, load(work, h.d + place) * slope)
            transpose_features(work, h.d, hidden, ONE, h.transposed)
            _add_outer(gradient, heads, hidden, work, read, N_LANES, hidden, h.transposed)
            bias = heads + hidden * hidden
            add_rows(gradient, bias, work, h.transposed, N_LANES, padded(hidden))
            add_product(
                work,
                h.d_dropped,
                N_LANES,
                hidden,
                w,
                heads,
                hidden,
                ONE,
                work,
                h.d,
                N_LANES,
                ONE,
                hidden,
            )
        heads = outer + hidden * n_out + n_out
        out += n_out * N_LANES
    for place in range(0, hidden * N_LANES, N_LANES):
        d = load(work, h.d_dropped + place)
        store(work, h.d + place, d * load(work, h.mask + place) if noise.drop else d)
    times_slope(work, h.d, h.shared, hidden * N_LANES)
    _pad(work, h.d, hidden)


@part
def survival_loss_of(
    work: Any,
    lane: int,
    entry: Moment,
    left: Moment,
    event: int,
    ips: Any,
    first_ips: int,
    share: float,
    h: HeadPlaces,
    z: HeadSizes,
) -> float:
    """Compute ``share`` of a subject's survival loss; the gradient goes to `d_outputs`."""
    loss, n = 0.0, z.n_intervals
    for cause in range(z.n_causes):
        factor = share * ips[first_ips + cause]
        of_cause = 0.0
        for j in range(n):
            place = (cause * n + j) * N_LANES + lane
            lived = exposure(left, j) - exposure(entry, j)
            hazard, slope = softplus(work[h.outputs + place])
            of_cause += hazard * lived
            work[h.d_outputs + place] = F32(factor * lived * slope)
        if event == cause + 1:
            place = (cause * n + left.interval) * N_LANES + lane
            x = work[h.outputs + place]
            # Far below zero softplus underflows; there its log is x - exp(x) / 2 + O(exp(2x)).
            if x < FAR:
                half = math.exp(x) / 2
                of_cause -= x - half
                work[h.d_outputs + place] -= F32(factor * (1 - half))
            else:
                hazard, slope = softplus(x)
                of_cause -= math.log(hazard)
                work[h.d_outputs + place] -= F32(factor * slope / hazard)
        loss += factor * of_cause
    return loss


@part
def exposure(until: Moment, j: int) -> Any:
    """Compute how much of interval j lies before a point in time."""
    if j < until.interval:
        return 1.0
    return np.float64(until.fraction) if j == until.interval else 0.0


@part
def softplus(x: Any) -> Any:
    """Compute log(1 + exp(x)) and its slope; exponentials of negative numbers do not overflow."""
    small = math.exp(-abs(x))
    slope = 1 / (1 + small) if x > 0 else small / (1 + small)
    return max(x, 0.0) + math.log1p(small), slope
