"""Several processes behind one port: started, watched, and stopped together."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import NamedTuple

from survtrace.errors import SettingError

STOP_SECONDS = 40.0  # that workers have to finish what they have begun
QUICK_SECONDS = 5.0  # a worker that ended sooner is not started again before


def run_workers(
    work: Callable[[int], None], n_workers: int, close: Callable[[], None] = lambda: None
) -> None:
    """Run ``work(k)`` in processes of their own until told to stop; one that dies is replaced.

    They are forked: the estimator, loaded before, is in memory once. ``close`` is called when they
    are about to stop: a port that stays open here would let clients wait for nobody. They stop,
    too, when this process dies: nobody could stop them any more, and they would keep the port.
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
    parent = Parent(*os.pipe())
    running = {_fork(work, k, parent): (k, time.monotonic()) for k in range(n_workers)}
    ended: list[tuple[int, float]] = []
    try:
        while running and not stopping:
            _reap(running, ended)
            while running and ended and time.monotonic() - ended[0][1] >= QUICK_SECONDS:
                worker, _ = ended.pop(0)
                running[_fork(work, worker, parent)] = (worker, time.monotonic())
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
        for end in parent:
            os.close(end)


class Parent(NamedTuple):
    """A pipe to which nobody writes; what reads from it wakes up when the parent is no more."""

    awaited: int
    held: int


def _fork(work: Callable[[int], None], worker: int, parent: Parent) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        os.close(parent.held)
        threading.Thread(target=_stop_with, args=(parent,), daemon=True).start()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        work(worker)
        code = 0
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)  # what the parent has begun is not for its child to end


def _stop_with(parent: Parent) -> None:
    """Stop this process, as by a signal of the parent's, once the parent has ended."""
    os.read(parent.awaited, 1)
    os.kill(os.getpid(), signal.SIGTERM)


def _reap(running: dict[int, tuple[int, float]], ended: list[tuple[int, float]]) -> None:
    """Move a worker that has died to those ended, with when it began."""
    pid, status = os.waitpid(-1, os.WNOHANG)
    if pid in running:
        ended.append(running.pop(pid))
        print(f"worker {ended[-1][0]} ended (status {status})", file=sys.stderr, flush=True)


def _await_end(running: dict[int, tuple[int, float]]) -> None:
    end = time.monotonic() + STOP_SECONDS
    while running and time.monotonic() < end:
        pid, _ = os.waitpid(-1, os.WNOHANG)
        running.pop(pid, None)
        time.sleep(0.02)
    for pid in running:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
