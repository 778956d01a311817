"""Batches from a cohort on disk: a pool of random blocks in memory while the next one is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from survtrace.cohort.batch_source import EpochChunk, count_steps, shuffled, validation_chunk
from survtrace.cohort.records import Layout
from survtrace.cohort.scratch_file import RecordStore
from survtrace.cohort.validation import count_held_out, hold_out

POOL_ROWS = 2**18
Job = TypeVar("Job")
Result = TypeVar("Result")


class Walk(NamedTuple):
    """Who is met when: seeds of the fit and its members, share held out, size of a batch."""

    seed: int
    seeds: Sequence[int]
    fraction: float
    batch_size: int
    pool_rows: int = POOL_ROWS


class Part(NamedTuple):
    """A pool by its number in the epoch, its blocks, and how many subjects members train on."""

    number: int
    blocks: list[int]
    n_trained: int


class DiskSource:
    """A cohort too large for memory, a pool of blocks at a time.

    Each epoch shuffles the blocks, and each member its own subjects within a pool. Both depend on
    seeds and the epoch alone, so a resumed fit walks the same way. All batches have one size, and
    all pools one length, filled up with subjects nobody meets, so that a step can be recorded.
    Of each pool fewer subjects than a batch are left out of an epoch, other ones each time.
    """

    def __init__(
        self, store: RecordStore, layout: Layout, walk: Walk, device: torch.device
    ) -> None:
        self.store, self.layout, self.walk, self.device = store, layout, walk, device
        self.n_pools = -(-sum(store.sizes) // walk.pool_rows)
        n_blocks = -(-len(store.sizes) // self.n_pools)
        self.length = min(n_blocks * max(store.sizes), sum(store.sizes))
        self.trained = [n - count_held_out(n, walk.fraction) for n in store.sizes]
        self.n_training = sum(self.trained)
        most = min(n_blocks * max(self.trained), self.n_training)
        self.size = most // count_steps(most, walk.batch_size)
        self.n_steps = sum(max(1, part.n_trained // self.size) for part in self._parts())

    def training(self, members: list[int], epoch: int) -> Iterator[EpochChunk]:
        """One epoch: every member walks its own subjects in an order of its own."""

        def pool(part: Part) -> EpochChunk:
            held_out = self._held_out(part.blocks, members)
            order = self._order(part, held_out, members, epoch)
            return EpochChunk(self.layout.unpack(self.store.read(part.blocks, self.length)), order)

        yield from self._ready(pool, self._parts(epoch))

    def validation(self, members: list[int]) -> Iterator[EpochChunk]:
        """The subjects each member is stopped by, each once."""

        def pool(part: Part) -> EpochChunk:
            held_out = self._held_out(part.blocks, members)
            met, order = np.unique(held_out, return_inverse=True)
            cohort = self.layout.unpack(self.store.read(part.blocks)[met])
            return EpochChunk(cohort, torch.from_numpy(order.reshape(held_out.shape)))

        chunk = validation_chunk(self.device)
        for cohort, order in self._ready(pool, self._parts()):
            for first in range(0, order.shape[1], chunk):
                yield EpochChunk(cohort, order[None, :, first : first + chunk])

    def _ready(self, pool: Callable[[Part], EpochChunk], parts: list[Part]) -> Iterator[EpochChunk]:
        """Pools read ahead, on the device."""
        for cohort, order in read_ahead(pool, parts):
            # Not in the other thread: CUDA refuses its calls while a step is being recorded.
            yield EpochChunk(cohort.to(self.device), order.to(self.device))

    def _parts(self, epoch: int | None = None) -> list[Part]:
        """The pools of an epoch, or those of the blocks in order."""
        blocks = np.arange(len(self.store.sizes))
        if epoch is not None:
            blocks = np.random.default_rng([self.walk.seed, 3, epoch]).permutation(blocks)
        parts = []
        for number, pool in enumerate(np.array_split(blocks, self.n_pools)):
            n_trained = sum(self.trained[block] for block in pool)
            if n_trained:
                parts.append(Part(number, pool.tolist(), n_trained))
        return parts

    def _held_out(self, blocks: list[int], members: list[int]) -> NDArray[np.int64]:
        """Which subjects of a pool each member holds out."""
        seeds, held_out, first = [self.walk.seeds[m] for m in members], [], 0
        for block in blocks:
            size = self.store.sizes[block]
            held_out.append(first + hold_out(size, self.walk.fraction, seeds, block))
            first += size
        return np.concatenate(held_out, axis=1)

    def _order(
        self, part: Part, held_out: NDArray[np.int64], members: list[int], epoch: int
    ) -> torch.Tensor:
        """The steps of a pool: which of the other subjects each member meets in each."""
        n_subjects = sum(self.store.sizes[block] for block in part.blocks)
        order = []
        for member, own in zip(members, held_out, strict=True):
            trained = torch.from_numpy(np.delete(np.arange(n_subjects), own))
            seed = [self.walk.seeds[member], 2, epoch, part.number]
            order.append(shuffled(trained, seed))
        size = min(self.size, part.n_trained)
        n_steps = part.n_trained // size
        steps = torch.stack(order)[:, : n_steps * size].view(len(members), n_steps, size)
        return steps.transpose(0, 1).contiguous()


def read_ahead(read: Callable[[Job], Result], jobs: Sequence[Job]) -> Iterator[Result]:
    """The results in order; while one is used, the next is read, and no more than that.

    Examples
    --------
    >>> list(read_ahead(str.upper, ["a", "b"]))
    ['A', 'B']
    """
    with ThreadPoolExecutor(1) as reader:
        coming = None
        for job in jobs:
            ready, coming = coming, reader.submit(read, job)
            if ready is not None:
                yield ready.result()
        if coming is not None:
            yield coming.result()
