"""A validation becomes one page of HTML, or a folder with the page, its tables and checklist."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from numpy.typing import ArrayLike

from survtrace.estimator import SurvTRACE
from survtrace.naming import card_words
from survtrace.persistence import load
from survtrace.report.card import card_facts, card_markdown
from survtrace.report.checklist import as_markdown
from survtrace.report.drawing import Image
from survtrace.report.formatting import NONE, environment, interval, span
from survtrace.report.progress import progress_of_steps
from survtrace.report.tripod import SOURCE
from survtrace.report.validated import ValidationSummary, collect_validation, verdicts
from survtrace.report.validation_figures import draw_validation
from survtrace.tables.files.chunks import written_whole

TITLE = "Validation of a SurvTRACE model"
FRAMES = ("counts", "scores", "calibration", "decisions", "groups", "differences", "spread")
PAGE, CHECKLIST, CARD = "report.html", "checklist.md", "card.md"
MOST_THRESHOLDS = 8  # rows of a table of decisions
TESTED = ("O/E", "slope", "AUC")  # of groups, written above them
SUMMARISED = ("O/E", "slope", "AUC", "C")  # over centres
IN_GROUPS = {
    "observed": "observed",
    "expected": "expected",
    "ratio": "O/E",
    "slope": "slope",
    "auc": "AUC",
    "brier": "Brier",
}


def write_validation(
    est_or_path: SurvTRACE | str | Path,
    X: Any,
    y: Any,
    path: str | Path,
    *,
    title: str | None = None,
    horizons: ArrayLike | None = None,
    by: str | Sequence[str] | Mapping[str, ArrayLike] | None = None,
    centre: str | ArrayLike | None = None,
    thresholds: ArrayLike | None = None,
    landmark: float | None = None,
    about: Mapping[str, str] | None = None,
    verbose: bool | str = "auto",
) -> ValidationSummary:
    """Validate an estimator and write what reviewers ask to see.

    Calibration with a band, all scores with intervals, decision curves, groups and centres, the
    model card, and a TRIPOD+AI checklist filled from what is known.

    Parameters
    ----------
    est_or_path
        A fitted estimator, or the folder that `SurvTRACE.save` wrote.
    X, y
        Covariates and outcome of subjects it has not learned from.
    path
        A page, if it ends in .html; else a folder for the page (report.html), the tables (CSV), the
        figures (SVG), the checklist and the model card (Markdown). Files that are there are
        replaced, others left alone.
    title
        Of the page.
    horizons, by, centre, thresholds, landmark
        As in `survtrace.evaluation.validate`.
    about
        What no table holds of these subjects, such as ``{"dates": "2016 to 2019"}``, by the topics
        of the setting ``about``; it answers items of the checklist.
    verbose
        Show on standard error what is being done: True, False, or "auto" (on a terminal).

    Returns
    -------
    ValidationSummary
        What was found; ``.validation`` has the frames.

    Examples
    --------
    >>> import tempfile
    >>> from survtrace.datasets import make_cohort
    >>> X, y = make_cohort(600, proportions=(0.4, 0.2), random_state=0)
    >>> est = SurvTRACE(n_members=1, max_epochs=1, random_state=0, verbose=False)
    >>> est = est.fit(X[:300], y[:300])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = write_validation(est, X[300:], y[300:], folder, horizons=[36.0])
    ...     sorted(file.name for file in Path(folder).glob("*.md"))
    ['card.md', 'checklist.md']
    """
    est = est_or_path if isinstance(est_or_path, SurvTRACE) else load(est_or_path)
    asked: dict[str, Any] = {"horizons": horizons, "by": by, "centre": centre, "about": about}
    asked |= {"thresholds": thresholds, "landmark": landmark}
    with progress_of_steps(verbose) as tell:
        summary = collect_validation(est, X, y, **asked, tell=tell)
        tell("drawing")
        images = draw_validation(summary.validation, summary.names, summary.drawn_horizons)
        card = card_facts(est)
        page = render_validation(summary, images, card, title=title)
        if Path(path).suffix == ".html":
            _write(Path(path), page)
        else:
            _write_folder(Path(path), summary, images, card, page)
    return summary


def render_validation(
    summary: ValidationSummary,
    images: Mapping[str, list[Image]],
    card: Mapping[str, str],
    *,
    title: str | None = None,
) -> str:
    """Render the page of a validation."""
    template = environment(summary.names).get_template("validation.html")
    validation = summary.validation
    return template.render(
        title=title or TITLE,
        summary=summary,
        images=images,
        card=card,
        card_words=card_words(summary.names),
        source=SOURCE,
        glance=_glance(summary),
        words=list(_words(summary)),
        score_tables=list(_score_tables(summary)),
        notes=list(dict.fromkeys(filter(None, validation.scores["note"]))),
        decision_tables=list(_decision_tables(summary)),
        group_tables=list(_group_tables(summary, of_centres=False)),
        centre_tables=list(_group_tables(summary, of_centres=True)),
        spread=list(validation.spread[validation.spread["score"].isin(SUMMARISED)].itertuples()),
    )


def _write(path: Path, text: str) -> None:
    with written_whole(path) as part:
        part.write_text(text, encoding="utf-8")


def _write_folder(
    folder: Path,
    summary: ValidationSummary,
    images: Mapping[str, list[Image]],
    card: Mapping[str, str],
    page: str,
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in FRAMES:
        frame = getattr(summary.validation, name)
        if len(frame):
            _write(folder / f"{name}.csv", frame.to_csv(index=False))
    for name, drawn in images.items():
        for number, image in enumerate(drawn, start=1):
            content = base64.b64decode(image.uri.partition(",")[2]).decode()
            _write(folder / f"{name}-{number}.svg", content)
    _write(folder / CHECKLIST, as_markdown(summary.checklist, "TRIPOD+AI checklist"))
    _write(folder / CARD, card_markdown(card))
    _write(folder / PAGE, page)


def _each(summary: ValidationSummary, horizons: Sequence[float]) -> Iterator[tuple[Any, float]]:
    for cause in summary.validation.causes:
        for horizon in horizons:
            yield cause, horizon


def _cells(scores: pd.DataFrame) -> dict[str, Any]:
    """Scores of one cause, horizon and set of subjects: values, or triples with their interval."""
    rows = scores.set_index("score")
    found = {
        key: tuple(rows.loc[name, ["value", "low", "high"]].astype(float))
        for key, name in IN_GROUPS.items()
    }
    return {**found, "observed": found["observed"][0], "expected": found["expected"][0]}


def _pick(table: pd.DataFrame, cause: Any, horizon: float) -> pd.DataFrame:
    return table[(table["cause"] == cause) & (table["horizon"] == horizon)]


def _glance(summary: ValidationSummary) -> list[dict[str, Any]]:
    """For each cause a row for each horizon: the most important numbers."""
    validation, groups = summary.validation, []
    for cause in validation.causes:
        rows = [
            {
                "horizon": horizon,
                "events": int(_pick(validation.counts, cause, horizon)["events"].iloc[0]),
                **_cells(_pick(validation.scores, cause, horizon)),
            }
            for horizon in validation.horizons
        ]
        groups.append({"cause": cause, "rows": rows})
    return groups


def _words(summary: ValidationSummary) -> Iterator[dict[str, Any]]:
    for cause, horizon in _each(summary, summary.drawn_horizons):
        sentences = verdicts(summary, cause, horizon)
        yield {"cause": cause, "horizon": horizon, "sentences": sentences}


def _score_tables(summary: ValidationSummary) -> Iterator[dict[str, Any]]:
    """For each cause a row for each score, a cell for each horizon; of one horizon, causes."""
    table, names = summary.validation.scores, summary.names
    by = [f"by {span(names, horizon)}" for horizon in summary.validation.horizons]
    causes = summary.validation.causes
    if len(by) == 1:
        headings = [names.cause(cause) for cause in causes]
        yield {"title": by[0].capitalize(), "headings": headings, "rows": _score_rows(table)}
        return
    for cause in causes:
        title, rows = names.cause(cause).capitalize(), _score_rows(table[table["cause"] == cause])
        yield {"title": title, "headings": by, "rows": rows}


def _score_rows(scores: pd.DataFrame) -> list[dict[str, Any]]:
    return [
        {"score": score, "cells": [_cell(row) for row in found.itertuples()]}
        for score, found in scores.groupby("score", sort=False)
    ]


def _cell(row: Any) -> str:
    if pd.isna(row.value):
        return NONE
    if pd.isna(row.low):
        return f"{row.value:.3f}" if row.value >= 0.001 else "below 0.001"
    return interval((row.value, row.low, row.high))


def _decision_tables(summary: ValidationSummary) -> Iterator[dict[str, Any]]:
    """For each cause and horizon some thresholds, evenly chosen."""
    for cause, horizon in _each(summary, summary.drawn_horizons):
        here = _pick(summary.validation.decisions, cause, horizon)
        if here.empty:
            continue
        ours, everybody = (here[here["strategy"] == name] for name in ("model", "treat all"))
        pairs = list(zip(ours.itertuples(), everybody["value"], strict=True))
        step = -(-len(pairs) // MOST_THRESHOLDS)
        rows = [
            {
                "threshold": row.threshold,
                "treated": row.share_treated,
                "ours": (row.value, row.low, row.high),
                "everybody": of_all,
            }
            for row, of_all in pairs[step - 1 :: step]
        ]
        yield {"cause": cause, "horizon": horizon, "rows": rows}


def _group_tables(summary: ValidationSummary, *, of_centres: bool) -> Iterator[dict[str, Any]]:
    """For each cause and horizon the groups of each column, with tests of their difference."""
    validation = summary.validation
    table = validation.groups[(validation.groups["column"] == validation.centre) == of_centres]
    kind = "centre" if of_centres else "group"
    for number, (cause, horizon) in enumerate(_each(summary, summary.drawn_horizons)):
        columns = [
            {
                "name": column,
                "p": _tests(_pick(validation.differences, cause, horizon), column),
                "rows": [_group(group, each) for group, each in found.groupby("group", sort=False)],
            }
            for column, found in _pick(table, cause, horizon).groupby("column", sort=False)
        ]
        if columns:
            key = f"{kind}-{number}"
            yield {"cause": cause, "horizon": horizon, "columns": columns, "key": key}


def _group(name: Any, scores: pd.DataFrame) -> dict[str, Any]:
    first = scores.iloc[0]
    note = first["note"] if scores["value"].isna().all() else ""
    sizes = {"n": int(first["n"]), "events": int(first["events"])}
    return {"group": name, "note": note, **sizes, **_cells(scores)}


def _tests(differences: pd.DataFrame, column: Any) -> str:
    found = differences[differences["column"] == column].set_index("score")["p_value"]
    texts = [
        f"{score} {'below 0.001' if found[score] < 0.001 else f'{found[score]:.3f}'}"
        for score in TESTED
        if score in found and found[score] == found[score]
    ]
    return ", ".join(texts)
