"""One subject's curve as a function of time."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from survtrace.errors import DataError, short
from survtrace.inference.times import numbers_or_nan

# Of hazards, times and cuts: the curve averaged over members, (time,) or (cause, time).
MeanCurve = Callable[
    [NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]
]


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
    >>> from functools import partial
    >>> from survtrace.inference.curves import mean_curve
    >>> cuts = np.array([0.0, 10.0])
    >>> curve = CurveFunction(cuts, np.full((1, 1, 1), 0.5), cuts, partial(mean_curve, "survival"))
    >>> curve.y.round(4), round(float(curve(5.0)), 4)
    (array([1.    , 0.6065]), 0.7788)
    """

    x: NDArray[np.float64]
    hazard: NDArray[np.float64] = field(repr=False)  # (member, cause, interval)
    cuts: NDArray[np.float64] = field(repr=False)
    curve: MeanCurve = field(repr=False)
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
        """Return the curve at times ``x`` of its domain."""
        times, (first, last) = np.atleast_1d(numbers_or_nan(x, "x")), self.domain
        if not ((times >= first) & (times <= last)).all():
            raise DataError(
                f"a curve is known from {first:g} to {last:g}; got x={short(x)}. Ask within these "
                "times, or predict an array, which has the setting extrapolate."
            )
        mean = self.curve(self.hazard, times.ravel(), self.cuts)
        values = (mean if self.cause is None else mean[self.cause]).reshape(times.shape)
        return values[0] if len(values) == 1 else values


def curve_functions(
    kind: str,
    hazards: NDArray[np.float64],
    knots: NDArray[np.float64],
    cuts: NDArray[np.float64],
    mean_curve: Callable[..., Any],
) -> NDArray[np.object_]:
    """Make a `CurveFunction` for each subject: (subject,), or (subject, cause).

    ``mean_curve`` is that of torch or of numpy, and takes the kind first; hazards are those of the
    members, (subject, member, cause, interval).

    Examples
    --------
    >>> from survtrace.inference.curves import mean_curve
    >>> hazards, cuts = np.full((3, 1, 2, 1), 0.5), np.array([0.0, 10.0])
    >>> curve_functions("incidence", hazards, cuts, cuts, mean_curve).shape
    (3, 2)
    """
    curve = partial(mean_curve, kind)
    causes = [None] if kind == "survival" else range(hazards.shape[2])
    functions = [
        [CurveFunction(knots, hazard, cuts, curve, cause) for cause in causes] for hazard in hazards
    ]
    found = np.array(functions, dtype=object)
    return found[:, 0] if kind == "survival" else found
