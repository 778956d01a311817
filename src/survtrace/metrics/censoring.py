"""The censoring survival G, and the IPCW weights 1 / G that correct scores for censoring.

Someone who had an event at t stands for 1 / G(t-) subjects: to be seen, it had to be uncensored
just before t. Someone followed beyond a time stands for 1 / G(time). These are the weights of
riskRegression and pec; when G comes from the scored subjects themselves, they sum to their number.
scikit-survival weights an event by 1 / G(t) instead, which is another number where a subject
was censored at t as well. Then the weights sum to too much, and the Brier score is not proper.

Where subjects enter late, G becomes the chance O(t) to be under observation at t, which rises
with those who enter and falls with those who are censored. Someone who had an event at t stands
for 1 / O(t-) subjects, someone under observation at a time for 1 / O(time), and someone who enters
later for nobody yet. With competing causes these are the weights of Geskus (2011). O is known up
to a factor, so weights are divided by their sum. Entry and censoring must not depend on what is
predicted. Someone who enters at t is not at risk at t.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from survtrace.errors import DataError, DataWarning, SettingError, warn
from survtrace.metrics.event_table import event_table
from survtrace.metrics.inputs import WAY_OUT, WAY_OUT_IN_COMMAND, Floats, joined, read_outcome
from survtrace.metrics.step_function import StepFunction
from survtrace.rules import between, check_value
from survtrace.tables.outcome.outcome import Outcome, join_rows

FLOOR = 1e-3
UNRELATED = 1e-12  # below any floor
FEWEST_AT_RISK = 10  # at an early event, if others enter later
Ties = Literal["left-limit", "scikit-survival"]


@dataclass(frozen=True, eq=False)
class CensoringSurvival(StepFunction):
    """The censoring survival G, the chance that a subject is still not censored.

    With late entry: the chance to be under observation, relative to when it is highest.

    Plain values store it: ``CensoringSurvival(times, values, floor=floor, at_risk=at_risk,
    entered=entered)``.

    Attributes
    ----------
    times, values, initial
        As in `StepFunction`; ``times`` ends with the longest training duration.
    floor
        The smallest G by which a score may divide.
    at_risk
        How many subjects could have been censored at each time. A score needs it to count the
        noise of G in its standard error; without it G is treated as known.
    entered
        How many subjects entered just after each time; None if all are observed from 0 on.

    Examples
    --------
    >>> G = CensoringSurvival(np.array([1.0, 2.0, 3.0]), np.array([0.9, 0.5, 0.0]))
    >>> G.at(1.0), G.before(1.0), round(G.last_usable, 6)
    (array(0.9), array(1.), 3.0)
    """

    initial: float = 1.0
    floor: float = FLOOR
    at_risk: Floats | None = None
    entered: Floats | None = None

    @property
    def hazard(self) -> Floats:
        """The share of those at risk who are censored at each time, less those who enter."""
        before = np.append(self.initial, self.values[:-1])
        left = np.divide(self.values, before, out=np.zeros(len(before)), where=before > 0)
        return np.asarray(1 - left)

    @property
    def last_usable(self) -> float:
        """The last time at which G is known and not below the floor.

        G is known up to the longest training duration. Where it falls below the floor at a
        time, this is the number just before that time.
        """
        highest = int(self.values.argmax())  # before it few have entered: see `require_start`
        below = np.flatnonzero(self.values[highest:] < self.floor)
        if len(below):
            return float(np.nextafter(self.times[highest + below[0]], -np.inf))
        return float(self.times[-1])

    @property
    def n_observed(self) -> Floats | None:
        """The number of subjects under observation just after each time."""
        if self.at_risk is None:
            return None
        left = np.round(self.at_risk * (1 - self.hazard))
        return left if self.entered is None else np.where(self.at_risk > 0, left, self.entered)

    def usable(self, times: Floats) -> Floats:
        """Return those of the times at which a score may divide by G."""
        return times[times <= self.last_usable]

    def inverse(self, t: ArrayLike) -> Floats:
        """Return the IPCW weight 1 / G(t), NaN after the last usable time."""
        return self._inverse(self.at(t), t)

    def inverse_before(self, t: ArrayLike) -> Floats:
        """Return the IPCW weight 1 / G(t-), NaN after the last usable time."""
        return self._inverse(self.before(t), t)

    def _inverse(self, chance: Floats, t: ArrayLike) -> Floats:
        usable = np.asarray(t) <= self.last_usable
        return 1 / np.where(usable, chance, np.nan)


def censoring_survival(y: Any, *, cause: Any = None, floor: float = FLOOR) -> CensoringSurvival:
    """Estimate the censoring survival by Kaplan-Meier.

    Of an event and a censoring at the same time, the event comes first: those who have it are
    no longer at risk of being censored (as in scikit-survival). With late entry: the chance to be
    under observation; of those at risk at a time without an event, the share that remains and
    comes.

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
    >>> late = Outcome(np.array([2.0, 4.0, 4.0]), np.array([0, 1, 0]), (1,),
    ...                entry=np.array([0.0, 0.0, 1.0]))
    >>> censoring_survival(late).at([0.5, 1, 2]).round(3)
    array([0.667, 1.   , 0.667])
    """
    check_value("floor", floor, between(0, 1, above=True, below=True))
    outcome = read_outcome(y)
    table = event_table(outcome)
    chosen = slice(None) if cause is None else [outcome.cause_number(cause) - 1]
    events = table.events[chosen].sum(axis=0)
    censored = table.censored + table.events.sum(axis=0) - events
    at_risk = table.at_risk - events
    if table.entered is None:
        hazard = np.divide(censored, at_risk, out=np.zeros_like(censored), where=censored > 0)
        return CensoringSurvival(table.times, np.cumprod(1 - hazard), floor=floor, at_risk=at_risk)
    left = at_risk - censored + table.entered
    kept = np.divide(left, at_risk, out=np.ones_like(left), where=at_risk > 0)
    # Who comes after nobody was left cannot be related to those before: a chance near 0.
    kept[(at_risk == 0) & (table.entered > 0)] = UNRELATED
    kept[0] = 1.0  # observation begins with the first entry
    parts = np.split(kept, np.flatnonzero(kept == UNRELATED))
    values = np.concatenate([np.cumprod(part) for part in parts])
    arrays = {"at_risk": at_risk, "entered": table.entered}
    return CensoringSurvival(table.times, values / values.max(), floor=floor, **arrays)


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


class Rare(NamedTuple):
    """An early event at which few subjects are at risk, while others have yet to enter."""

    time: float
    n_at_risk: float


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
        """Return the weight of an event at each duration; NaN after the last usable time."""
        inverse = self.censoring.inverse_before if self.left_limit else self.censoring.inverse
        return inverse(self.outcome.duration)

    def by(self, time: float) -> Floats:
        """Compute what each subject counts for at a time; 0 if it was censored before."""
        seen = np.where(self.outcome.event > 0, self.of_events(), 0.0)
        followed = np.where(self.has_entered(time), self.censoring.inverse(time), 0.0)
        return np.where(self.outcome.duration <= time, seen, followed)

    def has_entered(self, time: float) -> NDArray[np.bool_]:
        """Mark the subjects that came under observation by a time, those that enter then too."""
        entry = self.outcome.entry
        return np.ones(len(self.outcome), dtype=bool) if entry is None else entry <= time

    def noise(self, *parts: Part) -> tuple[Floats, Floats]:
        """Compute what the noise of G adds to a score that is a sum of terms in 1 / G.

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
            return np.zeros(n), per_censoring * np.sqrt(_variance_of_count(G, hazard, left))
        return self._martingale(per_censoring, hazard), np.zeros(0)

    def _martingale(self, per_censoring: Floats, hazard: Floats) -> Floats:
        """Compute each row's censoring less its entry, and less what was expected while at risk.

        A row that goes on at once, or that another one comes before, neither leaves nor enters.
        """
        outcome, times = self.outcome, self.censoring.times
        event, (whole, place) = outcome.event, join_rows(outcome)
        free = event == 0 if self.cause is None else event != self.cause
        leaves = free & (outcome.duration == whole.duration[place])
        expected = np.append(0.0, np.cumsum(per_censoring * hazard))
        begun = np.searchsorted(times, outcome.duration)
        ended = np.searchsorted(times, outcome.duration, side="right")
        influence = np.where(leaves, per_censoring[ended - 1], 0.0)
        influence -= expected[np.where(free, ended, begun)]
        if outcome.entry is None or whole.entry is None:
            return influence
        entered = np.searchsorted(times, outcome.entry, side="right")
        influence += expected[entered]
        if self.censoring.entered is None:
            return influence
        enters = outcome.entry == whole.entry[place]
        return influence - np.where(enters, per_censoring[entered - 1], 0.0)

    def require_start(self, until: float, score: str) -> None:
        """Refuse a score up to a time if so few are at risk early that they decide all of it."""
        if (rare := self.first_rare(until)) is not None:
            seen = (
                f"{score} counts from the first time on and needs {FEWEST_AT_RISK} or more "
                "subjects at risk at each early event, since their weight lies on all that "
                f"follows; at {rare.time:g} there are {rare.n_at_risk:g}, and the others enter "
                "later."
            )
            raise DataError(f"{seen} {WAY_OUT}", in_command=f"{seen} {WAY_OUT_IN_COMMAND}")

    def first_rare(self, until: float) -> Rare | None:
        """Return the first early event up to a time with too few at risk; None if there is none."""
        G, outcome = self.censoring, self.outcome
        if G.entered is None:
            return None
        if until < G.times[0]:
            return Rare(until, 0)
        event_times = np.sort(outcome.duration[(outcome.event > 0) & (outcome.duration <= until)])
        before = np.searchsorted(G.times, event_times) - 1
        rare = (before < G.values.argmax()) & (G.before(event_times) < G.floor)
        n_at_risk = np.zeros(len(before))
        if (n_observed := G.n_observed) is not None:
            n_at_risk = np.where(before < 0, 0.0, n_observed[before])
            most = n_observed.argmax()
            rare |= (before < most) & (n_at_risk < FEWEST_AT_RISK)
            rare |= event_times > _first_gap(G, until=int(most))
        return Rare(event_times[rare][0], n_at_risk[rare][0]) if rare.any() else None


def _first_gap(G: CensoringSurvival, until: int) -> float:
    """Find the first time with nobody left, up to that of a number: others enter by then."""
    if G.at_risk is None:
        return np.inf
    nobody_left = G.at_risk[1 : until + 1] == 0
    return float(G.times[1 : until + 1][nobody_left].min(initial=np.inf))


def _variance_of_count(G: CensoringSurvival, hazard: Floats, left: Floats) -> Floats:
    """Compute the variance of how many leave at each time (binomial) and enter (Poisson)."""
    if G.entered is None or G.at_risk is None:
        return np.asarray(hazard * left)
    leaving = np.clip(hazard * G.at_risk + G.entered, 0.0, G.at_risk)
    share = np.divide(leaving, G.at_risk, out=np.zeros_like(leaving), where=G.at_risk > 0)
    return np.asarray(leaving * (1 - share) + G.entered)


def read_weights(
    y_train: Any, outcome: Outcome, ties: Ties = "left-limit", *, cause: int | None = None
) -> Weights:
    """Return the weights by a given G, by that of training subjects, or by that of those scored.

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
    if outcome.entry is not None and ties != "left-limit":
        raise SettingError(
            f"ties={ties!r} has no meaning where subjects enter late: someone who enters at t is "
            "not at risk at t. Leave ties out."
        )
    if isinstance(y_train, CensoringSurvival):
        return _same_kind(Weights(outcome, y_train, ties, cause=cause))
    label = None if cause is None else outcome.causes[cause - 1]
    trained = outcome if y_train is None else read_outcome(y_train)
    columns = ("duration", "event", "entry")
    from_scored = trained is outcome or all(_equal(trained, outcome, name) for name in columns)
    censoring = censoring_survival(trained, cause=label)
    return _same_kind(Weights(outcome, censoring, ties, from_scored, cause))


def _equal(first: Outcome, second: Outcome, name: str) -> bool:
    one, other = getattr(first, name), getattr(second, name)
    return one is other if one is None or other is None else np.array_equal(one, other)


def of_same_kind(censoring: CensoringSurvival | None, outcome: Outcome) -> CensoringSurvival | None:
    """Return the censoring survival, if its subjects enter as those scored do: late, or from 0 on.

    If not, None: the scored subjects' own. Scoring those at risk at a landmark, of whom all are
    observed from there on, by an estimator that learned from late entries is such a case.

    Examples
    --------
    >>> late = Outcome(np.array([2.0, 4.0]), np.array([0, 1]), (1,), entry=np.array([0.0, 1.0]))
    >>> of_same_kind(censoring_survival({"event": [1, 0], "duration": [1, 2]}), late)
    """
    late = joined(outcome).entry is not None
    return censoring if censoring is not None and (censoring.entered is not None) == late else None


def _same_kind(weights: Weights) -> Weights:
    """Refuse weights of subjects observed from 0 on for those who enter late, and the reverse."""
    if of_same_kind(weights.censoring, weights.outcome) is None:
        kinds = ["are observed from 0 on", "enter late"]
        there = kinds[weights.censoring.entered is not None]
        here = kinds[weights.censoring.entered is None]
        raise DataError(
            "weights must come from subjects that are observed as those scored are; those scored "
            f"{here}, those of y_train {there}. Pass y_train=y to take the weights from the scored "
            "subjects."
        )
    return weights


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


def stood_for(
    times: Floats, usable: NDArray[np.bool_], weights: Weights, consequence: str
) -> NDArray[np.bool_]:
    """Mark the usable times at which the weights of late entries have a sum to be divided by.

    Warn once, with counts, if there are others.
    """
    outcome = weights.outcome
    if outcome.entry is None:
        return usable
    entered = np.searchsorted(np.sort(outcome.entry), times, side="right")
    ended = np.searchsorted(np.sort(outcome.duration), times, side="right")
    first_event = outcome.duration[outcome.event > 0].min(initial=np.inf)
    anybody = (entered > ended) | (times >= first_event)  # is followed, or has had an event
    stands = usable & anybody & (times >= weights.censoring.times[0])
    lost = usable & ~stands
    if lost.any():
        warn(
            f"at {lost.sum()} of {len(times)} times (first: {times[lost][0]:g}) nobody has entered "
            f"yet, or all who have were censored; {consequence}. Choose other times.",
            DataWarning,
        )
    return stands


def _warn(censoring: CensoringSurvival, what: str) -> None:
    warn(
        f"the censoring survival is below {censoring.floor:g} or unknown after time "
        f"{censoring.last_usable:.6g}, where {what}. Score up to an earlier time, or set the "
        "floor: y_train=censoring_survival(y_train, floor=...).",
        DataWarning,
    )
