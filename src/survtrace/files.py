"""Files and folders that appear whole or not at all."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a path beside ``path`` to write to; at the end it takes its place in one step.

    If anything goes wrong before, Ctrl-C included, what was there before is left as it was. The
    content is on disk before the name is: a power cut leaves the old file or the new one.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder, "note.txt")) as part:
    ...         _ = part.write_text("done")
    ...     [file.name for file in Path(folder).iterdir()]
    ['note.txt']
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = _beside(path)
    try:
        yield part
        with part.open("rb") as file:
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Yield a folder beside ``path`` to fill; at the end it is renamed to it, else removed."""
    part = _beside(path.absolute())
    part.mkdir(parents=True)
    try:
        yield part
        part.replace(path)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _beside(path: Path) -> Path:
    """Name a hidden path in the same folder, that is, on the same disk."""
    return path.with_name(f".{path.name}.{uuid.uuid4().hex[:12]}.part")
