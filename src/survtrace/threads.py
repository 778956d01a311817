"""How many CPU threads torch and the kernels use, and the threads that kernels run in."""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

# Fewer tokens than this a thread cost more to hand out and wait for than they save.
TOKENS_PER_THREAD = 2**7
_this_thread = threading.local()


def automatic_threads(n_tokens: int) -> int:
    """Count threads worth their start for work on so many tokens, at most torch's own number.

    Examples
    --------
    >>> automatic_threads(64)
    1
    """
    return max(1, min(torch.get_num_threads(), n_tokens // TOKENS_PER_THREAD))


@contextmanager
def threads(n_threads: int | None, n_tokens: int = 0) -> Iterator[None]:
    """Run torch and the kernels with so many CPU threads, and put the old number back.

    None takes what suits work on ``n_tokens`` at a time.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(automatic_threads(n_tokens) if n_threads is None else n_threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def run_in_threads(task: Callable[[int], None], n_tasks: int, n_threads: int) -> None:
    """Run ``task(0)``, ``task(1)``, ... in so many threads, the calling one among them.

    Threads of Python suffice where tasks release the interpreter lock, as numba's functions with
    ``nogil`` and numpy on large arrays do. Which thread runs a task is left to chance: its result
    must depend on its number alone. A task that calls this runs its own tasks itself.

    Examples
    --------
    >>> squares = [0] * 4
    >>> run_in_threads(lambda k: squares.__setitem__(k, k * k), n_tasks=4, n_threads=2)
    >>> squares
    [0, 1, 4, 9]
    """
    n_threads = min(n_threads, n_tasks)
    if n_threads > 1 and not getattr(_this_thread, "is_worker", False) and _team.lock.acquire(False):
        try:
            _team.run(task, n_tasks, n_threads)
        finally:
            _team.lock.release()
        return
    for k in range(n_tasks):
        task(k)


class _Team:
    """Threads that are started once and wait for work.

    Why not `ThreadPoolExecutor`: it makes an object and a queue entry for each of them, which for
    sixteen threads takes as long as a small step of training does.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()  # held by the one thread that may hand out work
        self.count, self.all_done = threading.Lock(), threading.Lock()
        self.wake: list[threading.Lock] = []  # of each thread; it sleeps while it is held
        self.n_working = 0
        self.work: Callable[[], None]

    def run(self, task: Callable[[int], None], n_tasks: int, n_threads: int) -> None:
        """Run tasks in the calling thread and in others; the first error is raised."""
        numbers, errors = itertools.count(), list[BaseException]()

        def work() -> None:
            try:
                while not errors and (k := next(numbers)) < n_tasks:
                    task(k)
            except BaseException as error:
                errors.append(error)  # nobody begins another task

        for k in range(len(self.wake), n_threads - 1):
            self._start(k)
        self.work, self.n_working = work, n_threads - 1
        self.all_done.acquire(False)
        for wake in self.wake[: n_threads - 1]:
            wake.release()
        work()
        # Also after an error or Ctrl-C: nobody may write to the caller's arrays once it goes on.
        while self.n_working:
            try:
                self.all_done.acquire(timeout=1.0)
            except KeyboardInterrupt as error:
                errors.append(error)
        if errors:
            raise errors[0]

    def _start(self, k: int) -> None:
        wake = threading.Lock()
        wake.acquire()
        self.wake.append(wake)
        name = f"survtrace-{k}"
        threading.Thread(target=self._wait, args=(wake,), name=name, daemon=True).start()

    def _wait(self, wake: threading.Lock) -> None:
        _this_thread.is_worker = True
        torch.set_num_threads(1)
        while True:
            wake.acquire()
            self.work()
            with self.count:
                self.n_working -= 1
                if self.n_working == 0:
                    self.all_done.release()


_team = _Team()


def _forget_threads() -> None:
    """Start anew in a forked child: it inherits this memory but none of the threads."""
    global _team
    _team = _Team()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)
