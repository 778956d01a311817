"""Scores of the estimator and its rivals on the same subjects, and their paired differences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from survtrace.estimator import SurvTRACE
from survtrace.evaluation import evaluate
from survtrace.metrics import (
    Score,
    brier_score,
    calibration_curve,
    compare,
    concordance_cause_specific,
    integrated_brier_score,
)
from survtrace.report.baselines import FLOOR, Foretold, Rivals, foretell
from survtrace.report.overlap import Subjects
from survtrace.report.progress import Tell, say_nothing
from survtrace.tables.outcome.outcome import Outcome

Floats = NDArray[np.float64]
OURS = "SurvTRACE"
NOBODY = Rivals(
    foretold={},
    fitted="Nothing is compared on rows that the model has learned from.",
    notes=(),
    left_out=(),
)
EVENTS_PER_GROUP, FEWEST_GROUPS, MOST_GROUPS = 15, 3, 10


@dataclass(frozen=True, eq=False)
class Scores:
    """How good the predictions are.

    Attributes
    ----------
    horizons
        The quartiles of the event times.
    table
        What `evaluate` says of each method: columns ``method``, ``cause``, ``score``, ``horizon``,
        ``value``, ``low`` and ``high``.
    differences
        SurvTRACE minus each rival on the same subjects: columns ``cause``, ``rival``, ``score``
        ("IBS", or "C" at the middle horizon), ``difference``, ``low`` and ``high``.
    brier
        Brier score over time: columns ``method``, ``cause``, ``time`` and ``value``.
    calibration
        Groups of similar predictions at the middle horizon: columns ``cause``, ``predicted``,
        ``observed``, ``low``, ``high`` (95 % interval of the observed incidence) and ``size``.
    fitted, notes, left_out
        On which rows the baselines were fitted, with what settings, and which are missing and
        why.
    """

    horizons: Floats
    table: pd.DataFrame
    differences: pd.DataFrame
    brier: pd.DataFrame
    calibration: pd.DataFrame
    fitted: str
    notes: tuple[str, ...]
    left_out: tuple[str, ...]

    @property
    def horizon(self) -> float:
        """The middle one."""
        return float(self.horizons[len(self.horizons) // 2])

    @property
    def methods(self) -> list[str]:
        """SurvTRACE, and the rivals that could be fitted."""
        return list(dict.fromkeys(self.table["method"]))


def score(
    est: SurvTRACE,
    X: pd.DataFrame,
    outcome: Outcome,
    train: Subjects | None,
    random_state: int,
    tell: Tell = say_nothing,
    *,
    with_baselines: bool = True,
) -> Scores:
    """Score SurvTRACE, Aalen-Johansen, Cox and a forest.

    On rows that SurvTRACE has learned from, it is scored alone: there it would always win.

    Examples
    --------
    >>> from survtrace.tables.outcome.outcome import read_outcome
    >>> from survtrace.datasets import make_cohort
    >>> X, y = make_cohort(400, proportions=(0.4, 0.2), random_state=0)
    >>> est = SurvTRACE(n_members=1, max_epochs=1, random_state=0, verbose=False)
    >>> est = est.fit(X[:300], y[:300])
    >>> score(est, X[300:], read_outcome(y[300:]), None, random_state=0).horizons.shape
    (3,)
    """
    tell("scoring SurvTRACE")
    own = evaluate(est, X, outcome, random_state=random_state)
    horizons = own["horizon"].dropna().unique().astype(np.float64)
    grid = est.score_times_[est.score_times_ <= est.censoring_.last_usable]
    times = np.union1d(horizons, grid)
    rivals = NOBODY
    if with_baselines:
        rivals = foretell(est, X, outcome, train, times, random_state, tell)
    ours = est.predict_cumulative_incidence(X, times)
    alike = (list(est.causes_), est.censoring_, est.score_times_, est.zero_duration)
    methods = {OURS: Foretold(times, ours, *alike), **rivals.foretold}
    tables = {OURS: own}
    for name, rival in rivals.foretold.items():
        tell(f"scoring {name}")
        evaluated: Any = rival
        found = evaluate(evaluated, X, outcome, horizons=horizons, random_state=random_state)
        tables[name] = _without_order(found) if name == FLOOR else found
    table = pd.concat([each.assign(method=name) for name, each in tables.items()])
    middle = float(horizons[len(horizons) // 2])
    return Scores(
        horizons,
        table.reset_index(drop=True),
        _differences(methods, outcome, middle, grid),
        _brier_over_time(methods, outcome, grid),
        _calibration(methods[OURS], outcome, middle),
        rivals.fitted,
        rivals.notes,
        rivals.left_out,
    )


def _without_order(table: pd.DataFrame) -> pd.DataFrame:
    """Whoever says the same of everybody ranks nobody: C and AUC are a half by definition.

    Cross-fitted, it says slightly different things of different folds, whose order means nothing.
    """
    ranking = table["score"].isin(["C", "AUC"])
    half = {name: table[name].mask(ranking, 0.5) for name in ("value", "low", "high")}
    return table.assign(**half)


def _differences(
    methods: dict[str, Foretold], outcome: Outcome, horizon: float, grid: Floats
) -> pd.DataFrame:
    rows = []
    ours = methods[OURS]
    for k, cause in enumerate(ours.causes_):
        known = {"cause": cause, "y_train": ours.censoring_}

        def brier(method: Foretold, k: int = k, known: dict[str, Any] = known) -> Score:
            incidence = method.predict_cumulative_incidence(None, grid)[:, k]
            return integrated_brier_score(outcome, incidence, grid, **known)

        def concordance(method: Foretold, k: int = k, known: dict[str, Any] = known) -> Score:
            incidence = method.predict_cumulative_incidence(None, [horizon])[:, k, 0]
            return concordance_cause_specific(outcome, incidence, horizon, **known)

        for name, rival in methods.items():
            if name == OURS:
                continue
            kinds = {"IBS": brier} if name == FLOOR else {"IBS": brier, "C": concordance}
            for kind, of in kinds.items():
                gap = compare(of(ours), of(rival))
                rows.append((cause, name, kind, gap.difference, gap.low, gap.high))
    columns = ["cause", "rival", "score", "difference", "low", "high"]
    return pd.DataFrame(rows, columns=columns)


def _brier_over_time(methods: dict[str, Foretold], outcome: Outcome, grid: Floats) -> pd.DataFrame:
    pieces = []
    for name, method in methods.items():
        incidence = method.predict_cumulative_incidence(None, grid)
        for k, cause in enumerate(method.causes_):
            known = {"cause": cause, "y_train": method.censoring_}
            value = brier_score(outcome, incidence[:, k], grid, **known)
            pieces.append(
                pd.DataFrame({"method": name, "cause": cause, "time": grid, "value": value})
            )
    return pd.concat(pieces, ignore_index=True)


def _calibration(ours: Foretold, outcome: Outcome, horizon: float) -> pd.DataFrame:
    """Groups large enough for some events each."""
    incidence = ours.predict_cumulative_incidence(None, [horizon])[..., 0]
    pieces = []
    for k, cause in enumerate(ours.causes_):
        struck = ((outcome.event == k + 1) & (outcome.duration <= horizon)).sum()
        groups = int(np.clip(struck // EVENTS_PER_GROUP, FEWEST_GROUPS, MOST_GROUPS))
        curve = calibration_curve(outcome, incidence[:, k], horizon, cause=cause, groups=groups)
        pieces.append(pd.DataFrame({"cause": cause, **vars(curve)}))
    return pd.concat(pieces, ignore_index=True)
