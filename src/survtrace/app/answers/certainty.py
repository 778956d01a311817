"""How far an answer can be trusted: intervals of its curves, and how usual each subject is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from survtrace.inference.interval import ends_of_states
from survtrace.tables.covariates.encoding import Encoded
from survtrace.tables.typicality.typicality import UNLIKE

if TYPE_CHECKING:
    from survtrace.portable import PortableSurvTRACE

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


def cuts_of_intervals(est: PortableSurvTRACE, level: float | None) -> Array:
    """Return the times at which intervals need the curves; none where there are no intervals."""
    return est.time_grid_ if level is not None and est.interval_ is not None else np.empty(0)


def ends(
    est: PortableSurvTRACE, mean: Array, std: Array, times: Array, level: float | None
) -> tuple[Array, Array] | None:
    """Compute the ends of all intervals, as `SurvTRACE.predict_interval` gives them.

    ``mean`` and ``std`` are those of the states at `cuts_of_intervals` and then the times: one pass
    gives curves and intervals. None where intervals are not asked for, or not known.
    """
    if level is None or est.interval_ is None:
        return None
    return ends_of_states(est.interval_, mean, std, est.time_grid_, times, level)


def interval_of(level: float, low: Array, high: Array) -> Interval:
    """Write intervals of (subject, state, time) as lists; the first state is any event."""
    return Interval(
        level=level,
        survival_low=(1 - high[:, 0]).tolist(),
        survival_high=(1 - low[:, 0]).tolist(),
        incidence_low=low[:, 1:].tolist(),
        incidence_high=high[:, 1:].tolist(),
    )


def typicalities(est: PortableSurvTRACE, encoded: Encoded, shares: Array) -> list[Typicality]:
    """Write how usual each subject is, with the covariates that make it unlike the others."""
    unlike = shares < UNLIKE
    found = [Typicality(share, False, []) for share in shares.tolist()]
    if unlike.any():
        assert est.typicality_ is not None
        reasons = est.typicality_.reasons(Encoded(encoded.rows[unlike], encoded.values[unlike]))
        for place, because in zip(np.flatnonzero(unlike).tolist(), reasons, strict=True):
            found[place] = Typicality(found[place].share, True, list(because))
    return found
