"""One step of training; on a GPU, a whole step is recorded once and replayed as one graph."""

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
LOGGER = logging.getLogger("survtrace")


class Step:
    """Forward, loss, backward, clipping, optimiser, running average."""

    def __init__(self, state: State, clip_norm: float, group: ProcessGroup) -> None:
        self.state = state
        self.clip_norm = clip_norm
        self.group = group

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
        ops.update(
            state.flat_parameters, state.gradient, state.optimiser, state.average, self.clip_norm
        )
        return parts


class CudaGraph(NamedTuple):
    """A recorded step: the graph, what it reads, and what it writes."""

    graph: torch.cuda.CUDAGraph
    cohort: Batch
    subjects: Tensor
    task_weight: Tensor
    parts: Tensor


class GraphedStep:
    """The same step, replayed from a CUDA graph: a step costs one launch, not a hundred.

    The first steps are taken as they are, then one is recorded. A batch of another shape is taken
    as it is, and so is every batch if recording fails. Other subjects of the same number are
    copied to where the graph looks for them.
    """

    def __init__(self, step: Step) -> None:
        self.step = step
        self.n_taken = 0
        self.recorded: CudaGraph | None = None
        self.latest: Batch | None = None
        self.weight: Tensor | None = None

    def __call__(
        self,
        cohort: Batch,
        subjects: Int[Tensor, "member row"],
        task_weight: Float[Tensor, " part"],
    ) -> Float[Tensor, "part member"]:
        """Take one step and tell each member's losses, which the next step overwrites."""
        self.n_taken += 1
        if self.n_taken <= N_WARM:
            with side_stream():
                return self.step(cohort, subjects, task_weight)
        if self.n_taken == N_WARM + 1:
            self.recorded = self._record(cohort, subjects, task_weight)
        recorded = self.recorded
        if (
            recorded is None
            or cohort.event.shape != recorded.cohort.event.shape
            or subjects.shape != recorded.subjects.shape
        ):
            return self.step(cohort, subjects, task_weight)
        if self.latest is None or cohort.event is not self.latest.event:
            self.latest = cohort
            for static, new in zip(recorded.cohort, cohort, strict=True):
                static.copy_(new)
        recorded.subjects.copy_(subjects)
        if task_weight is not self.weight:
            self.weight = task_weight
            recorded.task_weight.copy_(task_weight)
        recorded.graph.replay()
        return recorded.parts

    def _record(self, cohort: Batch, subjects: Tensor, task_weight: Tensor) -> CudaGraph | None:
        graph, subjects, task_weight = torch.cuda.CUDAGraph(), subjects.clone(), task_weight.clone()
        generator = self.step.state.network.generator
        try:
            if generator is not None:
                graph.register_generator_state(generator)
            with torch.cuda.graph(graph):
                parts = self.step(cohort, subjects, task_weight)
        except RuntimeError as error:  # an operation that cannot be recorded
            LOGGER.info("every step is launched anew: it could not be recorded (%s)", error)
            return None
        self.latest = cohort
        return CudaGraph(graph, cohort, subjects, task_weight, parts)


def prepare_step(state: State, clip_norm: float, group: ProcessGroup) -> Step | GraphedStep:
    """Make a step for the members that are left, recorded where the device can do that."""
    step = Step(state, clip_norm, group)
    return GraphedStep(step) if state.flat_parameters.is_cuda and group.size == 1 else step


def take_steps(
    step: Step | GraphedStep, chunk: EpochChunk, task_weight: Float[Tensor, " part"]
) -> Float[Tensor, "step part member"]:
    """Take the steps of a chunk; their losses lie side by side, lest each pin a page of memory."""
    n_steps, n_members, _ = chunk.order.shape
    losses = torch.empty(n_steps, len(task_weight), n_members, device=task_weight.device)
    for k, subjects in enumerate(chunk.order):
        losses[k] = step(chunk.cohort, subjects, task_weight)
    return losses


@contextmanager
def side_stream() -> Iterator[None]:
    """Run in another stream, in step with the current one, as recording asks of steps before it."""
    current, side = torch.cuda.current_stream(), torch.cuda.Stream()
    side.wait_stream(current)
    with torch.cuda.stream(side):
        yield
    current.wait_stream(side)
