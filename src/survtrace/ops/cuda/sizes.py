"""Where each parameter lies among all of a member's, side by side."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import triton

from survtrace.network.assembly import Shape

LARGEST_TILE = 64  # tokens of a subject


@dataclass(frozen=True)
class Sizes:
    """Sizes and places of parameters, in the order of `Network.parameters`."""

    shape: Shape
    n_table: int  # parameters of the table; then come bias, encoder, align, heads
    n_embedding: int
    n_encoder: int
    n_align: int
    n_heads: int

    @property
    def align(self) -> int:
        """Where the parameters of the layer that aligns begin."""
        return self.n_embedding + self.n_encoder

    @property
    def n_rest(self) -> int:
        """Parameters outside embedding and encoder."""
        return self.n_align + self.n_heads

    @property
    def n_parameters(self) -> int:
        """All parameters of a member."""
        return self.align + self.n_rest

    @property
    def n_flat(self) -> int:
        """Numbers of all tokens of a subject."""
        return self.shape.n_tokens * self.shape.width

    @property
    def inner(self) -> int:
        """Whether heads have an inner layer, 1 or 0."""
        return self.shape.head_depth - 1

    @property
    def n_outputs(self) -> int:
        """Outputs of a head, with room for a product on tensor cores."""
        return max(16, triton.next_power_of_2(self.shape.n_intervals))


@cache
def sizes_of(shape: Shape) -> Sizes:
    """Count the parameters of a network."""
    width, hidden = shape.width, shape.hidden
    n_table = shape.n_rows * width
    n_layer = 4 * width * (width + 1) + 2 * width * hidden + hidden + width
    n_inner = (hidden + 1) * hidden * (shape.n_causes + 2) * (shape.head_depth - 1)
    n_outer = (hidden + 1) * (shape.n_causes * shape.n_intervals + 2)
    return Sizes(
        shape=shape,
        n_table=n_table,
        n_embedding=n_table + shape.token_bias * shape.n_tokens * width,
        n_encoder=shape.depth * n_layer,
        n_align=(2 * shape.n_tokens * width + 1) * hidden,
        n_heads=n_inner + n_outer,
    )


def why_not_sizes(shape: Shape) -> str | None:
    """Say why kernels have no room for a network of this shape; None if they have."""
    sizes = (shape.width, shape.n_heads, shape.hidden)
    if any(size & (size - 1) for size in sizes) or min(shape.width, shape.hidden) < 16:
        return (
            "width, n_heads and hidden must be powers of two, width and hidden 16 or more; got "
            f"{shape.width}, {shape.n_heads} and {shape.hidden}"
        )
    if shape.width > 32 or shape.hidden > 64 or shape.n_intervals > 64:
        return (
            "width must be 32 or less, hidden and n_intervals 64 or less; got "
            f"{shape.width}, {shape.hidden} and {shape.n_intervals}"
        )
    if shape.n_tokens > LARGEST_TILE:
        return f"a tile has room for {LARGEST_TILE} tokens; got {shape.n_tokens}"
    return None
