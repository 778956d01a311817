"""A validation becomes one page of HTML, or a folder with the page, its tables and checklist."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from survtrace.estimator import SurvTRACE
from survtrace.model_card import card_facts, card_markdown
from survtrace.naming import card_words
from survtrace.persistence import load
from survtrace.report.checklist import as_markdown
from survtrace.report.drawing import Image
from survtrace.report.formatting import environment
from survtrace.report.progress import progress_of_steps
from survtrace.report.tripod import SOURCE
from survtrace.report.validated import ValidationSummary, collect_validation, verdicts
from survtrace.report.validation_figures import draw_validation
from survtrace.report.validation_tables import (
    decision_tables,
    glance,
    group_tables,
    score_tables,
    spread_rows,
)
from survtrace.rules import read_path
from survtrace.tables.files.chunks import written_whole

TITLE = "Validation of a SurvTRACE model"
FRAMES = ("counts", "scores", "calibration", "decisions", "groups", "differences", "spread")
PAGE, CHECKLIST, CARD = "report.html", "checklist.md", "card.md"


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
    out = read_path("path", path)
    asked: dict[str, Any] = {"horizons": horizons, "by": by, "centre": centre, "about": about}
    asked |= {"thresholds": thresholds, "landmark": landmark}
    with progress_of_steps(verbose) as tell:
        summary = collect_validation(est, X, y, **asked, tell=tell)
        tell("drawing")
        images = draw_validation(summary.validation, summary.names, summary.drawn_horizons)
        card = card_facts(est)
        page = render_validation(summary, images, card, title=title)
        if out.suffix == ".html":
            _write(out, page)
        else:
            _write_folder(out, summary, images, card, page)
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
    validation, shown = summary.validation, summary.drawn_horizons
    return template.render(
        title=title or TITLE,
        summary=summary,
        images=images,
        card=card,
        card_words=card_words(summary.names),
        source=SOURCE,
        glance=glance(validation),
        words=list(_words(summary)),
        score_tables=list(score_tables(validation, summary.names)),
        notes=list(dict.fromkeys(filter(None, validation.scores["note"]))),
        decision_tables=list(decision_tables(validation, shown)),
        group_tables=list(group_tables(validation, shown)),
        centre_tables=list(group_tables(validation, shown, of_centres=True)),
        spread=spread_rows(validation),
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


def _words(summary: ValidationSummary) -> Iterator[dict[str, Any]]:
    for cause in summary.validation.causes:
        horizon = summary.middle_horizon
        sentences = verdicts(summary, cause, horizon)
        yield {"cause": cause, "horizon": horizon, "sentences": sentences}
