"""Threads share the tasks of kernels, whoever asks for them and whatever came before."""

import threading

import numpy as np
import pytest
import torch
from numba import njit

from survtrace.ops.cpu import atomic, jobs
from survtrace.threads import _pool, run_in_threads

SIZE, N = 50, 1007


@njit(nogil=True)
def count_up(shared, n):
    for _ in range(n):
        atomic.count(shared, 3)


@njit
def change(shared):
    """What each function gives, and leaves behind."""
    old = atomic.exchange(shared, 0, 5)
    atomic.write(shared, 1, old)
    first, second = atomic.replace(shared, 0, 4, 9), atomic.replace(shared, 0, 5, 6)
    atomic.pause()
    atomic.rest(1)
    return first, second, atomic.read(shared, 0)


def add_up(n_threads, meanwhile=lambda: None):
    """Sum three groups of numbers by tasks of 50."""
    groups, out = torch.arange(3.0 * (N + 16)), torch.empty(1, N)
    n_tasks = -(-N // SIZE)
    jobs.run_tasks(
        jobs.ADD_GROUPS, n_tasks, n_threads, (SIZE, N, 3), (groups, out), meanwhile=meanwhile
    )
    return out[0]


EXPECTED = 3 * torch.arange(float(N)) + 3 * (N + 16)


@pytest.mark.parametrize("n_threads", [1, 2, 3, 5])
def test_every_task_runs_whatever_the_number_of_threads(n_threads):
    for _ in range(20):
        torch.testing.assert_close(add_up(n_threads), EXPECTED)


def test_threads_that_wait_in_compiled_code_come_back_for_tasks_of_python():
    for _ in range(5):
        add_up(3)
        seen = set()
        run_in_threads(seen.add, 30, 3)
        assert seen == set(range(30))


def test_threads_that_nobody_needs_go_to_sleep():
    add_up(3)
    states = jobs.FIRST_STATE + jobs.LINE * np.arange(2)
    for _ in range(200):
        if (_pool.shared[states] == jobs.ASLEEP).all():
            break
        threading.Event().wait(0.05)
    assert (_pool.shared[states] == jobs.ASLEEP).all()
    torch.testing.assert_close(add_up(3), EXPECTED)


def test_callers_do_not_wait_for_each_other():
    found = [None] * 4
    callers = [
        threading.Thread(target=lambda k=k: found.__setitem__(k, [add_up(3) for _ in range(20)]))
        for k in range(4)
    ]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    for results in found:
        for result in results:
            torch.testing.assert_close(result, EXPECTED)


def test_an_error_meanwhile_is_raised_and_threads_go_on():
    def fail():
        raise ValueError("no bits")

    with pytest.raises(ValueError, match="no bits"):
        add_up(2, meanwhile=fail)
    torch.testing.assert_close(add_up(2), EXPECTED)


def test_meanwhile_is_called_only_where_others_run_tasks():
    calls = []
    add_up(1, meanwhile=lambda: calls.append(1))
    assert not calls
    add_up(2, meanwhile=lambda: calls.append(1))
    assert calls == [1]


def test_numbers_are_counted_by_several_threads_at_once():
    shared = np.zeros(8, np.int64)
    callers = [threading.Thread(target=count_up, args=(shared, 10_000)) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert shared.tolist() == [0, 0, 0, 40_000, 0, 0, 0, 0]


def test_numbers_are_exchanged_and_replaced():
    shared = np.array([3, 0, 0])
    assert change(shared) == (False, True, 6)
    assert shared.tolist() == [6, 3, 0]
