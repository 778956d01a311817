"""How well an estimate separates those who have the event by a time from those who do not."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from survtrace.errors import DataWarning, SettingError, warn
from survtrace.metrics.censoring import Part, Ties, Weights, read_weights, usable_times
from survtrace.metrics.inputs import (
    Floats,
    pick_cause,
    read_estimates,
    read_moment,
    read_subjects,
    read_times,
)
from survtrace.metrics.pairs import pair_totals
from survtrace.metrics.score import Score

Controls = Literal["all", "event_free"]


def auc(
    y: Any,
    estimate: ArrayLike,
    times: ArrayLike,
    *,
    cause: Any = None,
    y_train: Any = None,
    controls: Controls = "all",
    ties: Ties = "left-limit",
) -> Floats:
    """Compute the cumulative/dynamic area under the ROC curve at each time, for censored data.

    Cases at t had an event of the cause by t, weighted by 1 / G(t_i-), as in riskRegression. With
    one cause and ``ties="scikit-survival"`` it equals scikit-survival's ``cumulative_dynamic_auc``
    with ``tied_tol=0``.

    Parameters
    ----------
    y, cause, y_train, ties
        As in `brier_score`. At times after the last usable one the result is NaN, with one warning.
    estimate
        Higher for a higher risk; shape (subject,), or (subject, time).
    times
        When cases and controls are told apart.
    controls
        ``"all"`` who do not have this event by t, be it because another cause came first;
        ``"event_free"`` only those free of any event (Blanche, 2013).

    Returns
    -------
    array of shape (time,)
        NaN where there is no case or no control.

    Examples
    --------
    >>> y = {"event": [1, 2, 0, 1], "duration": [1.0, 2.0, 3.0, 4.0]}
    >>> auc(y, [0.6, 0.7, 0.5, 0.1], times=[2.0], cause=1)
    array([0.66666667])
    >>> auc(y, [0.6, 0.7, 0.5, 0.1], times=[2.0], cause=1, controls="event_free")
    array([1.])
    """
    weights, number, values, grid = _read(y, estimate, times, cause, y_train, ties)
    columns = zip(values.T, grid, strict=True)
    return np.array([_area(weights, number, x, t, controls) for x, t in columns])


def auc_at(
    y: Any,
    estimate: ArrayLike,
    time: float,
    *,
    cause: Any = None,
    y_train: Any = None,
    controls: Controls = "all",
    ties: Ties = "left-limit",
) -> Score:
    """Compute the area of `auc` at one time, with its standard error.

    Examples
    --------
    >>> y = {"event": [1, 2, 0, 1], "duration": [1.0, 2.0, 3.0, 4.0]}
    >>> auc_at(y, [0.6, 0.7, 0.5, 0.1], time=2.0, cause=1).interval()[0] < 2 / 3
    True
    """
    weights, number, values, grid = _read(y, estimate, [read_moment(time)], cause, y_train, ties)
    area = _area(weights, number, values[:, 0], grid[0], controls)
    if np.isnan(area) and grid[0] <= weights.censoring.last_usable:
        warn(
            f"the area at time {grid[0]:g} is NaN: nobody had the event by then, or everybody. "
            "Choose another time.",
            DataWarning,
        )
    return area


def _read(
    y: Any, estimate: ArrayLike, times: ArrayLike, cause: Any, y_train: Any, ties: Ties
) -> tuple[Weights, int, Floats, Floats]:
    outcome, grid = read_subjects(y, "an area under the ROC curve"), read_times(times)
    number = pick_cause(outcome, cause)
    values = read_estimates(estimate, outcome, grid)
    weights = read_weights(y_train, outcome, ties)
    weights.require_start(grid.max(), "an area under the ROC curve")
    usable_times(grid, outcome.duration, weights.censoring, "the area there is NaN")
    return weights, number, values, grid


def _area(
    weights: Weights, number: int, estimate: Floats, time: float, controls: Controls
) -> Score:
    """Compute the concordance of all pairs of a case and a control."""
    if controls not in get_args(Controls):
        raise SettingError(f"controls must be one of {get_args(Controls)}; got {controls!r}.")
    outcome, censoring = weights.outcome, weights.censoring
    if time > censoring.last_usable:
        return Score.undefined(len(outcome))
    ended, at_end = outcome.duration <= time, weights.of_events()
    case = ended & (outcome.event == number)
    other = ended & (outcome.event > 0) & ~case & (controls == "all")
    case_weight = np.where(case, at_end, 0.0)
    followed = ~ended & weights.has_entered(time)
    control_weight = np.where(other, at_end, np.where(followed, censoring.inverse(time), 0.0))
    totals = pair_totals(np.where(case, 0, 1), estimate, case_weight, control_weight)
    of_cases, of_controls = totals.gaps(totals)
    by_then = of_cases + np.where(ended, of_controls, 0.0)
    return totals.score(
        weights,
        Part(by_then, outcome.duration, weights.left_limit),
        Part([of_controls[followed].sum()], [time], False),
    )
