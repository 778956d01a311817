"""Fit the level of the hazards after the training: events observed over events expected.

Training keeps the level of noisy hazards: with dropout in place, at parameters that every step
moves. A hazard is nearly the exponential of its logit, and noise of the logit raises its mean.
Predictions leave dropout out and take averaged parameters, so their hazards are lower: those of
1,000 simulated subjects expected as many events as there were with dropout, without it a sixth and
a third fewer of the two causes. Training starts from hazards of log 2 in every interval, and
stopping early leaves some of that: other tables are too high. Loss weights that depend on the
outcome shift the level further. So it is fitted as the network is used, which mends all of these;
docs/results.md tells what else was tried.
"""

from collections.abc import Iterable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from survtrace import ops
from survtrace.batch import Batch
from survtrace.losses.hazard import lived_through
from survtrace.network.assembly import Network


@torch.no_grad()
def recalibrate(network: Network, batches: Iterable[Batch], rows_per_subject: float = 1.0) -> None:
    """Fit one factor per member, cause and interval on some rows, those learned from, unweighted.

    Members share the rows of a batch, or have their own, (member, row).
    """
    n_causes, n_intervals = network.shape.n_causes, network.shape.n_intervals
    factor = network.recalibration_factor
    expected = torch.zeros_like(factor.squeeze(1), dtype=torch.float64)
    observed = torch.zeros_like(expected)
    for shared in batches:
        has_members = shared.event.dim() == 2
        batch = shared if has_members else Batch(*(column.unsqueeze(0) for column in shared))
        ends = batch.entry_interval, batch.entry_fraction, batch.interval, batch.fraction
        weight = batch.weight / rows_per_subject  # rows of a subject weigh more
        lived = lived_through(*ends, n_intervals) * weight.unsqueeze(-1)
        hazard = torch.nn.functional.softplus(ops.cause_logits(network, batch.rows, batch.values))
        expected += (hazard * lived.unsqueeze(2)).sum(1)
        observed += count_events(batch.interval, batch.event, weight, n_causes, n_intervals)
    factor.copy_(recalibration_factors(expected, observed).unsqueeze(1))


def count_events(
    interval: Int[Tensor, "*member subject"],
    event: Int[Tensor, "*member subject"],
    weight: Float[Tensor, "*member subject"],
    n_causes: int,
    n_intervals: int,
) -> Float[Tensor, "*member cause interval"]:
    """Compute the weighted number of events of each cause in each interval.

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
    """Compute the factor on each hazard of the highest likelihood: events observed over expected.

    With hazards c h the likelihood is highest at c = observed / expected. Half an event is
    added to both, so that an interval without events does not get hazard 0.

    Examples
    --------
    >>> recalibration_factors(torch.tensor([[19.5]]), torch.tensor([[39.5]]))
    tensor([[2.]])
    """
    return (observed + 0.5) / (expected + 0.5)
