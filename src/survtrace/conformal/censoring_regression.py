"""How likely each subject is to be uncensored at a time, by its covariates."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from survtrace.baselines.cox import PartialLikelihood, search_ridge
from survtrace.tables.outcome.outcome import Outcome

Floats = NDArray[np.float64]
N_FOLDS = 5
CENSORED_PER_COLUMN = 10  # fewer censored subjects than that cannot teach a coefficient
LARGEST_SCORE = 50.0  # of a subject far from those calibrated on, so that its hazard is a number


class CensoringRegression:
    """The censoring survival of each subject: Cox's regression with the censored as events.

    Of an event and a censoring at the same time the event comes first. Without coefficients it is
    the Kaplan-Meier estimate. The ridge is searched unless it is given.

    Examples
    --------
    >>> outcome = Outcome(np.array([1.0, 2, 2, 3]), np.array([0, 1, 0, 1]), (1,))
    >>> nothing = sparse.csr_matrix((4, 1))
    >>> CensoringRegression(nothing, outcome, False).before(nothing, outcome.duration).round(3)
    array([1.   , 0.75 , 0.75 , 0.375])
    """

    def __init__(
        self,
        design: sparse.csr_matrix,
        outcome: Outcome,
        depends: bool,
        ridge: float | None = None,
    ) -> None:
        censored = outcome.event == 0
        # An event just before the censorings of its time is no longer at risk of them.
        duration = np.where(censored, outcome.duration, np.nextafter(outcome.duration, 0))
        turned = Outcome(duration, censored.astype(np.int64), (1,))
        filled = np.asarray(abs(design).sum(axis=0)).ravel()
        n_columns = int(censored.sum()) // CENSORED_PER_COLUMN if depends else 0
        columns = np.argsort(-filled, kind="stable")[:n_columns]
        matrix = design[:, columns].toarray()
        likelihood = PartialLikelihood(matrix, turned)
        self.ridge, self.coefficients = ridge, np.zeros(design.shape[1])
        if n_columns:
            self.ridge = search_ridge(matrix, turned) if ridge is None else ridge
            self.coefficients[columns] = likelihood.maximise(self.ridge)
        hazard = likelihood.baseline_hazard(self.coefficients[columns])
        jumps = np.minimum(np.diff(hazard, prepend=0.0), 1.0)
        self.times = likelihood.event_times
        # As Kaplan-Meier: where many leave at one time, exp(-hazard) would leave too many.
        with np.errstate(divide="ignore"):
            self.hazard = np.cumsum(-np.log1p(-jumps))

    def before(self, design: sparse.csr_matrix, t: Floats) -> Floats:
        """Return the chance of each subject to be uncensored just before its time, G(t-)."""
        return np.exp(-self._hazard_before(t) * self._relative(design))

    def weights(self, design: sparse.csr_matrix, times: Floats) -> Floats:
        """Return the IPCW weights 1 / G(t-) at common times, shape (subject, time)."""
        with np.errstate(over="ignore"):
            return np.exp(np.outer(self._relative(design), self._hazard_before(times)))

    def last_time(self, design: sparse.csr_matrix, largest_weight: float) -> Floats:
        """Return the last time until which 1 / G(t-) of each subject stays within a limit."""
        most = np.log(largest_weight) / self._relative(design)
        return np.append(self.times, np.inf)[np.searchsorted(self.hazard, most, side="right")]

    def _hazard_before(self, t: Floats) -> Floats:
        return np.append(0.0, self.hazard)[np.searchsorted(self.times, t, side="left")]

    def _relative(self, design: sparse.csr_matrix) -> Floats:
        score = np.asarray(design @ self.coefficients)
        return np.exp(np.clip(score, -LARGEST_SCORE, LARGEST_SCORE))


def cross_fit(
    whole: CensoringRegression, design: sparse.csr_matrix, outcome: Outcome, largest_weight: float
) -> tuple[Floats, Floats]:
    """Estimate G(t-) and the last time of each subject from the others, in five parts."""
    survival, last = np.ones(len(outcome)), np.zeros(len(outcome))
    folds = np.arange(len(outcome)) % N_FOLDS
    for fold in range(N_FOLDS):
        inside, others = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
        if len(inside) and len(others):
            learned = CensoringRegression(
                design[others], outcome.take(others), whole.ridge is not None, whole.ridge
            )
            survival[inside] = learned.before(design[inside], outcome.duration[inside])
            last[inside] = learned.last_time(design[inside], largest_weight)
    return survival, last
