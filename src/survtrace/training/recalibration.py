"""Recalibrates the hazards after weighted training: events observed over events expected."""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from survtrace import ops
from survtrace.cohort.batch_source import MemorySource
from survtrace.losses.hazard import lived_through
from survtrace.network.assembly import Network

OUTCOME_DEPENDENT = ("paper", "events", "stabilised")


def is_recalibrated(settings: Any) -> bool:
    """Check whether a fit recalibrates; "auto" does where its weights depend on the outcome."""
    wanted = settings.recalibrate
    return settings.ips in OUTCOME_DEPENDENT if wanted == "auto" else bool(wanted)


@torch.no_grad()
def recalibrate(network: Network, batch_source: MemorySource) -> None:
    """Fit one factor per member, cause and interval on the unweighted training rows."""
    n_causes, n_intervals = network.shape.n_causes, network.shape.n_intervals
    factor = network.recalibration_factor
    expected, observed = torch.zeros_like(factor.squeeze(1)), torch.zeros_like(factor.squeeze(1))
    for subjects in torch.split(batch_source.training_rows, batch_source.chunk, dim=1):
        batch = batch_source.cohort.take(subjects)
        logits = ops.cause_logits(network, batch.rows, batch.values)
        ends = batch.entry_interval, batch.entry_fraction, batch.interval, batch.fraction
        weight = batch.weight / batch_source.rows_per_subject  # rows of a subject weigh more
        lived = lived_through(*ends, n_intervals) * weight.unsqueeze(-1)
        hazard = torch.nn.functional.softplus(logits)
        expected += torch.einsum("mski,msi->mki", hazard, lived)
        observed += count_events(batch.interval, batch.event, weight, n_causes, n_intervals)
    factor.copy_(recalibration_factors(expected, observed).unsqueeze(1))


def count_events(
    interval: Int[Tensor, "*member subject"],
    event: Int[Tensor, "*member subject"],
    weight: Float[Tensor, "*member subject"],
    n_causes: int,
    n_intervals: int,
) -> Float[Tensor, "*member cause interval"]:
    """Weighted number of events of each cause in each interval.

    Examples
    --------
    >>> interval, event = torch.tensor([0, 1, 1]), torch.tensor([1, 2, 0])
    >>> count_events(interval, event, torch.ones(3), n_causes=2, n_intervals=2).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    causes = torch.arange(1, n_causes + 1, device=event.device)
    intervals = torch.arange(n_intervals, device=event.device)
    struck = (event.unsqueeze(-1) == causes).to(weight.dtype) * weight.unsqueeze(-1)
    here = (interval.unsqueeze(-1) == intervals).to(weight.dtype)
    return struck.transpose(-2, -1) @ here


def recalibration_factors(
    expected: Float[Tensor, "*member cause interval"],
    observed: Float[Tensor, "*member cause interval"],
) -> Float[Tensor, "*member cause interval"]:
    """Factor on each hazard that maximises the likelihood: events observed over expected.

    With hazards c h the likelihood is highest at c = observed / expected. Half an event is
    added to both, so that an interval without events does not get hazard 0.

    Examples
    --------
    >>> recalibration_factors(torch.tensor([[19.5]]), torch.tensor([[39.5]]))
    tensor([[2.]])
    """
    return (observed + 0.5) / (expected + 0.5)
