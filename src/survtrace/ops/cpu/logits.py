"""The forward pass on arrays of numpy, without torch: logits of many encoded subjects.

`network.run_group` does the same and much more for training, which takes long to compile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from survtrace.ops.cpu.compiling import kernel
from survtrace.ops.cpu.heads import Noise, add_mean, answer, head_places_from, represent
from survtrace.ops.cpu.lanes import N_LANES
from survtrace.ops.cpu.layer import forward, kept_from, scratch_from, weights_from
from survtrace.ops.cpu.network import (
    LOGITS,
    Integers,
    look_up,
    named,
    places_of,
    sizes_of,
    workspace_size,
    write_logits,
)
from survtrace.ops.cpu.products import ZERO

Floats = NDArray[np.float32]


class Forward:
    """A network's parameters as the kernel reads them: flat, member by member.

    ``parameters`` are those of `network.parameters()` without the auxiliary heads, in their order,
    each with the members on its first axis; ``shape`` has the fields of `network.assembly.Shape`.
    """

    def __init__(self, shape: Mapping[str, Any], parameters: Sequence[NDArray[Any]]) -> None:
        self.shape = shape
        flat = [part.reshape(len(part), -1).astype(np.float32) for part in parameters]
        together = np.concatenate(flat, axis=1)
        self.n_members, self.n_parameters = together.shape
        # A vector may be read beyond the last parameter.
        self.parameters = np.append(together.ravel(), np.zeros(int(N_LANES), np.float32))

    def logits(self, rows: NDArray[np.int32], values: Floats) -> Floats:
        """Compute logits of the causes, (member, subject, cause, interval)."""
        integers = self._integers(len(rows))
        shape = (self.n_members, len(rows), integers.n_causes, integers.n_intervals)
        logits = np.empty(shape, np.float32)
        run_members(
            self.n_members,
            np.array(integers, np.int64),
            float(self.shape.get("proportional", 0.0)),
            self.parameters,
            np.ascontiguousarray(rows).ravel(),
            np.ascontiguousarray(values).ravel(),
            np.empty(workspace_size(integers), np.float32),
            logits.reshape(-1),
        )
        return logits

    def _integers(self, n_subjects: int) -> Integers:
        shape = self.shape
        sizes = ("n_tokens", "width", "hidden", "n_heads", "depth", "n_rows", "token_bias")
        of_heads = ("n_causes", "n_intervals", "head_depth")
        numbers = [int(shape[name]) for name in (*sizes, *of_heads)]
        one_group = (self.n_parameters, n_subjects, n_subjects, 1)
        return Integers._make((LOGITS, *numbers, *one_group, 0, 0))


@kernel
def run_members(
    n_members: int,
    integers: Any,
    proportional: float,
    parameters: Any,
    rows: Any,
    values: Any,
    work: Any,
    logits: Any,
) -> None:
    """Run all subjects through one member after the other, whose parameters stay in the cache."""
    n = named(integers)
    z, hz = sizes_of(n)
    at = places_of(n, z, hz)
    h, scratch = head_places_from(at.heads, hz), scratch_from(at.scratch, z)
    encoder = n.n_rows * n.width + (n.n_tokens * n.width if n.token_bias else 0)
    per_layer, per_kept = weights_from(ZERO, z).end, kept_from(ZERO, z).end
    align = encoder + n.depth * per_layer
    heads = align + 2 * n.n_tokens * n.width * n.hidden + n.hidden
    no_bits, noise = np.empty(0, np.int16), Noise(False, n.head_threshold, 1.0)
    subjects, levels = np.arange(n.n_subjects), np.empty(n.n_tokens * N_LANES, np.int64)
    for m in range(n_members):
        w = parameters[m * n.n_parameters : (m + 1) * n.n_parameters]
        for start in range(0, n.n_subjects, N_LANES):
            block = subjects[start : min(start + N_LANES, n.n_subjects)]
            look_up(block, rows, values, no_bits, start, levels, w, work, at, h.tile, n)
            x = at.embedded
            for layer in range(n.depth):
                kept = kept_from(at.kept + layer * per_kept, z)
                forward(work, x, w, weights_from(encoder + layer * per_layer, z), kept, scratch, z)
                x = kept.out
            represent(work, x, at.embedded, w, align, h, hz)
            answer(work, w, heads, no_bits, no_bits, start, len(block), noise, h, hz)
            add_mean(work, h.outputs, proportional, hz)
            write_logits(work, h.outputs, logits, m * n.n_subjects + start, len(block), hz)
