"""Kernels for processors, compiled by numba; they need no compiler.

`operations` has one function for each operation on a network of torch, `logits` the forward pass
on arrays of numpy.
"""
