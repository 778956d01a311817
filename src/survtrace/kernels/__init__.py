"""Parts of the network and the losses once more, fast: the same numbers, to rounding."""

from survtrace.kernels.choice import (
    Outcomes,
    Sizes,
    at_hand,
    drop,
    encode,
    look_up,
    losses,
    plain,
    suit,
    take,
    update,
)

__all__ = [
    "Outcomes",
    "Sizes",
    "at_hand",
    "drop",
    "encode",
    "look_up",
    "losses",
    "plain",
    "suit",
    "take",
    "update",
]
