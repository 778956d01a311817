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
def kernels(monkeypatch):
    """Kernels that note in ``compiled`` what was compiled; nothing was prepared before."""
    fake = SimpleNamespace(compiled=[], why_not=lambda shape, device: None)
    fake.prepare = lambda shape, device: fake.compiled.append(shape)
    caches = [ops.prepare, support.why_plain_network, support._why_no_kernel]
    monkeypatch.setattr(support, "_kernels", lambda device_type: fake)
    for cached in caches:
        cached.cache_clear()
    yield fake
    for cached in caches:
        cached.cache_clear()


def test_kernels_are_compiled_once_for_a_shape(kernels):
    for _ in range(3):
        ops.prepare(SHAPE, CPU).join()
    assert kernels.compiled == [SHAPE]


def test_without_a_shape_only_the_device_is_started(kernels):
    ops.prepare(None, CPU).join()
    assert not kernels.compiled


def test_what_runs_in_its_plain_form_is_not_compiled(kernels):
    with ops.plain():
        ops.prepare(SHAPE, CPU).join()
    ops.prepare(replace(SHAPE, dropout=0.5), CPU).join()
    assert not kernels.compiled


def test_an_error_is_left_to_the_call_that_needs_the_kernel(kernels, capfd, caplog):
    def break_off(shape, device):
        raise RuntimeError("no compiler")

    kernels.prepare = break_off
    with caplog.at_level("DEBUG", logger="survtrace"):
        ops.prepare(SHAPE, CPU).join()
    assert caplog.messages == ["kernels were not prepared: no compiler"]
    assert capfd.readouterr().err == ""


def test_kernels_that_cannot_be_compiled_apart_are_compiled_when_first_used(kernels, caplog):
    del kernels.prepare
    with caplog.at_level("DEBUG", logger="survtrace"):
        ops.prepare(SHAPE, CPU).join()
    assert not caplog.messages
