"""Simulate cohorts of any size from a law whose incidences are known."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal, overload

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import root

from survtrace.datasets.simulated_covariates import draw_covariates, hide_values
from survtrace.datasets.simulated_scores import CUTS, log_hazards
from survtrace.datasets.truth import Truth, curves_at_cuts
from survtrace.errors import SettingError, short
from survtrace.rules import between, check_flags, check_value, random_generator, whole
from survtrace.tables.covariates.real_numbers import real_numbers

Floats = NDArray[np.float64]

FIRST_PROPORTIONS = (0.184, 0.045)  # as in the SEER breast cancer cohort of the paper
N_CALIBRATION = 100_000
CALIBRATION_SEED = 20_220


@overload
def make_cohort(
    n_subjects: int = ...,
    *,
    n_causes: int = ...,
    proportions: Sequence[float] | None = ...,
    linear: bool = ...,
    continuous: bool = ...,
    missing: float = ...,
    follow_up: int = ...,
    late_entry: float = ...,
    random_state: int | np.random.Generator | None = ...,
    return_truth: Literal[False] = ...,
) -> tuple[pd.DataFrame, pd.DataFrame]: ...


@overload
def make_cohort(
    n_subjects: int = ...,
    *,
    n_causes: int = ...,
    proportions: Sequence[float] | None = ...,
    linear: bool = ...,
    continuous: bool = ...,
    missing: float = ...,
    follow_up: int = ...,
    late_entry: float = ...,
    random_state: int | np.random.Generator | None = ...,
    return_truth: Literal[True],
) -> tuple[pd.DataFrame, pd.DataFrame, Truth]: ...


def make_cohort(
    n_subjects: int = 10_000,
    *,
    n_causes: int = 2,
    proportions: Sequence[float] | None = None,
    linear: bool = False,
    continuous: bool = False,
    missing: float = 0.0,
    follow_up: int = 121,
    late_entry: float = 0.0,
    random_state: int | np.random.Generator | None = 0,
    return_truth: bool = False,
) -> tuple[pd.DataFrame, pd.DataFrame] | tuple[pd.DataFrame, pd.DataFrame, Truth]:
    """Draw a cohort with 4 numerical and 14 categorical covariates and competing causes.

    The hazard of each cause is constant between a few cuts, so that the true incidences have a
    closed form. By default effects are non-linear, interact, and change with time; cohorts that
    differ only in size and seed come from one law.

    Parameters
    ----------
    n_subjects
        Number of subjects drawn; with ``late_entry``, some of them are never seen.
    n_causes
        Number of competing causes, labelled 1..K.
    proportions
        Share of subjects seen to have an event of each cause; the rest is censored. By default
        18.4 % and 4.5 %, and half the share before for each further cause.
    linear
        Make the log hazards linear in the covariates and proportional over time, so that a Cox
        regression of each cause is right.
    continuous
        Keep durations as drawn. By default they are rounded up to whole months, 1 to
        ``follow_up``.
    missing
        Share of covariate values made missing after the outcome was drawn, completely at random.
    follow_up
        Longest follow-up in months. Subjects enter evenly over this period and all leave at its
        end, so that censoring is uniform and independent of the covariates.
    late_entry
        Share of subjects who come under observation late: at a month drawn evenly from the first
        half of ``follow_up``, whatever their covariates, and followed from then on as the others
        are from the start. Who had an event by then is never seen and is not in the cohort. A
        seed draws the same subjects and events whatever the share.
    random_state
        Seed or generator.
    return_truth
        Also return the `Truth` the outcome was drawn from.

    Returns
    -------
    X
        Covariates.
    y
        ``event`` (0 for censored) and ``duration`` (months); with ``late_entry`` also ``entry``
        (months from the same origin as the duration; 0 for those seen from the start).
    truth
        Only if ``return_truth``; it knows the covariates before any were made missing.

    Notes
    -----
    Rounding up costs no accuracy at whole months: a duration rounded up is at most m exactly if
    the duration was at most m, so ``truth.incidence(m)`` holds for the rounded durations too.
    Follow-up then ends at whole months, after that month's events.

    Examples
    --------
    >>> X, y, truth = make_cohort(200, return_truth=True)
    >>> X.shape, sorted(y["event"].unique().tolist())
    ((200, 18), [0, 1, 2])
    >>> truth.incidence([12, 60]).shape
    (200, 2, 2)
    >>> X, y = make_cohort(200, late_entry=0.5)
    >>> len(X), bool((y["entry"] < y["duration"]).all())
    (186, True)
    """
    shares = checked_proportions(n_causes, proportions)
    _require_valid(n_subjects, missing, follow_up, late_entry)
    check_flags(linear=linear, continuous=continuous, return_truth=return_truth)
    rng = random_generator(random_state)
    X = draw_covariates(n_subjects, rng)
    intercepts = np.array(intercepts_of(shares, linear, continuous, follow_up))
    rates = np.exp(log_hazards(X, n_causes, linear) + intercepts[:, None])
    event, duration = draw_outcome(rates, rng)
    truth = Truth(CUTS, rates, event, duration if continuous else _whole_months(duration))
    share_of_rest = 1 - rng.random(n_subjects)
    X = hide_values(X, missing, rng)
    entry = _draw_entry(n_subjects, late_entry, follow_up / 2, rng)
    end = entry + (follow_up - entry) * share_of_rest
    if not continuous:
        entry, end = np.ceil(entry), _whole_months(end)
    seen = truth.duration <= end
    event, duration = np.where(seen, truth.event, 0), np.where(seen, truth.duration, end)
    y = pd.DataFrame({"event": event, "duration": duration})
    if late_entry > 0:
        observed = entry < duration
        X, y = (table[observed].reset_index(drop=True) for table in (X, y.assign(entry=entry)))
        truth = truth.take(observed)
    return (X, y, truth) if return_truth else (X, y)


def _draw_entry(n: int, share: float, latest: float, rng: np.random.Generator) -> Floats:
    """Draw when each subject comes under observation: 0, or for a share of them evenly later."""
    if share == 0:
        return np.zeros(n)
    late = rng.random(n) < share
    return np.where(late, latest * (1 - rng.random(n)), 0.0)


def draw_outcome(
    rates: Floats, rng: np.random.Generator, after: ArrayLike = 0.0
) -> tuple[NDArray[np.int64], Floats]:
    """Draw the cause and the time of each subject's event, of those event-free at ``after``.

    Times come from inverting the cumulative hazard, causes from their share of the hazard. The
    cumulative hazard from ``after`` to the event is exponential with mean 1, whatever the hazards.
    """
    total = rates.sum(axis=1)
    hazard_at_cuts = np.zeros_like(total)
    hazard_at_cuts[:, 1:] = np.cumsum(total[:, :-1] * np.diff(CUTS), axis=1)
    subject, start = np.arange(len(rates)), np.broadcast_to(after, len(rates))
    first = np.searchsorted(CUTS, start, side="right") - 1
    hazard = hazard_at_cuts[subject, first] + total[subject, first] * (start - CUTS[first])
    hazard = hazard + rng.standard_exponential(len(rates))
    interval = (hazard_at_cuts <= hazard[:, None]).sum(axis=1) - 1
    rest = hazard - hazard_at_cuts[subject, interval]
    duration = CUTS[interval] + rest / total[subject, interval]
    by_cause = np.cumsum(rates[subject, :, interval], axis=1)
    drawn = rng.random(len(rates)) * by_cause[:, -1]
    return 1 + (by_cause[:, :-1] <= drawn[:, None]).sum(axis=1), duration


def _whole_months(duration: Floats) -> Floats:
    return np.maximum(np.ceil(duration), 1.0)


@lru_cache(maxsize=64)
def intercepts_of(
    proportions: tuple[float, ...], linear: bool, continuous: bool, follow_up: int
) -> tuple[float, ...]:
    """Solve for log factors on the hazards that give the causes their proportions.

    Solved on one fixed large sample, so that every cohort of a setting has the same law.
    """
    rng = np.random.default_rng(CALIBRATION_SEED)
    X = draw_covariates(N_CALIBRATION, rng)
    relative = np.exp(log_hazards(X, len(proportions), linear))
    end = (np.arange(N_CALIBRATION) + 0.5) * follow_up / N_CALIBRATION
    end = end if continuous else _whole_months(end)

    def gap(intercepts: Floats) -> Floats:
        rates = relative * np.exp(np.clip(intercepts, -30, 10))[:, None]
        return np.log(_seen_shares(rates, end) / proportions)

    solved = root(gap, np.full(len(proportions), -7.0))
    if not solved.success or np.abs(solved.fun).max() > 1e-4:
        raise SettingError(
            f"the proportions {list(proportions)} cannot be reached within {follow_up} months "
            "of follow-up. Ask for more censored subjects."
        )
    return tuple(solved.x.tolist())


def _seen_shares(rates: Floats, end: Floats) -> Floats:
    """Compute the mean incidence of each cause at the end of each subject's follow-up."""
    subject = np.arange(len(rates))
    interval = np.searchsorted(CUTS, end, side="right") - 1
    survival, incidence = curves_at_cuts(CUTS, rates)
    last = rates[subject, :, interval]
    total = last.sum(axis=1)
    ended = survival[subject, interval] * -np.expm1(-total * (end - CUTS[interval]))
    seen = incidence[subject, :, interval] + last / total[:, None] * ended[:, None]
    means: Floats = seen.mean(axis=0)
    return means


def checked_proportions(n_causes: int, proportions: Sequence[float] | None) -> tuple[float, ...]:
    """Check the share of each cause, or give the default ones."""
    check_value("n_causes", n_causes, whole(1, 1000))
    if proportions is None:
        halves = (FIRST_PROPORTIONS[1] / 2**later for later in range(1, n_causes))
        return (*FIRST_PROPORTIONS, *halves)[:n_causes]
    shares = _numbers_in(proportions)
    if len(shares) != n_causes or not min(shares) > 0 or not sum(shares) < 1:
        raise SettingError(
            f"proportions must be {n_causes} positive numbers (n_causes) that leave some subjects "
            f"censored; got {short(proportions)}, which sum to {sum(shares):.3g}."
        )
    return shares


def _numbers_in(values: Any) -> tuple[float, ...]:
    """Give the numbers of a flat sequence; none where it is something else."""
    try:
        numbers = real_numbers(values, "proportions")
    except (TypeError, ValueError):
        return ()
    return tuple(numbers.tolist()) if numbers.ndim == 1 else ()


def _require_valid(n_subjects: int, missing: float, follow_up: int, late_entry: float) -> None:
    check_value("n_subjects", n_subjects, whole(1))
    check_value("missing", missing, between(0, 1, below=True))
    check_value("follow_up", follow_up, between(1, 100_000))
    check_value("late_entry", late_entry, between(0, 1))
