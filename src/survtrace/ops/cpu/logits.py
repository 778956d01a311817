"""The forward pass of all members without torch, for one subject or many: encoded rows to logits.

In training a vector holds one number of sixteen subjects. Of one subject fifteen would be computed
for nothing, so that here a vector holds sixteen features of one token. Tokens lie side by side,
``row`` numbers each: their features, rounded up to whole vectors. What stands behind the features
is never read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from survtrace.ops.cpu.compiling import either, kernel, part
from survtrace.ops.cpu.lanes import (
    LOG2_E,
    N_LANES,
    SELU_ALPHA,
    SELU_SCALE,
    choose,
    every,
    exp2_exact,
    larger,
    load,
    store,
    sum_products,
)
from survtrace.ops.cpu.member_curves import write_curves
from survtrace.ops.cpu.products import F32, ONE, padded

if TYPE_CHECKING:
    from survtrace.portable.curves import TimeIndex
    from survtrace.portable.network import Linear, Network

Array = NDArray[np.float64]
Floats = NDArray[np.float32]
BLOCK = 8  # subjects at a time: the weights serve all of them, and their tokens stay in the cache
SHIFT = F32(np.log(SELU_ALPHA))  # of `portable.network.elu`, which explains the formula
CENTRE = F32(SHIFT + np.exp(SHIFT))
SCALE = F32(SELU_SCALE)


def _products(*, add: bool) -> Any:
    """Make the function that adds products to vectors, or sets the vectors to them."""
    # As many sums as the registers of AVX2 hold, and few enough for those of AVX-512.
    four, one, one_of_two = (
        sum_products(n_x, n_y, spread_x=True, add=add) for n_x, n_y in ((4, 1), (1, 1), (1, 2))
    )

    @part
    def multiply(
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
        """Sum over k the numbers of x (a, k) times the vectors of y (k, b), for vectors (a, b).

        ``n_b`` counts numbers, as all places do.
        """
        fours = n_a // 4 * 4
        for a in range(0, fours, 4):
            for b in range(0, n_b, N_LANES):
                four(out, o + a * oa + b, oa, 0, x, i + a * xa, xa, xk, y, j + b, 0, yk, n_k)
        for a in range(fours, n_a):
            p, q, b = o + a * oa, i + a * xa, 0
            while b + N_LANES < n_b:
                one_of_two(out, p + b, 0, N_LANES, x, q, 0, xk, y, j + b, N_LANES, yk, n_k)
                b += 2 * N_LANES
            if b < n_b:
                one(out, p + b, 0, 0, x, q, 0, xk, y, j + b, 0, yk, n_k)

    return multiply


_add, _set = _products(add=True), _products(add=False)


class Sizes(NamedTuple):
    """The sizes of a network, and of the parameters of one member."""

    n_tokens: int
    width: int
    hidden: int
    n_heads: int
    depth: int
    n_rows: int
    n_causes: int
    n_intervals: int
    has_inner: int
    n_parameters: int


class Places(NamedTuple):
    """Where the numbers of a block of subjects begin."""

    embedded: int
    tokens: int
    attended: int
    heads: int
    inner: int
    queries: int
    shares: int
    residual: int
    shared: int
    answers: int
    output: int
    end: int


class Forward:
    """The parameters of a network as the kernel reads them: flat, member by member."""

    def __init__(self, network: Network) -> None:
        inner, outer = network.inner, network.outer
        linear = [part for layer in network.layers for part in layer.linear]
        linear += [network.align, *([] if inner is None else [inner])]
        parts = [_padded(network.table), _padded(network.bias)]
        parts += [part for each in linear for part in _flat(each)]
        for cause in range(outer.weight.shape[1]):
            parts += [_padded(outer.weight[:, cause]), _padded(outer.bias[:, cause])]
        flat = np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1)
        self.parameters = flat.ravel()
        _, n_causes, hidden, n_intervals = outer.weight.shape
        _, _, n_tokens, width = network.bias.shape
        n_heads = network.layers[0].n_heads if network.layers else 1
        self.sizes = Sizes(
            n_tokens,
            width,
            hidden,
            n_heads,
            len(network.layers),
            network.table.shape[1],
            n_causes,
            n_intervals,
            int(inner is not None),
            flat.shape[1],
        )
        self.factor = np.ascontiguousarray(network.factor[:, 0])
        self._sizes = np.array(self.sizes, np.int64)
        self._n_work = int(places_of(self.sizes).end)

    def logits(self, rows: NDArray[np.int32], values: Floats) -> Floats:
        """Compute logits of the causes, (member, subject, cause, interval)."""
        z = self.sizes
        n_members = len(self.parameters) // z.n_parameters
        logits = np.empty((n_members, len(rows), z.n_causes, z.n_intervals), np.float32)
        work = np.empty(self._n_work, np.float32)
        run_members(self._sizes, self.parameters, rows, values, work, logits)
        return logits

    def curves(
        self, logits: Floats, at: TimeIndex, states: tuple[bool, int, int], *, with_std: bool
    ) -> tuple[Array, Array | None] | None:
        """Compute mean and deviation (subject, state, time) over members; None if not finite.

        ``states`` are: event-free or not, then the causes from one place to another.
        """
        n, n_states = logits.shape[1], states[0] + states[2] - states[1]
        mean = np.empty((n, n_states, at.interval.shape[1]))
        std = np.empty(mean.shape if with_std else (0, 0, 0))
        bad = write_curves(0, n, logits, self.factor, at.interval, at.fraction, *states, mean, std)
        return None if bad < n else (mean, std if with_std else None)


def _flat(linear: Linear) -> tuple[Floats, Floats]:
    return _padded(linear.weight), _padded(linear.bias)


def _padded(array: Floats) -> Floats:
    """Round the last axis up to whole vectors."""
    more = -array.shape[-1] % int(N_LANES)
    return np.pad(array, [(0, 0)] * (array.ndim - 1) + [(0, more)])


@either
def places_of(z: Sizes) -> Places:
    """Tell where the numbers of a block begin; vectors may be read beyond the last."""
    n, row, n_queries = BLOCK * z.n_tokens, padded(z.width), padded(z.n_tokens)
    tokens = n * row
    attended = tokens + n * row
    heads = attended + n * attended_row(z)
    inner = heads + n * padded(3 * z.width)
    queries = inner + n * padded(z.hidden)
    shares = queries + z.width * n_queries
    residual = shares + z.n_tokens * n_queries
    shared = residual + n * row
    answers = shared + BLOCK * padded(z.hidden)
    output = answers + BLOCK * padded(z.n_causes * z.hidden)
    end = output + BLOCK * padded(z.n_intervals) + N_LANES
    return Places(
        0, tokens, attended, heads, inner, queries, shares, residual, shared, answers, output, end
    )


@either
def attended_row(z: Sizes) -> int:
    """Count the numbers of a token that has attended: those of all heads, and room for more."""
    return padded(z.width) + N_LANES


@kernel
def run_members(
    sizes: Any, parameters: Any, rows: Any, values: Any, work: Any, logits: Any
) -> None:
    """Run all subjects through one member after the other, whose parameters stay in the cache."""
    z = Sizes(
        sizes[0],
        sizes[1],
        sizes[2],
        sizes[3],
        sizes[4],
        sizes[5],
        sizes[6],
        sizes[7],
        sizes[8],
        sizes[9],
    )
    at = places_of(z)
    for m in range(len(parameters) // z.n_parameters):
        w = parameters[m * z.n_parameters : (m + 1) * z.n_parameters]
        for start in range(0, len(rows), BLOCK):
            n = min(BLOCK, len(rows) - start)
            place = _embed(work, w, rows, values, start, n, at, z)
            for _ in range(z.depth):
                place = _run_layer(work, w, place, n, at, z)
            place = _represent(work, w, place, n, at, z)
            _answer(work, w, place, n, logits, m, start, at, z)


@part
def _embed(
    work: Any, w: Any, rows: Any, values: Any, start: int, n: int, at: Places, z: Sizes
) -> int:
    """Look up the tokens of n subjects; return where the next parameters begin."""
    row = padded(z.width)
    bias = z.n_rows * row
    for i in range(n):
        for t in range(z.n_tokens):
            value = every(F32(values[start + i, t]))
            for f in range(0, row, N_LANES):
                found = load(w, rows[start + i, t] * row + f) * value + load(w, bias + t * row + f)
                place = (i * z.n_tokens + t) * row + f
                store(work, at.embedded + place, found)
                store(work, at.tokens + place, found)
    return bias + z.n_tokens * row


@part
def _run_layer(work: Any, w: Any, place: int, n: int, at: Places, z: Sizes) -> int:
    """Run the layer whose parameters begin at a place over the tokens (eq. 5-11)."""
    width, hidden, n_all = z.width, z.hidden, n * z.n_tokens
    row, inner_row = padded(width), padded(hidden)
    place = _affine(work, at.heads, w, place, at.tokens, row, width, 3 * width, n_all)
    for i in range(n):
        _attend(work, i, at, z)
    place = _affine(work, at.heads, w, place, at.attended, attended_row(z), width, width, n_all)
    for k in range(0, n_all * row, N_LANES):  # the tokens see, and are themselves
        residual = load(work, at.heads + k) + load(work, at.tokens + k)
        store(work, at.residual + k, every(SCALE) * _elu(residual))
    place = _affine(work, at.inner, w, place, at.tokens, row, width, hidden, n_all)
    for k in range(0, n_all * inner_row, N_LANES):
        store(work, at.inner + k, _elu(load(work, at.inner + k)))
    place = _affine(work, at.heads, w, place, at.inner, inner_row, hidden, width, n_all)
    for k in range(0, n_all * row, N_LANES):
        forward = load(work, at.heads + k) + load(work, at.residual + k)
        store(work, at.tokens + k, every(SCALE) * _elu(forward))
    return place


@part
def _attend(work: Any, i: int, at: Places, z: Sizes) -> None:
    """Write each token's average of the values of subject i, by its attention."""
    n_tokens, width, size = z.n_tokens, z.width, z.width // z.n_heads
    row, n_queries = padded(3 * width), padded(n_tokens)
    first = at.heads + i * n_tokens * row
    for f in range(width):  # a vector has a feature of sixteen queries
        for t in range(n_tokens):
            work[at.queries + f * n_queries + t] = work[first + t * row + f]
    out, out_row = at.attended + i * n_tokens * attended_row(z), attended_row(z)
    for head in range(z.n_heads):
        key, query = first + width + head * size, at.queries + head * size * n_queries
        _set(
            work, at.shares, n_queries, n_tokens, work, key, row, ONE, work, query, n_queries,
            n_queries, size,
        )  # fmt: skip
        _share(work, at.shares, n_tokens, n_queries)
        # A whole vector is written where the head may be narrower: the next head overwrites what
        # is not this one's, and behind the last there is room.
        value = first + 2 * width + head * size
        _set(
            work, out + head * size, out_row, n_tokens, work, at.shares, ONE, n_queries, work,
            value, row, padded(size), n_tokens,
        )  # fmt: skip


@part
def _share(work: Any, x: int, n_tokens: int, n_queries: int) -> None:
    """Turn scores (key, query) into shares, which sum to one for each query.

    The largest score is taken off all of them first, so that no exponential overflows.
    """
    for q in range(x, x + n_queries, N_LANES):
        most = load(work, q)
        for t in range(1, n_tokens):
            most = larger(load(work, q + t * n_queries), most)
        summed = every(F32(0))
        for t in range(n_tokens):
            place = q + t * n_queries
            weight = exp2_exact((load(work, place) - most) * every(LOG2_E))
            summed = summed + weight
            store(work, place, weight)
        share = every(F32(1)) / summed
        for t in range(n_tokens):
            place = q + t * n_queries
            store(work, place, load(work, place) * share)


@part
def _represent(work: Any, w: Any, place: int, n: int, at: Places, z: Sizes) -> int:
    """Align the final and the embedded tokens of each subject (eq. 12)."""
    row, n_out = padded(z.width), padded(z.hidden)
    end = place + 2 * z.n_tokens * z.width * n_out
    _begin(work, at.shared, w, end, n_out, n)
    for half in range(2):
        x = at.embedded if half else at.tokens
        for t in range(z.n_tokens):
            weight = place + (half * z.n_tokens + t) * z.width * n_out
            _add(
                work, at.shared, n_out, n, work, x + t * row, z.n_tokens * row, ONE, w, weight,
                n_out, n_out, z.width,
            )  # fmt: skip
    for k in range(0, n * n_out, N_LANES):
        store(work, at.shared + k, every(SCALE) * _elu(load(work, at.shared + k)))
    return end + n_out


@part
def _answer(
    work: Any, w: Any, place: int, n: int, logits: Any, m: int, start: int, at: Places, z: Sizes
) -> None:
    """Write the logits of each cause."""
    x, x_row, step = at.shared, padded(z.hidden), 0
    if z.has_inner:
        n_inner = padded(z.n_causes * z.hidden)
        place = _affine(work, at.answers, w, place, x, x_row, z.hidden, z.n_causes * z.hidden, n)
        for k in range(0, n * n_inner, N_LANES):
            # In this order NaN stays NaN.
            store(work, at.answers + k, larger(every(F32(0)), load(work, at.answers + k)))
        x, x_row, step = at.answers, n_inner, z.hidden
    n_out = padded(z.n_intervals)
    for cause in range(z.n_causes):
        place = _affine(
            work, at.output, w, place, x + cause * step, x_row, z.hidden, z.n_intervals, n
        )
        for i in range(n):
            for interval in range(z.n_intervals):
                logits[m, start + i, cause, interval] = work[at.output + i * n_out + interval]


@part
def _affine(
    work: Any, out: int, w: Any, place: int, x: int, x_row: int, n_in: int, n_out: int, n: int
) -> int:
    """Map n rows by the weight at a place and the bias behind it; return the place behind both."""
    row = padded(n_out)
    bias = place + n_in * row
    _begin(work, out, w, bias, row, n)
    _add(work, out, row, n, work, x, x_row, ONE, w, place, row, row, n_in)
    return bias + row


@part
def _begin(work: Any, out: int, w: Any, bias: int, row: int, n: int) -> None:
    """Begin n rows with their bias."""
    for f in range(0, row, N_LANES):
        number = load(w, bias + f)
        for i in range(n):
            store(work, out + i * row + f, number)


@part
def _elu(number: Any) -> Any:
    """Compute `portable.network.elu`: SELU of ``number - SHIFT`` without its scale."""
    shift = every(SHIFT)
    above = number - shift
    below = exp2_exact(choose(above, shift, number) * every(LOG2_E))
    return choose(above, number, shift) + below - every(CENTRE)
