"""The three losses and their gradients, subject by subject, in one pass (eq. 16-23)."""

from __future__ import annotations

import math
from typing import Any

import torch
from numba import njit
from torch import Tensor

from survtrace.ops.dispatch import Outcomes
from survtrace.ops.loss_backward import LossBackward

FAR = -10.0


class Objective(LossBackward):
    """Each member's mean survival, mortality and stay loss."""

    @staticmethod
    def forward(
        ctx: Any, causes: Tensor, mortality: Tensor, stay: Tensor, batch: Outcomes
    ) -> Tensor:
        """Losses (part, member); the gradients are found on the way and kept."""
        logits = [tensor.detach().contiguous() for tensor in (causes, mortality, stay)]
        slopes = [torch.empty(tensor.shape) for tensor in logits]
        parts = torch.empty(3, len(causes), dtype=torch.float64)
        outcomes = [tensor.contiguous().numpy() for tensor in batch]
        for m in range(len(causes)):
            own = [tensor[m].numpy() for tensor in (*logits, *slopes)]
            _losses(*own, *(column[m] for column in outcomes), parts[:, m].numpy())
        ctx.save_for_backward(*slopes)
        return parts.to(torch.float32)


@njit(nogil=True, cache=True, error_model="numpy")
def _losses(
    causes: Any,
    mortality: Any,
    predicted: Any,
    by_cause: Any,
    by_mortality: Any,
    by_stay: Any,
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
            worth = share * ips[s, k]
            loss = 0.0
            for j in range(n_intervals):
                lived = 1.0 if j < interval[s] else (fraction[s] if j == interval[s] else 0.0)
                hazard, slope = _softplus(causes[s, k, j])
                loss += hazard * lived
                by_cause[s, k, j] = worth * lived * slope
            if event[s] == k + 1:
                x = causes[s, k, interval[s]]
                hazard, slope = _softplus(x)
                if x < FAR:  # log(softplus(x)) = x - exp(x) / 2 + O(exp(2x))
                    loss -= x - math.exp(x) / 2
                    by_cause[s, k, interval[s]] -= worth * (1 - math.exp(x) / 2)
                else:
                    loss -= math.log(hazard)
                    by_cause[s, k, interval[s]] -= worth * slope / hazard
            parts[0] += worth * loss
        happened = 1.0 if event[s] > 0 else 0.0
        hazard, slope = _softplus(mortality[s])
        parts[1] += share * (hazard - happened * mortality[s])
        by_mortality[s] = share * (slope - happened)
        error = predicted[s] - stay[s]
        parts[2] += share * error * error
        by_stay[s] = 2 * share * error


@njit(nogil=True, cache=True, error_model="numpy")
def _softplus(x: Any) -> Any:
    """The function log(1 + exp(x)) and its slope."""
    small = math.exp(-abs(x))
    slope = 1 / (1 + small) if x > 0 else small / (1 + small)
    return max(x, 0.0) + math.log1p(small), slope
