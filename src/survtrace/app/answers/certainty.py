"""How far an answer can be trusted: intervals of its curves, and how usual each subject is."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from survtrace.errors import DataWarning
from survtrace.inference.interval import ends_of_states
from survtrace.tables.typicality.typicality import UNLIKE

if TYPE_CHECKING:
    from survtrace.app.answers.schema import Fitted

Array = NDArray[np.float64]


@dataclass
class Interval:
    """Between which ends the probabilities lie, in lists like those of the curves."""

    level: float
    survival_low: list[list[float]]
    survival_high: list[list[float]]
    incidence_low: list[list[list[float]]]
    incidence_high: list[list[list[float]]]


@dataclass
class Typicality:
    """How usual one subject is among those the estimator learned from.

    ``share`` of them are at least as unusual: 0.001 is one in a thousand. ``because`` names the
    one or two covariates that make a subject ``unlike`` them.
    """

    share: float
    unlike: bool
    because: list[str]


def cuts_of_intervals(est: Fitted, level: float | None) -> Array:
    """Return the times at which intervals need the curves; none where there are no intervals."""
    return est.time_grid_ if level is not None and est.interval_ is not None else np.empty(0)


def intervals(
    est: Fitted, mean: Array, std: Array, times: Array, level: float | None
) -> Interval | None:
    """Return the intervals of all curves, as `SurvTRACE.predict_interval` gives them.

    ``mean`` and ``std`` are those of the states at `cuts_of_intervals` and then the times: one pass
    gives curves and intervals. None where intervals are not asked for, or not known.
    """
    if level is None or est.interval_ is None:
        return None
    low, high = ends_of_states(est.interval_, mean, std, est.time_grid_, times, level)
    return Interval(
        level=level,
        survival_low=(1 - high[:, 0]).tolist(),
        survival_high=(1 - low[:, 0]).tolist(),
        incidence_low=low[:, 1:].tolist(),
        incidence_high=high[:, 1:].tolist(),
    )


def typicalities(est: Fitted, X: Any) -> list[Typicality] | None:
    """Return how usual each subject is; None where the estimator does not know."""
    if est.typicality_ is None:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # the curves have warned of all of them
        shares = est.typicality(X)
        unlike = shares < UNLIKE
        reasons = iter(est.typicality(X[unlike], reasons=True)[1] if unlike.any() else ())
    return [
        Typicality(
            share=float(share),
            unlike=bool(is_unlike),
            because=list(next(reasons, ())) if is_unlike else [],
        )
        for share, is_unlike in zip(shares, unlike, strict=True)
    ]
