"""The piecewise-constant-hazard likelihood of every subject and cause (eq. 14-17)."""

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import softplus


def log_softplus(x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Compute log(log(1 + exp(x))) with a gradient that never vanishes.

    For very negative x, softplus underflows; there log(softplus(x)) = x - exp(x)/2 + O(exp(2x)).

    Examples
    --------
    >>> log_softplus(torch.tensor([-200.0, 0.0]))
    tensor([-200.0000,   -0.3665])
    """
    far = x < -10
    near = torch.log(softplus(torch.where(far, torch.zeros_like(x), x)))
    return torch.where(far, x - torch.exp(torch.clamp(x, max=-10)) / 2, near)


def exposure(
    interval: Int[Tensor, "*batch"], fraction: Float[Tensor, "*batch"], n_intervals: int
) -> Float[Tensor, "*batch interval"]:
    """Compute the share of each interval lived through: 1 before its own, ``fraction`` in it."""
    numbers = torch.arange(n_intervals, device=interval.device)
    place = interval.unsqueeze(-1)
    lived = (numbers < place).to(fraction.dtype)
    return torch.where(numbers == place, fraction.unsqueeze(-1), lived)


def lived_through(
    entry_interval: Int[Tensor, "*batch"],
    entry_fraction: Float[Tensor, "*batch"],
    interval: Int[Tensor, "*batch"],
    fraction: Float[Tensor, "*batch"],
    n_intervals: int,
) -> Float[Tensor, "*batch interval"]:
    """Compute how much of each interval a subject lived through between its entry and its exit.

    Examples
    --------
    >>> half, quarter = torch.tensor([0.5]), torch.tensor([0.25])
    >>> lived_through(torch.tensor([0]), half, torch.tensor([1]), quarter, n_intervals=3)
    tensor([[0.5000, 0.2500, 0.0000]])
    """
    before_exit = exposure(interval, fraction, n_intervals)
    return before_exit - exposure(entry_interval, entry_fraction, n_intervals)


def negative_log_likelihood(
    logits: Float[Tensor, "*batch cause interval"],
    interval: Int[Tensor, "*batch"],
    fraction: Float[Tensor, "*batch"],
    event: Int[Tensor, "*batch"],
    entry_interval: Int[Tensor, "*batch"] | None = None,
    entry_fraction: Float[Tensor, "*batch"] | None = None,
) -> Float[Tensor, "*batch cause"]:
    """Compute the loss l_ik of subject i for cause k; summed over causes it is the full likelihood.

    Minus the log hazard of the interval in which the cause struck, plus the cumulative hazard
    survived since entry (None: the first cut), before which no event could have been seen. The log
    length of that interval is left out: it does not depend on the network.

    Examples
    --------
    >>> logits = torch.zeros(1, 1, 2)                    # hazard log 2 in both intervals
    >>> loss = negative_log_likelihood(
    ...     logits, torch.tensor([1]), torch.tensor([0.5]), torch.tensor([0]))
    >>> round(loss.item() / 0.6931, 3)                   # one and a half intervals lived through
    1.5
    """
    n_causes, n_intervals = logits.shape[-2:]
    if entry_interval is None or entry_fraction is None:
        lived = exposure(interval, fraction, n_intervals)
    else:
        lived = lived_through(entry_interval, entry_fraction, interval, fraction, n_intervals)
    # NOTE[PAPER eq. 16]: the paper prints a sum of exp(-hazard); the likelihood sums hazards.
    survived = (softplus(logits) * lived.unsqueeze(-2)).sum(-1)
    at_event = logits.gather(-1, interval[..., None, None].expand(*logits.shape[:-1], 1))
    causes = torch.arange(1, n_causes + 1, device=event.device)
    struck = event.unsqueeze(-1) == causes
    return survived - torch.where(struck, log_softplus(at_event.squeeze(-1)), 0.0)
