"""Clipping, AdamW and the running average of a range of parameters, in one pass over memory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from survtrace.ops.cpu.compiling import part, piece
from survtrace.ops.cpu.lanes import N_LANES, every, load, root, store, total
from survtrace.ops.cpu.products import F32

RANGE = 2**14  # parameters of a task
CHUNK = 2**10  # squares that are summed in single precision


@piece
def update_range(
    number: int,
    n_parameters: int,
    rates: Any,
    parameters: Any,
    gradient: Any,
    means: Any,
    squares: Any,
    averages: Any,
) -> None:
    """Update a range of a member's parameters.

    The norm of the member's gradient is computed anew for each of its ranges: that costs less than
    to wait until all threads have computed it.
    """
    n_ranges = (n_parameters + RANGE - 1) // RANGE
    m, first = number // n_ranges, number % n_ranges * RANGE
    begin, end = m * n_parameters, (m + 1) * n_parameters
    norm = math.sqrt(_sum_squares(gradient[begin:end]))
    clip = F32(min(1.0, rates[0] / norm))
    decay, mean_share, square_share = F32(rates[1]), F32(rates[2]), F32(rates[3])
    rate, square_scale, epsilon, share = F32(rates[4]), F32(rates[5]), F32(rates[6]), F32(rates[7])
    begin, end = begin + first, min(begin + first + RANGE, end)
    whole = begin + (end - begin) // N_LANES * N_LANES
    for i in range(begin, whole, N_LANES):
        x, mean, square = _step(
            load(parameters, i),
            load(gradient, i) * every(clip),
            load(means, i),
            load(squares, i),
            every(decay),
            every(mean_share),
            every(square_share),
            every(rate),
            every(square_scale),
            every(epsilon),
        )
        store(parameters, i, x)
        store(means, i, mean)
        store(squares, i, square)
        average = load(averages, i)
        store(averages, i, average + every(share) * (x - average))
    for i in range(whole, end):
        x, means[i], squares[i] = _step(
            parameters[i],
            gradient[i] * clip,
            means[i],
            squares[i],
            decay,
            mean_share,
            square_share,
            rate,
            square_scale,
            epsilon,
        )
        parameters[i] = x
        averages[i] += share * (x - averages[i])


@part
def _step(
    x: Any,
    g: Any,
    mean: Any,
    square: Any,
    decay: Any,
    mean_share: Any,
    square_share: Any,
    rate: Any,
    square_scale: Any,
    epsilon: Any,
) -> Any:
    """Take a step of AdamW for one parameter, or for a vector of them."""
    mean = mean + mean_share * (g - mean)
    square = square + square_share * (g * g - square)
    return x * decay - rate * mean / (root(square) / square_scale + epsilon), mean, square


@part
def _sum_squares(x: Any) -> float:
    """Sum squares in a fixed order."""
    summed, whole = 0.0, len(x) // N_LANES * N_LANES
    for first in range(0, whole, CHUNK):
        squares = every(F32(0))
        for place in range(first, min(first + CHUNK, whole), N_LANES):
            numbers = load(x, place)
            squares = squares + numbers * numbers
        summed += np.float64(total(squares))
    for k in range(whole, len(x)):
        summed += np.float64(x[k]) * np.float64(x[k])
    return summed
