"""What is written down of a request: route, status and seconds; nothing that was sent."""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from survtrace.app.service.metrics import Metrics, route_of
from survtrace.errors import SettingError

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


class Recorder:
    """Counts every answer and, with a log, writes a line for it."""

    def __init__(self, metrics: Metrics, log: str | Path | None = None) -> None:
        self.metrics = metrics
        self.log = None if log is None else _open_log(log)
        self.gauges: Callable[[], tuple[int, int]] = lambda: (0, 0)
        self._next_gauges = 0.0

    def record(self, method: str, path: str, status: int, seconds: float) -> None:
        """Count an answer and log it; 0 is the status of one that never began."""
        route = route_of(path)
        self.metrics.count(route, status or 500, seconds)
        now = time.monotonic()
        if now >= self._next_gauges or route == "/metrics":
            self.metrics.set_gauges(*self.gauges())
            self._next_gauges = now + 1.0
        if self.log is not None:
            day = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            verb = method if method in METHODS else "other"
            self.log.write(f"{day} {verb} {route} {status} {1000 * seconds:.1f} ms\n")

    def log_fault(self, error: BaseException) -> None:
        """Write the kind and the place of a fault of ours, without its message."""
        places = traceback.extract_tb(error.__traceback__)[-3:]
        where = " < ".join(f"{Path(at.filename).name}:{at.lineno}" for at in reversed(places))
        print(f"fault: {type(error).__name__} at {where}", file=self.log or sys.stderr, flush=True)


def _open_log(log: str | Path) -> IO[str]:
    """Open a file to add lines to, each by one write: processes may share it."""
    if str(log) == "-":
        return sys.stderr
    try:
        return Path(log).open("a", buffering=1, encoding="utf-8")
    except OSError as error:
        raise SettingError(
            f"the log {log} cannot be written to ({error.strerror}). Name another file, or - for "
            "standard error."
        ) from None
