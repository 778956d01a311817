"""The three losses and their gradients, subject by subject, in one pass (eq. 16-23).

Why a kernel: one pass instead of some forty on few numbers. It sums over subjects in double
precision; without it the numbers on record (tests/golden) change by more than their tolerance.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from numba import njit
from torch import Tensor

from survtrace.batch import Batch
from survtrace.ops.loss_backward import LossBackward

FAR = -10.0


def losses(causes: Tensor, mortality: Tensor, stay: Tensor, batch: Batch) -> Any:
    """Compute each member's mean survival, mortality and stay loss, (part, member)."""
    return LossesFunction.apply(causes, mortality, stay, batch)


class LossesFunction(LossBackward):
    """Each member's mean survival, mortality and stay loss."""

    @staticmethod
    def forward(ctx: Any, causes: Tensor, mortality: Tensor, stay: Tensor, batch: Batch) -> Tensor:
        """Compute the losses (part, member), and the gradient of each by its logits."""
        logits = [tensor.detach().contiguous() for tensor in (causes, mortality, stay)]
        gradients = [torch.empty(tensor.shape) for tensor in logits]
        parts = torch.empty(3, len(causes), dtype=torch.float64)
        outcome = (batch.interval, batch.fraction, batch.event, batch.stay, batch.weight, batch.ips)
        columns = [column.contiguous() for column in outcome]
        for m in range(len(causes)):
            arguments = (*logits, *gradients, *columns)
            _losses(*(tensor[m].numpy() for tensor in arguments), parts[:, m].numpy())
        ctx.save_for_backward(*gradients)
        return parts.to(torch.float32)


@njit(nogil=True, cache=True, error_model="numpy")
def _losses(
    causes: Any,
    mortality: Any,
    predicted: Any,
    d_causes: Any,
    d_mortality: Any,
    d_stay: Any,
    interval: Any,
    fraction: Any,
    event: Any,
    stay: Any,
    weight: Any,
    ips: Any,
    parts: Any,
) -> None:
    n, n_causes, n_intervals = causes.shape
    parts[:] = 0
    for s in range(n):
        share = weight[s] / n
        for k in range(n_causes):
            factor = share * ips[s, k]
            loss = 0.0
            for j in range(n_intervals):
                lived = 1.0 if j < interval[s] else (fraction[s] if j == interval[s] else 0.0)
                hazard, slope = _softplus(causes[s, k, j])
                loss += hazard * lived
                d_causes[s, k, j] = factor * lived * slope
            if event[s] == k + 1:
                x = causes[s, k, interval[s]]
                hazard, slope = _softplus(x)
                # Far below zero softplus underflows; there its log is x - exp(x) / 2 + O(exp(2x)).
                if x < FAR:
                    loss -= x - math.exp(x) / 2
                    d_causes[s, k, interval[s]] -= factor * (1 - math.exp(x) / 2)
                else:
                    loss -= math.log(hazard)
                    d_causes[s, k, interval[s]] -= factor * slope / hazard
            parts[0] += factor * loss
        happened = 1.0 if event[s] > 0 else 0.0
        hazard, slope = _softplus(mortality[s])
        parts[1] += share * (hazard - happened * mortality[s])
        d_mortality[s] = share * (slope - happened)
        error = predicted[s] - stay[s]
        parts[2] += share * error * error
        d_stay[s] = 2 * share * error


@njit(nogil=True, cache=True, error_model="numpy")
def _softplus(x: Any) -> Any:
    """Compute log(1 + exp(x)) and its slope; exponentials of negative numbers do not overflow."""
    small = math.exp(-abs(x))
    slope = 1 / (1 + small) if x > 0 else small / (1 + small)
    return max(x, 0.0) + math.log1p(small), slope
