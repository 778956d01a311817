import os

import pytest
import torch

from survtrace.threads import automatic_threads, threads


def test_small_work_gets_one_thread_and_large_work_no_more_than_torch_has():
    with threads(4):
        found = [automatic_threads(n) for n in (0, 2**10, 2**11, 2**20)]
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
