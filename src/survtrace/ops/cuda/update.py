"""Clipping, AdamW and the running average of all parameters, in two kernels.

Why a kernel: torch takes a dozen, each reading and writing all parameters of all members.
"""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl
from torch import Tensor

from survtrace.ops.cuda.launch import Launch

SIZE = 1024
N_SUMS = 16  # programs that add up the squares of a member's gradient


def update_launches(
    flat_parameters: Tensor,
    gradient: Tensor,
    moments: dict[str, Tensor],
    settings: dict[str, Any],
    average: Any,
    clip_norm: float,
) -> list[Launch]:
    """Take one step, in place, in the optimiser's own moments and with its own settings."""
    n_members, n_parameters = flat_parameters.shape
    squares = flat_parameters.new_empty(n_members, N_SUMS)
    n_steps = moments["step"]
    tensors = (flat_parameters, gradient, moments["exp_avg"], moments["exp_avg_sq"])
    rates = (settings["lr"], settings["weight_decay"], *settings["betas"], settings["eps"])
    return [
        Launch(
            norm_kernel,
            (n_members, N_SUMS),
            (gradient, squares, n_steps, average.n_steps, n_parameters, SIZE),
            {},
        ),
        Launch(
            update_kernel,
            (n_members, triton.cdiv(n_parameters, SIZE)),
            (
                *(*tensors, average.average, n_steps, average.n_steps, squares, n_parameters),
                *(float(clip_norm), *map(float, rates), 1 / average.window, N_SUMS, SIZE),
            ),
            {},
        ),
    ]


@triton.jit(do_not_specialize=["n"])
def norm_kernel(gradient_at, squares_at, n_steps_at, averaged_at, n, SIZE: tl.constexpr):
    """Sum the squares of a part of a member's gradient, and count the step."""
    member, part, total = tl.program_id(0), tl.program_id(1), tl.zeros((SIZE,), tl.float32)
    for first in range(part * SIZE, n, tl.num_programs(1) * SIZE):
        position = first + tl.arange(0, SIZE)
        g = tl.load(gradient_at + member * n + position, position < n, 0.0)
        total += g * g
    tl.store(squares_at + member * tl.num_programs(1) + part, tl.sum(total))
    if (member == 0) & (part == 0):
        tl.store(n_steps_at, tl.load(n_steps_at) + 1)
        tl.store(averaged_at, tl.load(averaged_at) + 1)


@triton.jit(do_not_specialize=["n"])
def update_kernel(
    parameters_at,
    gradient_at,
    mean_at,
    square_at,
    average_at,
    n_steps_at,
    averaged_at,
    squares_at,
    n,
    clip_norm,
    lr,
    weight_decay,
    beta_mean,
    beta_square,
    epsilon,
    smallest_share,
    N_SUMS: tl.constexpr,
    SIZE: tl.constexpr,
):
    """Update some parameters of a member: clip, AdamW, running average."""
    member, position = tl.program_id(0), tl.program_id(1) * SIZE + tl.arange(0, SIZE)
    valid, index = position < n, member * n + position
    # All that is far away is asked for before anything is waited for.
    g = tl.load(gradient_at + index, valid, 0.0)
    mean = tl.load(mean_at + index, valid, 0.0)
    square = tl.load(square_at + index, valid, 0.0)
    x = tl.load(parameters_at + index, valid, 0.0)
    average = tl.load(average_at + index, valid, 0.0)
    n_steps, n_averaged = tl.load(n_steps_at), tl.load(averaged_at)
    squares = tl.load(squares_at + member * N_SUMS + tl.arange(0, N_SUMS))
    g *= tl.minimum(clip_norm / tl.sqrt(tl.sum(squares)), 1.0)
    mean += (1 - beta_mean) * (g - mean)
    square = beta_square * square + (1 - beta_square) * g * g
    # AdamW's moments start at zero; dividing by 1 - beta^n takes that bias off. beta^n is written
    # as exp(n log(beta)), and the tensor added as zero makes the logarithm one of float32.
    mean_scale = 1 - tl.exp(n_steps * tl.log(beta_mean + 0.0 * n_steps))
    square_scale = 1 - tl.exp(n_steps * tl.log(beta_square + 0.0 * n_steps))
    x *= 1 - lr * weight_decay
    x -= lr / mean_scale * mean / (tl.sqrt(square / square_scale) + epsilon)
    average += tl.maximum(1 / n_averaged, smallest_share) * (x - average)
    tl.store(parameters_at + index, x, valid)
    tl.store(mean_at + index, mean, valid)
    tl.store(square_at + index, square, valid)
    tl.store(average_at + index, average, valid)
