"""The operations that take most of the time, each in its plain form or by kernels."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

OF_DISPATCH = ("cause_logits", "gradient", "survival_loss", "update")


def __getattr__(name: str) -> Any:
    """Import what needs torch when it is asked for: the portable predictor's kernel needs none."""
    if name not in __all__:
        raise AttributeError(f"module 'survtrace.ops' has no attribute {name!r}")
    module = "dispatch" if name in OF_DISPATCH else "support"
    return getattr(import_module(f"survtrace.ops.{module}"), name)
