"""Kernels for processors, compiled by numba; they need no compiler. One line for each operation."""

from survtrace.ops.cpu.encoder import encode
from survtrace.ops.cpu.lookup import lookup
from survtrace.ops.cpu.objective import losses

__all__ = ["encode", "lookup", "losses"]
