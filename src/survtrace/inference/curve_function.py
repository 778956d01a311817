"""One subject's curve as a function of time."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import ArrayLike, NDArray

from survtrace.errors import DataError
from survtrace.inference.curves import Curve, locate_times


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
        Where it may be called: from the first cut of the time grid, mostly 0, to its end.

    Examples
    --------
    >>> from survtrace.inference.curves import survival
    >>> cuts = np.array([0.0, 10.0])
    >>> curve = CurveFunction(cuts, np.full((1, 1, 1), 0.5), cuts, survival)
    >>> curve.y.round(4), round(float(curve(5.0)), 4)
    (array([1.    , 0.6065]), 0.7788)
    """

    x: NDArray[np.float64]
    hazard: Float[np.ndarray, "member cause interval"] = field(repr=False)
    cuts: NDArray[np.float64] = field(repr=False)
    curve: Curve = field(repr=False)
    cause: int | None = field(default=None, repr=False)

    @property
    def domain(self) -> tuple[float, float]:
        """The first and the last time at which the curve may be called."""
        return float(self.cuts[0]), float(self.cuts[-1])

    @cached_property
    def y(self) -> NDArray[np.float64]:
        """The curve's values at ``x``."""
        return np.atleast_1d(self(self.x))

    def __call__(self, x: ArrayLike) -> np.float64 | NDArray[np.float64]:
        """The curve at times ``x`` of its domain."""
        times, (first, last) = np.array(x, dtype=np.float64, ndmin=1), self.domain
        if not ((times >= first) & (times <= last)).all():
            raise DataError(
                f"a curve is known from {first:g} to {last:g}; got x={x!r}. Ask within these "
                "times, or predict an array, which has the setting extrapolate."
            )
        at = locate_times(torch.from_numpy(times.reshape(1, -1)), torch.from_numpy(self.cuts))
        mean = self.curve(torch.from_numpy(self.hazard).unsqueeze(1), at).mean(0)[0].numpy()
        values = (mean if self.cause is None else mean[self.cause]).reshape(times.shape)
        return values[0] if len(values) == 1 else values
