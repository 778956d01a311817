"""The two passes over a cohort on disk: what its subjects say, and all of them encoded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from survtrace.data.blocks import Block, CohortFiles
from survtrace.data.census import Census, gather, take_census
from survtrace.data.covariates import Covariate
from survtrace.data.draws import hold_out
from survtrace.data.encoding import Encoded
from survtrace.data.parquet import count_parquet_rows
from survtrace.data.records import Layout
from survtrace.data.remarks import in_rows
from survtrace.data.spool import Records, Spool, Spooled, require_space, scratch_folder


@dataclass(frozen=True)
class Counting:
    """The first pass: what the subjects say that at least one member trains on."""

    files: CohortFiles
    covariates: tuple[Covariate, ...]
    seeds: list[int]
    fraction: float
    zero_duration: str
    causes: tuple[Any, ...]

    def __call__(self, span: range | None = None) -> Census | None:
        """The census of all blocks, or of some."""
        at_zero = 0.0 if self.zero_duration == "shift" else self.zero_duration
        blocks = self.files.blocks(causes=self.causes, zero_duration=at_zero, span=span)
        return gather((self._take(block) for block in blocks), self.covariates)

    def _take(self, block: Block) -> Census:
        held_out = hold_out(len(block.outcome), self.fraction, self.seeds, block.number)
        times_held = np.bincount(held_out.ravel(), minlength=len(block.outcome))
        used = np.flatnonzero(times_held < len(self.seeds))
        return take_census(block, self.covariates, used)


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
            with in_rows(block.first_row, len(block.table), told):
                rows, values = encoding.encode(block.table)
            encoded = Encoded(rows[block.kept], values[block.kept])
            yield self.layout.pack(encoded, block.outcome, block.weight)


@contextmanager
def spool(write: Writing, folder: str | Path | None = None) -> Iterator[Spooled]:
    """All records on disk, as long as they are needed; space for them is asked for first."""
    require_space(write.n_bytes, scratch_folder(folder))
    with Spool(write.layout.dtype, folder) as spool:
        for records in write():
            spool.append(records)
        yield spool
