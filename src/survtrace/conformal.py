"""Bound the time of a subject's event from below, so that a promised share outlives its bound."""

from __future__ import annotations

from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from survtrace.baselines.cox import PartialLikelihood, search_ridge
from survtrace.errors import DataError, DataWarning, SettingError, warn
from survtrace.evaluation.learned_rows import looks_learned
from survtrace.metrics.comparison import checked_level
from survtrace.metrics.inputs import read_subjects
from survtrace.tables.covariates.covariates import infer_covariates, open_table
from survtrace.tables.covariates.encoding import learn_encoding
from survtrace.tables.outcome.outcome import Outcome, require_same_subjects
from survtrace.tables.outcome.outcome_warnings import informative
from survtrace.tables.outcome.pairing import read_scored

Floats = NDArray[np.float64]
Censoring = Literal["cox", "kaplan-meier"]
N_FOLDS = 5
N_TIMES = 200
CHUNK_ROWS = 16_384
CENSORED_PER_COLUMN = 10  # fewer censored subjects than that cannot teach a coefficient
LARGEST_SCORE = 50.0  # of a subject far from those calibrated on, so that its hazard is a number
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
    Split conformal prediction with IPCW weights, as Farina, Tchetgen Tchetgen and Kuchibhotla
    (2025, arXiv:2501.04615) and Davidov et al. (ICLR 2025) use them for right-censored data, in
    place of the censoring times of everybody that Candes, Lei and Ren (JRSS B 2023) and Gui et
    al. (Biometrika 2024) need. A subject whose event at t is seen before its bound is a miss of
    weight 1 / G(t-). A new subject's bound is as late as these weights and its own leave it:
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
        if self.censoring not in get_args(Censoring):
            raise SettingError(
                f"censoring must be one of {get_args(Censoring)}; got {self.censoring!r}."
            )
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
                f"subjects, and all bounds are 0: {int(np.ceil(PARTS_OF_BUDGET / allowed))} or "
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
        n, design, depends = len(outcome), self._design(table), self.censoring == "cox"
        self.largest_weight_ = min(LARGEST_WEIGHT, allowed * (n + 1) / PARTS_OF_BUDGET)
        self.censoring_ = CensoringRegression(design, outcome, depends)
        survival, last = cross_fit(design, outcome, depends, self.largest_weight_)
        last = np.minimum(last, self.times_[-1])
        seen = self._struck(outcome) & (outcome.duration < last)
        weight = np.divide(1.0, survival, out=np.zeros(n), where=seen)
        incidence = self.predicted_incidence(table)
        at_end = value_at(self.times_, incidence, outcome.duration)
        return Misses(at_end, value_at(self.times_, incidence, last), weight, allowed)

    def _read(self, X: Any, y: Any) -> tuple[Any, Outcome]:
        X, outcome = read_scored(self.est, X, y)
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
        return self.encoding_.encode(table).design(int(self.encoding_.first_rows[-1]))

    def predicted_incidence(self, X: Any) -> Floats:
        """The incidence at `times_` that the estimator predicts, shape (subject, time)."""
        X = open_table(X).to_native()
        if self.cause is None:
            return np.asarray(1 - self.est.predict_survival_function(X, self.times_))
        return np.asarray(self.est.predict_cumulative_incidence(X, self.times_, self.cause))


class CensoringRegression:
    """The censoring survival of each subject: Cox's regression with the censored as events.

    Of an event and a censoring at the same time the event comes first. Without coefficients it is
    the Kaplan-Meier estimate.

    Examples
    --------
    >>> outcome = Outcome(np.array([1.0, 2, 2, 3]), np.array([0, 1, 0, 1]), (1,))
    >>> nothing = sparse.csr_matrix((4, 1))
    >>> CensoringRegression(nothing, outcome, False).before(nothing, outcome.duration).round(3)
    array([1.   , 0.75 , 0.75 , 0.375])
    """

    def __init__(self, design: sparse.csr_matrix, outcome: Outcome, depends: bool) -> None:
        censored = outcome.event == 0
        # An event just before the censorings of its time is no longer at risk of them.
        duration = np.where(censored, outcome.duration, np.nextafter(outcome.duration, 0))
        turned = Outcome(duration, censored.astype(np.int64), (1,))
        filled = np.asarray(abs(design).sum(axis=0)).ravel()
        n_columns = int(censored.sum()) // CENSORED_PER_COLUMN if depends else 0
        columns = np.argsort(-filled, kind="stable")[:n_columns]
        matrix = design[:, columns].toarray()
        likelihood = PartialLikelihood(matrix, turned)
        self.coefficients = np.zeros(design.shape[1])
        if n_columns:
            chosen = likelihood.maximise(search_ridge(matrix, turned))
            self.coefficients[columns] = chosen
        hazard = likelihood.baseline_hazard(self.coefficients[columns])
        jumps = np.minimum(np.diff(hazard, prepend=0.0), 1.0)
        self.times = likelihood.event_times
        # As Kaplan-Meier: where many leave at one time, exp(-hazard) would leave too many.
        with np.errstate(divide="ignore"):
            self.hazard = np.cumsum(-np.log1p(-jumps))

    def before(self, design: sparse.csr_matrix, t: Floats) -> Floats:
        """The chance of each subject to be uncensored just before its time, G(t-)."""
        return np.exp(-self._hazard_before(t) * self._relative(design))

    def weights(self, design: sparse.csr_matrix, times: Floats) -> Floats:
        """The IPCW weight 1 / G(t-) of each subject at common times, shape (subject, time)."""
        with np.errstate(over="ignore"):
            return np.exp(np.outer(self._relative(design), self._hazard_before(times)))

    def last_time(self, design: sparse.csr_matrix, largest_weight: float) -> Floats:
        """The last time until which 1 / G(t-) of each subject stays within a limit."""
        most = np.log(largest_weight) / self._relative(design)
        return np.append(self.times, np.inf)[np.searchsorted(self.hazard, most, side="right")]

    def _hazard_before(self, t: Floats) -> Floats:
        return np.append(0.0, self.hazard)[np.searchsorted(self.times, t, side="left")]

    def _relative(self, design: sparse.csr_matrix) -> Floats:
        score = np.asarray(design @ self.coefficients)
        return np.exp(np.clip(score, -LARGEST_SCORE, LARGEST_SCORE))


def cross_fit(
    design: sparse.csr_matrix, outcome: Outcome, depends: bool, largest_weight: float
) -> tuple[Floats, Floats]:
    """Estimate G(t-) and the last time of each subject from the others, in five parts."""
    survival, last = np.ones(len(outcome)), np.zeros(len(outcome))
    folds = np.arange(len(outcome)) % N_FOLDS
    for fold in range(N_FOLDS):
        inside, others = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
        if len(inside) and len(others):
            learned = CensoringRegression(design[others], outcome.take(others), depends)
            survival[inside] = learned.before(design[inside], outcome.duration[inside])
            last[inside] = learned.last_time(design[inside], largest_weight)
    return survival, last


class Misses:
    """How many subjects miss a bound that is placed at an incidence, and how many may.

    Parameters
    ----------
    at_end, at_last
        Predicted incidence of each subject at its duration, and at the last time it may be
        bounded by, where its bound is cut off.
    weight
        IPCW weight of subjects whose event is seen before that time; 0 for others.
    allowed
        The share of subjects that may miss their bound.

    Examples
    --------
    >>> at_end = np.arange(1, 101) / 100  # 100 events, predicted right
    >>> misses = Misses(at_end, np.ones(100), np.ones(100), allowed=0.2)
    >>> misses.allowed_incidence([1.0, 11.0])
    array([0.2, 0.1])
    """

    def __init__(self, at_end: Floats, at_last: Floats, weight: Floats, allowed: float) -> None:
        n, rows = len(at_end), np.flatnonzero(weight)
        rows = rows[np.argsort(at_end[rows], kind="stable")]
        self.incidence, self.missed = at_end[rows], np.cumsum(weight[rows])
        self.budget = allowed * (n + 1)
        # The same count among those whose bound at an incidence is not cut off.
        by_last = rows[np.argsort(at_last[rows], kind="stable")]
        cut_off = np.append(0.0, np.cumsum(weight[by_last]))
        cut_off = cut_off[np.searchsorted(at_last[by_last], self.incidence, side="right")]
        n_free = n - np.searchsorted(np.sort(at_last), self.incidence, side="right")
        too_many = self.missed - cut_off > allowed * (n_free + 1)
        self.ceiling = float(self.incidence[too_many].min(initial=np.inf))

    def allowed_incidence(self, weight: ArrayLike) -> Floats:
        """The largest incidence whose misses, and a new subject's weight, are within the budget."""
        n_within = np.searchsorted(self.missed, self.budget - np.asarray(weight), side="right")
        return np.minimum(np.append(self.incidence, np.inf)[n_within], self.ceiling)


def value_at(times: Floats, curves: Floats, t: Floats) -> Floats:
    """Interpolate each subject's curve at its own time, constant after the last one.

    Examples
    --------
    >>> value_at(np.array([0.0, 2.0]), np.array([[0.0, 0.5], [0.0, 0.8]]), np.array([1.0, 3.0]))
    array([0.25, 0.8 ])
    """
    after = np.clip(np.searchsorted(times, t, side="right"), 1, len(times) - 1)
    share = (np.minimum(t, times[-1]) - times[after - 1]) / (times[after] - times[after - 1])
    low, high = _beside(curves, after)
    return np.asarray(low + share * (high - low))


def crossing_time(times: Floats, curves: Floats, allowed: Floats) -> Floats:
    """Find when each subject's curve, interpolated, reaches what is allowed at the next time.

    The last of the times if it never does.

    Examples
    --------
    >>> curves = np.array([[0.0, 0.5], [0.0, 0.2]])
    >>> crossing_time(np.array([0.0, 2.0]), curves, np.full((2, 2), 0.25))
    array([1., 2.])
    """
    reached = curves >= allowed
    after = np.where(reached.any(axis=1), reached.argmax(axis=1), len(times))
    inside = np.clip(after, 1, len(times) - 1)
    low, high = _beside(curves, inside)
    most = allowed[np.arange(len(curves)), inside]
    share = np.divide(most - low, high - low, out=np.zeros_like(low), where=high > low)
    crossing = times[inside - 1] + np.clip(share, 0, 1) * np.diff(times)[inside - 1]
    return np.where(after == 0, 0.0, np.where(after == len(times), times[-1], crossing))


def _beside(curves: Floats, after: NDArray[np.int64]) -> tuple[Floats, Floats]:
    subject = np.arange(len(curves))
    return curves[subject, after - 1], curves[subject, after]
