"""One process at a time writes to a folder."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from survtrace.errors import StorageError
from survtrace.files import own_errors

fcntl: Any
try:
    import fcntl
except ModuleNotFoundError:  # Windows
    fcntl = None

LOCK = "in-use.lock"
READ_ONLY = (errno.EACCES, errno.EPERM, errno.EROFS)  # nobody can write there: nothing to guard


@contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Hold a folder's lock, or refuse if another process does; the system frees it at any end.

    The file that is locked holds the number of the process, for the message. It stays there, empty.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, only_writer(Path(folder)):
    ...     with only_writer(Path(folder)):
    ...         pass
    Traceback (most recent call last):
    survtrace.errors.StorageError: ... is in use by process ... Wait until that has ended, or \
choose another folder.
    """
    with own_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        try:
            descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            if error.errno not in READ_ONLY:
                raise
            descriptor = None
    if descriptor is None:
        yield
        return
    try:
        _take(descriptor, folder)
        yield
        with suppress(OSError):
            os.truncate(descriptor, 0)
    finally:
        os.close(descriptor)


def _take(descriptor: int, folder: Path) -> None:
    if fcntl is None:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.read(descriptor, 20).decode("ascii", "replace") or "?"
        raise StorageError(
            f"{folder} is in use by process {holder}, which writes to it. Wait until that has "
            "ended, or choose another folder."
        ) from None
    except OSError:  # a disk without locks
        return
    with suppress(OSError):  # a full disk does not matter here
        os.truncate(descriptor, 0)
        os.write(descriptor, str(os.getpid()).encode())
