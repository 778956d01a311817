"""Compute the true survival and incidence of a simulated cohort in closed form."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from survtrace.errors import DataError
from survtrace.rules import find_cause

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Truth:
    """True curves of each subject: the hazard of every cause is constant between cuts.

    Attributes
    ----------
    cuts
        Start of each interval, from 0; the last interval has no end. Shape (interval,).
    rates
        Hazard per unit of time, shape (subject, cause, interval).
    event, duration
        What each subject would have shown had nobody been censored.

    Examples
    --------
    >>> rates = np.array([[[0.02, 0.01]]])
    >>> truth = Truth(np.array([0.0, 10.0]), rates, np.array([1]), np.array([7.0]))
    >>> truth.survival([0.0, 10.0, 20.0]).round(4).tolist()
    [[1.0, 0.8187, 0.7408]]
    >>> truth.incidence([10.0], cause=1).round(4).tolist()
    [[0.1813]]
    """

    cuts: Floats
    rates: Floats
    event: NDArray[np.int64]
    duration: Floats

    def __len__(self) -> int:
        return len(self.rates)

    @property
    def causes(self) -> tuple[int, ...]:
        """Return the labels 1..K of the causes."""
        return tuple(range(1, self.rates.shape[1] + 1))

    def take(self, subjects: NDArray[Any]) -> Truth:
        """Select some of the subjects, by number or mask."""
        event, duration = self.event[subjects], self.duration[subjects]
        return replace(self, rates=self.rates[subjects], event=event, duration=duration)

    def survival(self, times: ArrayLike) -> Floats:
        """Compute the probability of no event by each time, shape (subject, time)."""
        interval, elapsed = self._locate(times)
        before, _ = curves_at_cuts(self.cuts, self.rates)
        survival: Floats = before[:, interval] * np.exp(
            -self.rates.sum(axis=1)[:, interval] * elapsed
        )
        return survival

    def incidence(self, times: ArrayLike, cause: int | None = None) -> Floats:
        """Compute the probability of an event from each cause by each time.

        Shape (subject, cause, time), or (subject, time) for one cause.
        """
        interval, elapsed = self._locate(times)
        chosen = slice(None) if cause is None else [find_cause(cause, self.causes)]
        survival, incidence = curves_at_cuts(self.cuts, self.rates)
        total = self.rates.sum(axis=1)[:, interval]
        ended = survival[:, interval] * -np.expm1(-total * elapsed)
        share = self.rates[:, chosen][:, :, interval] / total[:, None]
        curves: Floats = incidence[:, chosen][:, :, interval] + share * ended[:, None]
        return curves if cause is None else curves[:, 0]

    def _locate(self, times: ArrayLike) -> tuple[NDArray[np.intp], Floats]:
        at = np.atleast_1d(np.asarray(times, dtype=np.float64))
        bad = ~(at >= 0)
        if at.ndim != 1 or bad.any():
            raise DataError(
                f"times must be a flat list of numbers, zero or more; got shape {at.shape}, "
                f"{bad.sum()} of them negative or NaN. Drop or correct these times."
            )
        interval = np.searchsorted(self.cuts, at, side="right") - 1
        return interval, at - self.cuts[interval]


def curves_at_cuts(cuts: Floats, rates: Floats) -> tuple[Floats, Floats]:
    """Compute survival (subject, interval) and incidence (subject, cause, interval) at cuts.

    Examples
    --------
    >>> survival, incidence = curves_at_cuts(np.array([0.0, 10.0]), np.array([[[0.02, 0.01]]]))
    >>> survival.round(4).tolist(), incidence.round(4).tolist()
    ([[1.0, 0.8187]], [[[0.0, 0.1813]]])
    """
    inside = rates[:, :, :-1]
    total = inside.sum(axis=1)
    hazard = total * np.diff(cuts)
    survival = np.ones((len(rates), len(cuts)))
    survival[:, 1:] = np.exp(-np.cumsum(hazard, axis=1))
    ended = survival[:, :-1] * -np.expm1(-hazard)
    incidence = np.zeros_like(rates)
    incidence[:, :, 1:] = np.cumsum(inside / total[:, None] * ended[:, None], axis=2)
    return survival, incidence
