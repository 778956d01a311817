"""Hazards become survival and cumulative incidence, at any time, coherent by construction.

Inside an interval the hazard is constant, so every curve is piecewise exponential. With H the
hazard of all causes together, an interval entered with survival S and lived through by a
fraction rho leaves survival S exp(-rho H) and adds S (h_k / H) (1 - exp(-rho H)) to the
incidence of cause k. Survival and incidences therefore sum to 1, whatever the network says.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from numpy.polynomial.legendre import leggauss
from torch import Tensor


class Place(NamedTuple):
    """Where times fall: interval and fraction, one row for all subjects or one for each."""

    interval: Int[Tensor, "subject time"]
    fraction: Float[Tensor, "subject time"]


def place(times: Float[Tensor, "subject time"], cuts: Float[Tensor, " cut"]) -> Place:
    """Find the interval and fraction of each time; times beyond the last cut stop there."""
    interval = torch.searchsorted(cuts[1:-1].contiguous(), times.contiguous(), side="left")
    start, end = cuts[interval], cuts[interval + 1]
    return Place(interval, ((times - start) / (end - start)).clamp(0.0, 1.0))


def survival(
    hazard: Float[Tensor, "member subject cause interval"], at: Place
) -> Float[Tensor, "member subject time"]:
    """Probability of being event-free.

    Examples
    --------
    >>> hazard = torch.full((1, 1, 2, 1), 0.5, dtype=torch.float64)
    >>> at = place(torch.tensor([[5.0, 10.0]], dtype=torch.float64),
    ...            torch.tensor([0.0, 10.0], dtype=torch.float64))
    >>> survival(hazard, at)
    tensor([[[0.6065, 0.3679]]], dtype=torch.float64)
    """
    return torch.exp(-_lived(hazard, at))


def incidence(
    hazard: Float[Tensor, "member subject cause interval"], at: Place
) -> Float[Tensor, "member subject cause time"]:
    """Probability that each cause has struck.

    Examples
    --------
    >>> hazard = torch.full((1, 1, 2, 1), 0.5, dtype=torch.float64)
    >>> at = place(torch.tensor([[5.0, 10.0]], dtype=torch.float64),
    ...            torch.tensor([0.0, 10.0], dtype=torch.float64))
    >>> incidence(hazard, at).sum(2) + survival(hazard, at)
    tensor([[[1., 1.]]], dtype=torch.float64)
    """
    total = hazard.sum(2)
    entered = torch.exp(-(_before(total))).unsqueeze(2)
    share = hazard / total.clamp(min=torch.finfo(total.dtype).tiny).unsqueeze(2)
    gained = entered * share * -torch.expm1(-total).unsqueeze(2)
    earlier = _before(gained)
    lived = -torch.expm1(-at.fraction * _pick(total, at)).unsqueeze(2)
    causes = Place(at.interval.unsqueeze(1), at.fraction)
    return _pick(earlier, causes) + _pick(entered * share, causes) * lived


def net_incidence(
    hazard: Float[Tensor, "member subject cause interval"], at: Place
) -> Float[Tensor, "member subject cause time"]:
    """Probability of each cause if the others did not exist: 1 - exp(-its cumulative hazard).

    What the paper ranks by. Over several causes these do not sum to one minus survival.
    """
    before = _before(hazard)
    causes = Place(at.interval.unsqueeze(1), at.fraction)
    lived = _pick(before, causes) + at.fraction.unsqueeze(1) * _pick(hazard, causes)
    return -torch.expm1(-lived)


def restricted_mean(
    hazard: Float[Tensor, "member subject cause interval"],
    cuts: Float[Tensor, " cut"],
    at: Place,
) -> Float[Tensor, "member subject time"]:
    """Area under the survival curve: the mean event-free time up to each time."""
    total, width = hazard.sum(2), cuts.diff()
    entered = torch.exp(-(_before(total)))
    area = entered * width * _mean_decay(total)
    earlier = _before(area)
    lived = at.fraction * _mean_decay(at.fraction * _pick(total, at))
    return _pick(earlier, at) + _pick(entered * width, at) * lived


def cumulative_hazard(
    hazard: Float[Tensor, "member subject cause interval"],
    cuts: Float[Tensor, " cut"],
    times: Float[Tensor, " time"],
    n_nodes: int = 8,
) -> Float[Tensor, "subject cause time"]:
    """Cumulative cause-specific hazard of the members' average curve.

    The integral of d(incidence) / survival over averaged curves, so that the causes' sum is
    minus the logarithm of averaged survival. Gauss-Legendre between cuts and times: the
    integrand is smooth there. With one member it is simply the sum of hazards.
    """
    ends = torch.unique(torch.cat([cuts, times.clamp(max=cuts[-1])]))
    nodes, mass = (torch.from_numpy(a).to(cuts) for a in leggauss(n_nodes))
    half = ends.diff() / 2
    points = (ends[:-1] + half)[:, None] + half[:, None] * nodes
    at = place(points.view(1, -1), cuts)
    alive = torch.softmax(-_lived(hazard, at), dim=0)
    rate = _pick(hazard / cuts.diff(), Place(at.interval.unsqueeze(1), at.fraction))
    density = (alive.unsqueeze(2) * rate).sum(0)
    pieces = (density.unflatten(-1, points.shape) * (half[:, None] * mass)).sum(-1)
    exact = -torch.logsumexp(-_lived(hazard, place(ends.view(1, -1), cuts)), dim=0)
    share = pieces / pieces.sum(1, keepdim=True).clamp(min=torch.finfo(pieces.dtype).tiny)
    grown = torch.nn.functional.pad((share * exact.diff().unsqueeze(1)).cumsum(-1), (1, 0))
    return grown[..., torch.searchsorted(ends, times.clamp(max=cuts[-1]))]


def crossing_time(
    hazard: Float[Tensor, "member subject cause interval"],
    cuts: Float[Tensor, " cut"],
    levels: Float[Tensor, " level"],
) -> Float[Tensor, "subject level"]:
    """First time at which averaged survival has fallen to each level; infinite if it never does.

    By bisection, since an average of exponentials has no inverse in closed form.
    """
    shape = (hazard.shape[1], len(levels))
    low, high = cuts.new_zeros(shape), cuts[-1].expand(shape)
    never = survival(hazard, place(high, cuts)).mean(0) > levels
    for _ in range(64):
        middle = (low + high) / 2
        alive = survival(hazard, place(middle, cuts)).mean(0) > levels
        low, high = torch.where(alive, middle, low), torch.where(alive, high, middle)
    return torch.where(never, torch.inf, high)


def _lived(hazard: Tensor, at: Place) -> Tensor:
    """Hazard of all causes lived through: (member, subject, time)."""
    total = hazard.sum(2)
    return _pick(_before(total), at) + at.fraction * _pick(total, at)


def _before(per_interval: Tensor) -> Tensor:
    """Sum over the intervals before each one, without subtraction: huge values hide no small."""
    return torch.nn.functional.pad(per_interval.cumsum(-1)[..., :-1], (1, 0))


def _pick(per_interval: Tensor, at: Place) -> Tensor:
    """Values (..., interval) at the interval of each time: (..., time)."""
    if at.interval.numel() == at.interval.shape[-1]:
        return per_interval.index_select(-1, at.interval.flatten())
    shape = (*per_interval.shape[:-1], at.interval.shape[-1])
    return per_interval.gather(-1, at.interval.expand(shape))


def _mean_decay(x: Tensor) -> Tensor:
    """(1 - exp(-x)) / x, which is 1 at 0."""
    small = x < 1e-12
    return torch.where(small, 1 - x / 2, -torch.expm1(-x) / torch.where(small, 1.0, x))
