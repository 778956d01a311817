"""Bound the time of a subject's event from below, so that a promised share outlives its bound."""

from __future__ import annotations

from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from survtrace.conformal.censoring_regression import CensoringRegression, cross_fit
from survtrace.conformal.misses import Misses, crossing_time, value_at
from survtrace.errors import DataError, DataWarning, SettingError, keep_warnings, warn
from survtrace.evaluation.learned_rows import looks_learned
from survtrace.metrics.inputs import checked_level, read_subjects
from survtrace.rules import check_value, one_of
from survtrace.tables.covariates.covariates import infer_covariates, open_table
from survtrace.tables.covariates.encoding import learn_encoding
from survtrace.tables.outcome.outcome import Outcome, require_same_subjects
from survtrace.tables.outcome.outcome_warnings import informative
from survtrace.tables.outcome.pairing import read_scored

Floats = NDArray[np.float64]
Censoring = Literal["cox", "kaplan-meier"]
N_TIMES = 200
CHUNK_ROWS = 16_384
LARGEST_WEIGHT = 20.0
PARTS_OF_BUDGET = 4  # no subject's weight exceeds this part of the misses that are allowed


class SurvivalLowerBound:
    """A time that a new subject outlives event-free with at least a promised probability.

    Bounds of many subjects hold in a share ``level`` of them, whether or not the estimator is
    right, because they are calibrated on subjects it has not learned from. The bound of a subject
    is where its predicted incidence reaches `incidence_`, the same for everybody; an estimator
    whose predictions are right has an `incidence_` of about ``1 - level``.

    The promise is about the mean over subjects like those calibrated on, not about each one: a
    poor estimator has bounds that hold too often for some and too rarely for others. It needs

    - new subjects who come from where those calibrated on came from, followed from 0 on;
    - censoring that is independent of the event given the covariates, and a right censoring
      survival G: with "cox" log-linear in the covariates, with "kaplan-meier" the same for all.

    With a known G it holds for any number of subjects; with an estimated one nearly so.

    Parameters
    ----------
    est
        A fitted `SurvTRACE`, or what has its ``causes_``, ``predict_survival_function`` and
        ``predict_cumulative_incidence``.
    level
        The share of subjects that outlive their bound.
    cause
        None bounds the time of the first event of any cause. With the label of a cause, the bound
        is a time by which the cause has struck in a share of at most ``1 - level``; who is struck
        by another cause before never has it.
    censoring
        How the censoring survival depends on covariates: "cox", by a ridge regression learned
        from the calibration rows, in which its strength is searched; or "kaplan-meier", not.

    Attributes
    ----------
    incidence_ : float
        The predicted incidence at which bounds are placed, a little earlier where many are
        censored; 0 where nothing can be promised, infinite if no event contradicts any bound.
    largest_weight_ : float
        A bound never lies where fewer than one of so many subjects is still uncensored.
    times_ : array
        Times at which incidences are predicted, interpolated between; no bound exceeds the last.

    Notes
    -----
    Split conformal prediction with IPCW weights, for right-censored data as in Farina, Tchetgen
    Tchetgen and Kuchibhotla (2025, arXiv:2501.04615); Candes, Lei and Ren (JRSS B 2023) and Gui
    et al. (Biometrika 2024) need the censoring times of everybody, also of those with an event.
    (Other ways for right-censored data: Davidov et al., ICLR 2025; Sesia and Svetnik, 2024,
    arXiv:2412.09729.) A subject whose event at t is seen before its bound is a miss of weight
    1 / G(t-). A new subject's bound is as late as these weights and its own leave it:
    ``misses + 1 / G(bound-) <= (1 - level) (n + 1)``. That is conformal risk control
    (Angelopoulos et al., ICLR 2024) of a loss whose expectation is the chance of a miss.

    Where a weight would exceed `largest_weight_`, bounds are cut off. They are then safer than
    promised; so that others do not pay for it, the misses must also be few enough among those
    whose bound is not cut off.

    Examples
    --------
    >>> from survtrace import SurvTRACE
    >>> from survtrace.datasets import make_cohort
    >>> X, y = make_cohort(900, proportions=(0.4, 0.2), continuous=True, random_state=0)
    >>> est = SurvTRACE(n_members=1, max_epochs=3, random_state=0, verbose=False)
    >>> est = est.fit(X[:400], y[:400])
    >>> bound = SurvivalLowerBound(est, level=0.9).fit(X[400:800], y[400:800])
    >>> months = bound.predict(X[800:])  # nine of ten are event-free until then
    >>> months.shape, bool((months > 0).all())
    ((100,), True)
    """

    def __init__(
        self,
        est: Any,
        level: float = 0.9,
        *,
        cause: Any = None,
        censoring: Censoring = "cox",
    ) -> None:
        self.est, self.level, self.cause, self.censoring = est, level, cause, censoring

    def fit(self, X: Any, y: Any) -> Self:
        """Calibrate on subjects that the estimator has not learned from.

        Rows that it seems to have learned from are refused, and so are rows with late entry.
        """
        allowed = round(1 - checked_level(self.level), 12)  # 0.1, not 0.09999999999999998
        check_value("censoring", self.censoring, one_of(*get_args(Censoring)))
        table, outcome = self._read(X, y)
        self.times_ = self._times(outcome.duration)
        self.encoding_ = getattr(self.est, "encoding_", None) or learn_encoding(
            table, infer_covariates(table)
        )
        self.misses_ = self._count_misses(table, outcome, allowed)
        self.incidence_ = float(self.misses_.allowed_incidence(1.0))
        if self.largest_weight_ < 1 or self.incidence_ == 0:
            self.incidence_ = 0.0
            warn(
                f"nothing can be promised at a level of {self.level:g} from {len(outcome)} "
                f"subjects, and all bounds are 0: {int(np.ceil(PARTS_OF_BUDGET / allowed)) - 1} or "
                "more are needed, and few events where none is predicted yet. Calibrate on more "
                "subjects, or ask for a lower level.",
                DataWarning,
            )
        return self

    def predict(self, X: Any) -> Floats:
        """Compute the bound of each subject, shape (subject,), in the unit of the durations."""
        if not hasattr(self, "incidence_"):
            raise SettingError(
                "a lower bound must be calibrated before it predicts; fit was not called. Call "
                "fit(X, y) with subjects that the estimator has not learned from."
            )
        table = open_table(X)
        firsts = range(0, max(len(table), 1), CHUNK_ROWS)
        return np.concatenate([self._bounds(table[first : first + CHUNK_ROWS]) for first in firsts])

    def _bounds(self, table: Any) -> Floats:
        weight = self.censoring_.weights(self._design(table), self.times_)
        allowed = self.misses_.allowed_incidence(weight)
        allowed[weight > self.largest_weight_] = 0.0
        return crossing_time(self.times_, self.predicted_incidence(table), allowed)

    def _count_misses(self, table: Any, outcome: Outcome, allowed: float) -> Misses:
        n, design = len(outcome), self._design(table)
        self.largest_weight_ = min(LARGEST_WEIGHT, allowed * (n + 1) / PARTS_OF_BUDGET)
        self.censoring_ = CensoringRegression(design, outcome, self.censoring == "cox")
        survival, last = cross_fit(self.censoring_, design, outcome, self.largest_weight_)
        last = np.minimum(last, self.times_[-1])
        seen = self._struck(outcome) & (outcome.duration < last)
        weight = np.divide(1.0, survival, out=np.zeros(n), where=seen)
        incidence = self.predicted_incidence(table)
        at_end = value_at(self.times_, incidence, outcome.duration)
        return Misses(at_end, value_at(self.times_, incidence, last), weight, allowed)

    def _read(self, X: Any, y: Any) -> tuple[Any, Outcome]:
        X, outcome = read_scored(self.est, X, y)
        if outcome.is_start_stop:
            raise DataError(
                "a lower bound is calibrated on subjects with one row each, followed from 0 on; y "
                f"has {len(outcome)} start-stop rows of {outcome.n_subjects} subjects. Pass one "
                "row of each: what was known at 0, with the duration and event of its last row."
            )
        table, outcome = open_table(X), read_subjects(outcome, "a lower bound")
        require_same_subjects(len(table), outcome)
        if outcome.entry is not None:
            raise DataError(
                "a lower bound is calibrated on subjects followed from 0 on; "
                f"{(outcome.entry > 0).sum()} of {len(outcome)} enter late, and who had an event "
                "before is missing among them. Pass those who entered at 0."
            )
        if hasattr(self.est, "card_") and looks_learned(self.est, outcome):
            raise DataError(
                "a lower bound must be calibrated on subjects that the estimator has not learned "
                "from; the durations given are those it remembers, more than chance allows. Pass "
                "other subjects, for example rows that were held out."
            )
        followed = np.flatnonzero(informative(outcome))
        return table[followed.tolist(), :], outcome.take(followed)

    def _times(self, duration: Floats) -> Floats:
        """Choose times at which incidences are predicted; between them they are interpolated."""
        end = duration.max()
        if hasattr(self.est, "time_grid_"):  # after it nothing was learned
            end = min(end, float(self.est.time_grid_[-1]))
        inside = np.quantile(duration, np.linspace(0, 1, N_TIMES + 1))
        return np.unique(np.concatenate([[0.0], inside[inside < end], [end]]))

    def _struck(self, outcome: Outcome) -> NDArray[np.bool_]:
        if self.cause is None:
            return np.asarray(outcome.event > 0)
        return np.asarray(outcome.event == outcome.cause_number(self.cause))

    def _design(self, table: Any) -> sparse.csr_matrix:
        with keep_warnings():  # the estimator warns of the same when it predicts
            encoded = self.encoding_.encode(table)
        return encoded.design(int(self.encoding_.first_rows[-1]))

    def predicted_incidence(self, X: Any) -> Floats:
        """Predict the incidence at `times_` by the estimator, shape (subject, time)."""
        X = open_table(X).to_native()
        if self.cause is None:
            return np.asarray(1 - self.est.predict_survival_function(X, self.times_))
        return np.asarray(self.est.predict_cumulative_incidence(X, self.times_, self.cause))
