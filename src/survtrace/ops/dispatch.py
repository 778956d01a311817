"""One function per operation: by a kernel where one runs it, else in its plain form.

The plain form is the definition; a kernel gives the same numbers, to rounding.
"""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import embedding

from survtrace.batch import Batch
from survtrace.losses.objective import objective
from survtrace.ops.support import LayerSizes, find_kernel, why_plain_layers

LARGEST_TOKEN = 1e6


def gather(cohort: Batch, subjects: Int[Tensor, "member row"]) -> Batch:
    """Take the batch in which member m sees the subjects of row m."""
    if kernel := find_kernel("gather", cohort.values):
        return Batch(*kernel(cohort, subjects))
    return cohort.take(subjects)


def lookup(
    table: Float[Tensor, "member row width"],
    bias: Float[Tensor, "member 1 token width"] | None,
    rows: Int[Tensor, "member subject token"],
    values: Float[Tensor, "member subject token"],
    mask: Float[Tensor, "subject token"] | None,
) -> Float[Tensor, "member subject token width"]:
    """Compute ``mask * (value * row + bias)`` of every token; None is no bias, or no mask."""
    obstacle = None if bias is not None else "the embedding has no bias"
    if kernel := find_kernel("lookup", table, obstacle):
        return kernel(table, bias, rows, values, mask)
    n_members, n_rows, _ = table.shape
    first_row = torch.arange(n_members, device=rows.device).view(-1, 1, 1) * n_rows
    tokens = embedding(rows + first_row, table.flatten(0, 1)) * values.unsqueeze(-1)
    tokens = tokens if bias is None else tokens + bias
    return tokens if mask is None else tokens * mask.unsqueeze(-1)


def dropout(
    x: Float[Tensor, "member *rest"], bits: Int[Tensor, " n"], threshold: int, scale: float
) -> Float[Tensor, "member *rest"]:
    """Compute ``x * scale`` where the bits are below the threshold, else 0."""
    if kernel := find_kernel("dropout", x):
        return kernel(x, bits, threshold, scale)
    # Compared straight into floats: eight times as fast on a processor as `torch.where`.
    mask = torch.empty(x.shape[1:], dtype=x.dtype, device=x.device)
    return x * torch.lt(bits.view(mask.shape), threshold, out=mask).mul_(scale)


@runtime_checkable
class Layer(Protocol):
    """A layer of the encoder, as far as `encode` needs to know it."""

    sizes: LayerSizes

    @property
    def uses_dropout(self) -> bool:
        """Whether dropout acts in it now."""

    def flat_parameters(self) -> Float[Tensor, "member parameter"]:
        """All parameters, a bias behind its weight, in the order they are used."""

    def __call__(
        self, tokens: Float[Tensor, "member subject token width"]
    ) -> Float[Tensor, "member subject token width"]:
        """Run tokens through the layer."""


def encode(
    tokens: Float[Tensor, "member subject token width"], layers: Sequence[Layer]
) -> Float[Tensor, "member subject token width"]:
    """Run tokens through the layers, one after the other."""
    sizes, n_tokens = layers[0].sizes, tokens.shape[2]
    obstacle = why_plain_layers(tokens.device, sizes, n_tokens, layers[0].uses_dropout)
    kernel = find_kernel("encode", tokens, obstacle)
    # A GPU that predicts puts subjects into one tile, where values that overflow would spoil the
    # neighbours' answers. In training such a value breaks the loss anyhow, and is refused.
    predicting = tokens.is_cuda and not torch.is_grad_enabled()
    if kernel and predicting and not bool(tokens.abs().amax() < LARGEST_TOKEN):
        kernel = find_kernel("encode", tokens, f"a token is {LARGEST_TOKEN:g} or more")
    if kernel:
        return kernel(tokens, sizes, [layer.flat_parameters() for layer in layers])
    for layer in layers:
        tokens = layer(tokens)
    return tokens


def losses(
    cause_logits: Float[Tensor, "member subject cause interval"],
    mortality_logit: Float[Tensor, "member subject"],
    predicted_stay: Float[Tensor, "member subject"],
    batch: Batch,
    task_weight: Float[Tensor, " part"],
) -> Float[Tensor, "part member"]:
    """Compute each member's survival, mortality and stay loss, weighted (eq. 23)."""
    if kernel := find_kernel("losses", cause_logits):
        parts = kernel(cause_logits, mortality_logit, predicted_stay, batch)
        return parts * task_weight.unsqueeze(1)
    return objective(cause_logits, mortality_logit, predicted_stay, batch, task_weight)


@runtime_checkable
class Average(Protocol):
    """A running average of the parameters, as far as `update` needs to know it."""

    average: Float[Tensor, "member parameter"]
    n_steps: Float[Tensor, ""]
    window: float

    def update(self, flat_parameters: Float[Tensor, "member parameter"]) -> None:
        """Take in the parameters after a step."""


@torch.no_grad()
def update(
    flat_parameters: nn.Parameter,
    gradient: Float[Tensor, "member parameter"],
    optimiser: torch.optim.Optimizer,
    average: Average,
    clip_norm: float,
) -> None:
    """Clip each member's gradient, take a step of AdamW and update the running average."""
    moments = optimiser.state.get(flat_parameters)
    obstacle = None if moments else "the first step of an optimiser sets up its moments"
    if kernel := find_kernel("update", flat_parameters, obstacle):
        kernel(
            flat_parameters.data, gradient, moments, optimiser.param_groups[0], average, clip_norm
        )
        return
    clip_by_member(gradient, clip_norm)
    optimiser.step()
    average.update(flat_parameters)


def clip_by_member(gradient: Float[Tensor, "member parameter"], largest: float) -> None:
    """Scale each member's gradient to a norm of at most ``largest``, in place."""
    norm = gradient.norm(dim=1, keepdim=True)
    gradient.mul_((largest / norm).clamp(max=1.0))
