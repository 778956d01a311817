"""Hazards become survival and cumulative incidence, at any time, coherent by construction.

Inside an interval the hazard is constant, so every curve is piecewise exponential. With H the
hazard of all causes together, an interval entered with survival S and lived through by a
fraction rho leaves survival S exp(-rho H) and adds S (h_k / H) (1 - exp(-rho H)) to the
incidence of cause k. Survival and incidences therefore sum to 1, whatever the network says.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.polynomial.legendre import leggauss
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from survtrace.errors import DataError

Average = Callable[[Tensor, Tensor, Tensor], Tensor]


class TimeIndex(NamedTuple):
    """Where times fall: interval and fraction, one row for all subjects or one for each."""

    interval: Int[Tensor, "subject time"]
    fraction: Float[Tensor, "subject time"]


def locate_times(times: Float[Tensor, "subject time"], cuts: Float[Tensor, " cut"]) -> TimeIndex:
    """Find the interval and fraction of each time; times beyond the last cut stop there."""
    interval = torch.searchsorted(cuts[1:-1].contiguous(), times.contiguous(), side="left")
    start, end = cuts[interval], cuts[interval + 1]
    return TimeIndex(interval, ((times - start) / (end - start)).clamp(0.0, 1.0))


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
    total = hazard.sum(2)
    entered = torch.exp(-(_before(total))).unsqueeze(2)
    share = hazard / total.clamp(min=torch.finfo(total.dtype).tiny).unsqueeze(2)
    gained = entered * share * -torch.expm1(-total).unsqueeze(2)
    earlier = _before(gained)
    lived = -torch.expm1(-at.fraction * _pick(total, at)).unsqueeze(2)
    causes = TimeIndex(at.interval.unsqueeze(1), at.fraction)
    return _pick(earlier, causes) + _pick(entered * share, causes) * lived


def average_survival(
    hazard: Float[Tensor, "member subject cause interval"],
    cuts: Float[Tensor, " cut"],
    times: Float[Tensor, " time"],
) -> Float[Tensor, "subject time"]:
    """Survival, averaged over members."""
    return survival(hazard, locate_times(times.view(1, -1), cuts)).mean(0)


def average_incidence(
    hazard: Float[Tensor, "member subject cause interval"],
    cuts: Float[Tensor, " cut"],
    times: Float[Tensor, " time"],
) -> Float[Tensor, "subject cause time"]:
    """Incidence of each cause, averaged over members."""
    return incidence(hazard, locate_times(times.view(1, -1), cuts)).mean(0)


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
    return hazard * left.unsqueeze(1), TimeIndex(interval, fraction)


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
    causes = TimeIndex(at.interval.unsqueeze(1), at.fraction)
    lived = _pick(before, causes) + at.fraction.unsqueeze(1) * _pick(hazard, causes)
    return -torch.expm1(-lived)


def restricted_mean(
    hazard: Float[Tensor, "member subject cause interval"],
    cuts: Float[Tensor, " cut"],
    at: TimeIndex,
) -> Float[Tensor, "member subject time"]:
    """Area under the survival curve: the mean event-free time up to each time of the grid."""
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
    at = locate_times(points.view(1, -1), cuts)
    alive = member_shares(hazard, at)
    rate = _pick(hazard / cuts.diff(), TimeIndex(at.interval.unsqueeze(1), at.fraction))
    density = (alive.unsqueeze(2) * rate).sum(0)
    pieces = (density.unflatten(-1, points.shape) * (half[:, None] * mass)).sum(-1)
    exact = -torch.logsumexp(-_lived(hazard, locate_times(ends.view(1, -1), cuts)), dim=0)
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
    never = survival(hazard, locate_times(high, cuts)).mean(0) > levels
    for _ in range(64):
        middle = (low + high) / 2
        alive = survival(hazard, locate_times(middle, cuts)).mean(0) > levels
        low, high = torch.where(alive, middle, low), torch.where(alive, high, middle)
    return torch.where(never, torch.inf, high)


@dataclass(frozen=True, eq=False)
class CurveFunction:
    """One subject's curve as a function of time, called like scikit-survival's StepFunction.

    It does not step: between its knots it is the estimator's own answer. Like a StepFunction it
    refuses times outside its domain and gives a plain number for a single time.

    Attributes
    ----------
    x, y
        Knots, and the curve's values there.
    domain
        Where it may be called: from 0 to the end of the time grid.

    Examples
    --------
    >>> cuts = np.array([0.0, 10.0])
    >>> curve = CurveFunction(cuts, np.full((1, 1, 1), 0.5), cuts, average_survival)
    >>> curve.y.round(4), round(float(curve(5.0)), 4)
    (array([1.    , 0.6065]), 0.7788)
    """

    x: NDArray[np.float64]
    hazard: Float[np.ndarray, "member cause interval"] = field(repr=False)
    cuts: NDArray[np.float64] = field(repr=False)
    average: Average = field(repr=False)
    cause: int | None = field(default=None, repr=False)

    @property
    def domain(self) -> tuple[float, float]:
        """The first and the last time at which the curve may be called."""
        return 0.0, float(self.cuts[-1])

    @cached_property
    def y(self) -> NDArray[np.float64]:
        """The curve's values at ``x``."""
        return np.atleast_1d(self(self.x))

    def __call__(self, x: ArrayLike) -> Any:
        """The curve at times ``x`` of its domain."""
        times = np.array(x, dtype=np.float64, ndmin=1)
        if not ((times >= 0) & (times <= self.domain[1])).all():
            raise DataError(
                f"a curve is known from 0 to {self.domain[1]:g}; got x={x!r}. Ask within these "
                "times, or predict an array, which has the setting extrapolate."
            )
        arrays = self.hazard, self.cuts, times.ravel()
        hazard, cuts, points = (torch.from_numpy(array) for array in arrays)
        average = self.average(hazard.unsqueeze(1), cuts, points)[0].numpy()
        values = (average if self.cause is None else average[self.cause]).reshape(times.shape)
        return values[0] if len(values) == 1 else values


def _lived(hazard: Tensor, at: TimeIndex) -> Tensor:
    """Hazard of all causes lived through: (member, subject, time)."""
    total = hazard.sum(2)
    return _pick(_before(total), at) + at.fraction * _pick(total, at)


def _before(per_interval: Tensor) -> Tensor:
    """Sum over the intervals before each one, without subtraction: huge values hide no small."""
    return torch.nn.functional.pad(per_interval.cumsum(-1)[..., :-1], (1, 0))


def _pick(per_interval: Tensor, at: TimeIndex) -> Tensor:
    """Values (..., interval) at the interval of each time: (..., time)."""
    if at.interval.numel() == at.interval.shape[-1]:
        return per_interval.index_select(-1, at.interval.flatten())
    shape = (*per_interval.shape[:-1], at.interval.shape[-1])
    return per_interval.gather(-1, at.interval.expand(shape))


def _mean_decay(x: Tensor) -> Tensor:
    """(1 - exp(-x)) / x, which is 1 at 0."""
    small = x < 1e-12
    return torch.where(small, 1 - x / 2, -torch.expm1(-x) / torch.where(small, 1.0, x))
