"""Which operations run by a kernel can be asked, switched off, and read in the log."""

import logging
import sys

import pytest
import torch

from survtrace import ops
from survtrace.ops import support
from survtrace.ops.support import OPERATIONS, find_kernel

CPU = torch.device("cpu")
SUITED = ops.LayerSizes(width=16, hidden=64, n_heads=2)


def reasons(sizes=SUITED, n_tokens=18, dropout=False, device=CPU):
    return ops.reasons_for_plain(device, sizes, n_tokens, dropout)


@pytest.fixture
def fresh():
    """Nothing was asked or logged before, nor is remembered afterwards."""
    caches = [
        support._kernels,
        support._why_no_kernel,
        support.why_plain_layers,
        support._log,
    ]
    for cached in caches:
        cached.cache_clear()
    yield
    for cached in caches:
        cached.cache_clear()


def test_a_processor_has_kernels_for_encoder_lookup_and_losses():
    found = reasons()
    assert set(found) == set(OPERATIONS)
    assert {name for name, reason in found.items() if reason is None} == {
        "encode",
        "lookup",
        "losses",
    }
    assert found["update"] == "there is no kernel for cpu"


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"dropout": True}, "has no dropout"),
        ({"sizes": ops.LayerSizes(4, 64, 2)}, "multiples of 8; got LayerSizes(width=4"),
    ],
)
def test_layers_that_do_not_suit_the_kernel_are_told_why(changed, reason):
    assert reason in reasons(**changed)["encode"]
    assert reasons(**changed)["lookup"] is None


def test_a_device_without_kernels_says_so():
    found = reasons(device=torch.device("meta"))
    assert set(found.values()) == {"there are no kernels for meta"}


def test_a_compiler_that_does_not_work_is_named(fresh, monkeypatch):
    monkeypatch.setitem(sys.modules, "survtrace.ops.cuda", None)
    monkeypatch.delattr("survtrace.ops.cuda", raising=False)
    found = reasons(device=torch.device("cuda"))
    assert all(reason.startswith("Triton does not work here (") for reason in found.values())


def test_one_operation_or_all_can_be_switched_off():
    tensor = torch.zeros(1)
    with ops.plain("lookup"):
        assert find_kernel("lookup", tensor) is None
        assert find_kernel("encode", tensor) is not None
        with ops.plain():
            assert find_kernel("encode", tensor) is None
        assert find_kernel("encode", tensor) is not None
        assert find_kernel("lookup", tensor) is None
    assert find_kernel("lookup", tensor) is not None


def test_double_precision_is_left_to_the_plain_form():
    assert find_kernel("lookup", torch.zeros(1, dtype=torch.float64)) is None


def test_each_reason_is_logged_once(fresh, caplog):
    with caplog.at_level(logging.INFO, logger="survtrace"):
        for _ in range(3):
            find_kernel("update", torch.zeros(1))
            find_kernel("encode", torch.zeros(1), "the layers are odd")
    assert caplog.messages == [
        "update runs in its plain form: there is no kernel for cpu",
        "encode runs in its plain form: the layers are odd",
    ]
