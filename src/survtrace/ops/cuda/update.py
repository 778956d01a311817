"""Clipping, AdamW and the running average of all parameters, in two kernels.

Why a kernel: torch takes a dozen, each reading and writing all parameters of all members.
"""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl
from torch import Tensor

SIZE = 1024


def update(
    flat_parameters: Tensor,
    gradient: Tensor,
    moments: dict[str, Tensor],
    settings: dict[str, Any],
    average: Any,
    clip_norm: float,
) -> None:
    """Take one step, in place, in the optimiser's own moments and with its own settings."""
    moments["step"] += 1
    average.n_steps += 1
    n_members, n_parameters = flat_parameters.shape
    norm = flat_parameters.new_empty(n_members)
    norm_kernel[n_members,](gradient, norm, n_parameters, 8192, num_warps=16)
    tensors = (flat_parameters, gradient, moments["exp_avg"], moments["exp_avg_sq"])
    rates = (settings["lr"], settings["weight_decay"], *settings["betas"], settings["eps"])
    update_kernel[n_members, triton.cdiv(n_parameters, SIZE)](
        *(*tensors, average.average, moments["step"], norm, n_parameters),
        *(clip_norm, *rates, 1 / average.window, SIZE),
    )


@triton.jit
def norm_kernel(gradient_at, norm_at, n, SIZE: tl.constexpr):
    """The norm of a member's gradient."""
    member, total = tl.program_id(0), tl.zeros((SIZE,), tl.float32)
    for first in range(0, n, SIZE):
        position = first + tl.arange(0, SIZE)
        g = tl.load(gradient_at + member * n + position, position < n, 0.0)
        total += g * g
    tl.store(norm_at + member, tl.sqrt(tl.sum(total)))


@triton.jit
def update_kernel(
    parameters_at,
    gradient_at,
    mean_at,
    square_at,
    average_at,
    n_steps_at,
    norm_at,
    n,
    clip_norm,
    lr,
    weight_decay,
    beta_mean,
    beta_square,
    epsilon,
    smallest_share,
    SIZE: tl.constexpr,
):
    """Some parameters of a member: clip, AdamW, running average."""
    member, position = tl.program_id(0), tl.program_id(1) * SIZE + tl.arange(0, SIZE)
    valid, index = position < n, member * n + position
    n_steps = tl.load(n_steps_at)
    g = tl.load(gradient_at + index, valid, 0.0)
    g *= tl.minimum(clip_norm / tl.load(norm_at + member), 1.0)
    mean = tl.load(mean_at + index, valid, 0.0)
    mean += (1 - beta_mean) * (g - mean)
    square = beta_square * tl.load(square_at + index, valid, 0.0) + (1 - beta_square) * g * g
    # AdamW's moments start at zero; dividing by 1 - beta^n takes that bias off. beta^n is written
    # as exp(n log(beta)), and the tensor added as zero makes the logarithm one of float32.
    mean_scale = 1 - tl.exp(n_steps * tl.log(beta_mean + 0.0 * n_steps))
    square_scale = 1 - tl.exp(n_steps * tl.log(beta_square + 0.0 * n_steps))
    x = tl.load(parameters_at + index, valid, 0.0) * (1 - lr * weight_decay)
    x -= lr / mean_scale * mean / (tl.sqrt(square / square_scale) + epsilon)
    average = tl.load(average_at + index, valid, 0.0)
    average += tl.maximum(1 / n_steps, smallest_share) * (x - average)
    tl.store(parameters_at + index, x, valid)
    tl.store(mean_at + index, mean, valid)
    tl.store(square_at + index, square, valid)
    tl.store(average_at + index, average, valid)
