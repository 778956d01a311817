"""The three losses and their gradients, subject by subject, in one kernel (eq. 16-23).

Why a kernel: in torch the losses are some forty kernels on few numbers, and as many backward.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from survtrace.batch import Batch
from survtrace.ops.loss_backward import LossBackward

SUBJECTS = 64
FAR = tl.constexpr(-10.0)


def losses(causes: Tensor, mortality: Tensor, stay: Tensor, batch: Batch) -> Any:
    """Compute each member's mean survival, mortality and stay loss, (part, member)."""
    return LossesFunction.apply(causes, mortality, stay, batch)


class LossesFunction(LossBackward):
    """Each member's mean survival, mortality and stay loss."""

    @staticmethod
    def forward(ctx: Any, causes: Tensor, mortality: Tensor, stay: Tensor, batch: Batch) -> Tensor:
        """Compute the losses (part, member), and the gradient of each by its logits."""
        logits = [tensor.contiguous() for tensor in (causes, mortality, stay)]
        gradients = [torch.empty_like(tensor) for tensor in logits]
        n_members, n, n_causes, n_intervals = causes.shape
        grid = (n_members, triton.cdiv(n, SUBJECTS))
        parts = torch.empty(3, *grid, device=causes.device)
        outcome = (batch.interval, batch.fraction, batch.event, batch.stay, batch.weight, batch.ips)
        columns = [column.contiguous() for column in outcome]
        padded = triton.next_power_of_2(n_intervals)
        losses_kernel[grid](
            *logits, *gradients, *columns, parts, n, n_intervals, n_causes, padded, SUBJECTS
        )
        ctx.save_for_backward(*gradients)
        return parts.sum(2)


@triton.jit
def losses_kernel(
    causes_at,
    mortality_at,
    predicted_at,
    d_causes_at,
    d_mortality_at,
    d_stay_at,
    interval_at,
    fraction_at,
    event_at,
    stay_at,
    weight_at,
    ips_at,
    parts_at,
    n,
    n_intervals,
    CAUSES: tl.constexpr,
    INTERVALS: tl.constexpr,
    SUBJECTS: tl.constexpr,
):
    """Losses of some subjects of a member, and their gradients by the logits."""
    member, subject = tl.program_id(0), tl.program_id(1) * SUBJECTS + tl.arange(0, SUBJECTS)
    valid, index, j = subject < n, member * n + subject, tl.arange(0, INTERVALS)
    valid_cells = valid[:, None] & (j < n_intervals)[None, :]
    interval = tl.load(interval_at + index, valid, 0).to(tl.int32)[:, None]
    fraction = tl.load(fraction_at + index, valid, 0.0)[:, None]
    event = tl.load(event_at + index, valid, 0)
    share = tl.load(weight_at + index, valid, 0.0) / n
    lived = tl.where(j[None, :] < interval, 1.0, tl.where(j[None, :] == interval, fraction, 0.0))
    survival = 0.0
    for k in tl.static_range(CAUSES):
        place = ((index * CAUSES + k) * n_intervals)[:, None] + j[None, :]
        x = tl.load(causes_at + place, valid_cells, 0.0)
        weight = (share * tl.load(ips_at + index * CAUSES + k, valid, 0.0))[:, None]
        hazard, slope = _softplus(x)
        # Far below zero softplus underflows; there log(softplus(x)) = x - exp(x) / 2 + O(exp(2x)).
        far = x < FAR
        small = tl.exp(tl.minimum(x, FAR)) / 2
        logarithm = tl.where(far, x - small, tl.log(tl.where(far, 1.0, hazard)))
        steep = tl.where(far, 1 - small, slope / tl.where(far, 1.0, hazard))
        struck = (event == k + 1)[:, None] & (j[None, :] == interval)
        loss = tl.where(valid_cells, hazard * lived - tl.where(struck, logarithm, 0.0), 0.0)
        survival += tl.sum(weight * loss)
        tl.store(
            d_causes_at + place,
            weight * (slope * lived - tl.where(struck, steep, 0.0)),
            valid_cells,
        )
    x = tl.load(mortality_at + index, valid, 0.0)
    happened = tl.where(event > 0, 1.0, 0.0)
    hazard, slope = _softplus(x)
    tl.store(d_mortality_at + index, share * (slope - happened), valid)
    error = tl.load(predicted_at + index, valid, 0.0) - tl.load(stay_at + index, valid, 0.0)
    tl.store(d_stay_at + index, 2 * share * error, valid)
    n_programs = tl.num_programs(1)
    at, part = parts_at + member * n_programs + tl.program_id(1), tl.num_programs(0) * n_programs
    tl.store(at, survival)
    tl.store(at + part, tl.sum(share * (hazard - happened * x)))
    tl.store(at + 2 * part, tl.sum(share * error * error))


@triton.jit
def _softplus(x):
    """The function log(1 + exp(x)) and its slope; no exponential of a positive number overflows."""
    small = tl.exp(-tl.abs(x))
    slope = tl.where(x > 0, 1 / (1 + small), small / (1 + small))
    # Triton has no log1p; for a small number s, log(1 + s) = s (1 - s / 2) to the last digit.
    return tl.maximum(x, 0.0) + tl.where(
        small < 1e-4, small * (1 - small / 2), tl.log(1 + small)
    ), slope
