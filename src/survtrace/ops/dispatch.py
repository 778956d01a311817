"""One function per operation: by kernels where they can run it, else in its plain form.

The plain form is the definition; kernels give the same numbers, to rounding.
"""

from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from survtrace.batch import Batch
from survtrace.losses import objective
from survtrace.network.assembly import Logits, Network
from survtrace.ops.support import find_kernel


def gradient(
    network: Network,
    cohort: Batch,
    subjects: Int[Tensor, "member row"],
    task_weight: Float[Tensor, " part"],
    out: Float[Tensor, "member parameter"],
) -> Float[Tensor, "part member"]:
    """Compute each member's losses, weighted (eq. 23), and the gradient of their sum.

    Member m sees the subjects of row m. ``out`` is overwritten by the gradient, in the order of the
    network's parameters; that of a parameter which plays no part is zero. Dropout acts if the
    network is in training.
    """
    if kernel := find_kernel("gradient", network):
        return kernel(network, cohort, subjects, task_weight, out)
    batch = cohort.take(subjects)
    with torch.enable_grad():
        logits: Logits = network(batch.rows, batch.values)
        parts = objective.objective(*logits, batch, task_weight)
        gradients = torch.autograd.grad(
            parts.sum(), list(network.parameters()), materialize_grads=True
        )
    torch.cat([gradient.flatten(1) for gradient in gradients], dim=1, out=out)
    return parts.detach()


@torch.no_grad()
def survival_loss(
    network: Network, cohort: Batch, subjects: Int[Tensor, "member row"]
) -> Float[Tensor, " member"]:
    """Compute the survival loss of each member, whose subjects are a row, without dropout."""
    if kernel := find_kernel("survival_loss", network):
        return kernel(network, cohort, subjects)
    batch = cohort.take(subjects)
    return objective.survival_loss(network.cause_logits(batch.rows, batch.values), batch)


@torch.no_grad()
def cause_logits(
    network: Network,
    rows: Int[Tensor, "#member subject token"],
    values: Float[Tensor, "#member subject token"],
) -> Float[Tensor, "member subject cause interval"]:
    """Compute the logits of the causes, without dropout; members may share their subjects."""
    if kernel := find_kernel("cause_logits", network):
        return kernel(network, rows, values)
    shape = (network.shape.n_members, -1, -1)
    return network.cause_logits(rows.expand(shape), values.expand(shape))


@runtime_checkable
class Average(Protocol):
    """A running average of the parameters, as far as `update` needs to know it."""

    average: Float[Tensor, "member parameter"]
    n_steps: Float[Tensor, ""]
    window: float

    def update(self, flat_parameters: Float[Tensor, "member parameter"]) -> None:
        """Take in the parameters after a step."""


@runtime_checkable
class Optimiser(Protocol):
    """AdamW of one tensor, as far as `update` needs to know it."""

    state: Any  # moments by parameters
    param_groups: list[dict[str, Any]]

    def step(self) -> Any:
        """Take a step along the gradient."""


@torch.no_grad()
def update(
    flat_parameters: nn.Parameter,
    gradient: Float[Tensor, "member parameter"],
    optimiser: Optimiser,
    average: Average,
    clip_norm: float,
) -> None:
    """Clip each member's gradient, take a step of AdamW and update the running average."""
    moments, settings = optimiser.state.get(flat_parameters), optimiser.param_groups[0]
    obstacle = None if moments else "the first step of torch's own AdamW sets up its moments"
    if kernel := find_kernel("update", flat_parameters, obstacle):
        kernel(flat_parameters.data, gradient, moments, settings, average, clip_norm)
        return
    clip_by_member(gradient, clip_norm)
    optimiser.step()
    average.update(flat_parameters)


def clip_by_member(gradient: Float[Tensor, "member parameter"], largest: float) -> None:
    """Scale each member's gradient to a norm of at most ``largest``, in place."""
    norm = gradient.norm(dim=1, keepdim=True)
    gradient.mul_((largest / norm).clamp(max=1.0))
