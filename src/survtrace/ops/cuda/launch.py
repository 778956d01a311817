"""A kernel with its arguments: to be run, or only compiled."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import torch


class Launch(NamedTuple):
    """A kernel, how many programs run it, and what it is given."""

    kernel: Any
    grid: tuple[int, ...]
    arguments: tuple[Any, ...]
    options: dict[str, Any]


def run(launches: Iterable[Launch], device: torch.device) -> None:
    """Run kernels one after the other."""
    # Triton launches on the current device, not the tensors'; -1 is that of a processor.
    with torch.cuda.device(device if device.type == "cuda" else -1):
        for kernel, grid, arguments, options in launches:
            kernel[grid](*arguments, **options)


def compile_all(launches: Iterable[Launch], device: torch.device) -> None:
    """Compile kernels side by side; those that are compiled already take no time."""

    def compile_one(launch: Launch) -> None:
        with torch.cuda.device(device):
            launch.kernel.warmup(*launch.arguments, grid=launch.grid, **launch.options)

    launches = list(launches)
    with ThreadPoolExecutor(max(1, len(launches))) as pool:
        list(pool.map(compile_one, launches))
