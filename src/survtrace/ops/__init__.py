"""The operations that take most of the time, each in its plain form or by kernels."""

from survtrace.ops.dispatch import cause_logits, gradient, survival_loss, update
from survtrace.ops.support import find_kernel, plain, prepare, reasons_for_plain

__all__ = [
    "cause_logits",
    "find_kernel",
    "gradient",
    "plain",
    "prepare",
    "reasons_for_plain",
    "survival_loss",
    "update",
]
