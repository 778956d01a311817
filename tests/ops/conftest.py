"""Kernels of both kinds keep the same laws; those for GPUs are interpreted where none is seen."""

from dataclasses import asdict

import pytest
import torch

from survtrace import SurvTRACE
from survtrace.training.fit import network_shape


@pytest.fixture
def default_shape():
    """The network of an estimator at its defaults, for five covariates and two causes."""
    est = SurvTRACE()
    sizes = {"n_rows": 20, "n_tokens": 5, "n_causes": 2, "n_intervals": est.n_intervals}
    return asdict(network_shape(est, **sizes, silent_rows=(0,)))


@pytest.fixture
def cuda_kernels():
    """The kernels for GPUs: compiled where a GPU is seen, else interpreted on this processor."""
    pytest.importorskip("triton", reason="Triton, which compiles kernels, is not installed")
    from survtrace.ops import cuda

    return cuda


@pytest.fixture
def cuda_device():
    """Where the kernels for GPUs run: a GPU where one is seen, else this processor."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


@pytest.fixture(params=["cpu", "cuda"])
def kernels(request):
    """The kernels of one kind."""
    if request.param == "cuda":
        return request.getfixturevalue("cuda_kernels")
    from survtrace.ops.cpu import operations as cpu

    return cpu


@pytest.fixture
def device(request, kernels):
    """Where the kernels of ``kernels`` run."""
    on_gpu = kernels.__name__.endswith("cuda")
    return request.getfixturevalue("cuda_device") if on_gpu else torch.device("cpu")
