"""The operations of `survtrace.ops`, each by a short chain of kernels."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from survtrace.batch import INTEGER_COLUMNS, Batch
from survtrace.errors import SettingError
from survtrace.network.assembly import Network, Shape
from survtrace.ops.cuda.launch import compile_all, run
from survtrace.ops.cuda.launches import (
    Dropped,
    gradient_launches,
    keep_all,
    logits_launches,
    survival_launches,
)
from survtrace.ops.cuda.sizes import sizes_of, why_not_sizes
from survtrace.ops.cuda.update import update_launches
from survtrace.ops.inputs import draw_bits, flat_parameters

LARGEST = 2**30  # numbers of a member's tokens, which kernels count in 32 bits


def why_not(shape: Shape, device: torch.device) -> str | None:
    """Say why kernels cannot run a network of this shape here; None if they can.

    To know, they are compiled: all that a network needs, side by side.
    """
    if reason := why_not_sizes(shape):
        return reason
    try:
        prepare(shape, device)
    except Exception as error:  # whatever Triton or its compilers lack, the plain form does without
        return f"its kernels do not compile here ({type(error).__name__}: {error})"
    return None


def gradient(
    network: Network, cohort: Batch, subjects: Tensor, task_weight: Tensor, out: Tensor
) -> Tensor:
    """Compute each member's losses, weighted, and the gradient of their sum."""
    flat, sizes = flat_parameters(network), sizes_of(network.shape)
    if subjects.shape[1] * sizes.n_flat > LARGEST:
        raise SettingError(
            f"a batch must have at most {LARGEST // sizes.n_flat} subjects on a GPU; got "
            f"{subjects.shape[1]}. Pass a smaller batch_size."
        )
    dropped = draw(network, subjects.shape[1])
    cohort, subjects = Batch(*(column.contiguous() for column in cohort)), subjects.contiguous()
    launches, parts = gradient_launches(sizes, flat, cohort, subjects, task_weight, dropped, out)
    run(launches, flat.device)
    return parts


def survival_loss(network: Network, cohort: Batch, subjects: Tensor) -> Tensor:
    """Compute the survival loss of each member, whose subjects are a row, without dropout."""
    flat, subjects = flat_parameters(network), subjects.contiguous()
    launches, parts = survival_launches(sizes_of(network.shape), flat, cohort, subjects)
    run(launches, flat.device)
    return parts.sum(1) / subjects.shape[1]


def cause_logits(network: Network, rows: Tensor, values: Tensor) -> Tensor:
    """Compute the logits of the causes, without dropout; members may share their subjects."""
    flat, sizes, found = flat_parameters(network), sizes_of(network.shape), []
    at_once = max(1, LARGEST // sizes.n_flat)
    for some, of in zip(rows.split(at_once, dim=1), values.split(at_once, dim=1), strict=True):
        launches, logits = logits_launches(sizes, flat, some.contiguous(), of.contiguous())
        run(launches, flat.device)
        found.append(logits)
    return found[0] if len(found) == 1 else torch.cat(found, dim=1)


def update(
    flat_parameters: Tensor,
    gradient: Tensor,
    moments: dict[str, Tensor],
    settings: dict[str, Any],
    average: Any,
    clip_norm: float,
) -> None:
    """Take one step, in place, in the optimiser's own moments and with its own settings."""
    given = (flat_parameters, gradient, moments, settings, average, clip_norm)
    run(update_launches(*given), flat_parameters.device)


def draw(network: Network, n_subjects: int) -> Dropped:
    """Draw the random bits of a step, as the plain form does."""
    drawn, dropped = draw_bits(network, n_subjects), keep_all(network.embedding.table)
    if drawn.tokens.numel():
        dropped = dropped._replace(
            tokens=drawn.tokens, token_threshold=drawn.token_threshold, active=(True, False)
        )
    if drawn.representation.numel():
        dropped = dropped._replace(
            representation=drawn.representation,
            inner=drawn.inner if drawn.inner.numel() else drawn.representation,
            threshold=drawn.threshold,
            scale=drawn.scale,
            active=(dropped.active[0], True),
        )
    return dropped


def prepare(shape: Shape, device: torch.device) -> None:
    """Compile all kernels of such a network, side by side; the numbers of its rows may differ."""
    n, sizes = 2, sizes_of(shape)

    def zeros(*size: int, dtype: torch.dtype = torch.float32) -> Tensor:
        return torch.zeros(size, dtype=dtype, device=device)

    rows, whole = zeros(n, shape.n_tokens, dtype=torch.int32), zeros(n, dtype=torch.int64)
    values, number, ips = zeros(n, shape.n_tokens), zeros(n), zeros(n, shape.n_causes)
    columns = {name: whole if name in INTEGER_COLUMNS else number for name in Batch._fields}
    cohort = Batch(**{**columns, "rows": rows, "values": values, "ips": ips})
    subjects, flat, average = whole.view(1, n), zeros(1, sizes.n_parameters), zeros()
    moments = {"step": average, "exp_avg": flat, "exp_avg_sq": flat}
    rates = {"lr": 0.0, "weight_decay": 0.0, "betas": (0.9, 0.999), "eps": 1e-8}
    running = SimpleNamespace(average=flat, n_steps=average, window=1.0)
    training = (sizes, flat, cohort, subjects, zeros(3), keep_all(flat), flat)
    compile_all(
        [
            *gradient_launches(*training)[0],
            *survival_launches(sizes, flat, cohort, subjects)[0],
            *logits_launches(sizes, flat, rows[None], values[None])[0],
            *update_launches(flat, flat, moments, rates, running, 1.0),
        ],
        device,
    )
