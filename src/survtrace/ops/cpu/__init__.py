"""Kernels for processors, compiled by numba; they need no compiler."""
