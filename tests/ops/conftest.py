"""Kernels of both kinds keep the same laws; those for GPUs are interpreted where there is none."""

from importlib import import_module

import pytest


@pytest.fixture(params=["cpu", "cuda"])
def module(request):
    """Gives the modules of one kind of kernel by name."""
    if request.param == "cuda":
        pytest.importorskip("triton", reason="Triton, which interprets kernels, is not installed")

    return lambda name: import_module(f"survtrace.ops.{request.param}.{name}")
