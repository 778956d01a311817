"""Cut the time axis into intervals, and locate durations in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from survtrace.errors import DataError, DataWarning, SettingError, short, warn
from survtrace.tables.covariates.real_numbers import real_numbers
from survtrace.tables.outcome.outcome import Outcome

MANY_EQUAL = 10  # subjects with one duration, above which that is no coincidence
EVENTS_IN_INTERVAL = 20  # at least, where a grid has more intervals than were asked for


def choose_cuts(
    trained_on: Outcome,
    n_intervals: int,
    grid: NDArray[np.float64] | None,
    n_events: Mapping[Any, int],
    left: Mapping[Any, int],
    learned: Mapping[Any, int],
) -> NDArray[np.float64]:
    """Take the cuts of the user, or else those at quantiles of the event times.

    By cause, ``n_events`` counts the events of all subjects, ``left`` those on the user's grid,
    and ``learned`` those of the training rows, of which ``trained_on`` may be a sample.
    """
    cuts = quantile_cuts(trained_on, n_intervals)  # refuses a cohort without events
    _require_spread(trained_on)
    if grid is not None:
        cuts = np.append(cuts[0], grid[grid > cuts[0]])
    before, after = trained_on.n_events, end_follow_up(trained_on, cuts[-1]).n_events
    if not any(after.values()):
        end = cuts[-1] if grid is None else grid[-1]  # which may lie before the first entry
        raise DataError(
            f"at least one event must lie within the time grid; it ends at {end:g} and the "
            f"first event is at {trained_on.duration[trained_on.event > 0].min():g}. Choose a "
            "time_grid that ends later, in the unit of the durations."
        )
    warn_of_late_events(n_events, left, cuts[-1])
    # Of more than a million subjects, outcomes are a sample: events are counted by their share.
    within = {k: round(n * after[k] / before[k]) if before[k] else n for k, n in learned.items()}
    warn_of_sparse_causes(within, len(cuts) - 1)
    return cuts


def _require_spread(outcome: Outcome) -> None:
    """Refuse durations that are all the same: they do not tell when anything happened."""
    shortest, longest = outcome.duration.min(), outcome.duration.max()
    if shortest == longest and len(outcome) > MANY_EQUAL:
        raise DataError(
            f"durations must tell when follow-up ended; those of all {len(outcome)} subjects are "
            f"{longest:g}. Pass the column of times, not a constant one."
        )


def quantile_cuts(outcome: Outcome, n_intervals: int) -> NDArray[np.float64]:
    """Place cut points c_0 < .. < c_m at even quantiles of the event times.

    The first is 0 or the earliest entry, before which nobody was observed. Tied event times can
    leave fewer than ``n_intervals`` intervals; where subjects enter late there can be more.

    Examples
    --------
    >>> outcome = Outcome(np.array([1.0, 2.0, 3.0, 4.0, 9.0]), np.array([1, 1, 1, 1, 0]), (1,))
    >>> quantile_cuts(outcome, n_intervals=2).tolist()
    [0.0, 2.5, 4.0]
    """
    given, event_times = n_intervals, outcome.duration[outcome.event > 0]
    if len(event_times) == 0:
        labels = f" by {', '.join(map(repr, outcome.censored))}" if outcome.censored else ""
        seen = (
            f"at least one subject must have an event; all {len(outcome)} are censored{labels}. If "
            "other labels mean that, name them:"
        )
        raise DataError(
            f"{seen} censored=... in Surv.from_arrays.", in_command=f"{seen} --censored LABEL."
        )
    start = 0.0 if outcome.entry is None else outcome.entry.min()
    n_intervals = round(n_intervals * follow_ups_in(outcome, event_times.max() - start))
    n_intervals = min(n_intervals, max(given, len(event_times) // EVENTS_IN_INTERVAL))
    quantiles = np.quantile(event_times, np.linspace(0, 1, n_intervals + 1)[1:])
    return np.unique(np.concatenate([[start], quantiles]))


def follow_ups_in(outcome: Outcome, span: float) -> float:
    """Count how many times the follow-up of one subject fits into the grid; 1 where all enter at 0.

    With age as the clock, hazards change over fifty years of which a subject is seen for ten: four
    intervals over all of them would be far too coarse for the ten that one asks about. The
    follow-up of one subject is the 95 % quantile of the times from entry to end.

    Examples
    --------
    >>> by_age = Outcome(np.array([50.0, 61.0, 90.0]), np.array([1, 1, 1]), (1,),
    ...                  entry=np.array([40.0, 51.0, 80.0]))
    >>> follow_ups_in(by_age, span=50.0)
    5.0
    """
    end, entry = outcome.duration, outcome.first_entries
    if not entry.any():
        return 1.0
    if outcome.id is not None:
        end = np.zeros(len(entry))
        np.maximum.at(end, np.unique(outcome.id, return_inverse=True)[1], outcome.duration)
    return max(1.0, float(span / np.quantile(end - entry, 0.95)))


def checked_cuts(time_grid: ArrayLike) -> NDArray[np.float64]:
    """Check cut points given by the user, and put 0 in front if it is not there.

    Examples
    --------
    >>> checked_cuts([12, 24, 60]).tolist()
    [0.0, 12.0, 24.0, 60.0]
    """
    try:
        cuts = real_numbers(time_grid, "time_grid").ravel()
    except DataError:
        raise
    except (TypeError, ValueError):
        cuts = np.empty(0)
    if len(cuts) and cuts[0] > 0:
        cuts = np.concatenate([[0.0], cuts])
    if len(cuts) < 2 or not np.isfinite(cuts).all() or cuts[0] != 0 or (np.diff(cuts) <= 0).any():
        raise SettingError(
            "time_grid must rise strictly from 0 through at least one more finite time; "
            f"got {short(time_grid)}."
        )
    return cuts


def end_follow_up(outcome: Outcome, end: float) -> Outcome:
    """Censor at ``end`` the subjects followed for longer: nothing after it is counted.

    An event after the last cut is not an event at the last cut. Training, recalibration and
    propensities all read outcomes that went through this function.

    Examples
    --------
    >>> outcome = Outcome(np.array([3.0, 24.0, 30.0]), np.array([0, 1, 2]), (1, 2))
    >>> ended = end_follow_up(outcome, end=24.0)
    >>> ended.duration.tolist(), ended.event.tolist()
    ([3.0, 24.0, 24.0], [0, 1, 0])
    """
    late = outcome.duration > end
    event, duration = np.where(late, 0, outcome.event), np.minimum(outcome.duration, end)
    entry = None if outcome.entry is None else np.minimum(outcome.entry, end)
    return replace(outcome, duration=duration, event=event, entry=entry)


class StayScale(NamedTuple):
    """How durations are standardised for the length-of-stay task.

    ``longest`` is the end of a time grid that leaves out events; without such a grid a duration
    counts in full, also beyond the last event.
    """

    mean: float
    deviation: float
    longest: float = inf

    @classmethod
    def of(cls, trained_on: Outcome, end: float) -> StayScale:
        """Learn mean and deviation of the training rows' durations, for a grid up to ``end``."""
        if (trained_on.duration[trained_on.event > 0] <= end).all():
            end = inf
        duration = np.minimum(trained_on.duration, end)
        return cls(float(duration.mean()), float(duration.std()) or 1.0, end)

    def standardise(self, duration: NDArray[np.float64]) -> NDArray[np.float64]:
        """Convert durations to standard deviations from the mean."""
        return (np.minimum(duration, self.longest) - self.mean) / self.deviation


def locate(
    duration: NDArray[np.float64], cuts: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Find the interval (from 0) in which each duration falls, and the fraction of it.

    A duration on a cut belongs to the interval it closes; one beyond the last cut ends there.

    Examples
    --------
    >>> interval, fraction = locate(np.array([1.0, 2.0, 3.0, 9.0]), np.array([0.0, 2.0, 4.0]))
    >>> interval.tolist(), fraction.tolist()
    ([0, 0, 1, 1], [0.5, 1.0, 0.5, 1.0])
    """
    interval = np.searchsorted(cuts[1:-1], duration, side="left")
    start, end = cuts[interval], cuts[interval + 1]
    fraction = np.clip((duration - start) / (end - start), 0.0, 1.0)
    return interval.astype(np.int64), fraction


def warn_of_late_events(n_events: Mapping[Any, int], left: Mapping[Any, int], end: float) -> None:
    """Warn of events beyond the time grid.

    ``n_events`` counts the events of each cause, ``left`` those up to ``end``.
    """
    n_all = sum(n_events.values())
    n_late = n_all - sum(left.values())
    if n_late:
        seen = (
            f"{n_late} of {n_all} events lie beyond the time grid, which ends at {end:g}: these "
            "subjects are censored there, event-free at its end. To learn from them, choose a grid "
            "that ends later"
        )
        warn(DataWarning(f"{seen}, by time_grid.", in_command=f"{seen}, by --set time_grid=..."))


def warn_of_sparse_causes(events: Mapping[Any, int], n_intervals: int) -> None:
    """Warn of causes that have fewer events than the grid has intervals; of one event in all.

    One event makes a grid of one interval, for which it is enough, but nothing is learned from it.
    """
    if sum(events.values()) == 1 and n_intervals == 1:
        warn(
            "there is one event to learn from, which tells next to nothing of who is at risk. Take "
            "more subjects, or follow them for longer.",
            DataWarning,
        )
    sparse = {cause: count for cause, count in events.items() if count < n_intervals}
    if sparse:
        seen = (
            f"some causes have fewer events than the time grid has intervals ({n_intervals}): "
            f"{sparse}. Their curves will follow the others'; merge causes or"
        )
        in_command = f"{seen} take fewer: --set n_intervals=NUMBER."
        warn(DataWarning(f"{seen} lower n_intervals.", in_command=in_command))
