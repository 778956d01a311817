"""Warn of what is odd in an outcome: no follow-up, nobody censored, codes for unknown, gaps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from survtrace.errors import DataWarning, row_name, warn
from survtrace.tables.outcome.outcome import Outcome
from survtrace.tables.outcome.subject_rows import find_gaps

ENOUGH_SUBJECTS = 30  # to find it strange that nobody leaves in the first half of the follow-up
STRANGE_RATIO, ENOUGH_EVENTS = 5.0, 10  # rates of events so far apart are rather two units of time
UNLIKELY = 1e-6  # as a chance: then events are rather coded otherwise
UNKNOWN_DURATIONS = (99, 888, 999, 8888, 9999, 88888, 99999, 999999)


def informative(outcome: Outcome) -> NDArray[np.bool_]:
    """Mark the subjects with any follow-up; warn once of those censored at 0, who have none."""
    empty = outcome.is_empty
    if empty.any():
        warn_of_empty(int(empty.sum()), len(outcome), int(np.flatnonzero(empty)[0]))
    return np.asarray(~empty)


def warn_of_empty(n_empty: int, n_subjects: int, first: int) -> None:
    """Warn of subjects that are left out because they are censored at 0."""
    warn(
        f"{n_empty} of {n_subjects} subjects are censored at duration 0 and are left out (first: "
        f"{row_name(first)}); they carry no information.",
        DataWarning,
    )


def warn_if_complete(event: NDArray[Any], censored: Sequence[Any]) -> None:
    """Warn that nobody is censored, where no label means it."""
    if not censored and (event > 0).all():
        warn(
            f"nobody is censored: all {len(event)} subjects have an event. If that is wrong, "
            "mark those without one by 0.",
            DataWarning,
        )


def warn_of_other_events(outcome: Outcome, n_learned: Mapping[str, int], n_censored: int) -> None:
    """Warn of a scored outcome that seems to code events otherwise than the fit did.

    R's 1 for censored and 2 for dead are two causes to a model that has causes 1 and 2, and all
    deaths coded as 1 are one of its causes. ``n_learned`` and ``n_censored`` count the subjects
    learned from: those with an event, by the text of its cause, and the others.
    """
    n_events, n_subjects = sum(outcome.n_events.values()), outcome.n_subjects
    all_learned = sum(n_learned.values())
    n_fitted = all_learned + n_censored
    if n_events == n_subjects and n_fitted and (1 - n_censored / n_fitted) ** n_events < UNLIKELY:
        warn(
            f"nobody is censored: all {n_subjects} subjects have an event; of the {n_fitted} "
            f"learned from {n_censored} had none. If that is wrong, mark those without one by 0.",
            DataWarning,
        )
    for cause in (cause for cause, n in outcome.n_events.items() if n == 0):
        n = n_learned.get(str(cause), 0)
        if all_learned and (1 - n / all_learned) ** n_events < UNLIKELY:
            warn(
                f"nobody has the event {cause!r}, which was {n} of the {all_learned} events "
                f"learned from; {n_events} subjects have another one. Are events coded as in the "
                "fit?",
                DataWarning,
            )


def warn_of_late_events(outcome: Outcome, end: float) -> None:
    """Warn that most events come after the end of the time grid, rather in another unit of time."""
    events = outcome.duration[outcome.event > 0]
    n_late = int((events > end).sum())
    if n_late >= ENOUGH_EVENTS and 2 * n_late > len(events):
        warn(
            f"{n_late} of {len(events)} events lie beyond the time grid of the model, which ends "
            f"at {end:g}. Are durations in the same unit?",
            DataWarning,
        )


def warn_of_unknown_durations(outcome: Outcome) -> None:
    """Warn that the longest duration looks like a code for "not known", such as 9999."""
    longest = outcome.duration.max(initial=0.0)
    others = outcome.duration[outcome.duration < longest].max(initial=0.0)
    n_longest = int((outcome.duration == longest).sum())
    if longest in UNKNOWN_DURATIONS and n_longest > 1 and 2 * others < longest:
        warn(
            f"duration is {longest:g} for {n_longest} of {outcome.n_subjects} subjects, and at "
            f"most {others:g} for all others; such a number often means that it is not known. If "
            "so, drop these subjects.",
            DataWarning,
        )


def warn_of_origin(outcome: Outcome) -> None:
    """Warn of durations that seem not to count from 0, such as years, dates or ages."""
    shortest, longest = outcome.duration.min(initial=np.inf), outcome.duration.max(initial=0.0)
    if outcome.entry is None and len(outcome) >= ENOUGH_SUBJECTS and longest / 2 < shortest:
        warn(
            f"durations lie between {shortest:.8g} and {longest:.8g}: nobody has an event or "
            "leaves in the first half. If they are years, dates or ages, subtract those at which "
            "follow-up began, or pass these as entry.",
            DataWarning,
        )


def warn_of_entry(outcome: Outcome) -> None:
    """Warn of gaps between rows of a subject, and of entries that may be in another unit."""
    if outcome.entry is None:
        return
    if outcome.id is not None:
        n_gaps, first = find_gaps(outcome.id, outcome.entry, outcome.duration)
        if n_gaps:
            warn(
                f"{n_gaps} of {outcome.n_subjects} subjects have gaps between their rows (first: "
                f"before {row_name(first)}, from {outcome.entry[first]:g}); they are not under "
                "observation in a gap.",
                DataWarning,
            )
    latest, middle = outcome.entry.max(initial=0.0), float(np.median(outcome.duration))
    if outcome.id is None and 0 < 100 * latest < middle:
        warn(
            f"entry is at most {latest:g}, and duration {middle:g} in the median: both must count "
            "from the same origin in the same unit. If they do, this has little effect.",
            DataWarning,
        )


def warn_of_other_unit(evaluated: Outcome, trained_on: Outcome) -> None:
    """Warn of an evaluation set whose durations may be in another unit than the training rows'.

    A training is stopped by it without a word: later events than the grid's count as none.
    """
    n_events, n_learned = ((each.event > 0).sum() for each in (evaluated, trained_on))
    if n_learned == 0:  # which is refused
        return
    expected = n_learned * _time_observed(evaluated) / _time_observed(trained_on)
    enough = max(n_events, expected) >= ENOUGH_EVENTS
    if enough and not expected / STRANGE_RATIO < n_events < expected * STRANGE_RATIO:
        warn(
            f"eval_set has {n_events} events in a time in which the training rows have "
            f"{expected:.4g}. Are durations in the same unit, and events the same?",
            DataWarning,
        )


def _time_observed(outcome: Outcome) -> float:
    entry = 0.0 if outcome.entry is None else outcome.entry
    return float((outcome.duration - entry).sum())
