"""A cohort in Parquet files, read and encoded by Ray's tasks, kept where all machines see it."""

from __future__ import annotations

import hashlib
import shutil
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from survtrace.cohort.passes import Counting, Writing
from survtrace.cohort.scratch_file import Records, disk_errors, require_space
from survtrace.cohort.source import CohortFiles
from survtrace.cohort.statistics import TableStatistics, gather
from survtrace.distributed.spans import Workers, map_spans, spans_of
from survtrace.errors import DataError, SettingError
from survtrace.files import replacing

MORE_ROOM = "Pass storage= a folder with more room, which all machines see."


class Written(NamedTuple):
    """What a task has written: its file, the sizes of its blocks, and what tells them apart."""

    file: Path
    sizes: list[int]
    digest: bytes


@dataclass(frozen=True)
class SharedRecords:
    """Blocks of records in files that all machines see."""

    parts: tuple[Written, ...]
    dtype: np.dtype[np.void]

    @cached_property
    def sizes(self) -> list[int]:
        """How many records each block has."""
        return [size for part in self.parts for size in part.sizes]

    @cached_property
    def _places(self) -> list[tuple[Path, int]]:
        """The file of each block, and where in it the block begins."""
        return [
            (part.file, sum(part.sizes[:number]) * self.dtype.itemsize)
            for part in self.parts
            for number in range(len(part.sizes))
        ]

    @property
    def fingerprint(self) -> bytes:
        """Identifies all records."""
        return hashlib.sha256(b"".join(part.digest for part in self.parts)).digest()

    def read(self, blocks: Sequence[int], length: int = 0) -> Records:
        """Some blocks, one behind the other, filled up with zeros to a length."""
        found = [self._read(block) for block in blocks]
        missing = max(0, length - sum(map(len, found)))
        return np.concatenate([*found, np.zeros(missing, self.dtype)])

    def _read(self, block: int) -> Records:
        file, offset = self._places[block]
        records = np.fromfile(file, self.dtype, self.sizes[block], offset=offset)
        if len(records) < self.sizes[block]:
            raise DataError(
                f"{file} has become shorter than what was written to it: {len(records)} of "
                f"{self.sizes[block]} records of a block are left. Fit again, on storage that "
                "keeps them."
            )
        return records


def collect_statistics(count: Counting) -> TableStatistics | None:
    """The census of a cohort, taken by many and joined here."""
    parts = map_spans(*_shared_out(count.files), count)
    return gather((part for part in parts if part is not None), count.covariates)


@contextmanager
def shared_records(write: Writing, folder: str) -> Iterator[SharedRecords]:
    """All records in a folder of their own, as long as they are needed."""
    if "://" in folder:
        raise SettingError(
            f"a cohort read from files is kept on disks that all machines see; got {folder}. Pass "
            "the path of a shared folder as storage."
        )
    home = Path(folder, f"cohort-{uuid.uuid4().hex[:8]}")
    home.mkdir(parents=True)
    try:
        require_space(write.n_bytes, home, MORE_ROOM)
        parts = map_spans(*_shared_out(write.files), partial(_write, write, home))
        yield SharedRecords(tuple(parts), write.layout.dtype)
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _shared_out(files: CohortFiles) -> tuple[list[range], Workers]:
    """The blocks of a cohort, and a process for each CPU of the cluster."""
    import ray

    n_workers = max(1, int(ray.cluster_resources().get("CPU", 1)))
    return spans_of(files.path, files.block_rows, n_workers), Workers(n_workers)


def _write(write: Writing, home: Path, span: range) -> Written:
    """Write the blocks of a span; done again after a failure, the file is the same."""
    file, sizes, digest = home / f"{span.start:08d}", list[int](), hashlib.sha256()
    with disk_errors(home, MORE_ROOM), replacing(file) as part, part.open("wb") as out:
        for records in write(span):
            out.write(records.tobytes())
            digest.update(records.tobytes())
            sizes.append(len(records))
    return Written(file, sizes, digest.digest())
