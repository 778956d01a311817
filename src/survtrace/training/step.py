"""One step of training; on a GPU, some steps are recorded once and replayed as one graph."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from survtrace import ops
from survtrace.batch import Batch
from survtrace.cohort.batch_source import EpochChunk
from survtrace.training.process_group import ProcessGroup
from survtrace.training.state import State

N_WARM = 3
N_TOGETHER = 16  # steps of a graph: what lies between two graphs is then little of all
LOGGER = logging.getLogger("survtrace")


class Step:
    """Forward, loss, backward, clipping, optimiser, running average.

    ``trained`` is 1 for the parameters that change, else 0; None: all do.
    """

    def __init__(
        self,
        state: State,
        clip_norm: float,
        group: ProcessGroup,
        trained: Float[Tensor, " parameter"] | None = None,
    ) -> None:
        self.state = state
        self.clip_norm = clip_norm
        self.group = group
        self.trained = trained

    def __call__(
        self,
        cohort: Batch,
        subjects: Int[Tensor, "member row"],
        task_weight: Float[Tensor, " part"],
    ) -> Float[Tensor, "part member"]:
        """Take one step and tell this process's share of each member's losses."""
        state, group = self.state, self.group
        network = state.network
        shard = group.shard(subjects)
        if group.size > 1:
            network.share_dropout(group.part(subjects.shape[1]))
        parts = ops.gradient(network, cohort, shard, task_weight, state.gradient)
        if group.size > 1:
            share = shard.shape[1] / subjects.shape[1]
            parts = parts * share
            group.all_reduce(state.gradient.mul_(share))
        if self.trained is not None:
            state.gradient.mul_(self.trained)
        ops.update(
            state.flat_parameters, state.gradient, state.optimiser, state.average, self.clip_norm
        )
        return parts

    def take(
        self,
        cohort: Batch,
        order: Int[Tensor, "step member row"],
        task_weight: Float[Tensor, " part"],
        losses: Float[Tensor, "step part member"],
    ) -> int:
        """Take the first step of an order, write down its losses and tell that it is one."""
        losses[0] = self(cohort, order[0], task_weight)
        return 1


class CudaGraph(NamedTuple):
    """Some recorded steps: the graph, what it reads, and what it writes."""

    graph: torch.cuda.CUDAGraph
    cohort: Batch
    order: Tensor
    task_weight: Tensor
    losses: Tensor


class GraphedStep:
    """The same steps, replayed from a CUDA graph: many cost one launch, not a dozen each.

    The first steps are taken as they are, then some are recorded. A batch of another shape is
    taken as it is, and so is every batch if recording fails. Other subjects of the same number are
    copied to where the graph looks for them.
    """

    def __init__(self, step: Step) -> None:
        self.step = step
        self.n_taken = 0
        self.recorded: dict[int, CudaGraph | None] = {}  # by how many steps it takes
        self.latest: Batch | None = None

    def take(
        self,
        cohort: Batch,
        order: Int[Tensor, "step member row"],
        task_weight: Float[Tensor, " part"],
        losses: Float[Tensor, "step part member"],
    ) -> int:
        """Take the first steps of an order, write down their losses and tell how many they are."""
        if self.n_taken < N_WARM:
            self.n_taken += 1
            with side_stream():
                return self.step.take(cohort, order, task_weight, losses)
        n_steps = N_TOGETHER if len(order) >= N_TOGETHER else 1
        if n_steps not in self.recorded:
            self.recorded[n_steps] = self._record(cohort, order[:n_steps], task_weight)
        recorded = self.recorded[n_steps]
        if (
            recorded is None
            or cohort.event.shape != recorded.cohort.event.shape
            or order.shape[1:] != recorded.order.shape[1:]
        ):
            return self.step.take(cohort, order, task_weight, losses)
        if self.latest is None or cohort.event is not self.latest.event:
            self.latest = cohort
            for static, new in zip(recorded.cohort, cohort, strict=True):
                static.copy_(new)
        recorded.order.copy_(order[:n_steps])
        recorded.task_weight.copy_(task_weight)
        recorded.graph.replay()
        losses[:n_steps] = recorded.losses
        return n_steps

    def _record(self, cohort: Batch, order: Tensor, task_weight: Tensor) -> CudaGraph | None:
        first = next((graph for graph in self.recorded.values() if graph is not None), None)
        if first is None:
            self.latest = cohort
        else:
            cohort = first.cohort  # where the subjects of any chunk are copied to
        graph, order, task_weight = torch.cuda.CUDAGraph(), order.clone(), task_weight.clone()
        losses = torch.empty(len(order), len(task_weight), order.shape[1], device=order.device)
        generator = self.step.state.network.generator
        try:
            if generator is not None:
                graph.register_generator_state(generator)
            with torch.cuda.graph(graph):
                for subjects, parts in zip(order, losses, strict=True):
                    parts.copy_(self.step(cohort, subjects, task_weight))
        except RuntimeError as error:  # an operation that cannot be recorded
            LOGGER.info("every step is launched anew: it could not be recorded (%s)", error)
            return None
        return CudaGraph(graph, cohort, order, task_weight, losses)


def prepare_step(
    state: State,
    clip_norm: float,
    group: ProcessGroup,
    trained: Float[Tensor, " parameter"] | None = None,
) -> Step | GraphedStep:
    """Make a step for the members that are left, recorded where the device can do that."""
    step = Step(state, clip_norm, group, trained)
    return GraphedStep(step) if state.flat_parameters.is_cuda and group.size == 1 else step


def take_steps(
    step: Step | GraphedStep, chunk: EpochChunk, task_weight: Float[Tensor, " part"]
) -> Float[Tensor, "step part member"]:
    """Take the steps of a chunk; their losses lie side by side, lest each pin a page of memory."""
    n_steps, n_members, _ = chunk.order.shape
    losses = torch.empty(n_steps, len(task_weight), n_members, device=task_weight.device)
    k = 0
    while k < n_steps:
        k += step.take(chunk.cohort, chunk.order[k:], task_weight, losses[k:])
    return losses


@contextmanager
def side_stream() -> Iterator[None]:
    """Run in another stream, in step with the current one, as recording asks of steps before it."""
    current, side = torch.cuda.current_stream(), torch.cuda.Stream()
    side.wait_stream(current)
    with torch.cuda.stream(side):
        yield
    current.wait_stream(side)
