"""Check where a command may write: never over an input, over other files only with --force."""

from __future__ import annotations

import errno
import os
import shlex
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from survtrace.errors import DataError, SavedFileError, SettingError

if TYPE_CHECKING:
    from survtrace import SurvTRACE

STANDARD = Path("-")
JSON_BYTES = 2**20  # room for estimator.json
MISSING_OR_TAKEN = (FileNotFoundError, FileExistsError, IsADirectoryError, NotADirectoryError)
WRONG_PATH = (*MISSING_OR_TAKEN, PermissionError)


def require_free(
    out: Path | None,
    *,
    force: bool,
    inputs: Sequence[Path | None] = (),
    option: str = "--out",
    is_folder: bool = False,
) -> None:
    """Refuse an output path before any work, if something would be lost or could not be written.

    A path that is an input, or lies inside an input folder, is refused in any case, under
    whatever name: links are followed. Any other file that exists is refused without ``--force``,
    a folder in place of a file in any case, and a file in place of a folder.

    Examples
    --------
    >>> require_free(Path(__file__), force=True, inputs=[Path(__file__)])
    Traceback (most recent call last):
    survtrace.errors.SettingError: --out ... is an input of this command ...
    """
    if out is None or out == STANDARD:
        return
    for source in inputs:
        if source is not None and source != STANDARD and _is_within(out, source):
            raise SettingError(
                f"{option} {out} is an input of this command ({source}), which is never written "
                "to. Choose another path."
            )
    if os.path.lexists(out):
        if not out.is_file() and not out.is_dir() and not out.is_symlink():
            raise SettingError(f"{option} {out} is no regular file. Choose another path.")
        if out.is_dir() and not is_folder:
            raise SettingError(f"{option} {out} is a folder. Pass the path of a file to write.")
        if out.is_file() and is_folder:
            raise SettingError(f"{option} {out} is a file. Pass the path of a folder to write.")
        if not force:
            raise SettingError(
                f"{option} {out} exists and is left alone. Choose another path, or replace it with "
                "--force."
            )
    require_writable(out, option=option)


def require_page(out: Path) -> None:
    """Refuse a page under a name that no browser takes for one, such as report.pdf.

    Examples
    --------
    >>> require_page(Path("report.pdf"))
    Traceback (most recent call last):
    survtrace.errors.SettingError: --out must end in .html; got report.pdf. The page opens in a \
browser, which prints it as PDF.
    """
    if out.suffix.lower() not in (".html", ".htm"):
        raise SettingError(
            f"--out must end in .html; got {out}. The page opens in a browser, which prints it as "
            "PDF."
        )


def require_free_model(
    out: Path, *, force: bool, inputs: Sequence[Path | None] = (), n_bytes: int = 0
) -> None:
    """Refuse a folder for a model as `require_free` does, and one that holds anything else."""
    from survtrace.persistence import require_replaceable

    require_replaceable(out)
    is_empty_folder = out.is_dir() and not any(out.iterdir())
    require_free(out, force=force or is_empty_folder, inputs=inputs, is_folder=True)
    require_writable(out, n_bytes + JSON_BYTES)


def require_writable(out: Path, n_bytes: int = 0, *, option: str = "--out") -> None:
    """Refuse a path where nothing can be written, or with too little room, by trying it."""
    folder = out.absolute().parent
    parent = next(each for each in (folder, *folder.parents) if os.path.lexists(each))
    try:
        with tempfile.TemporaryDirectory(dir=parent, prefix=".survtrace-"):
            room = shutil.disk_usage(parent).free
    except OSError as error:
        raise SettingError(
            f"{option} {out} cannot be written ({error.strerror or error}: {parent}). Choose "
            "another place."
        ) from None
    if room < n_bytes:
        raise SettingError(
            f"{option} {out} needs {_size(n_bytes)}, and {parent} has {_size(room)} left. Make "
            "room, or choose another place."
        )


def save_model(est: SurvTRACE, out: Path) -> None:
    """Save a model; if that fails after all, save it among the temporary files and say where."""
    try:
        est.save(out)
    except (OSError, SavedFileError) as error:
        reason = getattr(error, "strerror", None) or error
        path = Path(tempfile.mkdtemp(prefix="survtrace-")) / out.name
        try:
            est.save(path)
        except OSError as second:
            shutil.rmtree(path.parent, ignore_errors=True)
            raise DataError(
                f"the model could not be saved: neither to {out} ({reason}) nor to {path} "
                f"({second.strerror or second}). Make room and fit again."
            ) from error
        raise DataError(
            f"{out} could not be written ({reason}). The model is complete and saved in {path}. "
            f"Make room, then: {shlex.join(['mv', str(path), str(out)])}"
        ) from error


def file_error_message(error: OSError) -> str | None:
    """Return the message for an error of the file system; None if the user cannot mend it."""
    path = f"{error.filename}: " if error.filename else ""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return f"{path}{error.strerror}. Make room, or choose another place."
    if isinstance(error, WRONG_PATH) or error.errno in (errno.EROFS, errno.ENAMETOOLONG):
        return f"{path}{error.strerror}. Choose another path."
    return None


def beside(out: Path, ending: str) -> Path:
    """Append an ending to the name of a path.

    Examples
    --------
    >>> beside(Path("models/first"), ".interrupted").as_posix()
    'models/first.interrupted'
    """
    named = out if out.name not in ("", "..") else out.resolve()
    return named.with_name(named.name + ending)


def _is_within(out: Path, source: Path) -> bool:
    """Check whether a path is another, by any link, or lies inside it."""
    if not source.exists():
        return False
    inside = (out.parent.resolve() / out.name).parents if source.is_dir() else ()
    return any(path.exists() and os.path.samefile(path, source) for path in (out, *inside))


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 2**20:,.1f} MiB"
