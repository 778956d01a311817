"""Simulate cohorts whose treatment starts in the course of time, with known incidences."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any, Literal, overload

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from survtrace.datasets.cohort import checked_proportions, draw_outcome, intercepts_of
from survtrace.datasets.simulated_covariates import draw_covariates
from survtrace.datasets.simulated_scores import CUTS, log_hazards
from survtrace.errors import DataError
from survtrace.rules import between, check_value, random_generator, whole

Floats = NDArray[np.float64]

TREATED_AT_START = 0.2
MONTHLY_START = 0.015  # how often treatment starts in a month at stage I; more often at later ones
START_BY_STAGE = 0.3
TREATMENT = pd.CategoricalDtype(["no", "yes"])


@dataclass(frozen=True, eq=False)
class ChangingTruth:
    """True incidences of subjects whose treatment may start later.

    Hazards are constant between cuts and depend on whether the subject is treated now; treatment
    starts at a constant rate until ``last_start`` and never ends. Starting depends on covariates
    that are known, so treated and untreated hazards are those of the covariates as they stand.

    Attributes
    ----------
    cuts
        Start of each interval, from 0; the last interval has no end. Shape (interval,).
    rates
        Hazard per unit of time, untreated and treated, shape (2, subject, cause, interval).
    start_rate
        Rate at which an untreated subject's treatment starts, until ``last_start``.
    last_start
        When treatment stops being offered; may be infinite.
    start
        When each subject's treatment starts (0: treated from the start; infinite: never), had it
        no event before.
    event, duration
        What each subject would have shown had nobody been censored.

    Examples
    --------
    Untreated, with no hazard of the event until a treatment that starts at rate 0.1:

    >>> rates = np.array([[[[1e-12]]], [[[0.2]]]])
    >>> truth = ChangingTruth(np.zeros(1), rates, np.array([0.1]), np.inf, np.array([np.inf]),
    ...                       np.array([1]), np.array([9.0]))
    >>> truth.incidence([5.0]).round(4).tolist()
    [[[0.1548]]]
    >>> truth.incidence([5.0], stays=True).round(4).tolist()
    [[[0.0]]]
    """

    cuts: Floats
    rates: Floats
    start_rate: Floats
    last_start: float
    start: Floats
    event: NDArray[np.int64]
    duration: Floats

    def __len__(self) -> int:
        return len(self.start)

    def take(self, subjects: NDArray[Any]) -> ChangingTruth:
        """Select some of the subjects, by number or mask."""
        columns = ("start_rate", "start", "event", "duration")
        taken = {name: getattr(self, name)[subjects] for name in columns}
        return replace(self, rates=self.rates[:, subjects], **taken)

    def incidence(self, times: ArrayLike, *, at: float = 0.0, stays: bool = False) -> Floats:
        """Compute the probability of an event by each time, from what is known at ``at``.

        Of subjects who are event-free at ``at``, with the treatment they have then. Shape
        (subject, cause, time); 0 for times before ``at``.

        Parameters
        ----------
        times
            When the curves are read.
        at
            The landmark: what happened until then is known.
        stays
            As if treatment stayed as it is at ``at``: what the hazards of covariates as they
            stand say, and what a landmark prediction from them is. By default treatment may
            start after ``at``, as it does in the cohort: the share of such subjects who have the
            event.
        """
        asked = np.atleast_1d(np.asarray(times, dtype=np.float64))
        if asked.ndim != 1 or not (asked >= 0).all():
            raise DataError(
                f"times must be a flat list of numbers, zero or more; got shape {asked.shape}. "
                "Drop or correct these times."
            )
        knots = np.unique([at, *self.cuts, *asked, *([self.last_start] * (not stays))])
        knots = knots[(knots >= at) & (knots <= max(asked.max(initial=at), at))]
        treated = self.start <= at
        share = np.stack([~treated, treated]).astype(np.float64)  # event-free, (2, subject)
        gathered = np.zeros((len(self), self.rates.shape[2]))
        curves = [gathered]
        for begin, end in itertools.pairwise(knots):
            interval = np.searchsorted(self.cuts, begin, side="right") - 1
            hazards = self.rates[..., interval]
            may_start = not stays and begin < self.last_start
            start_rate = self.start_rate if may_start else np.zeros(len(self))
            share, lived = live(share, hazards.sum(axis=2), start_rate, end - begin)
            gathered = gathered + (lived[..., np.newaxis] * hazards).sum(axis=0)
            curves.append(gathered)
        place = np.clip(np.searchsorted(knots, asked), 0, len(knots) - 1)
        return np.stack(curves, axis=-1)[..., np.where(asked < at, 0, place)]


def live(share: Floats, hazard: Floats, start_rate: Floats, time: float) -> tuple[Floats, Floats]:
    """Let untreated and treated subjects live on for a time, with constant hazards.

    Parameters
    ----------
    share
        Probability of being event-free and untreated, or treated, shape (2, subject).
    hazard
        Hazard of any event in either state, the same shape.
    start_rate
        Rate from untreated to treated, shape (subject,).
    time
        How long.

    Returns
    -------
    share, lived
        The probabilities at the end, and the mean time spent in either state.
    """
    leave = hazard[0] + start_rate
    untreated = share[0] * np.exp(-leave * time)
    lived_untreated = (share[0] - untreated) / leave
    # Who starts after u of the time leaves one state by exp(-leave u), the other by the rest. The
    # integral has a removable 0 / 0 where both rates agree.
    gap = (leave - hazard[1]) * time
    mean = np.where(np.abs(gap) > 1e-9, -np.expm1(-gap) / np.where(gap == 0, 1.0, gap), 1 - gap / 2)
    started = share[0] * start_rate * time * np.exp(-hazard[1] * time) * mean
    treated = share[1] * np.exp(-hazard[1] * time) + started
    lived_treated = (share[1] + start_rate * lived_untreated - treated) / hazard[1]
    return np.stack([untreated, treated]), np.stack([lived_untreated, lived_treated])


@overload
def make_changing_cohort(
    n_subjects: int = ...,
    *,
    proportions: Sequence[float] | None = ...,
    linear: bool = ...,
    last_start: float = ...,
    follow_up: int = ...,
    random_state: int | np.random.Generator | None = ...,
    return_truth: Literal[False] = ...,
) -> tuple[pd.DataFrame, pd.DataFrame]: ...


@overload
def make_changing_cohort(
    n_subjects: int = ...,
    *,
    proportions: Sequence[float] | None = ...,
    linear: bool = ...,
    last_start: float = ...,
    follow_up: int = ...,
    random_state: int | np.random.Generator | None = ...,
    return_truth: Literal[True],
) -> tuple[pd.DataFrame, pd.DataFrame, ChangingTruth]: ...


def make_changing_cohort(
    n_subjects: int = 10_000,
    *,
    proportions: Sequence[float] | None = None,
    linear: bool = False,
    last_start: float = np.inf,
    follow_up: int = 121,
    random_state: int | np.random.Generator | None = 0,
    return_truth: bool = False,
) -> tuple[pd.DataFrame, pd.DataFrame] | tuple[pd.DataFrame, pd.DataFrame, ChangingTruth]:
    """Draw a cohort as `make_cohort` does, with one more covariate that jumps: ``treatment``.

    A fifth of the subjects is treated from the start; others begin at some time, sooner at later
    stages. Treatment lowers the hazard of cause 1 and raises that of cause 2. A subject whose
    treatment begins while it is followed has two rows.

    Parameters
    ----------
    n_subjects
        Number of subjects.
    proportions
        As in `make_cohort`, for a cohort without treatment.
    linear
        Make the log hazards linear in covariates and treatment and proportional over time, so
        that a Cox regression of each cause is right.
    last_start
        Month after which no treatment begins. From then on no covariate changes, and a prediction
        from covariates as they stand is what will be seen. By default treatment may always begin.
    follow_up
        As in `make_cohort`.
    random_state
        Seed or generator.
    return_truth
        Also return the `ChangingTruth` of the subjects, in the order of their ids.

    Returns
    -------
    X
        Covariates, a row for each time during which they stay.
    y
        ``id`` (from 0), ``entry`` and ``duration`` (months from the subject's start), ``event`` at
        the end of the row: 0 if the subject goes on or is censored.
    truth
        Only if ``return_truth``.

    Examples
    --------
    >>> X, y = make_changing_cohort(5)
    >>> len(X), y["id"].nunique()
    (8, 5)
    """
    shares = checked_proportions(2, proportions)
    check_value("n_subjects", n_subjects, whole(1))
    check_value("follow_up", follow_up, between(1, 100_000))
    check_value("last_start", last_start, between(0, inf))
    rng = random_generator(random_state)
    X = draw_covariates(n_subjects, rng)
    intercepts = np.array(intercepts_of(shares, linear, True, follow_up))
    untreated = log_hazards(X, 2, linear) + intercepts[:, np.newaxis]
    rates = np.exp(np.stack([untreated, untreated + _effects(X, linear)[..., np.newaxis]]))
    start_rate = MONTHLY_START * np.exp(START_BY_STAGE * X["stage"].cat.codes.to_numpy(np.float64))
    start = np.where(rng.random(n_subjects) < TREATED_AT_START, 0.0, np.inf)
    later = rng.exponential(1 / start_rate)
    start = np.where((start > 0) & (later <= last_start), later, start)
    event, duration = _draw_outcome(rates, start, rng)
    end = follow_up * (1 - rng.random(n_subjects))
    X, y = _rows(X, start, np.where(duration <= end, event, 0), np.minimum(duration, end))
    truth = ChangingTruth(CUTS, rates, start_rate, float(last_start), start, event, duration)
    return (X, y, truth) if return_truth else (X, y)


def _effects(X: pd.DataFrame, linear: bool) -> Floats:
    """Compute the log hazard ratio of treatment on each cause, shape (subject, cause)."""
    if linear:
        return np.tile([-1.0, 0.7], (len(X), 1))
    tumor = np.where(X["hormone_receptor"] == "negative", -0.3, -1.5)
    heart = np.where(X["smoking"] == "never", 0.3, 1.2)
    return np.stack([tumor, heart], axis=1)


def _draw_outcome(
    rates: Floats, start: Floats, rng: np.random.Generator
) -> tuple[NDArray[np.int64], Floats]:
    """Draw an event without treatment; who would have it after the start gets one from there on."""
    event, duration = draw_outcome(rates[0], rng)
    begins = duration > start
    after = np.where(begins, start, 0.0)
    event_treated, duration_treated = draw_outcome(rates[1], rng, after)
    return np.where(begins, event_treated, event), np.where(begins, duration_treated, duration)


def _rows(
    X: pd.DataFrame, start: Floats, event: NDArray[np.int64], duration: Floats
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Write a row until treatment starts and one from there on, where it starts in between."""
    two = (start > 0) & (start < duration)
    n_rows = 1 + two.astype(np.int64)
    id = np.repeat(np.arange(len(X)), n_rows)
    last = np.append(id[1:] != id[:-1], True)
    first = np.append(True, last[:-1])
    y = pd.DataFrame(
        {
            "id": id,
            "entry": np.where(first, 0.0, start[id]),
            "duration": np.where(last, duration[id], start[id]),
            "event": np.where(last, event[id], 0),
        }
    )
    treated = np.where((y["entry"] >= start[id]).to_numpy(), "yes", "no")
    X = X.iloc[id].reset_index(drop=True)
    return X.assign(treatment=pd.Series(treated).astype(TREATMENT)), y
