"""Cause-specific cumulative hazards become incidences that add up."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def incidence_of_hazards(grid: Floats, at_grid: Floats, times: Floats, at_times: Floats) -> Floats:
    """Incidence of each cause, shape (subject, cause, time).

    Between two points survival falls by what all hazards together say, and each cause takes
    the share of the fall that it has of the hazard. Survival and incidences so sum to 1 at
    every time, and each incidence grows.

    Parameters
    ----------
    grid, at_grid
        Times fine enough for the shares to be constant in between, and the cumulative hazards
        there, shape (subject, cause, grid).
    times, at_times
        Times asked, and the cumulative hazards there, shape (subject, cause, time).

    Examples
    --------
    >>> grid, hazard = np.array([1.0, 2.0]), np.array([[[0.1, 0.4], [0.1, 0.2]]])
    >>> incidence = incidence_of_hazards(grid, hazard, grid, hazard)
    >>> np.round(incidence, 3).tolist()
    [[[0.091, 0.293], [0.091, 0.158]]]
    >>> bool(np.allclose(1 - incidence.sum(axis=1), np.exp(-hazard.sum(axis=1))))
    True
    """
    knots = np.pad(at_grid, ((0, 0), (0, 0), (1, 0)))
    gained = np.pad(_gain(knots[..., :-1], at_grid), ((0, 0), (0, 0), (1, 0))).cumsum(axis=-1)
    place = np.searchsorted(grid, times, side="right")
    return gained[..., place] + _gain(knots[..., place], at_times)


def _gain(before: Floats, after: Floats) -> Floats:
    """What each incidence gains while the cumulative hazards go from before to after."""
    steps = np.maximum(after - before, 0.0)
    total = steps.sum(axis=1, keepdims=True)
    fall = np.exp(-before.sum(axis=1, keepdims=True)) * -np.expm1(-total)
    share = np.divide(steps, total, out=np.zeros_like(steps), where=total > 0)
    return share * fall
