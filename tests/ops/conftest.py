"""Kernels of both kinds keep the same laws; those for GPUs are interpreted where there is none."""

import pytest
import torch


@pytest.fixture
def cuda_kernels():
    """The kernels for GPUs, interpreted on this processor."""
    pytest.importorskip("triton", reason="Triton, which interprets kernels, is not installed")
    if torch.cuda.is_available():
        pytest.skip("interpreted where there is no GPU; tests/test_cuda.py runs them compiled")
    from survtrace.ops import cuda

    return cuda


@pytest.fixture(params=["cpu", "cuda"])
def kernels(request):
    """The kernels of one kind."""
    if request.param == "cuda":
        return request.getfixturevalue("cuda_kernels")
    from survtrace.ops import cpu

    return cpu
