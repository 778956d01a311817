"""The whole network for a group of one member's subjects, on one core, and the sum over groups.

A block of sixteen subjects goes through everything, from the lookup of its tokens to the gradient,
while its numbers stay in the core's cache.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from survtrace.ops.cpu.compiling import either, part, piece
from survtrace.ops.cpu.heads import (
    HeadSizes,
    Moment,
    Noise,
    add_mean,
    answer,
    answer_back,
    head_places_from,
    represent,
    represent_back,
    softplus,
    survival_loss_of,
)
from survtrace.ops.cpu.lanes import N_LANES, load, spread, store, transpose
from survtrace.ops.cpu.layer import (
    Sizes,
    backward,
    finish,
    forward,
    kept_from,
    scratch_from,
    sums_from,
    weights_from,
)
from survtrace.ops.cpu.products import F32, ZERO, padded

LOGITS, LOSS, GRADIENT = 0, 1, 2


class Integers(NamedTuple):
    """All whole numbers that a kernel is told, in the order of its array."""

    task: int
    n_tokens: int
    width: int
    hidden: int
    attention_heads: int
    depth: int
    n_rows: int
    token_bias: int
    n_causes: int
    n_intervals: int
    head_depth: int
    n_parameters: int
    n_subjects: int
    group_size: int
    n_groups: int
    token_threshold: int
    head_threshold: int


class Places(NamedTuple):
    """Where the parts of a thread's workspace begin."""

    embedded: int
    d_embedded: int
    d: int
    value: int
    mask: int
    kept: int
    scratch: int
    heads: int
    sums: int
    end: int


@either
def places_of(n: Integers, z: Sizes, hz: HeadSizes) -> Places:
    """Tell where the parts of a workspace begin."""
    s = n.n_tokens * N_LANES
    sheet = padded(n.width) * s
    value = 3 * sheet
    kept = value + 2 * s
    scratch = kept + n.depth * kept_from(ZERO, z).end
    heads = scratch + scratch_from(ZERO, z).end
    sums = heads + head_places_from(ZERO, hz).end
    # A vector may be read beyond the last sheet.
    end = sums + n.depth * sums_from(ZERO, z).end + N_LANES * s
    return Places(0, sheet, 2 * sheet, value, value + s, kept, scratch, heads, sums, end)


@either
def sizes_of(n: Integers) -> Any:
    """Return the sizes of layers, and those of representation and heads."""
    n_heads = n.n_causes + (2 if n.task == GRADIENT else 0)
    z = Sizes(n.n_tokens, n.width, n.hidden, n.attention_heads)
    return z, HeadSizes(
        n.n_tokens, n.width, n.hidden, n.n_causes, n.n_intervals, n_heads, n.head_depth
    )


@cache
def workspace_size(n: Integers) -> int:
    """Count the numbers of a thread's workspace."""
    return int(places_of(n, *sizes_of(n)).end)


@part
def named(i: Any) -> Integers:
    """Name the whole numbers of an array."""
    return Integers(
        i[0],
        i[1],
        i[2],
        i[3],
        i[4],
        i[5],
        i[6],
        i[7],
        i[8],
        i[9],
        i[10],
        i[11],
        i[12],
        i[13],
        i[14],
        i[15],
        i[16],
    )


@piece
def run_group(
    number: int,
    integers: Any,
    floats: Any,
    parameters: Any,
    subjects: Any,
    rows: Any,
    values: Any,
    interval: Any,
    fraction: Any,
    event: Any,
    stay: Any,
    weight: Any,
    ips: Any,
    entry_interval: Any,
    entry_fraction: Any,
    whole: Any,
    token_bits: Any,
    shared_bits: Any,
    inner_bits: Any,
    work: Any,
    gradients: Any,
    parts: Any,
    logits: Any,
) -> None:
    """Run the network for a group: its logits, its survival loss, or all losses and the gradient.

    ``number`` counts the groups of all members. Group g of a member writes to its own place of
    ``gradients`` and ``parts``, which nobody else writes to. All arrays are flat.
    """
    n = named(integers)
    z, hz = sizes_of(n)
    at = places_of(n, z, hz)
    h = head_places_from(at.heads, hz)
    scratch = scratch_from(at.scratch, z)
    m, group = number // n.n_groups, number % n.n_groups
    w = parameters[m * n.n_parameters : (m + 1) * n.n_parameters]
    encoder = n.n_rows * n.width + (n.n_tokens * n.width if n.token_bias else 0)
    per_layer, per_kept, per_sum = (
        weights_from(ZERO, z).end,
        kept_from(ZERO, z).end,
        sums_from(ZERO, z).end,
    )
    align = encoder + n.depth * per_layer
    heads = align + 2 * n.n_tokens * n.width * n.hidden + n.hidden
    proportional, scale = floats[0], floats[1]
    noise = Noise(len(shared_bits) > 0, n.head_threshold, scale)
    length = n.n_parameters + N_LANES
    gradient = gradients[number * length : (number + 1) * length if n.task == GRADIENT else 0]
    if n.task == GRADIENT:
        gradient[:] = 0
        work[at.sums : at.sums + n.depth * per_sum] = 0
    levels = np.empty(n.n_tokens * N_LANES, np.int64)
    survival, mortality, squares = 0.0, 0.0, 0.0
    first, last = group * n.group_size, min((group + 1) * n.group_size, n.n_subjects)
    for start in range(first, last, N_LANES):
        n_lanes = min(N_LANES, last - start)
        block = subjects[m * n.n_subjects + start : m * n.n_subjects + start + n_lanes]
        look_up(block, rows, values, token_bits, start, levels, w, work, at, h.tile, n)
        x = at.embedded
        for layer in range(n.depth):
            kept = kept_from(at.kept + layer * per_kept, z)
            forward(work, x, w, weights_from(encoder + layer * per_layer, z), kept, scratch, z)
            x = kept.out
        represent(work, x, at.embedded, w, align, h, hz)
        answer(work, w, heads, shared_bits, inner_bits, start, n_lanes, noise, h, hz)
        add_mean(work, h.outputs, proportional, hz)
        if n.task == LOGITS:
            write_logits(work, h.outputs, logits, m * n.n_subjects + start, n_lanes, hz)
            continue
        work[h.d_outputs : h.d_outputs + (n.n_causes * n.n_intervals + 2) * N_LANES] = 0
        for lane in range(n_lanes):
            i = block[lane]
            share = np.float64(weight[i]) / n.n_subjects
            entry = Moment(entry_interval[i], entry_fraction[i])
            left = Moment(interval[i], fraction[i])
            survival += survival_loss_of(
                work, lane, entry, left, event[i], ips, i * n.n_causes, share, h, hz
            )
            if n.task == GRADIENT:
                place = n.n_causes * n.n_intervals * N_LANES + lane
                answered, predicted = work[h.outputs + place], work[h.outputs + place + N_LANES]
                share *= whole[i]
                happened = 1.0 if event[i] > 0 else 0.0
                hazard, slope = softplus(answered)
                mortality += share * (hazard - happened * answered)
                work[h.d_outputs + place] = F32(floats[3] * share * (slope - happened))
                error = np.float64(predicted - stay[i])
                squares += share * error * error
                work[h.d_outputs + place + N_LANES] = F32(floats[4] * 2 * share * error)
        if n.task == LOSS:
            continue
        for place in range(h.d_outputs, h.d_outputs + n.n_causes * n.n_intervals * N_LANES):
            work[place] *= F32(floats[2])
        add_mean(work, h.d_outputs, proportional, hz)
        answer_back(work, w, heads, gradient, noise, h, hz)
        represent_back(work, x, at.embedded, at.d, at.d_embedded, w, align, gradient, h, hz)
        for layer in range(n.depth - 1, -1, -1):
            kept = kept_from(at.kept + layer * per_kept, z)
            x = at.embedded if layer == 0 else kept_from(at.kept + (layer - 1) * per_kept, z).out
            sums = sums_from(at.sums + layer * per_sum, z)
            weights = weights_from(encoder + layer * per_layer, z)
            backward(work, x, at.d, w, weights, kept, sums, scratch, z)
        for place in range(0, n.width * n.n_tokens * N_LANES, N_LANES):
            d = load(work, at.d + place) + load(work, at.d_embedded + place)
            store(work, at.d + place, d)
        _look_up_back(levels, n_lanes, gradient, work, at, h.tile, n)
    if n.task == GRADIENT:
        for layer in range(n.depth):
            sums = sums_from(at.sums + layer * per_sum, z)
            finish(work, sums, gradient, weights_from(encoder + layer * per_layer, z), z)
    if n.task != LOGITS:
        parts[3 * number] = floats[2] * survival
        parts[3 * number + 1] = floats[3] * mortality
        parts[3 * number + 2] = floats[4] * squares


@part
def look_up(
    block: Any,
    rows: Any,
    values: Any,
    bits: Any,
    start: int,
    levels: Any,
    w: Any,
    work: Any,
    at: Places,
    tile: int,
    n: Integers,
) -> None:
    """Look tokens up: ``mask * (value * row + bias)``; lanes without a subject get zeros."""
    s, bias = n.n_tokens * N_LANES, n.n_rows * n.width
    for t in range(n.n_tokens):
        for lane in range(N_LANES):
            level, value, mask = np.int64(0), F32(0), F32(0)
            if lane < len(block):
                place = block[lane] * n.n_tokens + t
                level, value, mask = np.int64(rows[place]), values[place], F32(1)
                if len(bits) > 0 and bits[(start + lane) * n.n_tokens + t] >= n.token_threshold:
                    value, mask = value * F32(0), F32(0)
            levels[t * N_LANES + lane] = level
            work[at.value + t * N_LANES + lane] = value
            work[at.mask + t * N_LANES + lane] = mask
        for f in range(0, n.width, N_LANES):
            for lane in range(N_LANES):
                place = t * N_LANES + lane
                token = spread(work, at.value + place) * load(w, levels[place] * n.width + f)
                if n.token_bias:
                    token = token + spread(work, at.mask + place) * load(w, bias + t * n.width + f)
                store(work, tile + lane * N_LANES, token)
            transpose(work, tile, N_LANES, work, at.embedded + f * s + t * N_LANES, s)


@part
def _look_up_back(
    levels: Any, n_lanes: int, gradient: Any, work: Any, at: Places, tile: int, n: Integers
) -> None:
    """Add the gradient by each token to its row and its bias."""
    s, bias = n.n_tokens * N_LANES, n.n_rows * n.width
    for t in range(n.n_tokens):
        for f in range(0, n.width, N_LANES):
            transpose(work, at.d + f * s + t * N_LANES, s, work, tile, N_LANES)
            if n.width - f < N_LANES:  # zeros are added to what lies behind the row
                for lane in range(N_LANES):
                    for i in range(n.width - f, N_LANES):
                        work[tile + lane * N_LANES + i] = 0
            of_bias = bias + t * n.width + f
            for lane in range(n_lanes):
                place, d = t * N_LANES + lane, load(work, tile + lane * N_LANES)
                row = levels[place] * n.width + f
                added = load(gradient, row) + spread(work, at.value + place) * d
                store(gradient, row, added)
                if n.token_bias:
                    added = load(gradient, of_bias) + spread(work, at.mask + place) * d
                    store(gradient, of_bias, added)


@part
def write_logits(
    work: Any, outputs: int, logits: Any, first: int, n_lanes: int, z: HeadSizes
) -> None:
    """Write the logits of each subject, (cause, interval)."""
    n = z.n_causes * z.n_intervals
    for lane in range(n_lanes):
        for k in range(n):
            logits[(first + lane) * n + k] = work[outputs + k * N_LANES + lane]


@piece
def add_groups(
    number: int, size: int, n_parameters: int, n_groups: int, gradients: Any, out: Any
) -> None:
    """Add up the gradients of a member's groups, in their order, for a range of parameters."""
    n_ranges = (n_parameters + size - 1) // size
    m, first = number // n_ranges, number % n_ranges * size
    last, length = min(first + size, n_parameters), n_parameters + N_LANES
    begin, whole = m * n_parameters, first + (last - first) // N_LANES * N_LANES
    for place in range(first, whole, N_LANES):
        numbers = load(gradients, m * n_groups * length + place)
        for group in range(1, n_groups):
            numbers = numbers + load(gradients, (m * n_groups + group) * length + place)
        store(out, begin + place, numbers)
    for place in range(whole, last):
        summed = F32(0)
        for group in range(n_groups):
            summed += gradients[(m * n_groups + group) * length + place]
        out[begin + place] = summed
