"""Cox's proportional hazards with a ridge that is given, or searched by cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from survtrace.baselines.contract import Floats, OneCauseBaseline
from survtrace.errors import SettingError, TrainingError
from survtrace.metrics import StepFunction
from survtrace.tables.outcome.outcome import Outcome

SEARCH = "search"
RIDGES = (1000.0, 100.0, 10.0, 1.0, 0.1)  # largest first: each fit starts from the one before
FOLDS = 3
MOST_STEPS, MOST_HALVINGS, SMALLEST_GAIN = 50, 30, 1e-10


@dataclass(kw_only=True, eq=False)
class CoxPH(OneCauseBaseline):
    """Linear proportional hazards with Breslow's baseline, for one cause.

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
        self.event_times_ = np.unique(outcome.duration[outcome.event > 0])
        self.baseline_hazard_: Floats = likelihood.baseline_hazard(self.coefficients_)

    def _survival(self, design: Floats, times: Floats) -> Floats:
        baseline = StepFunction(self.event_times_, self.baseline_hazard_).at(times)
        with np.errstate(over="ignore"):  # an infinite hazard is a survival of 0
            relative = np.exp(design @ self.coefficients_)[:, np.newaxis]
            hazard = np.multiply(relative, baseline, out=np.zeros((len(design), len(times))),
                                 where=baseline > 0)  # fmt: skip
        return np.exp(-hazard)


class PartialLikelihood:
    """Breslow's partial likelihood of one cause, its gradient and its curvature.

    Subjects are kept by falling duration, so that the risk set of each is a leading part of the
    arrays and every sum over it a cumulative sum.
    """

    def __init__(self, design: Floats, outcome: Outcome) -> None:
        order = np.argsort(-outcome.duration, kind="stable")
        duration = outcome.duration[order]
        self.design, self.event = design[order], outcome.event[order] > 0
        # Ties: everybody of the same duration is at risk. Last row of each risk set.
        self.last_at_risk = np.searchsorted(-duration, -duration[self.event], side="right") - 1
        self.at_events = self.design[self.event].sum(axis=0)

    def value(self, coefficients: Floats) -> float:
        """Compute the logarithm of the partial likelihood."""
        score, top = self._scores(coefficients)
        log_risk = np.log(np.cumsum(np.exp(score - top)))[self.last_at_risk] + top
        return float(score[self.event].sum() - log_risk.sum())

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
        """Breslow's cumulative baseline hazard at each distinct event time, rising."""
        score, top = self._scores(coefficients)
        risk = np.cumsum(np.exp(score - top))
        ends, events = np.unique(self.last_at_risk, return_counts=True)
        steps = np.exp(np.log(events) - np.log(risk[ends]) - top)
        return np.asarray(np.cumsum(steps[::-1]))

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
        """Gradient of the penalised likelihood, and minus its second derivative."""
        score, top = self._scores(coefficients)
        relative = np.exp(score - top)
        ends, events = np.unique(self.last_at_risk, return_counts=True)
        risk, followed = np.cumsum(relative)[ends], ends[-1] + 1
        weighted = relative[:followed, np.newaxis] * self.design[:followed]
        blocks = np.add.reduceat(weighted, np.r_[0, ends[:-1] + 1])
        mean = np.cumsum(blocks, axis=0) / risk[:, np.newaxis]
        # Hazard that each subject has gathered: the sum over the risk sets it belongs to.
        gathered = np.cumsum((events / risk)[::-1])[::-1]
        rows = np.searchsorted(ends, np.arange(len(relative)))
        weight = relative * np.append(gathered, 0.0)[rows]
        curvature = (self.design * weight[:, np.newaxis]).T @ self.design
        curvature -= (mean * events[:, np.newaxis]).T @ mean
        curvature[np.diag_indices_from(curvature)] += ridge
        gradient = self.at_events - events @ mean - ridge * coefficients
        return gradient, curvature

    def _scores(self, coefficients: Floats) -> tuple[Floats, float]:
        score = self.design @ coefficients
        return score, float(score.max(initial=0.0))


def search_ridge(design: Floats, outcome: Outcome, ridges: Sequence[float] = RIDGES) -> float:
    """Choose a ridge by the cross-validated partial likelihood.

    A fold's contribution is the likelihood of all rows minus that of the rows without it, at
    the coefficients learned without it. Events and censored are dealt out to folds in a fixed
    random order.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> design = rng.normal(size=(200, 3))
    >>> duration = rng.exponential(np.exp(-2 * design[:, 0]))
    >>> search_ridge(design, Outcome(duration, np.ones(200, dtype=np.int64), (1,)))
    1.0
    """
    order = np.random.default_rng(0).permutation(len(outcome))
    by_event = order[np.argsort(outcome.event[order], kind="stable")]
    folds = np.zeros_like(outcome.event)
    folds[by_event] = np.arange(len(outcome)) % FOLDS
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
    """The outcome as scikit-survival reads it."""
    target = np.empty(len(outcome), dtype=[("event", bool), ("duration", float)])
    target["event"], target["duration"] = outcome.event > 0, outcome.duration
    return target
