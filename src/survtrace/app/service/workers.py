"""Several processes behind one port: started, watched, and stopped together."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from types import FrameType

from survtrace.errors import SettingError

STOP_SECONDS = 40.0  # that workers have to finish what they have begun
QUICK_SECONDS = 5.0  # a worker that ends sooner would end again


def run_workers(
    work: Callable[[int], None], n_workers: int, close: Callable[[], None] = lambda: None
) -> None:
    """Run ``work(k)`` in processes of their own until told to stop; one that dies is replaced.

    They are forked: the estimator, loaded before, is in memory once. ``close`` is called when they
    are about to stop: a port that stays open here would let clients wait for nobody.
    """
    if not hasattr(os, "fork"):
        raise SettingError(
            f"workers={n_workers} needs a system that can fork processes. Pass workers=1, and "
            "start several servers behind a proxy.",
            in_command=f"--workers {n_workers} needs a system that can fork processes. Start "
            "several servers behind a proxy.",
        )
    stopping: list[int] = []

    def stop(number: int, frame: FrameType | None) -> None:
        stopping.append(number)

    previous = {each: signal.signal(each, stop) for each in (signal.SIGTERM, signal.SIGINT)}
    running = {_fork(work, k): (k, time.monotonic()) for k in range(n_workers)}
    try:
        while running and not stopping:
            _replace_ended(work, running)
            time.sleep(0.1)
        if not stopping:
            raise RuntimeError("all workers ended as soon as they were started.")
        close()
        for pid in running:
            os.kill(pid, signal.SIGTERM)
        _await_end(running)
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _fork(work: Callable[[int], None], worker: int) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        work(worker)
        code = 0
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)  # what the parent has begun is not for its child to end


def _replace_ended(work: Callable[[int], None], running: dict[int, tuple[int, float]]) -> None:
    """Start anew a worker that has died; one that dies at once is not worth it."""
    pid, status = os.waitpid(-1, os.WNOHANG)
    if pid not in running:
        return
    worker, began = running.pop(pid)
    print(f"worker {worker} ended (status {status})", file=sys.stderr, flush=True)
    if time.monotonic() - began >= QUICK_SECONDS:
        running[_fork(work, worker)] = (worker, time.monotonic())


def _await_end(running: dict[int, tuple[int, float]]) -> None:
    end = time.monotonic() + STOP_SECONDS
    while running and time.monotonic() < end:
        pid, _ = os.waitpid(-1, os.WNOHANG)
        running.pop(pid, None)
        time.sleep(0.02)
    for pid in running:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
