"""Kernels for processors, compiled by numba; they need no compiler. One line for each operation."""

from survtrace.ops.cpu.curves import curves, hazards
from survtrace.ops.cpu.operations import cause_logits, gradient, survival_loss, update, why_not

__all__ = ["cause_logits", "curves", "gradient", "hazards", "survival_loss", "update", "why_not"]
