"""The two passes over a cohort on disk: what its subjects say, and all of them encoded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from survtrace.cohort.records import Layout
from survtrace.cohort.scratch_file import (
    Records,
    RecordStore,
    ScratchFile,
    require_space,
    scratch_folder,
)
from survtrace.cohort.source import Block, CohortFiles
from survtrace.cohort.statistics import TableStatistics, collect_statistics, gather
from survtrace.cohort.validation import hold_out
from survtrace.tables.covariates.covariates import Covariate
from survtrace.tables.covariates.encoding import Encoded
from survtrace.tables.files.chunks import warnings_of_rows
from survtrace.tables.files.parquet import count_parquet_rows


@dataclass(frozen=True)
class Counting:
    """The first pass: what the subjects say that at least one member trains on."""

    files: CohortFiles
    covariates: tuple[Covariate, ...]
    seeds: list[int]
    fraction: float
    zero_duration: str
    causes: tuple[Any, ...]

    def __call__(self, span: range | None = None) -> TableStatistics | None:
        """The census of all blocks, or of some."""
        at_zero = 0.0 if self.zero_duration == "shift" else self.zero_duration
        blocks = self.files.blocks(causes=self.causes, zero_duration=at_zero, span=span)
        return gather((self._take(block) for block in blocks), self.covariates)

    def _take(self, block: Block) -> TableStatistics:
        held_out = hold_out(len(block.outcome), self.fraction, self.seeds, block.number)
        times_held = np.bincount(held_out.ravel(), minlength=len(block.outcome))
        used = np.flatnonzero(times_held < len(self.seeds))
        return collect_statistics(block, self.covariates, used)


@dataclass(frozen=True)
class Writing:
    """The second pass: subjects as records."""

    files: CohortFiles
    layout: Layout
    causes: tuple[Any, ...]
    zero_duration: str | float

    @property
    def n_bytes(self) -> int:
        """The most that all records take on disk."""
        return count_parquet_rows(self.files.path) * self.layout.dtype.itemsize

    def __call__(self, span: range | None = None) -> Iterator[Records]:
        """The records of all blocks, or of some, block by block."""
        told, encoding = set[str](), self.layout.encoding
        for block in self.files.blocks(
            causes=self.causes, zero_duration=self.zero_duration, span=span
        ):
            with warnings_of_rows(block.first_row, len(block.table), told):
                rows, values = encoding.encode(block.table)
            encoded = Encoded(rows[block.kept], values[block.kept])
            yield self.layout.pack(encoded, block.outcome, block.weight)


@contextmanager
def store(write: Writing, folder: str | Path | None = None) -> Iterator[RecordStore]:
    """All records on disk, as long as they are needed; space for them is asked for first."""
    require_space(write.n_bytes, scratch_folder(folder))
    with ScratchFile(write.layout.dtype, folder) as store:
        for records in write():
            store.append(records)
        yield store
