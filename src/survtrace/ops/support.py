"""Which operations run by a kernel on a device, and why others do not."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from threading import Thread
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from survtrace.network.assembly import Network, Shape

OPERATIONS = ("gradient", "survival_loss", "cause_logits", "update")
# What follows the logits in a prediction. A GPU needs no kernels for them.
OF_PREDICTIONS = ("hazards", "curves")
LOGGER = logging.getLogger("survtrace")
_switched_off: set[str] = set()


@contextmanager
def plain(*operations: str) -> Iterator[None]:
    """Run these operations, or all, in their plain form for a while, to compare."""
    added = set(operations or (*OPERATIONS, *OF_PREDICTIONS)) - _switched_off
    _switched_off.update(added)
    try:
        yield
    finally:
        _switched_off.difference_update(added)


def find_kernel(
    operation: str, on: Tensor | Network, obstacle: str | None = None
) -> Callable[..., Any] | None:
    """Find the kernel that runs an operation of such a network, or on such a tensor.

    None where there is none, where it is switched off, or where the caller names an obstacle; the
    reason is logged, once.
    """
    tensor = on.embedding.table if isinstance(on, Network) else on
    reason = why_plain(operation, tensor.device, tensor.dtype) or obstacle
    if reason is None and isinstance(on, Network):
        reason = why_plain_network(on.shape, tensor.device, on.training)
    if reason is not None:
        _log(operation, reason)
        return None
    kernel: Callable[..., Any] = getattr(_kernels(tensor.device.type), operation)
    return kernel


@cache
def prepare(shape: Shape | None, device: torch.device) -> Thread:
    """Start a device and compile its kernels for such a network, in a thread to be joined.

    Without a shape, where sizes are not known yet, the device is started and no more. Kernels for
    processors are imported and compiled when first used: numba takes long, in a thread Ctrl-C does
    not stop it, and encoding is short beside it. What goes wrong is not raised: the first call that
    needs the device or the kernel meets it again, and reports it or takes the plain form.
    """
    thread = Thread(target=_prepare, args=(shape, device), name="survtrace kernels")
    thread.start()
    return thread


def _prepare(shape: Shape | None, device: torch.device) -> None:
    try:
        kernels = _kernels(device.type)
        if shape is None or isinstance(kernels, str) or _switched_off.issuperset(OPERATIONS):
            return
        why_plain_network(shape, device, True)  # compiles them to know
    except Exception as error:
        LOGGER.debug("kernels were not prepared: %s", error)


def reasons_for_plain(device: torch.device, shape: Shape) -> dict[str, str | None]:
    """Say why each operation of such a network runs in its plain form; None where a kernel runs."""
    reasons = {name: why_plain(name, device, torch.float32) for name in OPERATIONS}
    for name in ("gradient", "survival_loss", "cause_logits"):
        reasons[name] = reasons[name] or why_plain_network(shape, device, name == "gradient")
    return reasons


def why_plain(operation: str, device: torch.device, dtype: torch.dtype) -> str | None:
    """Say why an operation has no kernel on a device; None if it has one."""
    if operation in _switched_off:
        return "switched off by ops.plain"
    if dtype != torch.float32:
        return f"kernels take float32, not {dtype}"
    return _why_no_kernel(operation, device.type)


@cache
def why_plain_network(shape: Shape, device: torch.device, training: bool) -> str | None:
    """Say why kernels do not run such a network; None if they do."""
    if shape.depth == 0:
        return "kernels run encoders of one layer or more; this network has none"
    if training and (shape.dropout > 0 or shape.attention_dropout > 0):
        return "kernels have no dropout inside the encoder; this network has, in training"
    kernels = _kernels(device.type)
    return kernels if isinstance(kernels, str) else kernels.why_not(shape, device)


@cache
def _why_no_kernel(operation: str, device_type: str) -> str | None:
    kernels = _kernels(device_type)
    if isinstance(kernels, str):
        return kernels
    return None if hasattr(kernels, operation) else f"there is no kernel for {device_type}"


@cache
def _kernels(device_type: str) -> ModuleType | str:
    """Import the kernels of a device, or say why there are none.

    Imported here and not above: numba takes a second to import, and Triton may not be installed.
    """
    try:
        if device_type == "cpu":
            from survtrace.ops.cpu import operations

            return operations
        if device_type == "cuda":
            from survtrace.ops import cuda
            from survtrace.ops.cuda.probe import try_out

            try_out()
            return cuda
    except Exception as error:  # no Triton, no C compiler, an old GPU, ...: all runs plain
        compiler = "numba" if device_type == "cpu" else "Triton"
        return f"{compiler} does not work here ({type(error).__name__}: {error})"
    return f"there are no kernels for {device_type}"


@cache
def _log(operation: str, reason: str) -> None:
    """Log a reason; each once, since calls with the same arguments are answered by the cache."""
    LOGGER.info("%s runs in its plain form: %s", operation, reason)
