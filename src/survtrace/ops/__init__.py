"""Parts of the network and the losses once more, fast: the same numbers, to rounding."""

from survtrace.ops.dispatch import (
    Outcomes,
    Sizes,
    available,
    dropout,
    encode,
    lookup,
    losses,
    plain,
    supports,
    take,
    update,
)

__all__ = [
    "Outcomes",
    "Sizes",
    "available",
    "dropout",
    "encode",
    "lookup",
    "losses",
    "plain",
    "supports",
    "take",
    "update",
]
