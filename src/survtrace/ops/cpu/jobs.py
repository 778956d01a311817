"""Tasks of a kernel, shared among threads without Python.

Why not `run_in_threads` for every task: a thread of Python has to take the interpreter lock before
and after each call, one thread after the other, and to wake a thread takes longer than many a task.
Here a thread takes one task after the other in compiled code. When none is left it waits there for
the tasks of the next operation, some tens of milliseconds; only then it goes back to sleep.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numba import carray, float32, float64, int16, int32, int64
from torch import Tensor

from survtrace.ops.cpu import atomic
from survtrace.ops.cpu.compiling import kernel, part, piece
from survtrace.ops.cpu.network import Integers, add_groups, run_group
from survtrace.ops.cpu.update import update_range
from survtrace.threads import LEAVE, take_pool

ADD_GROUPS, UPDATE = 3, 4  # more tasks, beside those of `network`
# Places in the numbers that threads share, each in a line of the cache of its own.
NEXT, DONE, FIRST_STATE, LINE = 0, 16, 48, 16
ASLEEP, IDLE, BUSY = 0, 1, 2
# An idle thread looks for work after each of so many pauses of some tens of nanoseconds, then after
# each of so many rests of so many microseconds. Only then it goes back to Python, which is dear:
# all threads need the interpreter lock to sleep and to wake up, one after the other.
N_PAUSES, N_RESTS, REST = 2**13, 2**10, 30
MOST_THREADS = 62  # as many bits as `_begin` has for them
N_INTEGERS = len(Integers._fields)
FIRST_ARRAY = 4 + N_INTEGERS


def run_tasks(
    task: int,
    n_tasks: int,
    n_threads: int,
    integers: Sequence[int],
    arrays: Sequence[Tensor],
    workspace: Tensor | None = None,
    meanwhile: Callable[[], None] = lambda: None,
) -> None:
    """Run tasks in so many threads, the calling one among them.

    While others run tasks, if there are others, ``meanwhile`` is called. All tensors must be
    contiguous and of the types that the tasks ask for. Each thread has a row of the workspace.
    """
    _compile()
    size = 0 if workspace is None else workspace.shape[1]
    begin = 0 if workspace is None else workspace.data_ptr()
    numbers = [task, n_tasks, begin, size, *integers]
    numbers += [0] * (FIRST_ARRAY - len(numbers))
    for array in arrays:
        numbers += (array.data_ptr(), array.numel())
    n_helpers = min(n_threads, n_tasks, MOST_THREADS) - 1
    pool = take_pool(n_helpers) if n_helpers > 0 else None
    if pool is None:
        _work(True, 0, np.zeros(FIRST_STATE, np.int64), np.array(numbers, np.int64))
        return
    shared, job = pool.shared, pool.job
    try:
        job[: len(numbers)] = numbers
        asleep = _begin(shared, n_helpers)
        for k in range(n_helpers):
            if asleep >> k & 1:
                pool.call(k, _work, False, k, shared, job)
        try:
            meanwhile()
            _work(True, n_helpers, shared, job)
        finally:
            _wait_for(shared, n_helpers)
    finally:
        pool.turn.release()


@cache
def _compile() -> None:
    """Compile in the calling thread, which alone can report an error, by a job without tasks."""
    _work(True, 0, np.zeros(FIRST_STATE, np.int64), np.zeros(2**8, np.int64))


def _wait_for(shared: Any, n_helpers: int) -> None:
    """Wait until all have ended, also if Ctrl-C comes: nobody may write once the caller goes on."""
    interrupt: BaseException | None = None
    while True:
        try:
            if _have_ended(shared, n_helpers):
                break
        except KeyboardInterrupt as error:
            interrupt = error
    if interrupt is not None:
        raise interrupt


@kernel
def _begin(shared: Any, n_helpers: int) -> int:
    """Tell all helpers to begin, and the caller which of them are asleep, a bit for each."""
    atomic.write(shared, NEXT, 0)
    atomic.write(shared, DONE, 0)
    atomic.write(shared, LEAVE, 0)
    asleep = 0
    for k in range(n_helpers):
        if atomic.exchange(shared, FIRST_STATE + k * LINE, BUSY) == ASLEEP:
            asleep |= 1 << k
    return asleep


@kernel
def _have_ended(shared: Any, n_helpers: int) -> bool:
    """Wait a while for the helpers, and tell whether they have ended."""
    for waited in range(N_PAUSES + N_RESTS):
        if atomic.read(shared, DONE) == n_helpers:
            return True
        _idle(waited)
    return False


@kernel
def _work(once: bool, me: int, shared: Any, job: Any) -> None:
    """Run tasks once, or whenever there are some, until there are none for a while."""
    state, waited = FIRST_STATE + me * LINE, 0
    while True:
        if once or atomic.read(shared, state) == BUSY:
            _take_tasks(me, shared, job)
            if once:
                return
            atomic.write(shared, state, IDLE)
            atomic.count(shared, DONE)
            waited = 0
        _idle(waited)
        waited += 1
        enough = waited > N_PAUSES + N_RESTS or atomic.read(shared, LEAVE) == 1
        if enough and atomic.replace(shared, state, IDLE, ASLEEP):
            return


@piece
def _idle(waited: int) -> None:
    """Wait a moment; longer, and without the core, if it was waited for long already."""
    if waited < N_PAUSES:
        atomic.pause()
    else:
        atomic.rest(REST)


@piece
def _take_tasks(me: int, shared: Any, job: Any) -> None:
    """Take one task after the other until none is left."""
    k = atomic.count(shared, NEXT)
    while k < job[1]:
        if job[0] == UPDATE:
            _update(k, job)
        elif job[0] == ADD_GROUPS:
            add_groups(k, job[4], job[5], job[6], _floats(job, 0), _floats(job, 1))
        else:
            _run_group(k, me, job)
        k = atomic.count(shared, NEXT)


@piece
def _update(k: int, job: Any) -> None:
    parameters, gradient, means = _floats(job, 1), _floats(job, 2), _floats(job, 3)
    squares, averages = _floats(job, 4), _floats(job, 5)
    update_range(k, job[4], _doubles(job, 0), parameters, gradient, means, squares, averages)


@piece
def _run_group(k: int, me: int, job: Any) -> None:
    size = job[3]
    workspace = carray(atomic.pointer(job[2] + 4 * me * size, float32), (size,))
    parameters, subjects, rows = _floats(job, 1), _longs(job, 2), _array(job, 3, int32)
    values, interval, fraction = _floats(job, 4), _longs(job, 5), _floats(job, 6)
    event, stay, weight, ips = _longs(job, 7), _floats(job, 8), _floats(job, 9), _floats(job, 10)
    entry_interval, entry_fraction, whole = _longs(job, 11), _floats(job, 12), _floats(job, 13)
    tokens, shared, inner = _array(job, 14, int16), _array(job, 15, int16), _array(job, 16, int16)
    gradients, parts, logits = _floats(job, 17), _doubles(job, 18), _floats(job, 19)
    run_group(
        k,
        job[4:FIRST_ARRAY],
        _doubles(job, 0),
        parameters,
        subjects,
        rows,
        values,
        interval,
        fraction,
        event,
        stay,
        weight,
        ips,
        entry_interval,
        entry_fraction,
        whole,
        tokens,
        shared,
        inner,
        workspace,
        gradients,
        parts,
        logits,
    )


@part
def _array(job: Any, k: int, kind: Any) -> Any:
    """Make the array with number k, whose address and length the job tells."""
    place = FIRST_ARRAY + 2 * k
    return carray(atomic.pointer(job[place], kind), (job[place + 1],))


@part
def _floats(job: Any, k: int) -> Any:
    return _array(job, k, float32)


@part
def _doubles(job: Any, k: int) -> Any:
    return _array(job, k, float64)


@part
def _longs(job: Any, k: int) -> Any:
    return _array(job, k, int64)
