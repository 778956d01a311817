"""A summary becomes one page of HTML that needs nothing but itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from survtrace.errors import LearnedRowsWarning, warn
from survtrace.estimator import SurvTRACE
from survtrace.naming import card_events, card_words, follow_up_words
from survtrace.persistence import load
from survtrace.report.baselines import AALEN_JOHANSEN
from survtrace.report.collected import Summary, collect
from survtrace.report.figures import MOST_COVARIATES, draw
from survtrace.report.formatting import NONE, environment, interval
from survtrace.report.progress import progress_of_steps
from survtrace.report.scores import OURS, Scores
from survtrace.report.validation_tables import decision_tables, glance, group_tables
from survtrace.rules import read_path
from survtrace.tables.files.chunks import written_whole

TITLE = "Report on a SurvTRACE model"
DIGITS = {"C": 3, "AUC": 3, "Brier": 4, "IBS": 4}


def write_report(
    est_or_path: SurvTRACE | str | Path,
    X: Any,
    y: Any,
    path: str | Path,
    *,
    title: str | None = None,
    train: tuple[Any, Any] | None = None,
    by: str | Sequence[str] | None = None,
    n_repeats: int = 5,
    random_state: int = 0,
    verbose: bool | str = "auto",
) -> Path:
    """Write one HTML file on how an estimator does on subjects it has not seen.

    Data, scores beside Aalen-Johansen, Cox and a forest, calibration, decision curves, groups,
    importance, three example patients, training history, settings and a model card; it opens
    offline and prints.

    Parameters
    ----------
    est_or_path
        A fitted estimator, or the folder that `SurvTRACE.save` wrote.
    X, y
        Covariates and outcome of subjects it has not learned from.
    path
        The file; it appears when it is whole, in place of an earlier one.
    title
        Of the page.
    train
        ``(X, y)`` of the training rows: the baselines are fitted on them. Without them they are
        cross-fitted on the scored subjects, and the page states it.
    by
        Columns of X to score groups by; by default age, and categories of few levels.
    n_repeats
        Shuffles of each covariate, for its importance.
    random_state
        Seed of folds, resamples and shuffles.
    verbose
        Show on standard error what is being done: True, False, or "auto" (on a terminal).

    Returns
    -------
    Path
        Of the file.

    Examples
    --------
    >>> import tempfile
    >>> from survtrace.datasets import make_cohort
    >>> X, y = make_cohort(400, random_state=0)
    >>> est = SurvTRACE(n_members=2, max_epochs=1, random_state=0, verbose=False)
    >>> est = est.fit(X[:300], y[:300])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_report(est, X[300:], y[300:], f"{folder}/report.html", n_repeats=1)
    ...     path.read_text(encoding="utf-8")[:15]
    '<!doctype html>'
    """
    est = est_or_path if isinstance(est_or_path, SurvTRACE) else load(est_or_path)
    file = read_path("path", path)
    draws: dict[str, Any] = {"by": by, "n_repeats": n_repeats, "random_state": random_state}
    with progress_of_steps(verbose) as tell, written_whole(file) as part:
        summary = collect(est, X, y, train=train, tell=tell, **draws)
        tell("drawing")
        part.write_text(render(summary, title=title), encoding="utf-8")
    for alert in summary.alerts:  # whoever does not open the page must not miss it
        warn(alert, LearnedRowsWarning)
    return file


def render(summary: Summary, *, title: str | None = None) -> str:
    """Render the page of a summary."""
    template = environment(summary.names).get_template("page.html")
    horizons = (summary.scores.horizon,)
    return template.render(
        title=title or TITLE,
        summary=summary,
        images=draw(summary),
        glance=_glance(summary),
        score_tables=list(_score_tables(summary.scores)),
        differences=_differences(summary.scores),
        landmarks=_landmarks(summary.scores),
        saved=AALEN_JOHANSEN in summary.scores.methods,
        calibration=list(_calibration(summary)),
        calibration_scores=glance(summary.validation),
        decision_tables=list(decision_tables(summary.validation, horizons)),
        group_tables=list(group_tables(summary.validation, horizons)),
        importance=_importance(summary),
        most_covariates=MOST_COVARIATES,
        card=summary.names.card,
        card_words=card_words(summary.names),
        card_events=card_events(summary.names),
        card_follow_up=follow_up_words(
            summary.names.card.get("follow_up"), summary.names.time_unit
        ),
    )


def _ends(table: pd.DataFrame, names: tuple[str, str, str] = ("value", "low", "high")) -> Any:
    """Return the value and interval of the only row of a table; NaN if there is none."""
    if table.empty:
        return (np.nan, np.nan, np.nan)
    return tuple(table.iloc[0][list(names)].astype(float))


def _pick(table: pd.DataFrame, **wanted: Any) -> pd.DataFrame:
    """Return the rows of a table with these values."""
    keep = np.ones(len(table), dtype=bool)
    for name, value in wanted.items():
        keep &= (table[name] == value).to_numpy()
    return table[keep]


def _glance(summary: Summary) -> list[dict[str, Any]]:
    """Return a row for each cause: the most important numbers, and how it compares."""
    scores, rows = summary.scores, []
    for place in summary.cohort.events.itertuples():
        there = _pick(scores.table, method=OURS, cause=place.cause, horizon=scores.horizon)
        rows.append(
            {
                "cause": place.cause,
                "events": scores.n_events[place.cause],
                "concordance": _ends(_pick(there, score="C")),
                "predicted": _ends(_pick(there, score="predicted"))[0],
                "observed": _ends(_pick(there, score="observed"))[0],
                "verdicts": [
                    _verdict(scores, place.cause, baseline)
                    for baseline in scores.methods
                    if baseline != OURS
                ],
            }
        )
    return rows


def _verdict(scores: Scores, cause: Any, baseline: str) -> str:
    names = ("difference", "low", "high")
    gap = _ends(_pick(scores.differences, cause=cause, baseline=baseline, score="IBS"), names)
    if not np.isfinite(gap[0]):
        return NONE
    if gap[1] <= 0 <= gap[2]:
        return "unclear"
    return "better" if gap[0] < 0 else "worse"


def _score_tables(scores: Scores) -> Iterator[dict[str, Any]]:
    """For each cause and kind of score the values of all methods side by side."""
    for cause in dict.fromkeys(scores.table["cause"]):
        kinds = []
        for kind, digits in DIGITS.items():
            of_kind, rows = _pick(scores.table, cause=cause, score=kind), []
            for horizon in [None] if kind == "IBS" else scores.horizons:
                there = of_kind if horizon is None else _pick(of_kind, horizon=horizon)
                ends = [_ends(_pick(there, method=method)) for method in scores.methods]
                cells = [interval(each, digits=digits) for each in ends]
                rows.append({"horizon": horizon, "cells": cells})
            kinds.append({"score": kind, "rows": rows})
        yield {"cause": cause, "kinds": kinds}


def _landmarks(scores: Scores) -> list[dict[str, Any]]:
    """For each cause a row for each landmark: who is at risk, and the scores from there on."""
    groups, table = [], scores.landmarks
    for cause in dict.fromkeys(table["cause"]) if len(table) else []:
        rows = []
        for landmark in dict.fromkeys(table["landmark"]):
            there = _pick(table, cause=cause, landmark=landmark)
            kinds = ("C", "Brier", "predicted", "observed")
            counts = {name: there[name].iloc[0] for name in ("at_risk", "events", "by")}
            ends = {kind: _ends(_pick(there, score=kind)) for kind in kinds}
            rows.append({"landmark": landmark, **counts, **ends})
        groups.append({"cause": cause, "rows": rows})
    return groups


def _differences(scores: Scores) -> list[dict[str, Any]]:
    """For each cause a row for each baseline: the differences of IBS and of C."""
    gaps, names = scores.differences, ("difference", "low", "high")
    groups = []
    for cause in dict.fromkeys(gaps["cause"]):
        rows = []
        for baseline in dict.fromkeys(gaps["baseline"]):
            pair = _pick(gaps, cause=cause, baseline=baseline)
            brier, order = (_ends(_pick(pair, score=kind), names) for kind in ("IBS", "C"))
            rows.append((baseline, interval(brier, 1000, 2), interval(order)))
        groups.append({"cause": cause, "rows": rows})
    return groups


def _calibration(summary: Summary) -> Iterator[dict[str, Any]]:
    """Compute mean predicted beside observed incidence, for each cause and horizon."""
    scores = summary.scores
    for cause in summary.fit.causes:
        rows = []
        for horizon in scores.horizons:
            there = _pick(scores.table, method=OURS, cause=cause, horizon=horizon)
            predicted = _ends(_pick(there, score="predicted"))[0]
            observed, low, high = _ends(_pick(there, score="observed"))
            cells = {"predicted": predicted, "observed": observed, "low": low, "high": high}
            rows.append({"horizon": horizon, **cells, "inside": low <= predicted <= high})
        yield {"cause": cause, "rows": rows}


def _importance(summary: Summary) -> list[dict[str, Any]]:
    """For each covariate its importance for every cause, the most important first."""
    table, rows = summary.importance.table, []
    order = table.groupby("covariate")["importance"].max().sort_values(ascending=False).index
    for name in order[:MOST_COVARIATES]:
        of_causes = [_pick(table, covariate=name, cause=cause) for cause in summary.fit.causes]
        ends = [_ends(each, ("importance", "low", "high")) for each in of_causes]
        rows.append({"covariate": name, "cells": [interval(each, 1000, 2) for each in ends]})
    return rows
