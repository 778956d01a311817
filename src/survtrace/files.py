"""Files and folders that appear whole or not at all; files of others, read within bounds."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import stat
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from survtrace.errors import SavedFileError, SettingError, StorageError, memory_errors

# What the user can mend, or must know of; other errors are not about the disk.
DISK_ERRORS = {
    errno.ENOSPC: "Make room, or choose another place.",
    errno.EDQUOT: "Make room, or choose another place.",
    errno.EFBIG: "Choose another place, or raise the limit of file sizes.",
    errno.EACCES: "Choose a folder that you may write to.",
    errno.EPERM: "Choose a folder that you may write to.",
    errno.EROFS: "Choose a folder that you may write to.",
    errno.EEXIST: "Choose another path.",  # a file, or a link to nothing, in place of a folder
    errno.ELOOP: "Choose another path.",
    errno.ENOENT: "Choose another path.",  # where no folder can be made, or one that was removed
    errno.ENOTDIR: "Choose another path.",
    errno.EISDIR: "Choose another path.",
    errno.ENAMETOOLONG: "Choose a shorter path.",
    errno.EIO: "Choose another disk.",
}
AT_CURRENT_FOLDER, EXCHANGE = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of Linux
MOST_ATTEMPTS = 100  # to put a folder in place while others do the same


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
    part = _beside(path)
    with own_errors(path):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            yield part
            sync(part)
            part.replace(path)
        finally:
            with suppress(OSError):
                part.unlink(missing_ok=True)


def require_apart(out: str | Path, source: str | Path) -> None:
    """Refuse to write over what is read, or into its folder; links are followed.

    Examples
    --------
    >>> require_apart("model/page.html", "model")
    Traceback (most recent call last):
    survtrace.errors.SettingError: model/page.html is, or lies in, what is read (model), which is \
never written to. Choose another path.
    """
    target, read = (Path(os.path.realpath(path)) for path in (out, source))
    if read in (target, *target.parents):
        raise SettingError(
            f"{out} is, or lies in, what is read ({source}), which is never written to. Choose "
            "another path."
        )


@contextmanager
def new_folder(path: Path, replace: tuple[str, ...] = ()) -> Iterator[Path]:
    """Yield a folder beside ``path`` to fill; at the end it takes its place in one step.

    A folder at ``path`` that has no files but those named in ``replace`` is replaced, any other is
    left alone. Links are followed: what they point to is replaced.
    """
    path = Path(os.path.realpath(path))
    part = _beside(path)
    with own_errors(path):
        try:
            part.mkdir(parents=True)
            yield part
            for file in (*part.iterdir(), part):
                sync(file)
            _put_in_place(part, path, replace)
            sync(path.parent)
        finally:
            shutil.rmtree(part, ignore_errors=True)


@contextmanager
def own_errors(path: Path) -> Iterator[None]:
    """Turn errors of the disk and of memory while ``path`` is written into errors of ours."""
    try:
        with memory_errors(f"write {path}", "Close other programs, or use a machine with more."):
            yield
    except StorageError:
        raise
    except OSError as error:
        if error.errno not in DISK_ERRORS or not _is_about(error, path):
            raise
        raise StorageError(
            f"{path} could not be written ({error.strerror}). {DISK_ERRORS[error.errno]}", error
        ) from error


def _is_about(error: OSError, path: Path) -> bool:
    """Check that an error is not about another file, such as one that is read meanwhile."""
    if error.filename is None:  # of a write to an open file
        return True
    file = Path(os.fsdecode(error.filename))
    whole = path.absolute()
    return any(f".{path.name}." in part for part in file.parts) or file.absolute() in (
        whole,
        *whole.parents,
    )


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on disk."""
    if path.is_dir() and sys.platform == "win32":
        return  # which opens no folders
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_regular(path: Path, most_bytes: int) -> bytes:
    """Read a file that others may have made: no link, pipe or device, and no more than a bound.

    Examples
    --------
    >>> read_regular(Path("/dev/null"), 100)
    Traceback (most recent call last):
    survtrace.errors.SavedFileError: /dev/null must be a regular file; it is a link, a pipe, a \
device or a folder. Put the file itself there.
    """
    not_regular = SavedFileError(
        f"{path} must be a regular file; it is a link, a pipe, a device or a folder. Put the file "
        "itself there."
    )
    # Somebody may put another there in between: no flag here waits, or follows a link.
    careful = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            raise not_regular
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | careful)) as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise not_regular
            content = b"" if found.st_size > most_bytes else file.read(found.st_size + 1)
    except (FileNotFoundError, NotADirectoryError):
        raise
    except OSError as error:
        raise SavedFileError(f"{path} cannot be read ({error.strerror or error}).") from error
    if len(content) == found.st_size <= most_bytes:
        return content
    raise SavedFileError(
        f"{path} has {found.st_size:,} bytes, more than the {most_bytes:,} that are read, or "
        "changes while it is read. It was not written by survtrace, or is damaged."
    )


def _put_in_place(part: Path, path: Path, replace: tuple[str, ...]) -> None:
    """Rename a folder to its path, or exchange it with the one that is there."""
    for _ in range(MOST_ATTEMPTS):
        try:
            part.rename(path)  # succeeds where nothing is, or an empty folder
            return
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
        with suppress(FileNotFoundError):  # another process took it away: try again
            if not {file.name for file in path.iterdir()} <= set(replace):
                break
            if _exchange(part, path) or _replace_in_two_steps(part, path):
                return
    raise StorageError(
        f"{path} could not be put in place: another program has written to it meanwhile. What it "
        "wrote is left alone. Choose another path."
    )


def _replace_in_two_steps(part: Path, path: Path) -> bool:
    """Replace a folder where the system has no exchange; a kill in between leaves none at path."""
    old = _beside(path)
    path.rename(old)
    try:
        part.rename(path)
    except BaseException as error:
        with suppress(OSError):  # another process was faster
            old.rename(path)
        if not isinstance(error, OSError):
            raise
        return False
    finally:
        if path.exists():
            shutil.rmtree(old, ignore_errors=True)
    return True


def _exchange(first: Path, second: Path) -> bool:
    """Exchange two folders in one step; False where the system or the disk cannot."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    names = os.fsencode(first), os.fsencode(second)
    if rename(AT_CURRENT_FOLDER, names[0], AT_CURRENT_FOLDER, names[1], EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
        return False
    raise OSError(code, os.strerror(code), str(second))


def _beside(path: Path) -> Path:
    """Name a hidden path in the same folder, that is, on the same disk."""
    return path.with_name(f".{path.name}.{uuid.uuid4().hex[:12]}.part")
