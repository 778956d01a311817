"""How many CPU threads torch and the kernels use, and the threads that kernels run in."""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import copy_context
from functools import cache

import torch

# Fewer tokens than this a thread cost more to hand out and wait for than they save.
TOKENS_PER_THREAD = 2**10
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
    ``nogil``, torch, and numpy on large arrays do. Which thread runs a task is left to chance: its
    result must depend on its number alone. Of several errors that of the first task is raised:
    tasks begin in order, so that all before one that fails have begun, and are waited for. A task
    that calls this runs its own tasks itself; torch has one thread in each of many threads.

    Examples
    --------
    >>> squares = [0] * 4
    >>> run_in_threads(lambda k: squares.__setitem__(k, k * k), n_tasks=4, n_threads=2)
    >>> squares
    [0, 1, 4, 9]
    """
    n_threads = min(n_threads, n_tasks)
    if n_threads <= 1 or getattr(_this_thread, "is_worker", False):
        for k in range(n_tasks):
            task(k)
        return
    numbers, errors = itertools.count(), dict[int, BaseException]()

    def work() -> None:
        k = 0
        try:
            while not errors and (k := next(numbers)) < n_tasks:
                task(k)
        except BaseException as error:  # nobody begins another task
            errors[k] = error

    # A copy of the context: errors name rows by what the caller calls them.
    others = [_pool(n_threads - 1).submit(copy_context().run, work) for _ in range(n_threads - 1)]
    _this_thread.is_worker = True
    try:
        with threads(1):
            work()
    finally:
        _this_thread.is_worker = False
        # Also after an error: nobody may write to the caller's arrays once it has gone on.
        wait(others)
    if errors:
        raise errors[min(errors)]


def run_in_all_threads(task: Callable[[int], None], n_tasks: int) -> None:
    """Run tasks in as many threads as `threads` allows."""
    run_in_threads(task, n_tasks, torch.get_num_threads())


@cache
def _pool(n_threads: int) -> ThreadPoolExecutor:
    """The threads, started once: starting some costs as much as a small batch."""

    def begin() -> None:
        _this_thread.is_worker = True
        torch.set_num_threads(1)

    return ThreadPoolExecutor(n_threads, thread_name_prefix="survtrace", initializer=begin)


# A forked child inherits the pool's memory but none of its threads, and would wait for ever.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)
