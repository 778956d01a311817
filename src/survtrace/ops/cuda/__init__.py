"""Kernels for NVIDIA GPUs, compiled by Triton. One line for each operation."""

from survtrace.ops.cuda.operations import cause_logits, gradient, prepare, survival_loss, update
from survtrace.ops.cuda.sizes import why_not

__all__ = ["cause_logits", "gradient", "prepare", "survival_loss", "update", "why_not"]
