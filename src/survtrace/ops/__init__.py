"""The operations that take most of the time, each in its plain form or by a kernel."""

from survtrace.ops.dispatch import dropout, encode, gather, lookup, losses, update
from survtrace.ops.support import LayerSizes, plain, reasons_for_plain

__all__ = [
    "LayerSizes",
    "dropout",
    "encode",
    "gather",
    "lookup",
    "losses",
    "plain",
    "reasons_for_plain",
    "update",
]
