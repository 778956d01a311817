"""Kernels are compiled in a thread beside other work, and errors are left to whoever needs them."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from survtrace import ops
from survtrace.network.assembly import Shape
from survtrace.ops import support

CPU = torch.device("cpu")
SHAPE = Shape(
    n_members=1,
    n_rows=9,
    n_tokens=3,
    n_causes=2,
    n_intervals=4,
    silent_rows=(),
    width=16,
    depth=1,
    n_heads=2,
    hidden=16,
    head_depth=1,
    token_bias=True,
    proportional=0.0,
    dropout=0.0,
    attention_dropout=0.0,
    token_dropout=0.0,
    head_dropout=0.0,
)


@pytest.fixture
def compiled(monkeypatch):
    """Shapes that kernels were compiled for; nothing was prepared before."""
    shapes = []
    kernels = SimpleNamespace(
        prepare=lambda shape, device: shapes.append(shape), why_not=lambda shape, device: None
    )
    monkeypatch.setattr(support, "_kernels", lambda device_type: kernels)
    ops.prepare.cache_clear()
    support.why_plain_network.cache_clear()
    yield shapes
    ops.prepare.cache_clear()
    support.why_plain_network.cache_clear()


def test_kernels_are_compiled_once_for_a_shape(compiled):
    for _ in range(3):
        ops.prepare(SHAPE, CPU).join()
    assert compiled == [SHAPE]


def test_without_a_shape_only_the_device_is_started(compiled):
    ops.prepare(None, CPU).join()
    assert not compiled


def test_what_runs_in_its_plain_form_is_not_compiled(compiled):
    with ops.plain():
        ops.prepare(SHAPE, CPU).join()
    ops.prepare(replace(SHAPE, dropout=0.5), CPU).join()
    assert not compiled


def test_an_error_is_left_to_the_call_that_needs_the_kernel(compiled, monkeypatch, capfd):
    def break_off(shape, device):
        raise RuntimeError("no compiler")

    monkeypatch.setattr(support._kernels("cpu"), "prepare", break_off)
    ops.prepare(SHAPE, CPU).join()
    assert capfd.readouterr().err == ""
