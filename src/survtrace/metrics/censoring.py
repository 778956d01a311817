"""The chance of not being censored yet, and how far it can be trusted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from survtrace.errors import DataWarning, warn
from survtrace.metrics.inputs import Floats, read_outcome
from survtrace.metrics.nonparametric import StepFunction, event_table

FLOOR = 1e-3


@dataclass(frozen=True, eq=False)
class CensoringSurvival(StepFunction):
    """The censoring survival G, the chance that a subject is still not censored.

    Plain values store it: ``CensoringSurvival(times, values, floor=floor, at_risk=at_risk)``.

    Attributes
    ----------
    times, values, initial
        As in `StepFunction`; ``times`` ends with the longest training duration.
    floor
        The smallest G by which a score may divide.
    at_risk
        How many subjects could have been censored at each time. A score needs it to count the
        noise of G in its standard error; without it G is treated as known.

    Examples
    --------
    >>> G = CensoringSurvival(np.array([1.0, 2.0, 3.0]), np.array([0.9, 0.5, 0.0]))
    >>> G.at(1.0), G.before(1.0), round(G.last_usable, 6)
    (array(0.9), array(1.), 3.0)
    """

    initial: float = 1.0
    floor: float = FLOOR
    at_risk: Floats | None = None

    @property
    def hazard(self) -> Floats:
        """The share of those at risk who are censored at each time."""
        before = np.append(self.initial, self.values[:-1])
        left = np.divide(self.values, before, out=np.zeros(len(before)), where=before > 0)
        return np.asarray(1 - left)

    @property
    def last_usable(self) -> float:
        """The last time at which G is known and not below the floor.

        G is known up to the longest training duration. Where it falls below the floor at a
        time, this is the number just before that time.
        """
        below = np.flatnonzero(self.values < self.floor)
        if len(below):
            return float(np.nextafter(self.times[below[0]], -np.inf))
        return float(self.times[-1])

    def inverse(self, t: ArrayLike) -> Floats:
        """The IPCW weight 1 / G(t), NaN after the last usable time."""
        return self._inverse(self.at(t), t)

    def inverse_before(self, t: ArrayLike) -> Floats:
        """The IPCW weight 1 / G(t-), NaN after the last usable time."""
        return self._inverse(self.before(t), t)

    def _inverse(self, chance: Floats, t: ArrayLike) -> Floats:
        usable = np.asarray(t) <= self.last_usable
        return 1 / np.where(usable, chance, np.nan)


def censoring_survival(y: Any, *, cause: Any = None, floor: float = FLOOR) -> CensoringSurvival:
    """Kaplan-Meier estimate of the censoring survival.

    Of an event and a censoring at the same time, the event comes first: those who have it are
    no longer at risk of being censored (as in scikit-survival).

    Parameters
    ----------
    y
        The outcome of the training subjects.
    cause
        Count events of all other causes as censored, as the paper's authors do.
    floor
        The smallest value by which a score may divide; with the default no weight exceeds 1000.

    Examples
    --------
    >>> censoring_survival({"event": [0, 1, 0, 1], "duration": [1, 2, 2, 3]}).values
    array([0.75 , 0.375, 0.375])
    """
    outcome = read_outcome(y)
    table = event_table(outcome)
    chosen = slice(None) if cause is None else [outcome.cause_number(cause) - 1]
    events = table.events[chosen].sum(axis=0)
    censored = table.censored + table.events.sum(axis=0) - events
    at_risk = table.at_risk - events
    hazard = np.divide(censored, at_risk, out=np.zeros_like(censored), where=censored > 0)
    return CensoringSurvival(table.times, np.cumprod(1 - hazard), floor=floor, at_risk=at_risk)


def usable_cases(
    cases: NDArray[np.bool_], duration: Floats, censoring: CensoringSurvival
) -> NDArray[np.bool_]:
    """Keep the cases that have a weight; warn once, with counts, if that truncates the score."""
    usable = duration <= censoring.last_usable
    if (cases & ~usable).any():
        _warn(
            censoring,
            f"{(cases & ~usable).sum()} of {cases.sum()} events lie; the score is truncated there "
            "(these subjects still count as event-free before)",
        )
    return cases & usable


def usable_times(
    times: Floats, duration: Floats, censoring: CensoringSurvival, consequence: str
) -> NDArray[np.bool_]:
    """Mark the times that can be scored; warn once, with counts, if some cannot."""
    usable = times <= censoring.last_usable
    if not usable.all():
        _warn(
            censoring,
            f"{(~usable).sum()} of {len(times)} times lie and "
            f"{(duration > censoring.last_usable).sum()} of {len(duration)} subjects are still "
            f"followed; {consequence}",
        )
    return usable


def _warn(censoring: CensoringSurvival, what: str) -> None:
    """One warning that names the place where it was the user who called: two frames up."""
    warn(
        f"the censoring survival is below {censoring.floor:g} or unknown after time "
        f"{censoring.last_usable:.6g}, where {what}. Score up to an earlier time, or set the "
        "floor: y_train=censoring_survival(y_train, floor=...).",
        DataWarning,
    )
