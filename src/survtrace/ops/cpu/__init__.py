"""Kernels for processors, compiled by numba; they need no compiler. One line for each operation."""

__all__: list[str] = []
