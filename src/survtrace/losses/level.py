"""The level of the hazards, set right after weighted training: events observed over expected."""

import torch
from jaxtyping import Float, Int
from torch import Tensor


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


def level_factors(
    expected: Float[Tensor, "*member cause interval"],
    observed: Float[Tensor, "*member cause interval"],
) -> Float[Tensor, "*member cause interval"]:
    """Factor on each hazard that maximises the likelihood: events observed over expected.

    With hazards c h the likelihood is highest at c = observed / expected. Half an event is
    added to both, so that an interval without events does not get hazard 0.

    Examples
    --------
    >>> level_factors(torch.tensor([[19.5]]), torch.tensor([[39.5]]))
    tensor([[2.]])
    """
    return (observed + 0.5) / (expected + 0.5)
