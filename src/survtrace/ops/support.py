"""Which operations run by a kernel on a device, and why others do not."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple

import torch
from torch import Tensor

OPERATIONS = ("gather", "lookup", "dropout", "encode", "losses", "update")
LOGGER = logging.getLogger("survtrace")
_switched_off: set[str] = set()


class LayerSizes(NamedTuple):
    """The sizes of an encoder layer."""

    width: int
    hidden: int
    n_heads: int


@contextmanager
def plain(*operations: str) -> Iterator[None]:
    """Run these operations, or all, in their plain form for a while, to compare."""
    added = set(operations or OPERATIONS) - _switched_off
    _switched_off.update(added)
    try:
        yield
    finally:
        _switched_off.difference_update(added)


def find_kernel(
    operation: str, tensor: Tensor, obstacle: str | None = None
) -> Callable[..., Any] | None:
    """Find the kernel that runs an operation on such a tensor.

    None where there is none, where it is switched off, or where the caller names an obstacle; the
    reason is logged, once.
    """
    reason = why_plain(operation, tensor.device, tensor.dtype) or obstacle
    if reason is not None:
        _log(operation, reason)
        return None
    kernel: Callable[..., Any] = getattr(_kernels(tensor.device.type), operation)
    return kernel


def reasons_for_plain(
    device: torch.device, sizes: LayerSizes, n_tokens: int, dropout: bool
) -> dict[str, str | None]:
    """Say why each operation runs in its plain form for such a network; None where a kernel runs.

    ``dropout`` is whether layers of the encoder drop numbers in training.
    """
    reasons = {name: why_plain(name, device, torch.float32) for name in OPERATIONS}
    layers = why_plain_layers(device, sizes, n_tokens, dropout)
    return {**reasons, "encode": reasons["encode"] or layers}


def why_plain(operation: str, device: torch.device, dtype: torch.dtype) -> str | None:
    """Say why an operation has no kernel on a device; None if it has one."""
    if operation in _switched_off:
        return "switched off by ops.plain"
    if dtype != torch.float32:
        return f"kernels take float32, not {dtype}"
    return _why_no_kernel(operation, device.type)


@cache
def why_plain_layers(
    device: torch.device, sizes: LayerSizes, n_tokens: int, dropout: bool
) -> str | None:
    """Say why such layers are not run by the encoder's kernel; None if they are."""
    if dropout:
        return "the kernel has no dropout; the layers have, in training"
    if _why_no_kernel("encode", device.type):
        return None  # and the sizes do not matter
    if device.type == "cpu":
        suits = sizes.width % 8 == 0 and sizes.hidden % 8 == 0
        return None if suits else f"width and hidden must be multiples of 8; got {sizes}"
    if any(size & (size - 1) for size in sizes) or min(sizes.width, sizes.hidden) < 16:
        return f"sizes must be powers of two, width and hidden 16 or more; got {sizes}"
    if n_tokens > 64:
        return f"a block has room for 64 tokens; got {n_tokens}"
    from survtrace.ops.cuda.encoder import try_sizes

    return try_sizes(sizes, n_tokens, device)


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
            from survtrace.ops import cpu

            return cpu
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
