"""Find a published file on this machine, or download it once and check it."""

from __future__ import annotations

import hashlib
import http.client
import os
import sys
import time
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

from survtrace.errors import DataError
from survtrace.files import replacing

DATA_HOME = "SURVTRACE_DATA_HOME"
PAUSES = (1.0, 4.0)  # seconds before the second and the third attempt
TIMEOUT = 30.0
CHUNK = 1 << 16


def fetch(name: str, url: str, sha256: str) -> Path:
    """Find a file in the data folders, or download it into the first; check its ``sha256``."""
    folders = data_folders()
    for folder in folders:
        if (folder / name).is_file():
            _require_sha256(folder / name, sha256, "Delete it to have it downloaded again.")
            return folder / name
    path = folders[0] / name
    with replacing(path) as part:  # nothing stands at the path before it is checked
        _transfer_with_retries(url, part, path)
        _require_sha256(part, sha256, f"The publisher may have changed it: {url}", name)
    return path


def data_folders() -> list[Path]:
    """List the folders searched: ``$SURVTRACE_DATA_HOME`` if set, then the user's cache."""
    home = os.environ.get(DATA_HOME)
    cache = _user_cache() / "survtrace"
    return [Path(home).expanduser(), cache] if home else [cache]


def _user_cache() -> Path:
    if chosen := os.environ.get("XDG_CACHE_HOME"):
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path.home() / ".cache"


def _transfer_with_retries(url: str, part: Path, path: Path) -> None:
    for pause in (*PAUSES, None):
        try:
            _transfer(url, part, path.name)
            return
        except (OSError, http.client.HTTPException) as error:
            refused = isinstance(error, HTTPError) and error.code < 500  # a retry is in vain
            if pause is None or refused:
                raise DataError(
                    f"{path.name} could not be downloaded from {url} ({error}). Check the "
                    f"connection, or put the file into {path.parent} yourself; the environment "
                    f"variable {DATA_HOME} may name another folder."
                ) from error
            time.sleep(pause)


def _transfer(url: str, part: Path, label: str) -> None:
    request, console = Request(url, headers={"User-Agent": "survtrace"}), Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    with (
        urlopen(request, timeout=TIMEOUT) as response,
        part.open("wb") as target,
        Progress(
            *columns, console=console, transient=True, disable=not console.is_terminal
        ) as progress,
    ):
        size = response.headers.get("Content-Length")
        total = None if size is None else int(size)
        task, seen = progress.add_task(label, total=total), 0
        while chunk := response.read(CHUNK):
            seen += target.write(chunk)
            progress.update(task, completed=seen)
    if total is not None and seen < total:
        raise ConnectionError(f"the connection closed after {seen} of {total} bytes")


def _require_sha256(path: Path, expected: str, way_out: str, name: str | None = None) -> None:
    seen = hashlib.sha256(path.read_bytes()).hexdigest()
    if seen != expected:
        raise DataError(
            f"{name or path} must have the sha256 {expected}; seen {seen}. "
            f"It is damaged or another version. {way_out}"
        )
