"""Which kernel does which work on which device, and when none does."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

_switch = {"on": True}
# On a GPU some subjects share a tile: a number that overflows would spoil its neighbours' answers.
HARMLESS = 1e6


class Sizes(NamedTuple):
    """The sizes of a layer."""

    width: int
    hidden: int
    n_heads: int


class Outcomes(NamedTuple):
    """What happened to the subjects of a batch, and how much each counts."""

    interval: Int[Tensor, "member subject"]
    fraction: Float[Tensor, "member subject"]
    event: Int[Tensor, "member subject"]
    stay: Float[Tensor, "member subject"]
    weight: Float[Tensor, "member subject"]
    ips: Float[Tensor, "member subject cause"]


def supports(tokens: Tensor, sizes: Sizes, dropout: bool) -> bool:
    """Whether a kernel can run the layers: without dropout, and in sizes that suit the device."""
    if dropout or not available(tokens):
        return False
    if tokens.is_cuda:
        if not torch.is_grad_enabled() and not bool(tokens.abs().amax() < HARMLESS):
            return False
        powers = all(size & (size - 1) == 0 for size in sizes)
        fits = powers and min(sizes.width, sizes.hidden) >= 16 and tokens.shape[2] <= 64
        return fits and _module(tokens, "stack").works(sizes, tokens.shape[2], tokens.device)
    return sizes.width % 8 == 0 and sizes.hidden % 8 == 0


def available(tensor: Tensor) -> bool:
    """Whether there are kernels for such a tensor at all."""
    return _switch["on"] and tensor.dtype == torch.float32 and _known(tensor.device.type)


def encode(
    tokens: Float[Tensor, "member subject token width"],
    layers: list[Float[Tensor, "member parameter"]],
    sizes: Sizes,
) -> Float[Tensor, "member subject token width"]:
    """Run tokens through layers, each given by its parameters side by side."""
    with torch.cuda.device_of(tokens):
        encoded: Tensor = _module(tokens, "stack").Stack.apply(tokens, sizes, *layers)
    return encoded


def lookup(
    table: Float[Tensor, "member row width"],
    bias: Float[Tensor, "member 1 token width"],
    rows: Int[Tensor, "member subject token"],
    values: Float[Tensor, "member subject token"],
    kept: Float[Tensor, "subject token"] | None,
) -> Float[Tensor, "member subject token width"]:
    """``kept * (value * row + bias)`` of every token."""
    known = values.new_empty(0, rows.shape[2]) if kept is None else kept
    with torch.cuda.device_of(table):
        tokens: Tensor = _module(table, "lookup").Lookup.apply(table, bias, rows, values, known)
    return tokens


def dropout(
    x: Float[Tensor, "member *rest"], bits: Int[Tensor, " n"], threshold: int, scale: float
) -> Float[Tensor, "member *rest"]:
    """``x * scale`` where the bits are below the threshold, else 0."""
    dropped: Tensor = _module(x, "dropout").DropoutFunction.apply(x, bits, threshold, scale)
    return dropped


def losses(
    causes: Float[Tensor, "member subject cause interval"],
    mortality: Float[Tensor, "member subject"],
    stay: Float[Tensor, "member subject"],
    batch: Outcomes,
) -> Float[Tensor, "part member"]:
    """Each member's survival, mortality and stay loss."""
    parts: Tensor = _module(causes, "objective").Objective.apply(causes, mortality, stay, batch)
    return parts


def update(
    whole: Float[Tensor, "member parameter"],
    gradient: Float[Tensor, "member parameter"],
    moments: dict[str, Tensor],
    average: Float[Tensor, "member parameter"],
    rates: Sequence[float],
) -> None:
    """Clip, take a step of AdamW and update the running average, in place, on a GPU."""
    module = _module(whole, "update")
    known = (moments["exp_avg"], moments["exp_avg_sq"], average, moments["step"])
    module.update(module.Moments(whole, gradient, *known), module.Rates(*rates))


def take(columns: Sequence[Tensor], subjects: Int[Tensor, "member row"]) -> list[Tensor]:
    """The rows of some subjects, (member, row, ...), of every column (subject, ...) at once."""
    taken: list[Tensor] = _module(subjects, "gather").take(columns, subjects)
    return taken


@contextmanager
def plain() -> Iterator[None]:
    """Do without kernels for a while, to compare."""
    before, _switch["on"] = _switch["on"], False
    try:
        yield
    finally:
        _switch["on"] = before


def _module(tensor: Tensor, name: str) -> Any:
    """The module of that name for the tensor's device."""
    return import_module(f"survtrace.ops.{'cuda' if tensor.is_cuda else 'cpu'}.{name}")


@cache
def _known(device: str) -> bool:
    """Whether what compiles the kernels is installed and works."""
    probes = {"cpu": "survtrace.ops.cpu.layer", "cuda": "survtrace.ops.cuda.dropout"}
    if device not in probes:
        return False
    try:
        probe = import_module(probes[device])
        if device == "cuda":
            probe.try_out()
    except Exception:  # no Triton, no C compiler, an old GPU, ...: all is computed without kernels
        return False
    return True
