"""The tensors of a cohort, whom each member learns from, and the shuffled walk over them."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Int
from numpy.typing import NDArray
from torch import Tensor

from survtrace.batch import Batch


class ValidationSplit(NamedTuple):
    """The subjects each member trains on and those it is stopped by."""

    training: NDArray[np.int64]
    validation: NDArray[np.int64]


def split_validation(
    event: NDArray[np.int64], fraction: float, seeds: list[int]
) -> ValidationSplit:
    """Give each member its own validation subjects, the same share of every cause.

    Examples
    --------
    >>> draws = split_validation(np.array([0, 0, 0, 0, 1, 1, 1, 1]), 0.25, seeds=[1, 2, 3])
    >>> draws.training.shape, draws.validation.shape
    ((3, 6), (3, 2))
    """
    strata = [np.flatnonzero(event == label) for label in np.unique(event)]
    counts = _spread(max(1, round(fraction * len(event))), [len(s) for s in strata])
    validation = []
    for seed in seeds:
        rng = np.random.default_rng([seed, 1])
        chosen = [
            rng.choice(s, size=count, replace=False)
            for s, count in zip(strata, counts, strict=True)
        ]
        validation.append(np.sort(np.concatenate(chosen)))
    everyone = np.arange(len(event))
    training = [np.setdiff1d(everyone, own, assume_unique=True) for own in validation]
    return ValidationSplit(np.stack(training), np.stack(validation))


def _spread(total: int, sizes: list[int]) -> list[int]:
    """Share ``total`` over strata in proportion to their sizes, by largest remainder."""
    exact = total * np.asarray(sizes) / sum(sizes)
    counts = np.floor(exact).astype(int)
    left_over = np.argsort(counts - exact, kind="stable")[: total - counts.sum()]
    counts[left_over] += 1
    return [int(count) for count in counts]


def count_steps(n_rows: int, batch_size: int) -> int:
    """How many batches an epoch has: as many as come closest to the batch size asked for.

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
    """Where the steps of training get their subjects from: memory, or a disk, pool by pool."""

    n_training: int
    n_steps: int

    def training(self, members: list[int], epoch: int) -> Iterator[EpochChunk]:
        """One epoch: every member walks its own subjects in an order of its own."""

    def validation(self, members: list[int]) -> Iterator[EpochChunk]:
        """The subjects each member is stopped by, each once."""


class MemorySource:
    """A whole cohort at hand: one pool is an epoch.

    The order depends on a member's seed and the epoch alone, so a resumed fit walks the same
    way. All batches of an epoch have one size; fewer subjects than there are batches are left out
    of an epoch, other ones each time.

    Examples
    --------
    >>> cohort = Batch(*(torch.arange(6) for _ in Batch._fields))
    >>> draws = ValidationSplit(training=np.array([[0, 1, 2, 3, 4]]), validation=np.array([[5]]))
    >>> batch_source = MemorySource(cohort, draws, seeds=[0], batch_size=2)
    >>> [pool.order.shape for pool in batch_source.training([0], epoch=0)]
    [torch.Size([2, 1, 2])]
    """

    def __init__(
        self,
        cohort: Batch,
        draws: ValidationSplit,
        seeds: Sequence[int],
        batch_size: int,
        chunk: int | None = None,
    ) -> None:
        self.cohort = cohort
        self.seeds = seeds
        self.chunk = chunk or validation_chunk(cohort.event.device)
        self.own = [torch.from_numpy(rows).to(cohort.event.device) for rows in draws]
        self.n_training = draws.training.shape[1]
        self.n_steps = count_steps(self.n_training, batch_size)

    def training(self, members: list[int], epoch: int) -> Iterator[EpochChunk]:
        """One epoch: every member walks its own subjects in an order of its own."""
        size = self.n_training // self.n_steps
        order = torch.stack([shuffled(self.own[0][m], [self.seeds[m], 2, epoch]) for m in members])[
            :, : size * self.n_steps
        ]
        steps = order.view(len(members), self.n_steps, size).transpose(0, 1).contiguous()
        yield EpochChunk(self.cohort, steps)

    def validation(self, members: list[int]) -> Iterator[EpochChunk]:
        """The subjects each member is stopped by, each once."""
        for subjects in torch.split(self.own[1][members], self.chunk, dim=1):
            yield EpochChunk(self.cohort, subjects.unsqueeze(0))


def validation_chunk(device: torch.device) -> int:
    """Subjects of a forward pass without gradients: what a cache holds, or fills a GPU."""
    return 2**16 if device.type == "cuda" else 2**12


def shuffled(numbers: Int[Tensor, " row"], seed: list[int]) -> Int[Tensor, " row"]:
    """The numbers in an order that depends on the seed and the kind of device alone.

    Examples
    --------
    >>> shuffled(torch.arange(5), seed=[1, 2]).sort().values.tolist()
    [0, 1, 2, 3, 4]
    """
    state = np.random.SeedSequence(seed).generate_state(1, np.uint64)
    generator = torch.Generator(numbers.device).manual_seed(int(state[0]) >> 1)
    return numbers[torch.randperm(len(numbers), generator=generator, device=numbers.device)]
