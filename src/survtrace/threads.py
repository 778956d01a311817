"""How many CPU threads torch and the kernels use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

# Fewer tokens than this a thread cost more to hand out and wait for than they save. Waiting threads
# also spin: on a busy machine they take the processor from the thread they wait for.
TOKENS_PER_THREAD = 2**14


def automatic_threads(n_tokens: int) -> int:
    """Threads worth their start for work on so many tokens at a time, at most torch's own number.

    Examples
    --------
    >>> automatic_threads(64 * 8 * 14)      # a step of eight members on SUPPORT
    1
    """
    return max(1, min(torch.get_num_threads(), n_tokens // TOKENS_PER_THREAD))


@contextmanager
def threads(n_threads: int | None, n_tokens: int = 0) -> Iterator[None]:
    """Run torch and the kernels with so many CPU threads, and put the old number back.

    None takes what suits work on ``n_tokens`` at a time; predictions go in batches that fit a
    core's cache, where one thread is as fast as several.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(automatic_threads(n_tokens) if n_threads is None else n_threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)
