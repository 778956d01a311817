"""What training minimises: survival likelihood plus annealed auxiliary tasks (eq. 23)."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from survtrace.data.batches import Cohort
from survtrace.losses.auxiliary import annealed, mortality_loss, stay_loss
from survtrace.losses.hazard import negative_log_likelihood


class Tasks(NamedTuple):
    """Starting weights of the auxiliary tasks, and the epoch at which they reach 0."""

    mortality_weight: float
    stay_weight: float
    anneal: int | None


def survival_loss(
    cause_logits: Float[Tensor, "member subject cause interval"], batch: Cohort
) -> Float[Tensor, " member"]:
    """Mean over subjects of the weighted likelihood, all causes summed (eq. 18, 19)."""
    losses = negative_log_likelihood(cause_logits, batch.interval, batch.fraction, batch.event)
    return ((losses * batch.ips).sum(-1) * batch.weight).mean(-1)


def objective(
    cause_logits: Float[Tensor, "member subject cause interval"],
    mortality_logit: Float[Tensor, "member subject"],
    predicted_stay: Float[Tensor, "member subject"],
    batch: Cohort,
    tasks: Tasks,
    epoch: int,
) -> Float[Tensor, "part member"]:
    """Each member's survival, mortality and stay loss, as weighted at this epoch."""
    mortality = (mortality_loss(mortality_logit, batch.event) * batch.weight).mean(-1)
    stay = (stay_loss(predicted_stay, batch.stay) * batch.weight).mean(-1)
    return torch.stack(
        [
            survival_loss(cause_logits, batch),
            annealed(tasks.mortality_weight, epoch, tasks.anneal) * mortality,
            annealed(tasks.stay_weight, epoch, tasks.anneal) * stay,
        ]
    )
