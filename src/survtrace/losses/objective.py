"""What training minimises: survival likelihood plus annealed auxiliary tasks (eq. 23)."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from survtrace.batch import Batch
from survtrace.losses.auxiliary import annealed, mortality_loss, stay_loss
from survtrace.losses.hazard import negative_log_likelihood


class Tasks(NamedTuple):
    """Starting weights of the auxiliary tasks, and the epoch at which they reach 0."""

    mortality_weight: float
    stay_weight: float
    anneal: int | None


def task_weights(tasks: Tasks, epoch: int) -> Float[Tensor, " part"]:
    """Compute the weights of the survival, mortality and stay losses at an epoch.

    Examples
    --------
    >>> task_weights(Tasks(mortality_weight=1.0, stay_weight=0.5, anneal=10), epoch=5)
    tensor([1.0000, 0.5000, 0.2500])
    """
    auxiliary = (tasks.mortality_weight, tasks.stay_weight)
    return torch.tensor([1.0, *(annealed(weight, epoch, tasks.anneal) for weight in auxiliary)])


def survival_loss(
    cause_logits: Float[Tensor, "member subject cause interval"], batch: Batch
) -> Float[Tensor, " member"]:
    """Compute the mean over subjects of the weighted likelihood, all causes summed (eq. 18, 19)."""
    losses = negative_log_likelihood(
        cause_logits,
        batch.interval,
        batch.fraction,
        batch.event,
        batch.entry_interval,
        batch.entry_fraction,
    )
    return ((losses * batch.ips).sum(-1) * batch.weight).mean(-1)


def objective(
    cause_logits: Float[Tensor, "member subject cause interval"],
    mortality_logit: Float[Tensor, "member subject"],
    predicted_stay: Float[Tensor, "member subject"],
    batch: Batch,
    task_weight: Float[Tensor, " part"],
) -> Float[Tensor, "part member"]:
    """Return each member's survival, mortality and stay loss, weighted.

    What becomes of a subject until its end, and how long that takes, can be asked only of a row
    that is the whole of its time.
    """
    weight = batch.weight * batch.whole
    mortality = (mortality_loss(mortality_logit, batch.event) * weight).mean(-1)
    stay = (stay_loss(predicted_stay, batch.stay) * weight).mean(-1)
    parts = torch.stack([survival_loss(cause_logits, batch), mortality, stay])
    return parts * task_weight.unsqueeze(1)
