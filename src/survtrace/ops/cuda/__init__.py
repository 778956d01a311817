"""Kernels for NVIDIA GPUs, compiled by Triton. One line for each operation."""

from survtrace.ops.cuda.update import update

__all__ = ["update"]
