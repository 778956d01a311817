"""Products of matrices whose numbers, or the numbers of one of them, are vectors of lanes.

Where an array and places in it are arguments, ``x, i, xa, xk`` means: row a and column k lie at
``x[i + a * xa + k * xk]``. A *sheet* holds the tokens of a block of sixteen subjects, laid out
(feature, token, lane), a subject in each lane: an instruction loads the same number of all sixteen.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from survtrace.ops.cpu.compiling import either, part
from survtrace.ops.cpu.lanes import (
    N_LANES,
    every,
    kept,
    load,
    spread,
    store,
    sum_products,
    total,
    transpose,
)

F32 = np.float32
# As N_LANES is: constants for each of which nothing is compiled anew.
ZERO: Any = np.int64(0)
ONE: Any = np.int64(1)
# Sizes of tiles by measurement: their sums, factors and vectors fill the registers of AVX-512.
_add_8_2, _add_8_1 = (sum_products(8, n, spread_x=True) for n in (2, 1))
_add_1_2, _add_1_1 = (sum_products(1, n, spread_x=True) for n in (2, 1))
_set_4_2, _set_4_1 = (sum_products(4, n, spread_x=False, add=False) for n in (2, 1))
_set_1_2, _set_1_1 = (sum_products(1, n, spread_x=False, add=False) for n in (2, 1))


@part
def add_product(
    out: Any,
    o: int,
    oa: int,
    n_a: int,
    x: Any,
    i: int,
    xa: int,
    xk: int,
    y: Any,
    j: int,
    yk: int,
    n_b: int,
    n_k: int,
) -> None:
    """Add numbers of x (a, k) times vectors of y (k, b), summed over k, to vectors of out (a, b).

    Vectors b lie side by side.
    """
    eights, b = n_a // 8 * 8, 0
    while b + 1 < n_b:
        p, q = o + b * N_LANES, j + b * N_LANES
        for a in range(0, eights, 8):
            _add_8_2(out, p + a * oa, oa, N_LANES, x, i + a * xa, xa, xk, y, q, N_LANES, yk, n_k)
        for a in range(eights, n_a):
            _add_1_2(out, p + a * oa, oa, N_LANES, x, i + a * xa, xa, xk, y, q, N_LANES, yk, n_k)
        b += 2
    if b < n_b:
        p, q = o + b * N_LANES, j + b * N_LANES
        for a in range(0, eights, 8):
            _add_8_1(out, p + a * oa, oa, 0, x, i + a * xa, xa, xk, y, q, 0, yk, n_k)
        for a in range(eights, n_a):
            _add_1_1(out, p + a * oa, oa, 0, x, i + a * xa, xa, xk, y, q, 0, yk, n_k)


@part
def multiply(
    out: Any,
    o: int,
    oa: int,
    ob: int,
    n_a: int,
    x: Any,
    i: int,
    xa: int,
    xk: int,
    y: Any,
    j: int,
    yb: int,
    yk: int,
    n_b: int,
    n_k: int,
) -> None:
    """Set vectors of out (a, b) to vectors of x (a, k) times vectors of y (b, k), summed over k."""
    fours, b = n_a // 4 * 4, 0
    while b + 1 < n_b:
        p, q = o + b * ob, j + b * yb
        for a in range(0, fours, 4):
            _set_4_2(out, p + a * oa, oa, ob, x, i + a * xa, xa, xk, y, q, yb, yk, n_k)
        for a in range(fours, n_a):
            _set_1_2(out, p + a * oa, oa, ob, x, i + a * xa, xa, xk, y, q, yb, yk, n_k)
        b += 2
    if b < n_b:
        p, q = o + b * ob, j + b * yb
        for a in range(0, fours, 4):
            _set_4_1(out, p + a * oa, oa, ob, x, i + a * xa, xa, xk, y, q, yb, yk, n_k)
        for a in range(fours, n_a):
            _set_1_1(out, p + a * oa, oa, ob, x, i + a * xa, xa, xk, y, q, yb, yk, n_k)


@part
def start(out: Any, o: int, n: int, n_tokens: int, bias: Any, place: int) -> None:
    """Begin ``n`` features with their bias."""
    for a in range(n):
        number = spread(bias, place + a)
        for t in range(n_tokens):
            store(out, o + (a * n_tokens + t) * N_LANES, number)


@part
def fill(out: Any, o: int, n: int) -> None:
    """Set ``n`` vectors to zero."""
    for k in range(n):
        store(out, o + k * N_LANES, every(F32(0)))


@either
def padded(n: int) -> int:
    """Round up to a whole number of vectors."""
    return (n + N_LANES - 1) // N_LANES * N_LANES


@part
def transpose_features(work: Any, x: int, n: int, n_tokens: int, out: int) -> None:
    """Lay the features of each token and lane side by side: (token, lane, padded feature).

    What stands in the places of features that are there to fill a vector is left to chance.
    """
    s, row = n_tokens * N_LANES, padded(n)
    for f in range(0, n, N_LANES):
        for t in range(n_tokens):
            place = out + t * N_LANES * row + f
            transpose(work, x + f * s + t * N_LANES, s, work, place, row)


@part
def add_rows(out: Any, o: int, work: Any, x: int, n_rows: int, row: int) -> None:
    """Add up rows of vectors."""
    for f in range(0, row, N_LANES):
        summed = load(out, o + f)
        for k in range(n_rows):
            summed = summed + load(work, x + k * row + f)
        store(out, o + f, summed)


@part
def add_tokens(work: Any, sums: int, x: int, n: int, n_tokens: int) -> None:
    """Add each feature of a sheet to its sum by lane, over tokens."""
    for a in range(n):
        summed = load(work, sums + a * N_LANES)
        for t in range(n_tokens):
            summed = summed + load(work, x + (a * n_tokens + t) * N_LANES)
        store(work, sums + a * N_LANES, summed)


@part
def add_totals(out: Any, o: int, work: Any, sums: int, n: int) -> None:
    """Add the sums by lane, each over all lanes."""
    for a in range(n):
        out[o + a] += total(load(work, sums + a * N_LANES))


@part
def read_mask(
    bits: Any,
    first: int,
    row: int,
    n_lanes: int,
    n: int,
    threshold: int,
    scale: Any,
    work: Any,
    tile: int,
    out: int,
) -> None:
    """Read which of ``n`` features of each subject are kept: ``scale``, and 0 for the others."""
    whole = n // N_LANES * N_LANES
    for f in range(0, whole, N_LANES):
        for lane in range(N_LANES):
            subject = min(lane, n_lanes - 1)
            numbers = kept(bits, first + subject * row + f, threshold, scale)
            store(work, tile + lane * N_LANES, numbers)
        transpose(work, tile, N_LANES, work, out + f * N_LANES, N_LANES)
    for f in range(whole, n):
        for lane in range(N_LANES):
            drawn = bits[first + min(lane, n_lanes - 1) * row + f]
            work[out + f * N_LANES + lane] = scale if drawn < threshold else F32(0)
