"""Clipping, AdamW and the running average of all parameters, in two kernels."""

from __future__ import annotations

from typing import NamedTuple

import triton
import triton.language as tl
from torch import Tensor

SIZE = 1024


class Moments(NamedTuple):
    """The parameters (member, parameter) and what the optimiser and the average know of them."""

    whole: Tensor
    gradient: Tensor
    mean: Tensor
    square: Tensor
    average: Tensor
    n_steps: Tensor


class Rates(NamedTuple):
    """How fast to learn, to forget and to decay."""

    clip_norm: float
    lr: float
    weight_decay: float
    keep_mean: float
    keep_square: float
    least: float
    share: float


def update(moments: Moments, rates: Rates) -> None:
    """Take one step, in place; ``n_steps`` counts this one already."""
    n_members, n_parameters = moments.whole.shape
    norm = moments.whole.new_empty(n_members)
    norm_kernel[n_members,](moments.gradient, norm, n_parameters, 8192, num_warps=16)
    grid = (n_members, triton.cdiv(n_parameters, SIZE))
    update_kernel[grid](*moments, norm, n_parameters, *rates, SIZE)


@triton.jit
def norm_kernel(gradient_at, norm_at, n, SIZE: tl.constexpr):
    """The norm of a member's gradient."""
    member, total = tl.program_id(0), tl.zeros((SIZE,), tl.float32)
    for first in range(0, n, SIZE):
        place = first + tl.arange(0, SIZE)
        g = tl.load(gradient_at + member * n + place, place < n, 0.0)
        total += g * g
    tl.store(norm_at + member, tl.sqrt(tl.sum(total)))


@triton.jit
def update_kernel(
    whole_at,
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
    keep_mean,
    keep_square,
    least,
    share,
    SIZE: tl.constexpr,
):
    """Some parameters of a member: clip, AdamW, running average."""
    member, place = tl.program_id(0), tl.program_id(1) * SIZE + tl.arange(0, SIZE)
    there, own = place < n, member * n + place
    n_steps = tl.load(n_steps_at)
    g = tl.load(gradient_at + own, there, 0.0)
    g *= tl.minimum(clip_norm / tl.load(norm_at + member), 1.0)
    mean = tl.load(mean_at + own, there, 0.0)
    mean += (1 - keep_mean) * (g - mean)
    square = keep_square * tl.load(square_at + own, there, 0.0) + (1 - keep_square) * g * g
    full_mean = 1 - tl.exp(n_steps * tl.log(keep_mean + 0.0 * n_steps))
    full_square = 1 - tl.exp(n_steps * tl.log(keep_square + 0.0 * n_steps))
    x = tl.load(whole_at + own, there, 0.0) * (1 - lr * weight_decay)
    x -= lr / full_mean * mean / (tl.sqrt(square / full_square) + least)
    average = tl.load(average_at + own, there, 0.0)
    average += tl.maximum(1 / n_steps, share) * (x - average)
    tl.store(whole_at + own, x, there)
    tl.store(mean_at + own, mean, there)
    tl.store(square_at + own, square, there)
    tl.store(average_at + own, average, there)
