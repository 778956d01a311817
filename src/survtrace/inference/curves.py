"""Hazards become survival and cumulative incidence, at any time, coherent by construction.

Inside an interval the hazard is constant, so every curve is piecewise exponential. With H the
hazard of all causes together, an interval entered with survival S and lived through by a
fraction rho leaves survival S exp(-rho H) and adds S (h_k / H) (1 - exp(-rho H)) to the
incidence of cause k. Survival and incidences therefore sum to 1, whatever the network says.

Every curve is a function of the members' hazards and of where it is asked. Its answer has an axis
of members, of length 1 where the curve is that of their average.
"""

from collections.abc import Callable
from functools import reduce
from operator import add
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from numpy.polynomial.legendre import leggauss
from torch import Tensor

N_NODES = 8  # of Gauss-Legendre, between two ends


class TimeIndex(NamedTuple):
    """Where a curve is asked, one row for all subjects or one for each.

    ``points`` are times (of `crossing_time`: levels of survival), which lie in an interval between
    ``cuts`` and have a fraction of it behind them.
    """

    interval: Int[Tensor, "subject time"]
    fraction: Float[Tensor, "subject time"]
    points: Float[Tensor, "subject time"]
    cuts: Float[Tensor, " cut"]


Curve = Callable[[Tensor, TimeIndex], Tensor]


def locate_times(times: Float[Tensor, "subject time"], cuts: Float[Tensor, " cut"]) -> TimeIndex:
    """Find the interval and fraction of each time; times beyond the last cut stop there."""
    interval = torch.searchsorted(cuts[1:-1].contiguous(), times.contiguous(), side="left")
    start, end = cuts[interval], cuts[interval + 1]
    return TimeIndex(interval, ((times - start) / (end - start)).clamp(0.0, 1.0), times, cuts)


def survival(
    hazard: Float[Tensor, "member subject cause interval"], at: TimeIndex
) -> Float[Tensor, "member subject time"]:
    """Probability of being event-free.

    Examples
    --------
    >>> hazard = torch.full((1, 1, 2, 1), 0.5, dtype=torch.float64)
    >>> at = locate_times(torch.tensor([[5.0, 10.0]], dtype=torch.float64),
    ...            torch.tensor([0.0, 10.0], dtype=torch.float64))
    >>> survival(hazard, at)
    tensor([[[0.6065, 0.3679]]], dtype=torch.float64)
    """
    return torch.exp(-_lived(hazard, at))


def incidence(
    hazard: Float[Tensor, "member subject cause interval"], at: TimeIndex
) -> Float[Tensor, "member subject cause time"]:
    """Probability that each cause has struck.

    Examples
    --------
    >>> hazard = torch.full((1, 1, 2, 1), 0.5, dtype=torch.float64)
    >>> at = locate_times(torch.tensor([[5.0, 10.0]], dtype=torch.float64),
    ...            torch.tensor([0.0, 10.0], dtype=torch.float64))
    >>> incidence(hazard, at).sum(2) + survival(hazard, at)
    tensor([[[1., 1.]]], dtype=torch.float64)
    """
    total = _all_causes(hazard)
    per_hazard = torch.exp(-_before(total)) / total.clamp(min=torch.finfo(total.dtype).tiny)
    gained = hazard * (per_hazard * -torch.expm1(-total)).unsqueeze(2)
    lived = _pick(per_hazard, at) * -torch.expm1(-at.fraction * _pick(total, at))
    causes = _every_cause(at)
    earlier = _pick(_before(gained), causes)
    return torch.addcmul(earlier, _pick(hazard, causes), lived.unsqueeze(2))


def states(
    hazard: Float[Tensor, "member subject cause interval"], at: TimeIndex
) -> Float[Tensor, "member subject state time"]:
    """Probability of each state: event-free, then each cause, in one pass."""
    return torch.cat([survival(hazard, at).unsqueeze(2), incidence(hazard, at)], dim=2)


def after(
    hazard: Float[Tensor, "member subject cause interval"],
    cuts: Float[Tensor, " cut"],
    start: Float[Tensor, "subject 1"],
    times: Float[Tensor, "#subject time"],
) -> tuple[Float[Tensor, "member subject cause interval"], TimeIndex]:
    """Give the hazard that is left after ``start``, and where times fall in it.

    Curves of that hazard are those of subjects event-free at ``start``. Nothing is divided by
    survival, which may be too small for a float, nor subtracted from a curve. Times before
    ``start`` stand at it.

    Examples
    --------
    >>> hazard = torch.full((1, 1, 1, 1), 1e5, dtype=torch.float64)
    >>> cuts, start = torch.tensor([0.0, 10.0]).double(), torch.tensor([[5.0]]).double()
    >>> left, at = after(hazard, cuts, start, start + 1e-4)
    >>> survival(hazard, locate_times(start, cuts)), survival(left, at)
    (tensor([[[0.]]], dtype=torch.float64), tensor([[[0.3679]]], dtype=torch.float64))
    """
    ends = cuts[1:]
    left = (ends - torch.maximum(start, cuts[:-1])).clamp(min=0) / cuts.diff()
    times = torch.maximum(times, start)
    interval = locate_times(times, cuts).interval
    begin = torch.maximum(cuts[interval], start)
    width = (ends[interval] - begin).clamp(min=torch.finfo(times.dtype).tiny)
    fraction = ((times - begin) / width).clamp(0.0, 1.0)
    return hazard * left.unsqueeze(1), TimeIndex(interval, fraction, times, cuts)


def member_shares(
    hazard: Float[Tensor, "member subject cause interval"], at: TimeIndex
) -> Float[Tensor, "member subject time"]:
    """Compute each member's share of the survivors, by which conditional curves are averaged.

    A softmax of minus the hazard lived through, so that it is also right where no member's
    survival is above 0 in a float.
    """
    return torch.softmax(-_lived(hazard, at), dim=0)


def net_incidence(
    hazard: Float[Tensor, "member subject cause interval"], at: TimeIndex
) -> Float[Tensor, "member subject cause time"]:
    """Probability of each cause if the others did not exist: 1 - exp(-its cumulative hazard).

    What the paper ranks by. Over several causes these do not sum to one minus survival.
    """
    before = _before(hazard)
    causes = _every_cause(at)
    lived = _pick(before, causes) + at.fraction.unsqueeze(1) * _pick(hazard, causes)
    return -torch.expm1(-lived)


def restricted_mean(
    hazard: Float[Tensor, "member subject cause interval"], at: TimeIndex
) -> Float[Tensor, "member subject time"]:
    """Area under the survival curve, which is constant beyond the grid: mean event-free time."""
    total, width = _all_causes(hazard), at.cuts.diff()
    entered = torch.exp(-(_before(total)))
    area = entered * width * _mean_decay(total)
    earlier = _before(area)
    lived = at.fraction * _mean_decay(at.fraction * _pick(total, at))
    beyond = (at.points - at.cuts[-1]).clamp(min=0)
    on_grid = _pick(earlier, at) + _pick(entered * width, at) * lived
    return on_grid + beyond * survival(hazard, at)


def cumulative_hazard(
    hazard: Float[Tensor, "member subject cause interval"], at: TimeIndex
) -> Float[Tensor, "1 subject cause time"]:
    """Cumulative cause-specific hazard of the members' average curve, at times common to all.

    The integral of d(incidence) / survival over averaged curves, so that the causes' sum is
    minus the logarithm of averaged survival. Gauss-Legendre between cuts and times: the
    integrand is smooth there. With one member it is simply the sum of hazards.
    """
    cuts, times = at.cuts, at.points.flatten().clamp(max=at.cuts[-1])
    ends = torch.unique(torch.cat([cuts, times]))
    nodes, mass = (torch.from_numpy(a).to(cuts) for a in leggauss(N_NODES))
    half = ends.diff() / 2
    points = (ends[:-1] + half)[:, None] + half[:, None] * nodes
    inside = locate_times(points.view(1, -1), cuts)
    alive = member_shares(hazard, inside)
    rate = _pick(hazard / cuts.diff(), _every_cause(inside))
    density = (alive.unsqueeze(2) * rate).sum(0)
    pieces = (density.unflatten(-1, points.shape) * (half[:, None] * mass)).sum(-1)
    exact = -torch.logsumexp(-_lived(hazard, locate_times(ends.view(1, -1), cuts)), dim=0)
    share = pieces / pieces.sum(1, keepdim=True).clamp(min=torch.finfo(pieces.dtype).tiny)
    grown = torch.nn.functional.pad((share * exact.diff().unsqueeze(1)).cumsum(-1), (1, 0))
    return grown[None, ..., torch.searchsorted(ends, times)]


def crossing_time(
    hazard: Float[Tensor, "member subject cause interval"], at: TimeIndex
) -> Float[Tensor, "1 subject level"]:
    """First time at which averaged survival has fallen to each level; infinite if it never does.

    By bisection, since an average of exponentials has no inverse in closed form.
    """
    cuts, levels = at.cuts, at.points
    shape = (hazard.shape[1], levels.shape[1])
    low, high = cuts.new_zeros(shape), cuts[-1].expand(shape)
    never = survival(hazard, locate_times(high, cuts)).mean(0) > levels
    for _ in range(64):
        middle = (low + high) / 2
        alive = survival(hazard, locate_times(middle, cuts)).mean(0) > levels
        low, high = torch.where(alive, middle, low), torch.where(alive, high, middle)
    return torch.where(never, torch.inf, high)[None]


def hazards(
    hazard: Float[Tensor, "member subject cause interval"], at: TimeIndex
) -> Float[Tensor, "1 subject member cause interval"]:
    """Hazards themselves, of all members, whatever is asked: what a `CurveFunction` keeps."""
    return hazard.transpose(0, 1)[None]


def _every_cause(at: TimeIndex) -> TimeIndex:
    """The same times for values with an axis of causes."""
    return at._replace(interval=at.interval.unsqueeze(1))


def _lived(hazard: Tensor, at: TimeIndex) -> Tensor:
    """Hazard of all causes lived through: (member, subject, time)."""
    total = _all_causes(hazard)
    return _pick(_before(total), at) + at.fraction * _pick(total, at)


def _all_causes(hazard: Tensor) -> Tensor:
    """Sum over causes, one by one: a reduction of so short an axis takes four times as long."""
    return reduce(add, hazard.unbind(2))


def _before(per_interval: Tensor) -> Tensor:
    """Sum over the intervals before each one, without subtraction: huge values hide no small."""
    return torch.nn.functional.pad(per_interval.cumsum(-1)[..., :-1], (1, 0))


def _pick(per_interval: Tensor, at: TimeIndex) -> Tensor:
    """Values (..., interval) at the interval of each time: (..., time)."""
    if at.interval.numel() == at.interval.shape[-1]:
        interval = at.interval.flatten()
        n_intervals = per_interval.shape[-1]
        if len(interval) <= n_intervals:
            return per_interval.index_select(-1, interval)
        # Many times: a product with ones and zeros copies as exactly, in a third of the time.
        here = torch.arange(n_intervals, device=interval.device).unsqueeze(1) == interval
        return per_interval @ here.to(per_interval.dtype)
    shape = (*per_interval.shape[:-1], at.interval.shape[-1])
    return per_interval.gather(-1, at.interval.expand(shape))


def _mean_decay(x: Tensor) -> Tensor:
    """(1 - exp(-x)) / x, which is 1 at 0."""
    small = x < 1e-12
    return torch.where(small, 1 - x / 2, -torch.expm1(-x) / torch.where(small, 1.0, x))
