"""Batches of a cohort on disk: some random chunks in memory while the next are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from survtrace.batch import Batch
from survtrace.cohort.batch_source import (
    EpochChunk,
    count_steps,
    in_steps,
    shuffled,
    validation_chunk,
)
from survtrace.cohort.records import Layout
from survtrace.cohort.scratch_file import Records, RecordStore
from survtrace.cohort.validation import ValidationSplit, padded

ROWS_IN_MEMORY = 2**18
Job = TypeVar("Job")
Result = TypeVar("Result")


class Part(NamedTuple):
    """The chunks of a file that are in memory together, and their place in the epoch."""

    number: int
    chunks: list[int]


class DiskSource:
    """Batches of a cohort too large for memory, a part of its chunks at a time.

    Each epoch shuffles the chunks, and each member its own subjects within a part. Both depend on
    seeds and the epoch alone, so that a resumed fit goes on in the same order. All batches have one
    size, and all parts one length, filled up with subjects nobody meets, so that a step can be
    recorded. Of each part the subjects that do not fill a batch of every member are left out of an
    epoch, other ones each time. Where subjects have several rows, the lists of members that have
    fewer rows of a part than others are filled up with the empty row.
    """

    def __init__(
        self,
        store: RecordStore,
        layout: Layout,
        split: ValidationSplit,
        seed: int,
        seeds: Sequence[int],
        batch_size: int,
        device: torch.device,
        rows_in_memory: int = ROWS_IN_MEMORY,
    ) -> None:
        self.store, self.layout, self.split, self.device = store, layout, split, device
        self.seed, self.seeds = seed, seeds
        sizes = store.sizes
        self.first = np.cumsum([0, *sizes]).tolist()
        self.n_parts = -(-sum(sizes) // rows_in_memory)
        self.length = min(-(-len(sizes) // self.n_parts) * max(sizes), sum(sizes))
        if split.id is not None:
            self.length += 1  # there is always an empty row at the end
        self.rows_per_subject = rows_per_subject = split.rows_per_subject
        self.n_training = round(split.n_training * rows_per_subject)
        self.n_validation = split.n_validation * rows_per_subject
        rows = max(1, self.n_training // self.n_parts)
        self.size = rows // count_steps(round(rows / rows_per_subject), batch_size)
        self.n_steps = self.n_parts * max(1, rows // self.size)

    def training(self, members: list[int], epoch: int) -> Iterator[EpochChunk]:
        """Give each member its training subjects, in an order that the epoch decides."""
        seeds = [self.seeds[member] for member in members]

        def read(part: Part) -> EpochChunk | None:
            order = [
                shuffled(torch.from_numpy(rows), [seed, 2, epoch, part.number])
                for seed, rows in zip(seeds, self._trained_on(part, members), strict=True)
            ]
            n_rows = min(map(len, order))
            if n_rows == 0:
                return None
            records = self.store.read(part.chunks, self.length)
            return EpochChunk(self.layout.unpack(records), in_steps(order, min(self.size, n_rows)))

        yield from self._on_device(read, self._parts(epoch))

    def validation(self, members: list[int]) -> Iterator[EpochChunk]:
        """Give each member its validation subjects, each once.

        Members hold out equally many subjects of the table but not of a part: those that others
        have no match for wait for the next part. In the last part, lists of rows are filled up
        with the empty row.
        """
        waiting = [np.empty(0, dtype=np.int64) for _ in members]
        records = np.empty(0, self.layout.dtype)

        def read(part: Part) -> EpochChunk | None:
            nonlocal waiting, records
            subjects = [
                np.concatenate([before, len(records) + np.flatnonzero(marks)])
                for before, marks in zip(waiting, self._held_out(part, members), strict=True)
            ]
            records = np.concatenate([records, self.store.read(part.chunks)])
            if part.number == self.n_parts - 1:
                subjects = list(padded(subjects, empty=len(records)))
                records = np.append(records, np.zeros(1, records.dtype))
            n_rows = min(map(len, subjects))
            now = np.stack([rows[:n_rows] for rows in subjects])
            met, order = np.unique(now, return_inverse=True)
            chunk = EpochChunk(
                self.layout.unpack(records[met]), torch.from_numpy(order.reshape(now.shape))
            )
            left = np.unique(np.concatenate([rows[n_rows:] for rows in subjects]))
            waiting = [np.searchsorted(left, rows[n_rows:]) for rows in subjects]
            records = records[left]
            return chunk if n_rows else None

        n_rows = validation_chunk(self.device)
        for cohort, order in self._on_device(read, self._parts()):
            for first in range(0, order.shape[1], n_rows):
                yield EpochChunk(cohort, order[None, :, first : first + n_rows])

    def learned_from(self) -> Iterator[Batch]:
        """Give the rows that at least one member trains on, each once, in chunks."""
        everybody = list(range(self.split.n_members))

        def read(part: Part) -> Records:
            return self.store.read(part.chunks)[~self._held_out(part, everybody).all(0)]

        size = validation_chunk(self.device)
        for records in read_ahead(read, self._parts()):
            for first in range(0, len(records), size):
                yield self.layout.unpack(records[first : first + size]).to(self.device)

    def _on_device(
        self, read: Callable[[Part], EpochChunk | None], parts: list[Part]
    ) -> Iterator[EpochChunk]:
        """Give the parts that have subjects, each read while the one before is used."""
        for chunk in read_ahead(read, parts):
            if chunk is not None:
                # Not in the other thread: CUDA refuses its calls while a step is being recorded.
                yield EpochChunk(chunk.cohort.to(self.device), chunk.order.to(self.device))

    def _parts(self, epoch: int | None = None) -> list[Part]:
        """Return the parts of an epoch, or those of the chunks in order."""
        chunks = np.arange(len(self.store.sizes))
        if epoch is not None:
            chunks = np.random.default_rng([self.seed, 3, epoch]).permutation(chunks)
        split = np.array_split(chunks, self.n_parts)
        return [Part(number, some.tolist()) for number, some in enumerate(split)]

    def _trained_on(self, part: Part, members: list[int]) -> list[NDArray[np.int64]]:
        """List the rows of a part that each member trains on."""
        if self.split.id is None:
            return [np.flatnonzero(~marks) for marks in self._held_out(part, members)]
        everybody = list(range(self.split.n_members))  # so that those who stop change no length
        rows = [np.flatnonzero(~marks) for marks in self._held_out(part, everybody)]
        return list(padded(rows, empty=self.length - 1)[members])

    def _held_out(self, part: Part, members: list[int]) -> NDArray[np.bool_]:
        """Mark the subjects of a part that each member holds out, shape (member, subject)."""
        chunks = [self.split.held_out(slice(*self.first[k : k + 2])) for k in part.chunks]
        return np.concatenate(chunks, axis=1)[members]


def read_ahead(read: Callable[[Job], Result], jobs: Sequence[Job]) -> Iterator[Result]:
    """Give the results in order; while one is used, the next is read, and no more than that.

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
