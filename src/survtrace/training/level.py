"""After weighted training, sets the hazards' level right on the unweighted training rows."""

import torch

from survtrace.cohort.batch_source import MemorySource
from survtrace.losses.hazard import exposure
from survtrace.losses.level import count_events, level_factors
from survtrace.network.assembly import Network


@torch.no_grad()
def recalibrate(network: Network, batch_source: MemorySource) -> None:
    """Fit one factor per member, cause and interval (see `level_factors`)."""
    n_causes, n_intervals = network.shape.n_causes, network.shape.n_intervals
    level = network.level
    expected, observed = torch.zeros_like(level.squeeze(1)), torch.zeros_like(level.squeeze(1))
    for subjects in torch.split(batch_source.training_rows, batch_source.chunk, dim=1):
        batch = batch_source.cohort.take(subjects)
        logits = network.cause_logits(batch.rows, batch.values)
        lived = exposure(batch.interval, batch.fraction, n_intervals) * batch.weight.unsqueeze(-1)
        hazard = torch.nn.functional.softplus(logits)
        expected += torch.einsum("mski,msi->mki", hazard, lived)
        observed += count_events(batch.interval, batch.event, batch.weight, n_causes, n_intervals)
    level.copy_(level_factors(expected, observed).unsqueeze(1))
