"""The operations on a network: subjects are cut into groups, which threads run one after another.

How subjects are cut depends on their number alone, and sums are taken in the order of the groups:
results are the same, to the bit, for any number of threads.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.weak import WeakIdKeyDictionary

from survtrace.batch import Batch
from survtrace.network.assembly import Network, Shape
from survtrace.ops.cpu.lanes import N_LANES
from survtrace.ops.cpu.network import (
    GRADIENT,
    LOGITS,
    LOSS,
    Integers,
    add_groups,
    run_group,
    workspace_size,
)
from survtrace.threads import automatic_threads, run_in_threads

N_GROUPS, SMALLEST_GROUP, LARGEST_OF_LOGITS = 16, 32, 256
RANGE = 2**12  # parameters whose sum over groups one task takes
_this_thread = threading.local()
# A member's groups have a gradient each. They are used in every step and go with its result.
_gradients = WeakIdKeyDictionary()


def why_not(shape: Shape, device: torch.device) -> str | None:
    """Say why the kernels cannot run such a network; None if they can."""
    if shape.width % 8 or shape.hidden % 8:
        return (
            "kernels for processors take a width and a hidden size that are multiples of 8; got "
            f"width={shape.width}, hidden={shape.hidden}"
        )
    return None


def gradient(
    network: Network, cohort: Batch, subjects: Tensor, task_weight: Tensor, out: Tensor
) -> Tensor:
    """Compute each member's losses, weighted, and the gradient of their sum (see `ops.gradient`)."""
    work = _Work(GRADIENT, network, subjects, dropout=_draw(network, subjects.shape[1]))
    n_members, n_parameters = work.parameters.shape
    gradients = _gradients.get(out)
    size = work.n_tasks * (n_parameters + N_LANES)
    if gradients is None or len(gradients) < size:
        gradients = _gradients[out] = np.empty(size, np.float32)
    parts = work.run(cohort, task_weight.tolist(), gradients)
    flat = out.view(-1).numpy()

    def add_up(k: int) -> None:
        add_groups(k, RANGE, n_parameters, work.n_groups, gradients, flat)

    run_in_threads(add_up, n_members * -(-n_parameters // RANGE), work.n_threads)
    return parts


def survival_loss(network: Network, cohort: Batch, subjects: Tensor) -> Tensor:
    """Compute the survival loss of each member (see `ops.survival_loss`)."""
    return _Work(LOSS, network, subjects).run(cohort, (1.0, 0.0, 0.0))[0]


def cause_logits(network: Network, rows: Tensor, values: Tensor) -> Tensor:
    """Compute the logits of the causes (see `ops.cause_logits`)."""
    shape, (n_given, n_subjects, n_tokens) = network.shape, rows.shape
    n_members = len(network.embedding.table)
    numbers = torch.arange(n_given * n_subjects).view(n_given, n_subjects)
    work = _Work(LOGITS, network, numbers.expand(n_members, -1))
    one = torch.empty(0)
    cohort = Batch(rows.flatten(0, 1), values.flatten(0, 1), one, one, one, one, one, one)
    logits = torch.empty(n_members, n_subjects, shape.n_causes, shape.n_intervals)
    work.run(cohort, (1.0, 0.0, 0.0), logits=logits.view(-1).numpy())
    return logits


class _Dropout(NamedTuple):
    """Random bits of all subjects, and the thresholds below which a number is kept."""

    token_bits: NDArray[np.int16]
    shared_bits: NDArray[np.int16]
    inner_bits: NDArray[np.int16]
    token_threshold: int
    head_threshold: int
    scale: float


NO_BITS = np.empty(0, np.int16)
NO_DROPOUT = _Dropout(NO_BITS, NO_BITS, NO_BITS, 0, 0, 1.0)


def _draw(network: Network, n_subjects: int) -> _Dropout:
    """Draw the bits in the order of the plain form: tokens, representation, inner layers."""
    shape, cpu = network.shape, torch.device("cpu")
    tokens = shared = inner = NO_BITS
    token_threshold = head_threshold = 0
    if not network.token_dropout.inactive:
        bits, token_threshold = network.token_dropout.draw((n_subjects, shape.n_tokens), cpu)
        tokens = bits.numpy()
    dropout = network.head_dropout
    if dropout.inactive:
        return _Dropout(tokens, shared, inner, token_threshold, 0, 1.0)
    bits, head_threshold = dropout.draw((n_subjects, shape.hidden), cpu)
    shared = bits.numpy()
    if shape.head_depth == 2:
        bits, _ = dropout.draw((n_subjects, (shape.n_causes + 2) * shape.hidden), cpu)
        inner = bits.numpy()
    scale = 1 / (1 - dropout.probability)
    return _Dropout(tokens, shared, inner, token_threshold, head_threshold, scale)


class _Work:
    """A network and the subjects that each of its members sees, cut into groups."""

    def __init__(
        self, task: int, network: Network, subjects: Tensor, dropout: _Dropout = NO_DROPOUT
    ) -> None:
        shape = network.shape
        self.parameters = _flat(network)
        self.subjects = subjects.contiguous().view(-1).numpy()
        self.dropout = dropout
        self.proportional = shape.proportional
        n_members, n_subjects = subjects.shape
        group_size = max(SMALLEST_GROUP, -(-n_subjects // (N_GROUPS * N_LANES)) * N_LANES)
        if task == LOGITS:  # nothing is summed over groups
            group_size = min(group_size, LARGEST_OF_LOGITS)
        self.n_groups = -(-n_subjects // group_size)
        self.n_tasks = n_members * self.n_groups
        self.n_threads = automatic_threads(n_members * n_subjects * shape.n_tokens)
        self.integers = np.array(
            Integers(
                task=task,
                n_tokens=shape.n_tokens,
                width=shape.width,
                hidden=shape.hidden,
                attention_heads=shape.n_heads,
                depth=shape.depth,
                n_rows=shape.n_rows,
                token_bias=int(shape.token_bias),
                n_causes=shape.n_causes,
                n_intervals=shape.n_intervals,
                head_depth=shape.head_depth,
                n_parameters=self.parameters.shape[1],
                n_subjects=n_subjects,
                group_size=group_size,
                n_groups=self.n_groups,
                token_threshold=dropout.token_threshold,
                head_threshold=dropout.head_threshold,
            ),
            dtype=np.int64,
        )

    def run(
        self,
        cohort: Batch,
        task_weight: Sequence[float],
        gradients: NDArray[np.float32] = np.empty(0, np.float32),
        logits: NDArray[np.float32] = np.empty(0, np.float32),
    ) -> Tensor:
        """Run all groups of all members and add up their losses, (part, member)."""
        numbers = (np.int32, np.float32, np.int64, np.float32, np.int64, *[np.float32] * 3)
        columns = [_numpy(column, dtype) for column, dtype in zip(cohort, numbers, strict=True)]
        parts = np.zeros((self.n_tasks, 3))
        floats = np.array([self.proportional, self.dropout.scale, *task_weight])
        before = (self.integers, floats, self.parameters.reshape(-1), self.subjects, *columns)
        bits, size = self.dropout[:3], workspace_size(self.integers)
        flat_parts = parts.reshape(-1)

        def run(k: int) -> None:
            run_group(k, *before, *bits, _workspace(size), gradients, flat_parts, logits)

        run_in_threads(run, self.n_tasks, self.n_threads)
        by_member = parts.reshape(-1, self.n_groups, 3).sum(axis=1)
        return torch.from_numpy(by_member.T.astype(np.float32))


def _flat(network: Network) -> NDArray[np.float32]:
    """All parameters, (member, parameter), without a copy where they are one tensor."""
    parameters = [parameter.detach() for parameter in network.parameters()]
    first, n = parameters[0], sum(parameter[0].numel() for parameter in parameters)
    place = first.data_ptr()
    for parameter in parameters:
        if parameter.data_ptr() != place or parameter.stride(0) != n:
            return torch.cat([parameter.flatten(1) for parameter in parameters], dim=1).numpy()
        place += 4 * parameter[0].numel()
    return first.as_strided((len(first), n), (n, 1)).numpy()


def _numpy(column: Tensor, dtype: Any) -> NDArray[Any]:
    return np.ascontiguousarray(column.numpy().reshape(-1), dtype)


def _workspace(size: int) -> NDArray[np.float32]:
    """The workspace of this thread: fresh memory would cost a page fault for every 4 KiB."""
    work: NDArray[np.float32] | None = getattr(_this_thread, "work", None)
    if work is None or len(work) < size:
        work = _this_thread.work = np.empty(size, np.float32)
    return work
