"""The operations on a network: subjects are cut into groups, which threads run one after another.

How subjects are cut depends on their number alone, and sums are taken in the order of the groups:
results are the same, to the bit, for any number of threads.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils.weak import WeakIdKeyDictionary

from survtrace.batch import INTEGER_COLUMNS, Batch
from survtrace.network.assembly import Network, Shape
from survtrace.ops.cpu.curves import curves, hazards
from survtrace.ops.cpu.jobs import ADD_GROUPS, UPDATE, run_tasks
from survtrace.ops.cpu.network import GRADIENT, LOGITS, LOSS, Integers, workspace_size
from survtrace.ops.cpu.update import RANGE
from survtrace.ops.inputs import DropoutBits, draw_bits, flat_parameters
from survtrace.threads import automatic_threads

__all__ = ["cause_logits", "curves", "gradient", "hazards", "survival_loss", "update", "why_not"]

BLOCK, N_GROUPS, SMALLEST_GROUP, LARGEST_OF_LOGITS = 16, 16, 32, 256
SUMMED = 2**12  # parameters whose sum over groups one task takes
PARAMETERS_PER_TOKEN = 128  # so many are updated while a token goes through the network and back
TYPES = {"rows": torch.int32, **dict.fromkeys(INTEGER_COLUMNS, torch.int64)}
NOTHING, NO_DROPOUT = torch.empty(0), DropoutBits()
# Memory is used again in every step: fresh memory costs a page fault for every 4 KiB. The groups'
# gradients go when the tensor goes that they are added up in.
_gradients = WeakIdKeyDictionary()
_ahead = WeakIdKeyDictionary()  # random bits of a network's next step
_this_thread = threading.local()


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
    """Compute each member's losses and the gradient of their weighted sum (see `ops.gradient`)."""
    n_subjects = subjects.shape[1]
    work = _Work(GRADIENT, network, subjects, _take_bits(network, n_subjects))
    n_members, n_parameters = work.parameters.shape
    gradients = _gradients.get(out, NOTHING)
    if gradients.numel() < (size := work.n_tasks * (n_parameters + BLOCK)):
        gradients = _gradients[out] = torch.empty(size)
    parts = work.run(
        cohort, task_weight.tolist(), gradients, meanwhile=lambda: _draw_ahead(network, n_subjects)
    )
    run_tasks(
        ADD_GROUPS,
        n_members * -(-n_parameters // SUMMED),
        work.n_threads,
        (SUMMED, n_parameters, work.n_groups),
        (gradients, out),
    )
    return parts


def survival_loss(network: Network, cohort: Batch, subjects: Tensor) -> Tensor:
    """Compute the survival loss of each member (see `ops.survival_loss`)."""
    return _Work(LOSS, network, subjects).run(cohort, (1.0, 0.0, 0.0))[0]


def cause_logits(network: Network, rows: Tensor, values: Tensor) -> Tensor:
    """Compute the logits of the causes (see `ops.cause_logits`)."""
    shape, (n_given, n_subjects, _) = network.shape, rows.shape
    n_members = len(network.embedding.table)
    numbers = torch.arange(n_given * n_subjects).view(n_given, n_subjects)
    work = _Work(LOGITS, network, numbers.expand(n_members, -1))
    nothing = dict.fromkeys(Batch._fields, NOTHING)
    cohort = Batch(**{**nothing, "rows": rows.flatten(0, 1), "values": values.flatten(0, 1)})
    logits = torch.empty(n_members, n_subjects, shape.n_causes, shape.n_intervals)
    work.run(cohort, (1.0, 0.0, 0.0), logits=logits)
    return logits


def update(
    flat_parameters: Tensor,
    gradient: Tensor,
    moments: dict[str, Tensor],
    settings: dict[str, Any],
    average: Any,
    clip_norm: float,
) -> None:
    """Take one step, in place, in the optimiser's own moments and with its own settings.

    Why a kernel: torch takes a dozen passes, and its threads would be a second pool beside ours.
    """
    moments["step"] += 1
    average.n_steps += 1
    n_steps, (beta_mean, beta_square) = float(moments["step"]), settings["betas"]
    rates = (
        clip_norm,
        1 - settings["lr"] * settings["weight_decay"],
        1 - beta_mean,
        1 - beta_square,
        # AdamW's moments start at zero; dividing by 1 - beta^n takes that bias off.
        settings["lr"] / (1 - beta_mean**n_steps),
        math.sqrt(1 - beta_square**n_steps),
        settings["eps"],
        max(1 / float(average.n_steps), 1 / average.window),
    )
    n_members, n_parameters = flat_parameters.shape
    tensors = (flat_parameters, gradient, moments["exp_avg"], moments["exp_avg_sq"])
    run_tasks(
        UPDATE,
        n_members * -(-n_parameters // RANGE),
        automatic_threads(flat_parameters.numel() // PARAMETERS_PER_TOKEN),
        (n_parameters,),
        (torch.tensor(rates, dtype=torch.float64), *tensors, average.average),
    )


class _Ahead(NamedTuple):
    """Bits drawn before their step, the step's size, and the generator's state before and after."""

    size: tuple[Any, ...]
    before: Tensor
    after: Tensor
    bits: DropoutBits


def _take_bits(network: Network, n_subjects: int) -> DropoutBits:
    """Take the bits that were drawn ahead, if they are those that would be drawn now."""
    ahead: _Ahead | None = _ahead.pop(network, None)
    if ahead is not None and network.generator is not None:
        now = (n_subjects, network.head_dropout.part, network.training)
        if ahead.size == now and torch.equal(network.generator.get_state(), ahead.before):
            network.generator.set_state(ahead.after)
            return ahead.bits
    return draw_bits(network, n_subjects)


def _draw_ahead(network: Network, n_subjects: int) -> None:
    """Draw the bits of the next step while other threads take this one.

    Drawing cannot be shared: each number follows from the one before. The network's generator is
    put back, so that whoever draws next, and whatever, draws what would be drawn without this.
    """
    generator = network.generator
    if generator is None or not network.training:
        return
    before = generator.get_state()
    bits = draw_bits(network, n_subjects)
    size = (n_subjects, network.head_dropout.part, network.training)
    _ahead[network] = _Ahead(size, before, generator.get_state(), bits)
    generator.set_state(before)


class _Work:
    """A network and the subjects that each of its members sees, cut into groups."""

    def __init__(
        self, task: int, network: Network, subjects: Tensor, bits: DropoutBits = NO_DROPOUT
    ) -> None:
        shape = network.shape
        self.network, self.bits = network, bits
        self.parameters = flat_parameters(network)
        self.subjects = subjects.contiguous()
        n_members, n_subjects = subjects.shape
        group_size = max(SMALLEST_GROUP, -(-n_subjects // (N_GROUPS * BLOCK)) * BLOCK)
        if task == LOGITS:  # nothing is summed over groups
            group_size = min(group_size, LARGEST_OF_LOGITS)
        self.n_groups = -(-n_subjects // group_size)
        self.n_tasks = n_members * self.n_groups
        self.n_threads = automatic_threads(n_members * n_subjects * shape.n_tokens)
        self.integers = Integers(
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
            token_threshold=bits.token_threshold,
            head_threshold=bits.threshold,
        )

    def run(
        self,
        cohort: Batch,
        task_weight: Sequence[float],
        gradients: Tensor = NOTHING,
        logits: Tensor = NOTHING,
        meanwhile: Callable[[], None] = lambda: None,
    ) -> Tensor:
        """Run all groups of all members and add up their losses, (part, member)."""
        parts = torch.zeros(self.n_tasks, 3, dtype=torch.float64)
        shape, bits = self.network.shape, self.bits[:3]
        floats = (shape.proportional, self.bits.scale, *task_weight)
        columns = [
            column.to(TYPES.get(name, torch.float32)).contiguous()
            for name, column in zip(Batch._fields, cohort, strict=True)
        ]
        before = (torch.tensor(floats, dtype=torch.float64), self.parameters, self.subjects)
        n_threads = min(self.n_threads, self.n_tasks)
        run_tasks(
            self.integers.task,
            self.n_tasks,
            n_threads,
            self.integers,
            (*before, *columns, *bits, gradients, parts, logits),
            _workspaces(n_threads, workspace_size(self.integers)),
            meanwhile,
        )
        by_member = parts.view(-1, self.n_groups, 3).sum(1)
        return by_member.T.to(torch.float32).contiguous()


def _workspaces(n_threads: int, size: int) -> Tensor:
    """Make a row for each thread."""
    found: Tensor = getattr(_this_thread, "workspaces", NOTHING)
    if found.numel() < n_threads * size:
        found = _this_thread.workspaces = torch.empty(n_threads * size)
    return found[: n_threads * size].view(n_threads, size)
