"""Records in a file without a name, written and read in chunks: it is gone with the process."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from survtrace.errors import DataError

Records = NDArray[np.void]
MORE_ROOM = "Set the variable TMPDIR to a folder with more room."


@runtime_checkable
class RecordStore(Protocol):
    """Chunks of records that can be read, wherever they lie."""

    @property
    def sizes(self) -> Sequence[int]:
        """How many records each chunk has."""

    @property
    def fingerprint(self) -> bytes:
        """Identify all records."""

    def read(self, chunks: Sequence[int], length: int = 0) -> Records:
        """Read some chunks, one behind the other, filled up with zeros to a length."""


class ScratchFile:
    """Chunks of records on disk, in a file without a name: whatever ends the process, it is gone.

    Its folder is by default the system's for temporary files, which the variable TMPDIR names.

    Examples
    --------
    >>> with ScratchFile(np.dtype([("age", np.uint8)])) as store:
    ...     for ages in ([61, 47], [55]):
    ...         store.append(np.array([(age,) for age in ages], store.dtype))
    ...     store.sizes, store.read([1, 0])["age"].tolist()
    ([2, 1], [55, 61, 47])
    """

    def __init__(self, dtype: np.dtype[np.void], folder: str | Path | None = None) -> None:
        self.dtype = dtype
        self.folder = scratch_folder(folder)
        self.sizes: list[int] = []
        self._digest = hashlib.sha256()
        self._lock = Lock()
        with disk_errors(self.folder):
            self._file: Any = tempfile.TemporaryFile(dir=self.folder, buffering=0)  # noqa: SIM115

    def append(self, records: Records) -> None:
        """Write one more chunk."""
        content = memoryview(records.tobytes())
        with disk_errors(self.folder), self._lock:
            self._file.seek(0, os.SEEK_END)
            written = 0
            while written < len(content):  # a raw file may take a part, as when a disk fills up
                n_bytes = self._file.write(content[written:])
                if not n_bytes:
                    raise OSError(f"{len(content) - written} of {len(content)} bytes not written")
                written += n_bytes
        self._digest.update(content)
        self.sizes.append(len(records))

    def read(self, chunks: Sequence[int], length: int = 0) -> Records:
        """Read some chunks, one behind the other, filled up with zeros to a length."""
        starts = np.cumsum([0, *self.sizes]) * self.dtype.itemsize
        n_records = sum(self.sizes[chunk] for chunk in chunks)
        records = np.zeros(max(n_records, length), self.dtype)
        content, first = records.view(np.uint8).data, 0
        for chunk in chunks:
            end = first + int(starts[chunk + 1] - starts[chunk])
            with self._lock:
                self._file.seek(int(starts[chunk]))
                while first < end:
                    n_bytes = self._file.readinto(content[first:end])
                    if not n_bytes:
                        raise DataError(
                            "the scratch file of the encoded cohort has become shorter than what "
                            f"was written to it, by {end - first} bytes of chunk {chunk}. Fit "
                            "again, with TMPDIR set to a folder on a sound disk."
                        )
                    first += n_bytes
        return records

    @property
    def fingerprint(self) -> bytes:
        """Identify all that was written."""
        return self._digest.digest()

    def close(self) -> None:
        """Give the disk back."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def scratch_folder(folder: str | Path | None = None) -> Path:
    """Return the folder given, or else the system's folder for temporary files."""
    return Path(tempfile.gettempdir() if folder is None else folder)


def require_space(n_bytes: int, folder: Path, way_out: str = MORE_ROOM) -> None:
    """Refuse to begin writing what the disk has no room for.

    Examples
    --------
    >>> require_space(10**18, Path("."))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    survtrace.errors.DataError: the encoded cohort needs 1,000,000,000,000,000,000 bytes ...
    """
    with disk_errors(folder, way_out):
        free = shutil.disk_usage(folder).free
    if n_bytes > free:
        raise DataError(
            f"the encoded cohort needs {n_bytes:,} bytes of scratch space in {folder}; {free:,} "
            f"are free. {way_out}"
        )


@contextmanager
def disk_errors(folder: Path, way_out: str = MORE_ROOM) -> Iterator[None]:
    """Say in our words that the disk is full, or closed to us."""
    try:
        yield
    except OSError as error:
        raise DataError(
            f"the encoded cohort could not be written to {folder} ({error.strerror or error}). "
            f"{way_out}"
        ) from None
