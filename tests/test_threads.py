import os
import subprocess
import sys
import threading
import time

import pytest
import torch

from survtrace.errors import row_name, rows_named
from survtrace.threads import TOKENS_PER_THREAD, automatic_threads, run_in_threads, threads


def test_small_work_gets_one_thread_and_large_work_no_more_than_torch_has():
    with threads(4):
        found = [automatic_threads(n * TOKENS_PER_THREAD) for n in (0, 1, 2, 100)]
    assert found == [1, 1, 2, 4]


def test_the_number_of_threads_is_put_back():
    before = torch.get_num_threads()
    with threads(before + 1):
        assert torch.get_num_threads() == before + 1
    with threads(None):
        assert torch.get_num_threads() == 1
    with pytest.raises(ZeroDivisionError, match="division"), threads(before + 1):
        _ = 1 / 0
    assert torch.get_num_threads() == before


def test_waiting_threads_sleep_unless_the_user_says_otherwise():
    """On a busy machine threads that spin take the processor from those they wait for."""
    assert os.environ["OMP_WAIT_POLICY"]


@pytest.mark.parametrize("n_threads", [1, 2, 3, 5])
def test_every_task_runs_once(n_threads):
    runs = [0] * 50
    run_in_threads(lambda k: runs.__setitem__(k, runs[k] + 1), 50, n_threads)
    assert runs == [1] * 50


@pytest.mark.parametrize("n_threads", [1, 2, 3, 5])
def test_of_several_errors_that_of_the_first_task_is_raised(n_threads):
    def task(k):
        if k == 7:
            time.sleep(0.01)  # the later ones fail before it
        if k >= 7:
            raise ValueError(f"task {k}")

    for _ in range(5):
        with pytest.raises(ValueError, match=r"task 7$"):
            run_in_threads(task, 50, n_threads)


def test_torch_has_one_thread_in_each_of_several_and_its_own_number_after():
    seen = set()
    with threads(3):
        run_in_threads(lambda k: seen.add(torch.get_num_threads()), 20, 2)
        assert torch.get_num_threads() == 3
    assert seen == {1}


def test_a_task_runs_its_own_tasks_itself():
    seen = {}

    def task(k):
        run_in_threads(lambda j: seen.setdefault((k, j), threading.get_ident()), 3, 3)

    run_in_threads(task, 6, 3)
    assert len(seen) == 18
    assert all(len({seen[k, j] for j in range(3)}) == 1 for k in range(6))


def test_tasks_name_rows_as_the_caller_does():
    names = [""] * 8
    with rows_named("line", first=2):
        run_in_threads(lambda k: names.__setitem__(k, row_name(k)), 8, 4)
    assert names == [f"line {k + 2}" for k in range(8)]


FORK = """
import os
import subprocess
import sys
import numpy as np
from survtrace import SurvTRACE

rng = np.random.default_rng(0)
X = rng.normal(size=(600, 3))
y = {"event": rng.integers(0, 2, 600), "duration": rng.exponential(size=600) + 0.1}


def fit_and_predict():
    est = SurvTRACE(n_members=2, max_epochs=1, unknown_steps=5, random_state=0, verbose=False,
                    device="cpu", n_threads=2).fit(X, y)
    return est.predict(X)


expected = fit_and_predict()
child = os.fork()
if child == 0:
    os._exit(0 if np.array_equal(fit_and_predict(), expected) else 1)
assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_process_forked_after_a_fit_in_several_threads_fits_the_same():
    """Its child has none of the parent's threads, and must not wait for them."""
    done = subprocess.run(
        [sys.executable, "-c", FORK], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
