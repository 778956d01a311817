"""Which operations run by a kernel can be asked, switched off, and read in the log."""

import logging
import sys
from dataclasses import replace

import pytest
import torch

from survtrace import ops
from survtrace.network.assembly import Network, Shape
from survtrace.ops import support
from survtrace.ops.support import OPERATIONS, find_kernel

CPU = torch.device("cpu")
SUITED = Shape(
    n_members=1,
    n_rows=40,
    n_tokens=18,
    n_causes=1,
    n_intervals=4,
    silent_rows=(),
    width=16,
    depth=3,
    n_heads=2,
    hidden=64,
    head_depth=2,
    token_bias=True,
    proportional=0.0,
    dropout=0.0,
    attention_dropout=0.0,
    token_dropout=0.1,
    head_dropout=0.1,
)


def reasons(device=CPU, **changes):
    return ops.reasons_for_plain(device, replace(SUITED, **changes))


@pytest.fixture
def fresh():
    """Nothing was asked or logged before, nor is remembered afterwards."""
    caches = [
        support._kernels,
        support._why_no_kernel,
        support.why_plain_network,
        support._log,
    ]
    for cached in caches:
        cached.cache_clear()
    yield
    for cached in caches:
        cached.cache_clear()


def test_a_processor_has_kernels_for_every_operation():
    assert reasons() == dict.fromkeys(OPERATIONS)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"dropout": 0.1}, "no dropout inside the encoder"),
        ({"attention_dropout": 0.1}, "no dropout inside the encoder"),
        ({"width": 4}, "multiples of 8; got width=4, hidden=64"),
        ({"hidden": 12}, "multiples of 8; got width=16, hidden=12"),
    ],
)
def test_networks_that_do_not_suit_the_kernels_are_told_why(changed, reason):
    found = reasons(**changed)
    assert reason in found["gradient"]
    assert found["update"] is None
    # Without gradients there is no dropout.
    assert (found["cause_logits"] is None) == ("dropout" in reason)


def test_a_device_without_kernels_says_so():
    found = reasons(device=torch.device("meta"))
    assert set(found.values()) == {"there are no kernels for meta"}


def test_a_compiler_that_does_not_work_is_named(fresh, monkeypatch):
    monkeypatch.setitem(sys.modules, "survtrace.ops.cuda", None)
    monkeypatch.delattr("survtrace.ops.cuda", raising=False)
    found = reasons(device=torch.device("cuda"))
    assert all(reason.startswith("Triton does not work here (") for reason in found.values())


def test_one_operation_or_all_can_be_switched_off():
    tensor, network = torch.zeros(1), Network(SUITED)
    with ops.plain("update"):
        assert find_kernel("update", tensor) is None
        assert find_kernel("gradient", network) is not None
        with ops.plain():
            assert find_kernel("gradient", network) is None
        assert find_kernel("gradient", network) is not None
        assert find_kernel("update", tensor) is None
    assert find_kernel("update", tensor) is not None


def test_double_precision_is_left_to_the_plain_form():
    assert find_kernel("update", torch.zeros(1, dtype=torch.float64)) is None


def test_each_reason_is_logged_once(fresh, caplog):
    with caplog.at_level(logging.INFO, logger="survtrace"):
        for _ in range(3):
            find_kernel("update", torch.zeros(1, device="meta"))
            find_kernel("update", torch.zeros(1), "the moments are odd")
    assert caplog.messages == [
        "update runs in its plain form: there are no kernels for meta",
        "update runs in its plain form: the moments are odd",
    ]
