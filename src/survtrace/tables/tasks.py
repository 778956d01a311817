"""Run independent parts of the work on a table, one by one or in the threads of the caller."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from survtrace.errors import keep_warnings, warn

# Runs ``task(0)``, ``task(1)``, ... so many times, in whatever order.
Run = Callable[[Callable[[int], None], int], None]
N_BLOCK = 2**14  # rows of a block: with fewer, threads wait for the interpreter lock
MANY_ROWS = 2**14  # fewer are read and encoded before threads would be awake
T = TypeVar("T")
S = TypeVar("S")


def one_by_one(task: Callable[[int], None], n_tasks: int) -> None:
    """Run tasks in this thread."""
    for k in range(n_tasks):
        task(k)


def row_blocks(n_rows: int) -> list[slice]:
    """Cut the rows of a table into blocks.

    Examples
    --------
    >>> row_blocks(20_000)
    [slice(0, 16384, None), slice(16384, 20000, None)]
    """
    return [slice(first, min(first + N_BLOCK, n_rows)) for first in range(0, n_rows, N_BLOCK)]


def map_in_order(function: Callable[[S], T], items: Sequence[S], run: Run = one_by_one) -> list[T]:
    """Call a function with each item; warn, and raise the first error, as a loop over them does.

    Only the calling thread has a line to warn at, and of several errors any could come first.

    Examples
    --------
    >>> map_in_order(str.upper, ["a", "b"])
    ['A', 'B']
    """
    results: list[Any] = [None] * len(items)
    kept: list[Any] = [()] * len(items)
    errors: dict[int, Exception] = {}

    def call(k: int) -> None:
        with keep_warnings() as kept[k]:
            try:
                results[k] = function(items[k])
            except Exception as error:
                errors[k] = error

    run(call, len(items))
    for k in range(len(items)):
        for message, category in kept[k]:
            warn(message, category)
        if k in errors:
            raise errors[k]
    return results
