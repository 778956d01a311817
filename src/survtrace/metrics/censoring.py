"""The censoring survival G, and the IPCW weights 1 / G that correct scores for censoring.

Someone who had an event at t stands for 1 / G(t-) subjects: to be seen, it had to be uncensored
just before t. Someone followed beyond a time stands for 1 / G(time). These are the weights of
riskRegression and pec; when G comes from the scored subjects themselves, they sum to their number.
scikit-survival weights an event by 1 / G(t) instead, which is another number where a subject
was censored at t as well. Then the weights sum to too much, and the Brier score is not proper.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from survtrace.errors import DataWarning, SettingError, warn
from survtrace.metrics.inputs import Floats, read_outcome
from survtrace.metrics.nonparametric import StepFunction, event_table
from survtrace.tables.outcome.outcome import Outcome

FLOOR = 1e-3
Ties = Literal["left-limit", "scikit-survival"]


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

    def usable(self, times: Floats) -> Floats:
        """Those of the times at which a score may divide by G."""
        return times[times <= self.last_usable]

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


class Part(NamedTuple):
    """Terms of a score that are proportional to 1 / G at some times.

    Attributes
    ----------
    terms
        Their values, shape (term,).
    times
        Where G is taken, shape (term,).
    left_limit
        Whether that is G(t-) rather than G(t).
    """

    terms: ArrayLike
    times: ArrayLike
    left_limit: bool


@dataclass(frozen=True, eq=False)
class Weights:
    """The IPCW weights of one outcome.

    Attributes
    ----------
    outcome
        Of the scored subjects.
    censoring
        The censoring survival G.
    ties
        ``"left-limit"`` or ``"scikit-survival"``.
    from_scored
        Whether G was estimated from the scored subjects themselves.
    cause
        The number of the only cause whose events are not censorings in G, or None for all.
    """

    outcome: Outcome
    censoring: CensoringSurvival
    ties: Ties = "left-limit"
    from_scored: bool = False
    cause: int | None = None

    @property
    def left_limit(self) -> bool:
        """Whether an event at t is weighted by G(t-)."""
        return self.ties == "left-limit"

    def of_events(self) -> Floats:
        """The weight of an event at each subject's duration; NaN after the last usable time."""
        inverse = self.censoring.inverse_before if self.left_limit else self.censoring.inverse
        return inverse(self.outcome.duration)

    def by(self, time: float) -> Floats:
        """What each subject counts for at a time; 0 if it was censored before."""
        seen = np.where(self.outcome.event > 0, self.of_events(), 0.0)
        return np.where(self.outcome.duration <= time, seen, self.censoring.inverse(time))

    def noise(self, *parts: Part) -> tuple[Floats, Floats]:
        """What the noise of G adds to a score that is a sum of terms in 1 / G.

        Returns
        -------
        influence
            To add to the influence of each scored subject, if G was estimated from them; else 0.
        independent
            Independent errors, one for each time of G, if G was estimated from other subjects;
            empty if nothing is known of how many they were.
        """
        n, G = len(self.outcome), self.censoring
        if G.at_risk is None:
            return np.zeros(n), np.zeros(0)
        n_times = len(G.times)
        carried = np.zeros(n_times + 1)
        for terms, times, left_limit in parts:
            n_factors = np.searchsorted(G.times, times, side="left" if left_limit else "right")
            carried += np.bincount(n_factors, weights=terms, minlength=n_times + 1)
        carried = carried[::-1].cumsum()[::-1][1:]  # sum of the terms that hold each factor of G
        hazard = G.hazard
        left = G.at_risk * (1 - hazard)
        per_censoring = np.divide(carried, left, out=np.zeros(n_times), where=left > 0.5)
        if not self.from_scored:
            return np.zeros(n), per_censoring * np.sqrt(hazard * left)
        return self._martingale(per_censoring, hazard), np.zeros(0)

    def _martingale(self, per_censoring: Floats, hazard: Floats) -> Floats:
        """Each subject's censoring, less its expected censorings while it was at risk."""
        event, times = self.outcome.event, self.censoring.times
        censored = event == 0 if self.cause is None else event != self.cause
        expected = np.append(0.0, np.cumsum(per_censoring * hazard))
        last = np.searchsorted(times, self.outcome.duration)
        return np.where(censored, per_censoring[last], 0.0) - expected[last + censored]


def read_weights(
    y_train: Any, outcome: Outcome, ties: Ties = "left-limit", *, cause: int | None = None
) -> Weights:
    """The weights by a given G, by that of training subjects, or by that of those scored.

    Examples
    --------
    >>> y = read_outcome({"event": [1, 0, 1], "duration": [1, 1, 2]})
    >>> read_weights(None, y).by(1), read_weights(None, y, "scikit-survival").by(1)
    (array([1., 0., 2.]), array([2., 0., 2.]))
    """
    if ties not in get_args(Ties):
        raise SettingError(
            f"ties must be one of {get_args(Ties)}; got {ties!r}. The first weights an event at t "
            "by 1 / G(t-), as riskRegression and pec do; the second by 1 / G(t)."
        )
    if isinstance(y_train, CensoringSurvival):
        return Weights(outcome, y_train, ties, cause=cause)
    label = None if cause is None else outcome.causes[cause - 1]
    trained = outcome if y_train is None else read_outcome(y_train)
    same_durations = np.array_equal(trained.duration, outcome.duration)
    from_scored = same_durations and np.array_equal(trained.event, outcome.event)
    return Weights(outcome, censoring_survival(trained, cause=label), ties, from_scored, cause)


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
    warn(
        f"the censoring survival is below {censoring.floor:g} or unknown after time "
        f"{censoring.last_usable:.6g}, where {what}. Score up to an earlier time, or set the "
        "floor: y_train=censoring_survival(y_train, floor=...).",
        DataWarning,
    )
