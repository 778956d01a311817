"""Scores of the estimator and the baselines on the same subjects, and their paired differences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from survtrace.errors import DataError, DataWarning, warn
from survtrace.estimator import SurvTRACE
from survtrace.evaluation.score_table import (
    Row,
    default_horizons,
    score_landmarks,
    score_rows,
    score_table,
)
from survtrace.metrics import CensoringSurvival, brier_score, calibration_curve, compare
from survtrace.report.at_landmark import FEWEST_EVENTS, choose_landmarks, look
from survtrace.report.baselines import AALEN_JOHANSEN, Baselines, predict_baselines
from survtrace.report.overlap import Subjects
from survtrace.report.progress import Tell, say_nothing
from survtrace.tables.landmarks import after_landmark
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
    landmark
        The landmark at which subjects are scored, from which ``horizons`` and times count; None
        where they are scored from the start.
    landmarks
        Scores of SurvTRACE at some landmarks, as from `evaluate`; empty where everybody was
        observed from 0 on in one row.
    own_weights
        Whether weights come from the scored subjects themselves, else from the training rows: at a
        landmark, and where only one of the two entered late.
    n_scored, n_events
        How many subjects are scored (at a landmark: those under observation), and the events of
        each cause among them.
    fitted, notes, left_out
        On which rows the baselines were fitted, with what settings, and which are missing and
        why.
    """

    horizons: Floats
    table: pd.DataFrame
    differences: pd.DataFrame
    brier: pd.DataFrame
    calibration: pd.DataFrame
    landmark: float | None
    landmarks: pd.DataFrame
    own_weights: bool
    n_scored: int
    n_events: dict[Any, int]
    fitted: str
    notes: tuple[str, ...]
    left_out: tuple[str, ...]

    @property
    def horizon(self) -> float:
        """The middle one of the horizons."""
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
    Start-stop rows are scored at a landmark. So are late entries where nobody was observed from 0
    on, as with age as the clock: a prediction from the first entry on is asked of hardly anybody.
    And so they are where scores from the start are refused: too few were under observation early.
    """
    parts = (est, X, outcome, train, random_state, tell, with_baselines)
    landmarks = [] if outcome.entry is None else choose_landmarks(outcome)
    late_start = bool(landmarks) and est.time_grid_[0] > 0
    if not (outcome.is_start_stop or late_start):
        try:
            return _score(*parts, None, landmarks)
        except DataError as error:
            if not landmarks:
                raise
            reason, _, _ = str(error).partition(". ")  # the way out is what is done here
            warn(f"subjects are scored at a landmark: {reason}.", DataWarning)
    if not landmarks:
        raise DataError(
            f"a report on start-stop rows needs {FEWEST_EVENTS} events or more among those under "
            f"observation at some time; {(outcome.event > 0).sum()} events in all are too few. "
            "Score more subjects."
        )
    return _score(*parts, landmarks[len(landmarks) // 2], landmarks)


def _score(
    est: SurvTRACE,
    X: pd.DataFrame,
    outcome: Outcome,
    train: Subjects | None,
    random_state: int,
    tell: Tell,
    with_baselines: bool,
    landmark: float | None,
    landmarks: list[float],
) -> Scores:
    tell(f"scoring {OURS}")
    view = look(est, X, outcome, landmark)
    horizons, grid = default_horizons(view.outcome), view.grid
    times = np.union1d(horizons, grid)
    when = (times, est.causes_, horizons, grid, view.weights)
    incidences = {OURS: view.est.predict_cumulative_incidence(view.X, times)}
    rows = {OURS: score_rows(view.outcome, incidences[OURS], *when, random_state=random_state)}
    baselines = NONE
    if with_baselines:
        baselines = predict_baselines(est, X, outcome, train, times, random_state, tell, landmark)
    for name, incidence in baselines.incidences.items():
        tell(f"scoring {name}")
        incidences[name] = incidence
        rows[name] = score_rows(view.outcome, incidence, *when, random_state=random_state)
    tables = {name: score_table(found).assign(method=name) for name, found in rows.items()}
    if AALEN_JOHANSEN in tables:
        tables[AALEN_JOHANSEN] = _without_order(tables[AALEN_JOHANSEN])
    middle = float(horizons[len(horizons) // 2])
    on_grid = {name: each[..., np.searchsorted(times, grid)] for name, each in incidences.items()}
    at_middle = incidences[OURS][..., np.searchsorted(times, middle)]
    return Scores(
        horizons,
        pd.concat(tables.values(), ignore_index=True),
        _differences(rows, middle),
        _brier_over_time(on_grid, view.outcome, grid, view.weights),
        _calibration(at_middle, view.outcome, middle),
        landmark,
        _at_landmarks(est, X, outcome, landmarks, random_state),
        isinstance(view.weights, Outcome),
        len(view.outcome),
        view.outcome.n_events,
        baselines.fitted,
        baselines.notes,
        baselines.left_out,
    )


def _at_landmarks(
    est: SurvTRACE, X: pd.DataFrame, outcome: Outcome, landmarks: list[float], random_state: int
) -> pd.DataFrame:
    """Score at each landmark by the middle one of its horizons; and count who is at risk there."""
    tables = []
    for landmark in landmarks:
        _, future = after_landmark(outcome, landmark)
        horizons = default_horizons(future)[[len(default_horizons(future)) // 2]]
        found = score_landmarks(
            est, X, outcome, [landmark], horizons, random_state=random_state, n_resamples=200
        )
        events = {c: int((future.event == k).sum()) for k, c in enumerate(future.causes, start=1)}
        tables.append(
            found.assign(at_risk=len(future), events=found["cause"].map(events), by=horizons[0])
        )
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()


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
    methods: dict[str, Floats],
    outcome: Outcome,
    grid: Floats,
    censoring: CensoringSurvival | Outcome,
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
