"""Kernels for NVIDIA GPUs, compiled by Triton. One line for each operation."""

from survtrace.ops.cuda.dropout import dropout
from survtrace.ops.cuda.encoder import encode
from survtrace.ops.cuda.gather import gather
from survtrace.ops.cuda.lookup import lookup
from survtrace.ops.cuda.objective import losses
from survtrace.ops.cuda.update import update

__all__ = ["dropout", "encode", "gather", "lookup", "losses", "update"]
