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

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.polynomial.legendre import leggauss
from torch import Tensor

N_NODES = 8  # of Gauss-Legendre, between two ends
# Curves that average over members themselves, also of subjects event-free until a start.
OF_AVERAGE = ("cumulative_hazard", "crossing_time", "hazards")


class TimeIndex(NamedTuple):
    """Where a curve is asked, one row for all subjects or one for each.

    ``points`` are times (of `crossing_time`: levels of survival), which lie in an interval between
    ``cuts`` and have a fraction of it behind them. With ``start`` the subjects are those
    event-free until then.
    """

    interval: Int[Tensor, "subject time"]
    fraction: Float[Tensor, "subject time"]
    points: Float[Tensor, "subject time"]
    cuts: Float[Tensor, "*subject cut"]
    start: Float[Tensor, "subject 1"] | None = None

    def of(self, first: int, n_subjects: int) -> "TimeIndex":
        """Take the times of some subjects, where each has its own."""
        some = slice(first, first + n_subjects)
        start = None if self.start is None else self.start[some]
        if len(self.points) == 1:
            return self._replace(start=start)
        own = (self.interval[some], self.fraction[some], self.points[some])
        return TimeIndex(*own, self.cuts, start)


Curve = Callable[[Tensor, TimeIndex], Tensor]


def locate_times(times: Float[Tensor, "subject time"], cuts: Float[Tensor, " cut"]) -> TimeIndex:
    """Find the interval and fraction of each time; times outside the cuts stop at the ends."""
    interval = torch.searchsorted(cuts[1:-1].contiguous(), times.contiguous(), side="left")
    start, end = cuts[interval], cuts[interval + 1]
    return TimeIndex(interval, ((times - start) / (end - start)).clamp(0.0, 1.0), times, cuts)


def survival(
    hazard: Float[Tensor, "member subject cause interval"], at: TimeIndex
) -> Float[Tensor, "member subject time"]:
    """Compute the probability of being event-free.

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
    """Compute the probability that each cause has struck.

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
    """Compute the probability of each state: event-free, then each cause, in one pass."""
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
    ``start`` stand at it. Cuts before ``start`` move to it: those of each subject are its own.

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
    own = TimeIndex(interval, fraction, times, torch.maximum(cuts, start), start)
    return hazard * left.unsqueeze(1), own


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
    """Compute each cause's probability if no other existed: 1 - exp(-its cumulative hazard).

    What the paper ranks by. Over several causes these do not sum to one minus survival.
    """
    before = _before(hazard)
    causes = _every_cause(at)
    lived = _pick(before, causes) + at.fraction.unsqueeze(1) * _pick(hazard, causes)
    return -torch.expm1(-lived)


def restricted_mean(
    hazard: Float[Tensor, "member subject cause interval"], at: TimeIndex
) -> Float[Tensor, "member subject time"]:
    """Compute the mean event-free time: the area under survival, constant outside the grid.

    From 0, or from the start of a conditional curve; before the first cut survival is 1.
    """
    total, width = _all_causes(hazard), at.cuts.diff()
    entered = torch.exp(-(_before(total)))
    area = entered * width * _mean_decay(total)
    earlier = _before(area)
    lived = at.fraction * _mean_decay(at.fraction * _pick(total, at))
    beyond = (at.points - at.cuts[..., -1:]).clamp(min=0)
    on_grid = _pick(earlier, at) + _pick(entered * width, at) * lived
    begin = 0.0 if at.start is None else at.start
    before = torch.minimum(at.points, at.cuts[..., :1]) - begin
    return on_grid + beyond * survival(hazard, at) + before


def cumulative_hazard(
    hazard: Float[Tensor, "member subject cause interval"], at: TimeIndex
) -> Float[Tensor, "1 subject cause time"]:
    """Compute the cumulative cause-specific hazard of the members' average curve.

    The integral of d(incidence) / survival over averaged curves, so that the causes' sum is
    minus the logarithm of averaged survival. Gauss-Legendre between cuts and times: the
    integrand is smooth there. With one member it is simply the sum of hazards.
    """
    cuts, times, first = at.cuts, at.points, at.cuts[:1]
    if at.start is not None:  # what was lived through before it does not count
        first = at.start.clamp(min=cuts[0], max=cuts[-1])
    times = torch.maximum(times, first).clamp(max=cuts[-1])
    steps = torch.maximum(cuts, first).expand(len(times), -1)
    ends = torch.cat([steps, times], dim=1).sort(dim=1).values
    if len(ends) == 1:
        ends = ends.unique().view(1, -1)
    nodes, mass = (torch.from_numpy(a).to(cuts) for a in leggauss(N_NODES))
    half = ends.diff().unsqueeze(-1) / 2
    points = (ends[:, :-1, None] + half) + half * nodes
    inside = locate_times(points.flatten(1), cuts)
    alive = member_shares(hazard, inside)
    rate = _pick(hazard / cuts.diff(), _every_cause(inside))
    density = (alive.unsqueeze(2) * rate).sum(0)
    pieces = (density.unflatten(-1, points.shape[1:]) * (half * mass).unsqueeze(1)).sum(-1)
    exact = -torch.logsumexp(-_lived(hazard, locate_times(ends, cuts)), dim=0)
    share = pieces / pieces.sum(1, keepdim=True).clamp(min=torch.finfo(pieces.dtype).tiny)
    grown = torch.nn.functional.pad((share * exact.diff().unsqueeze(1)).cumsum(-1), (1, 0))
    place = torch.searchsorted(ends, times.contiguous())
    shape = (*grown.shape[:2], place.shape[1])
    return grown.gather(-1, place.unsqueeze(1).expand(shape))[None]


def crossing_time(
    hazard: Float[Tensor, "member subject cause interval"], at: TimeIndex
) -> Float[Tensor, "1 subject level"]:
    """Find when averaged survival has fallen to each level; infinite if it never does.

    By bisection, since an average of exponentials has no inverse in closed form.
    """
    cuts, levels = at.cuts, at.points
    shape = (hazard.shape[1], levels.shape[1])
    low, high = cuts[0].expand(shape), cuts[-1].expand(shape)
    if at.start is not None:
        low = torch.maximum(low, at.start)
    never = _average_survival(hazard, high, at) > levels
    for _ in range(64):
        middle = (low + high) / 2
        alive = _average_survival(hazard, middle, at) > levels
        low, high = torch.where(alive, middle, low), torch.where(alive, high, middle)
    return torch.where(never, torch.inf, high)[None]


def hazards(
    hazard: Float[Tensor, "member subject cause interval"], at: TimeIndex
) -> Float[Tensor, "1 subject member cause interval"]:
    """Give the hazards themselves, of all members, which a `CurveFunction` keeps."""
    return hazard.transpose(0, 1)[None]


def mean_curve(
    kind: str,
    hazard: Float[np.ndarray, "member cause interval"],
    times: Float[np.ndarray, " time"],
    cuts: Float[np.ndarray, " cut"],
) -> Float[np.ndarray, "*cause time"]:
    """Compute a subject's curve, by the name of a function of this module, members averaged."""
    curve: Curve = globals()[kind]
    at = locate_times(torch.from_numpy(times).view(1, -1), torch.from_numpy(cuts))
    return curve(torch.from_numpy(hazard).unsqueeze(1), at).mean(0)[0].numpy()


def _average_survival(hazard: Tensor, times: Tensor, at: TimeIndex) -> Tensor:
    """Average survival over members, of those event-free at the start where there is one."""
    lived = _lived(hazard, locate_times(times, at.cuts))
    if at.start is None:
        return torch.exp(-lived).mean(0)
    # A quotient of two averages, of which either may be too small for a float.
    before = _lived(hazard, locate_times(at.start, at.cuts))
    return torch.exp(torch.logsumexp(-lived, dim=0) - torch.logsumexp(-before, dim=0))


def _every_cause(at: TimeIndex) -> TimeIndex:
    """Return the same times for values with an axis of causes."""
    return at._replace(interval=at.interval.unsqueeze(1))


def _lived(hazard: Tensor, at: TimeIndex) -> Tensor:
    """Compute the hazard of all causes lived through: (member, subject, time)."""
    total = _all_causes(hazard)
    return _pick(_before(total), at) + at.fraction * _pick(total, at)


def _all_causes(hazard: Tensor) -> Tensor:
    """Sum over causes, one by one: a reduction of so short an axis takes four times as long."""
    return reduce(add, hazard.unbind(2))


def _before(per_interval: Tensor) -> Tensor:
    """Sum over the intervals before each one, without subtraction: huge values hide no small."""
    return torch.nn.functional.pad(per_interval.cumsum(-1)[..., :-1], (1, 0))


def _pick(per_interval: Tensor, at: TimeIndex) -> Tensor:
    """Return values (..., interval) at the interval of each time: (..., time)."""
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
    """Compute (1 - exp(-x)) / x, which is 1 at 0."""
    small = x < 1e-12
    return torch.where(small, 1 - x / 2, -torch.expm1(-x) / torch.where(small, 1.0, x))
