"""How many CPU threads torch and the kernels use, and the threads that kernels run in."""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from typing import Any

import numpy as np
import torch

# Fewer tokens than this a thread cost more to hand out and wait for than they save.
TOKENS_PER_THREAD = 2**7
FEW_THREADS = 4
LEAVE = 32  # the place of the number that tells threads in compiled code to come back to Python
_this_thread = threading.local()
_had_several = False  # whether torch had more than one thread in this process
_only_one = False  # whether it may have no more: a parent had several, and forked


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
    global _had_several
    before = torch.get_num_threads()
    n_threads = automatic_threads(n_tokens) if n_threads is None else n_threads
    n_threads = 1 if _only_one else n_threads
    _had_several = _had_several or n_threads > 1
    torch.set_num_threads(n_threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def run_in_threads(task: Callable[[int], None], n_tasks: int, n_threads: int) -> None:
    """Run ``task(0)``, ``task(1)``, ... in so many threads, the calling one among them.

    Threads of Python suffice where tasks release the interpreter lock, as numba's functions with
    ``nogil``, torch, and numpy on large arrays do. Which thread runs a task is left to chance: its
    result must depend on its number alone. Of several errors that of the first task is raised:
    tasks begin in order, so that all before one that fails have begun, and are waited for. A task
    that calls this runs its own tasks itself; torch has one thread in each of many threads. So
    does a caller who comes while another one has the threads.

    Examples
    --------
    >>> squares = [0] * 4
    >>> run_in_threads(lambda k: squares.__setitem__(k, k * k), n_tasks=4, n_threads=2)
    >>> squares
    [0, 1, 4, 9]
    """
    n_threads = min(n_threads, n_tasks)
    pool = take_pool(n_threads - 1) if n_threads > 1 else None
    if pool is None:
        for k in range(n_tasks):
            task(k)
        return
    try:
        pool.run(task, n_tasks, n_threads)
    finally:
        pool.turn.release()


def run_in_all_threads(task: Callable[[int], None], n_tasks: int) -> None:
    """Run tasks in as many threads as `threads` allows."""
    run_in_threads(task, n_tasks, torch.get_num_threads())


def run_in_few_threads(task: Callable[[int], None], n_tasks: int) -> None:
    """Run tasks made of many short calls: more threads than these wait for the interpreter lock."""
    run_in_threads(task, n_tasks, min(FEW_THREADS, torch.get_num_threads()))


def take_pool(n_threads: int) -> Pool | None:
    """Take hold of so many other threads; None if the caller is one, or if another has them.

    Who has taken them releases ``turn`` in the end.
    """
    if getattr(_this_thread, "is_worker", False) or not _pool.turn.acquire(blocking=False):
        return None
    _pool.start(n_threads)
    return _pool


class Pool:
    """Threads that are started once, and sleep while there is no work.

    Why not `ThreadPoolExecutor`: with sixteen threads it takes as long to hand work out and to
    collect it as a small step of training takes.
    """

    def __init__(self) -> None:
        self.turn = threading.Lock()  # held by the one who hands out work
        self.wake: list[threading.Lock] = []  # a thread sleeps until its lock is released
        self.work: list[tuple[Any, ...]] = []  # what each thread is to call, and with what
        self.counting, self.all_done = threading.Lock(), threading.Lock()
        self.n_working = 0
        # Numbers by which compiled code shares tasks (see `ops.cpu.jobs`).
        self.shared, self.job = (np.zeros(2**k, np.int64) for k in (14, 8))

    def start(self, n_threads: int) -> None:
        """Start threads until there are so many."""
        for k in range(len(self.wake), n_threads):
            wake = threading.Lock()
            wake.acquire()
            self.wake.append(wake)
            self.work.append(())
            name = f"survtrace-{k}"
            threading.Thread(target=self._wait_for_calls, args=(k,), name=name, daemon=True).start()

    def call(self, k: int, *work: Any) -> None:
        """Wake thread k to call a function."""
        self.work[k] = work
        self.wake[k].release()

    def run(self, task: Callable[[int], None], n_tasks: int, n_threads: int) -> None:
        """Run tasks in the calling thread and in others."""
        numbers, errors = itertools.count(), dict[int, BaseException]()

        def work() -> None:
            k = 0
            try:
                while not errors and (k := next(numbers)) < n_tasks:
                    task(k)
            except BaseException as error:  # nobody begins another task
                errors[k] = error

        def work_and_tell() -> None:
            work()
            with self.counting:
                self.n_working -= 1
                if self.n_working == 0:
                    self.all_done.release()

        self.shared[LEAVE] = 1
        self.n_working = n_threads - 1
        self.all_done.acquire(blocking=False)
        for k in range(n_threads - 1):
            # A copy of the context: errors name rows by what the caller calls them.
            self.call(k, copy_context().run, work_and_tell)
        _this_thread.is_worker = True
        try:
            with threads(1):
                work()
        finally:
            _this_thread.is_worker = False
            # Also after an error: nobody may write to the caller's arrays once it has gone on.
            while self.n_working:
                try:
                    self.all_done.acquire(timeout=1.0)
                except KeyboardInterrupt as error:
                    errors.setdefault(n_tasks, error)
        if errors:
            raise errors[min(errors)]

    def _wait_for_calls(self, k: int) -> None:
        _this_thread.is_worker = True
        torch.set_num_threads(1)
        while True:
            self.wake[k].acquire()
            function, *arguments = self.work[k]
            function(*arguments)


_pool = Pool()


def _start_anew() -> None:
    """Forget the threads: a forked child inherits their locks, but none of them.

    torch cannot start its threads anew, and would wait for those of the parent for ever.
    """
    global _pool, _only_one
    _pool, _only_one = Pool(), _only_one or _had_several


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)
