"""Batches of subjects held in memory; what the steps of training ask of any batch source."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Int
from numpy.typing import NDArray
from torch import Tensor

from survtrace.batch import Batch


def count_steps(n_rows: int, batch_size: int) -> int:
    """Count the batches of an epoch: as many as come closest to the batch size asked for.

    Examples
    --------
    >>> count_steps(1200, 64), count_steps(10, 64)
    (19, 1)
    """
    return max(1, round(n_rows / batch_size))


class EpochChunk(NamedTuple):
    """Subjects held in memory, and which of them each member meets in each step."""

    cohort: Batch
    order: Int[Tensor, "step member row"]


@runtime_checkable
class BatchSource(Protocol):
    """Gives the steps of training their subjects, from memory or from a disk.

    ``n_training`` counts the rows of a member; ``n_validation`` is the number by which the summed
    losses of its validation rows are divided.
    """

    n_training: int
    n_validation: float
    n_steps: int
    rows_per_subject: float

    def training(self, members: list[int], epoch: int) -> Iterator[EpochChunk]:
        """Give each member its training subjects, in an order that the epoch decides."""

    def validation(self, members: list[int]) -> Iterator[EpochChunk]:
        """Give each member its validation subjects, each once."""

    def learned_from(self) -> Iterator[Batch]:
        """Give the rows that at least one member trains on, each once, in chunks."""


class MemorySource:
    """Batches of a cohort in memory: one chunk is an epoch.

    The order depends on a member's seed and the epoch alone, so that a resumed fit goes on in it.
    All batches of an epoch have one size; fewer rows than there are batches are left out of an
    epoch, other ones each time. Where subjects have several rows, ``rows_per_subject`` is how many
    they have on average and ``n_validation`` how many subjects a member is stopped by: the batch
    size counts subjects, and rows weigh as much as there are of them for a subject.

    Examples
    --------
    >>> cohort = Batch(*(torch.arange(6) for _ in Batch._fields))
    >>> rows = np.array([[0, 1, 2, 3, 4]]), np.array([[5]])
    >>> batch_source = MemorySource(cohort, *rows, seeds=[0], batch_size=2)
    >>> [chunk.order.shape for chunk in batch_source.training([0], epoch=0)]
    [torch.Size([2, 1, 2])]
    """

    def __init__(
        self,
        cohort: Batch,
        training_rows: NDArray[np.int64],
        validation_rows: NDArray[np.int64],
        seeds: Sequence[int],
        batch_size: int,
        chunk: int | None = None,
        rows_per_subject: float = 1.0,
        n_validation: int | None = None,
    ) -> None:
        device = cohort.event.device
        self.cohort = cohort
        self.seeds = seeds
        self.chunk = chunk or validation_chunk(device)
        self.training_rows = torch.from_numpy(training_rows).to(device)
        self.validation_rows = torch.from_numpy(validation_rows).to(device)
        self.n_training = self.training_rows.shape[1]
        self.rows_per_subject = rows_per_subject
        self.n_validation = rows_per_subject * (n_validation or self.validation_rows.shape[1])
        self.n_steps = count_steps(round(self.n_training / rows_per_subject), batch_size)

    def training(self, members: list[int], epoch: int) -> Iterator[EpochChunk]:
        """Give each member its training subjects, in an order that the epoch decides."""
        order = [shuffled(self.training_rows[m], [self.seeds[m], 2, epoch]) for m in members]
        yield EpochChunk(self.cohort, in_steps(order, self.n_training // self.n_steps))

    def validation(self, members: list[int]) -> Iterator[EpochChunk]:
        """Give each member its validation subjects, each once."""
        for subjects in torch.split(self.validation_rows[members], self.chunk, dim=1):
            yield EpochChunk(self.cohort, subjects.unsqueeze(0))

    def learned_from(self) -> Iterator[Batch]:
        """Give the rows that at least one member trains on, each once, in chunks."""
        for rows in torch.split(torch.unique(self.training_rows), self.chunk):
            yield self.cohort.take(rows)


def training_steps(
    batch_source: BatchSource, n_members: int, n_steps: int
) -> Iterator[tuple[Batch, Int[Tensor, "member row"]]]:
    """Give so many steps of all members, epoch after epoch: a cohort, and whom each meets."""
    epoch = 0
    while True:
        for chunk in batch_source.training(list(range(n_members)), epoch):
            for subjects in chunk.order:
                if n_steps == 0:
                    return
                yield chunk.cohort, subjects
                n_steps -= 1
        epoch += 1


def in_steps(order: Sequence[Int[Tensor, " _"]], size: int) -> Int[Tensor, "step member row"]:
    """Cut the subjects of each member into as many batches of one size as all members fill.

    Examples
    --------
    >>> in_steps([torch.arange(5), torch.arange(7)], size=2).shape
    torch.Size([2, 2, 2])
    """
    n_steps = min(map(len, order)) // size
    cut = torch.stack([subjects[: n_steps * size] for subjects in order])
    return cut.view(len(order), n_steps, size).transpose(0, 1).contiguous()


def validation_chunk(device: torch.device) -> int:
    """Return subjects of a forward pass without gradients: what a cache holds, or fills a GPU."""
    return 2**16 if device.type == "cuda" else 2**12


def shuffled(numbers: Int[Tensor, " row"], seed: list[int]) -> Int[Tensor, " row"]:
    """Put numbers into an order that depends on the seed and the kind of device alone.

    Examples
    --------
    >>> shuffled(torch.arange(5), seed=[1, 2]).sort().values.tolist()
    [0, 1, 2, 3, 4]
    """
    state = np.random.SeedSequence(seed).generate_state(1, np.uint64)
    generator = torch.Generator(numbers.device).manual_seed(int(state[0]) >> 1)
    return numbers[torch.randperm(len(numbers), generator=generator, device=numbers.device)]
