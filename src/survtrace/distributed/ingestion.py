"""A cohort in Parquet files, read and encoded by Ray's tasks, kept where all machines see it."""

from __future__ import annotations

import hashlib
import shutil
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from survtrace.cohort.file_source import FileSource
from survtrace.cohort.prepare import EncodeChunks
from survtrace.cohort.records import Layout
from survtrace.cohort.scratch_file import Records, disk_errors, require_space
from survtrace.distributed.spans import Workers, map_spans, spans_of
from survtrace.errors import DataError, SettingError
from survtrace.files import replacing

MORE_ROOM = "Pass storage= a folder with more room, which all machines see."


class Written(NamedTuple):
    """What a task has written: its file, the sizes of its chunks, and a digest of its records."""

    file: Path
    sizes: list[int]
    digest: bytes


@dataclass(frozen=True)
class SharedRecords:
    """Chunks of records in files that all machines see."""

    parts: tuple[Written, ...]
    dtype: np.dtype[np.void]

    @cached_property
    def sizes(self) -> list[int]:
        """How many records each chunk has."""
        return [size for part in self.parts for size in part.sizes]

    @cached_property
    def _places(self) -> list[tuple[Path, int]]:
        """The file of each chunk, and where in it the chunk begins."""
        return [
            (part.file, sum(part.sizes[:number]) * self.dtype.itemsize)
            for part in self.parts
            for number in range(len(part.sizes))
        ]

    @property
    def fingerprint(self) -> bytes:
        """Identify all records."""
        return hashlib.sha256(b"".join(part.digest for part in self.parts)).digest()

    def read(self, chunks: Sequence[int], length: int = 0) -> Records:
        """Read some chunks, one behind the other, filled up with zeros to a length."""
        found = [self._read(chunk) for chunk in chunks]
        missing = max(0, length - sum(map(len, found)))
        return np.concatenate([*found, np.zeros(missing, self.dtype)])

    def _read(self, chunk: int) -> Records:
        file, offset = self._places[chunk]
        records = np.fromfile(file, self.dtype, self.sizes[chunk], offset=offset)
        if len(records) < self.sizes[chunk]:
            raise DataError(
                f"{file} has become shorter than what was written to it: {len(records)} of "
                f"{self.sizes[chunk]} records of a chunk are left. Fit again, on storage that "
                "keeps them."
            )
        return records


@dataclass(frozen=True)
class FileReaders:
    """Tasks of a cluster that share out the chunks of files, and write to a shared folder."""

    folder: str

    def each_span(self, source: FileSource, work: Callable[..., Any]) -> Iterator[Any]:
        """Do the work on spans of chunks, with a process for each CPU of the cluster."""
        import ray

        n_workers = max(1, int(ray.cluster_resources().get("CPU", 1)))
        spans = spans_of(source.path, source.chunk_rows, n_workers)
        return map_spans(spans, Workers(n_workers), work)

    @contextmanager
    def records(
        self, source: FileSource, layout: Layout, encode: EncodeChunks, n_subjects: int
    ) -> Iterator[SharedRecords]:
        """Hold all records in a folder of their own, as long as they are needed."""
        if "://" in self.folder:
            raise SettingError(
                "a cohort read from files is kept on disks that all machines see; got "
                f"{self.folder}. Pass the path of a shared folder as storage."
            )
        home = Path(self.folder, f"cohort-{uuid.uuid4().hex[:8]}")
        home.mkdir(parents=True)
        try:
            require_space(n_subjects * layout.dtype.itemsize, home, MORE_ROOM)
            written = self.each_span(source, partial(_write, encode, layout, home))
            yield SharedRecords(tuple(written), layout.dtype)
        finally:
            shutil.rmtree(home, ignore_errors=True)


def _write(encode: EncodeChunks, layout: Layout, home: Path, span: range) -> Written:
    """Write the records of a span; done again after a failure, the file is the same."""
    file, sizes, digest = home / f"{span.start:08d}", list[int](), hashlib.sha256()
    with disk_errors(home, MORE_ROOM), replacing(file) as part, part.open("wb") as out:
        for columns in encode(span):
            records = layout.pack(columns).tobytes()
            out.write(records)
            digest.update(records)
            sizes.append(len(records) // layout.dtype.itemsize)
    return Written(file, sizes, digest.digest())
