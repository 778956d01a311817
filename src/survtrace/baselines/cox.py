"""Cox's proportional hazards with a ridge that is given, or searched by cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from survtrace.baselines.contract import Floats, OneCauseBaseline
from survtrace.errors import SettingError, TrainingError
from survtrace.metrics import StepFunction
from survtrace.tables.outcome.outcome import Outcome

SEARCH = "search"
RIDGES = (1000.0, 100.0, 10.0, 1.0, 0.1)  # largest first: each fit starts from the one before
FOLDS = 3
LARGEST_SCORE = 300.0
MOST_STEPS, MOST_HALVINGS, SMALLEST_GAIN = 50, 30, 1e-10


@dataclass(kw_only=True, eq=False)
class CoxPH(OneCauseBaseline):
    """Linear proportional hazards with Breslow's baseline, for one cause.

    Takes late entry and start-stop rows: who is at risk at a time is who has entered by then and
    has not left, with the covariates of that time.

    Parameters
    ----------
    ridge
        Penalty on the coefficients, which keeps rare levels finite; "search" chooses one of
        `RIDGES` by the cross-validated partial likelihood of the training rows (Verweij and
        van Houwelingen 1993).
    categorical, pool_below, max_columns
        As for `Baseline`.

    Attributes
    ----------
    ridge_ : float
        The ridge given or chosen.
    """

    search_space: ClassVar = {"ridge": (0.01, 1.0, 10.0, 100.0)}
    from_start_only: ClassVar = None

    ridge: float | str = 1.0
    categorical: Sequence[str | int] | None = None
    pool_below: int = 1
    max_columns: int | None = None

    def _fit(self, design: Floats, outcome: Outcome) -> None:
        if isinstance(self.ridge, str) and self.ridge != SEARCH:
            raise SettingError(f"ridge must be a number or {SEARCH!r}; got {self.ridge!r}.")
        likelihood = PartialLikelihood(design, outcome)
        self.ridge_ = (
            search_ridge(design, outcome) if isinstance(self.ridge, str) else float(self.ridge)
        )
        self.coefficients_: Floats = likelihood.maximise(self.ridge_)
        self.event_times_ = likelihood.event_times
        self.baseline_hazard_: Floats = likelihood.baseline_hazard(self.coefficients_)

    def _survival(self, design: Floats, times: Floats) -> Floats:
        return np.exp(-self._hazard(design, times))

    def _incidence_after(self, design: Floats, times: Floats, after: float) -> Floats:
        hazard = self._hazard(design, np.append(times, after))
        return -np.expm1(-np.maximum(hazard[:, :-1] - hazard[:, -1:], 0.0))[:, np.newaxis]

    def _hazard(self, design: Floats, times: Floats) -> Floats:
        baseline = StepFunction(self.event_times_, self.baseline_hazard_).at(times)
        # A finite hazard, so that differences of hazards are numbers; its survival is 0 anyway.
        relative = np.exp(np.minimum(design @ self.coefficients_, LARGEST_SCORE))
        return relative[:, np.newaxis] * baseline


class PartialLikelihood:
    """Breslow's partial likelihood of one cause, its gradient and its curvature.

    A row is at risk at the event times after its entry, up to its duration. A sum over those at
    risk is a cumulative sum over event times, from the last one back: of the rows that leave at
    each, less those that had not entered before it.

    Attributes
    ----------
    event_times
        The distinct ones, rising.
    """

    def __init__(self, design: Floats, outcome: Outcome) -> None:
        self.design, self.event = design, outcome.event > 0
        event_times = outcome.duration[self.event]
        self.event_times, self.n_events = np.unique(event_times, return_counts=True)
        entry = np.zeros(len(design)) if outcome.entry is None else outcome.entry
        # At risk at the event times number first, ..., last - 1.
        self.first = np.searchsorted(self.event_times, entry, side="right")
        self.last = np.searchsorted(self.event_times, outcome.duration, side="right")
        n_times, n_rows = len(self.event_times), len(design)
        changes = np.repeat([1.0, -1.0], n_rows), np.concatenate([self.last, self.first])
        rows = np.tile(np.arange(n_rows), 2)
        changes_at = sparse.csr_matrix((changes[0], (changes[1], rows)), (n_times + 1, n_rows))
        self.changes_at = changes_at[1:]  # 0: before the first event
        self.at_events = self.design[self.event].sum(axis=0)

    def value(self, coefficients: Floats) -> float:
        """Compute the logarithm of the partial likelihood."""
        score, top = self._scores(coefficients)
        log_risk = np.log(self._risk(np.exp(score - top))) + top
        return float(score[self.event].sum() - self.n_events @ log_risk)

    def maximise(self, ridge: float, start: Floats | None = None) -> Floats:
        """Find the coefficients of the largest penalised likelihood by Newton's method."""
        coefficients = np.zeros(self.design.shape[1]) if start is None else start
        value = self._penalised(coefficients, ridge)
        for _ in range(MOST_STEPS):
            gradient, curvature = self._derivatives(coefficients, ridge)
            try:
                step = linalg.solve(curvature, gradient, assume_a="pos")
            except linalg.LinAlgError:
                raise TrainingError(
                    f"Cox's regression has no single solution with a ridge of {ridge:g}: some "
                    "columns say the same. Pass a larger ridge."
                ) from None
            coefficients, gained = self._line_search(coefficients, step, value, ridge)
            value += gained
            if gained <= SMALLEST_GAIN * (1 + abs(value)):
                return coefficients
        return coefficients

    def baseline_hazard(self, coefficients: Floats) -> Floats:
        """Compute Breslow's cumulative baseline hazard at each distinct event time, rising."""
        score, top = self._scores(coefficients)
        risk = self._risk(np.exp(score - top))
        return np.asarray(np.cumsum(np.exp(np.log(self.n_events) - np.log(risk) - top)))

    def _line_search(
        self, coefficients: Floats, step: Floats, value: float, ridge: float
    ) -> tuple[Floats, float]:
        """Halve a Newton step until it gains; (where that leads, what was gained)."""
        for halvings in range(MOST_HALVINGS):
            there = coefficients + 0.5**halvings * step
            gained = self._penalised(there, ridge) - value
            if gained >= 0:
                return there, gained
        return coefficients, 0.0

    def _penalised(self, coefficients: Floats, ridge: float) -> float:
        return self.value(coefficients) - 0.5 * ridge * float(coefficients @ coefficients)

    def _derivatives(self, coefficients: Floats, ridge: float) -> tuple[Floats, Floats]:
        """Compute the gradient of the penalised likelihood, and minus its second derivative."""
        score, top = self._scores(coefficients)
        relative = np.exp(score - top)
        risk = self._risk(relative)
        mean = self._at_risk(relative[:, np.newaxis] * self.design) / risk[:, np.newaxis]
        # Hazard that each row has gathered: the sum over the event times at which it is at risk.
        gathered = np.append(0.0, np.cumsum(self.n_events / risk))
        weight = relative * (gathered[self.last] - gathered[self.first])
        curvature = (self.design * weight[:, np.newaxis]).T @ self.design
        curvature -= (mean * self.n_events[:, np.newaxis]).T @ mean
        curvature[np.diag_indices_from(curvature)] += ridge
        gradient = self.at_events - self.n_events @ mean - ridge * coefficients
        return gradient, curvature

    def _at_risk(self, values: Floats) -> Floats:
        """Sum values of the rows over those at risk at each event time."""
        return np.asarray(np.cumsum((self.changes_at @ values)[::-1], axis=0)[::-1])

    def _risk(self, relative: Floats) -> Floats:
        """Sum relative hazards over those at risk; at least those of the rows that have the event.

        Rows that enter later are subtracted, and little may be left of large sums.
        """
        own = np.bincount(self.last[self.event] - 1, relative[self.event], len(self.event_times))
        return np.maximum(self._at_risk(relative), own)

    def _scores(self, coefficients: Floats) -> tuple[Floats, float]:
        score = self.design @ coefficients
        return score, float(score.max(initial=0.0))


def search_ridge(design: Floats, outcome: Outcome, ridges: Sequence[float] = RIDGES) -> float:
    """Choose a ridge by the cross-validated partial likelihood.

    A fold's contribution is the likelihood of all rows minus that of the rows without it, at
    the coefficients learned without it. Subjects with events and censored ones are dealt out to
    folds in a fixed random order.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> design = rng.normal(size=(200, 3))
    >>> duration = rng.exponential(np.exp(-2 * design[:, 0]))
    >>> search_ridge(design, Outcome(duration, np.ones(200, dtype=np.int64), (1,)))
    1.0
    """
    subject = np.arange(len(outcome)) if outcome.id is None else outcome.id
    _, subject = np.unique(subject, return_inverse=True)
    event = np.zeros(subject.max() + 1, dtype=np.int64)
    np.maximum.at(event, subject, outcome.event)
    order = np.random.default_rng(0).permutation(len(event))
    fold_of_subject = np.zeros_like(event)
    fold_of_subject[order[np.argsort(event[order], kind="stable")]] = np.arange(len(event)) % FOLDS
    folds = fold_of_subject[subject]
    whole = PartialLikelihood(design, outcome)
    gained = np.zeros(len(ridges))
    for fold in range(FOLDS):
        others = folds != fold
        if not outcome.event[others].any():
            continue
        part = PartialLikelihood(design[others], outcome.take(others))
        coefficients: Any = None
        for j, ridge in enumerate(ridges):
            coefficients = part.maximise(ridge, coefficients)
            gained[j] += whole.value(coefficients) - part.value(coefficients)
    return float(ridges[int(np.argmax(gained))])


def sksurv_target(outcome: Outcome) -> NDArray[np.void]:
    """Return the outcome as scikit-survival reads it."""
    target = np.empty(len(outcome), dtype=[("event", bool), ("duration", float)])
    target["event"], target["duration"] = outcome.event > 0, outcome.duration
    return target
