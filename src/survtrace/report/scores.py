"""Scores of the estimator and the baselines on the same subjects, and their paired differences."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from survtrace.estimator import SurvTRACE
from survtrace.evaluation.score_table import Row, default_horizons, score_rows, score_table
from survtrace.metrics import CensoringSurvival, brier_score, calibration_curve, compare
from survtrace.report.baselines import AALEN_JOHANSEN, Baselines, predict_baselines
from survtrace.report.overlap import Subjects
from survtrace.report.progress import Tell, say_nothing
from survtrace.tables.outcome.outcome import Outcome

Floats = NDArray[np.float64]
OURS = "SurvTRACE"
NONE = Baselines(
    incidences={},
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
        As from `evaluate`, of each method: columns ``method``, ``cause``, ``score``, ``horizon``,
        ``value``, ``low`` and ``high``.
    differences
        SurvTRACE minus each baseline on the same subjects: columns ``cause``, ``baseline``,
        ``score`` ("IBS", or "C" at the middle horizon), ``difference``, ``low`` and ``high``.
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
        """SurvTRACE, and the baselines that could be fitted."""
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
    """
    tell(f"scoring {OURS}")
    horizons, grid = default_horizons(outcome), est.censoring_.usable(est.score_times_)
    times = np.union1d(horizons, grid)
    when = (times, est.causes_, horizons, grid, est.censoring_)
    incidences = {OURS: est.predict_cumulative_incidence(X, times)}
    rows = {OURS: score_rows(outcome, incidences[OURS], *when, random_state=random_state)}
    baselines = NONE
    if with_baselines:
        baselines = predict_baselines(est, X, outcome, train, times, random_state, tell)
    for name, incidence in baselines.incidences.items():
        tell(f"scoring {name}")
        incidences[name] = incidence
        rows[name] = score_rows(outcome, incidence, *when, random_state=random_state)
    tables = {name: score_table(found).assign(method=name) for name, found in rows.items()}
    if AALEN_JOHANSEN in tables:
        tables[AALEN_JOHANSEN] = _without_order(tables[AALEN_JOHANSEN])
    middle = float(horizons[len(horizons) // 2])
    on_grid = {name: each[..., np.searchsorted(times, grid)] for name, each in incidences.items()}
    return Scores(
        horizons,
        pd.concat(tables.values(), ignore_index=True),
        _differences(rows, middle),
        _brier_over_time(on_grid, outcome, grid, est.censoring_),
        _calibration(incidences[OURS][..., np.searchsorted(times, middle)], outcome, middle),
        baselines.fitted,
        baselines.notes,
        baselines.left_out,
    )


def _without_order(table: pd.DataFrame) -> pd.DataFrame:
    """Set C and AUC of a baseline without covariates to a half: it ranks nobody.

    Cross-fitted, its predictions differ a little between folds, whose order means nothing.
    """
    ranking = table["score"].isin(["C", "AUC"])
    half = {name: table[name].mask(ranking, 0.5) for name in ("value", "low", "high")}
    return table.assign(**half)


def _differences(rows: dict[str, list[Row]], horizon: float) -> pd.DataFrame:
    """Compare the integrated Brier score, and the concordance where a baseline ranks subjects."""
    scores = {name: {row[:3]: row.value for row in found} for name, found in rows.items()}
    ours, compared = scores.pop(OURS), []
    for cause in dict.fromkeys(row.cause for row in rows[OURS]):
        for name, theirs in scores.items():
            for kind, by in (("IBS", None), ("C", horizon)):
                if name == AALEN_JOHANSEN and kind == "C":
                    continue
                gap = compare(ours[cause, kind, by], theirs[cause, kind, by])
                compared.append((cause, name, kind, gap.difference, gap.low, gap.high))
    columns = ["cause", "baseline", "score", "difference", "low", "high"]
    return pd.DataFrame(compared, columns=columns)


def _brier_over_time(
    methods: dict[str, Floats], outcome: Outcome, grid: Floats, censoring: CensoringSurvival
) -> pd.DataFrame:
    pieces = []
    for name, incidence in methods.items():
        for k, cause in enumerate(outcome.causes):
            value = brier_score(outcome, incidence[:, k], grid, cause=cause, y_train=censoring)
            columns = {"method": name, "cause": cause, "time": grid, "value": value}
            pieces.append(pd.DataFrame(columns))
    return pd.concat(pieces, ignore_index=True)


def _calibration(incidence: Floats, outcome: Outcome, horizon: float) -> pd.DataFrame:
    """Compare predicted and observed incidence in groups large enough for some events each."""
    pieces = []
    for k, cause in enumerate(outcome.causes):
        struck = ((outcome.event == k + 1) & (outcome.duration <= horizon)).sum()
        groups = int(np.clip(struck // EVENTS_PER_GROUP, FEWEST_GROUPS, MOST_GROUPS))
        curve = calibration_curve(outcome, incidence[:, k], horizon, cause=cause, groups=groups)
        pieces.append(pd.DataFrame({"cause": cause, **vars(curve)}))
    return pd.concat(pieces, ignore_index=True)
