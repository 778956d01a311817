"""The figures of a summary, each an image that travels inside the page."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure

from survtrace.plots import (
    COLOURS,
    plot_calibration,
    plot_differences,
    plot_history,
    plot_importance,
    plot_incidence,
    plot_scores_over_time,
    plot_stacked,
)
from survtrace.report.patients import Patient
from survtrace.report.rivals import FLOOR
from survtrace.report.scoring import Scores
from survtrace.report.summary import Summary

NARROW, SMALL = (3.3, 5.4), (4.6, 3.4)  # inches: a third and half of the page wide
MOST_COVARIATES = 20
LONGEST, MOST_LETTERS = 26, 40  # of a name along an axis; of names side by side
STYLE: dict[Any, Any] = {
    "text.parse_math": False,  # a dollar in a name begins no formula
    "svg.hashsalt": "survtrace",
    "svg.fonttype": "path",
    "font.size": 9,
    "axes.titlesize": 10,
    "legend.fontsize": 8,
}


@dataclass(frozen=True)
class Image:
    """A drawing as a data URI, what it shows in words, and its caption."""

    uri: str
    alt: str
    caption: str = ""


def cause_name(cause: Any) -> str:
    r"""A cause as it is read: its text, or "cause" and its number.

    Examples
    --------
    >>> cause_name("relapse"), cause_name(2)
    ('relapse', 'cause\xa02')
    """
    return cause if isinstance(cause, str) else f"cause\N{NO-BREAK SPACE}{cause}"


def draw(summary: Summary) -> dict[str, list[Image]]:
    """The images of each section."""
    with rc_context(STYLE):
        return {
            "observed": [_observed(summary)],
            "history": [_history(summary)],
            "differences": [_differences(summary.scores)]
            if len(summary.scores.differences)
            else [],
            "scores": list(_scores(summary.scores)),
            "calibration": list(_calibration(summary.scores)),
            "importance": list(_importance(summary)),
            "patients": [_patient(each, summary.fit.causes) for each in summary.patients.each],
        }


def _observed(summary: Summary) -> Image:
    cohort, causes = summary.cohort, summary.fit.causes
    figure, ax = _canvas(SMALL)
    plot_stacked(cohort.times, cohort.incidence, _labels(causes), ax=ax)
    _legend_below(figure, ax)
    ends = _list(
        f"{cause_name(c)} {v:.1%}" for c, v in zip(causes, cohort.incidence[:, -1], strict=True)
    )
    return Image(
        _uri(figure),
        f"Observed incidence of each cause, stacked, over time. At the end of follow-up: {ends}.",
        "What happened to the scored subjects: Aalen-Johansen incidence of each cause, stacked up; "
        "above, those still event-free.",
    )


def _history(summary: Summary) -> Image:
    fit = summary.fit
    figure, ax = _canvas(SMALL)
    plot_history(fit.history, ax=ax)
    return Image(
        _uri(figure),
        f"Training and validation loss of {len(fit.members)} members over "
        f"{fit.members['epochs'].max()} epochs; best validation losses between "
        f"{fit.members['loss'].min():.4f} and {fit.members['loss'].max():.4f}.",
        "Each line is a member; a dot marks the epoch it went back to.",
    )


def _differences(scores: Scores) -> Image:
    table = scores.differences[scores.differences["score"] == "IBS"]
    causes, rivals = (list(dict.fromkeys(table[name])) for name in ("cause", "rival"))
    middle, low, high = (
        1000 * table.pivot(index="rival", columns="cause", values=name).loc[rivals, causes]
        for name in ("difference", "low", "high")
    )
    figure, ax = _canvas(SMALL)
    plot_differences(middle, low, high, rivals, _labels(causes), ax=ax)
    ax.set_ylabel("SurvTRACE minus rival, IBS x 1000")
    if sum(map(len, _labels(causes))) > MOST_LETTERS:
        ax.tick_params(axis="x", rotation=30)
    _legend_below(figure, ax)
    better, worse = int((table["high"] < 0).sum()), int((table["low"] > 0).sum())
    return Image(
        _uri(figure),
        f"Difference of the integrated Brier score to each rival, for each cause: SurvTRACE is "
        f"clearly better in {better}, clearly worse in {worse} of {len(table)} comparisons.",
        "Below 0 SurvTRACE is better. An interval that crosses 0 leaves the question open.",
    )


def _scores(scores: Scores) -> Iterator[Image]:
    """What knowing the covariates saves of the floor's Brier score; without a floor, the score."""
    for cause, table in scores.brier.groupby("cause", sort=False):
        wide = table.pivot(index="method", columns="time", values="value").loc[scores.methods]
        known = {"title": cause_name(cause), "score": "Brier score"}
        if FLOOR in scores.methods:
            wide = 100 * (1 - wide.drop(FLOOR) / wide.loc[FLOOR].replace(0, np.nan))
            known["score"] = "Brier score saved (%)"
        figure, ax = _canvas(SMALL)
        times, methods = wide.columns.to_numpy(), list(wide.index)
        plot_scores_over_time(times, wide.to_numpy(), methods, reference=0, **known, ax=ax)
        _legend_below(figure, ax)
        ends = _list(f"{m} {v:.3g}" for m, v in zip(methods, wide.iloc[:, -1], strict=True))
        yield Image(
            _uri(figure), f"{known['score']}, {known['title']}, over time. At the end: {ends}."
        )


def _calibration(scores: Scores) -> Iterator[Image]:
    for k, (cause, table) in enumerate(scores.calibration.groupby("cause", sort=False)):
        known = table.dropna(subset="observed")
        figure, ax = _canvas(SMALL)
        colour = COLOURS[k % len(COLOURS)]
        plot_calibration(
            known["predicted"],
            known["observed"],
            colour=colour,
            title=_short(cause_name(cause)),
            ax=ax,
        )
        ax.locator_params(nbins=5)
        points = _list(
            f"{p:.1%} and {o:.1%}"
            for p, o in zip(known["predicted"], known["observed"], strict=True)
        )
        yield Image(
            _uri(figure),
            f"Calibration of {cause_name(cause)} by {scores.horizon:g}, in {len(known)} groups of "
            f"rising prediction; predicted and observed: {points}.",
        )


def _importance(summary: Summary) -> Iterator[Image]:
    for cause, table in summary.importance.table.groupby("cause", sort=False):
        top = table.head(MOST_COVARIATES)
        size = (SMALL[0], max(SMALL[1], 0.8 + 0.22 * len(top)))
        figure, ax = _canvas(size)
        middle, low, high = 1000 * top[["importance", "low", "high"]].to_numpy().T
        names, title = [_short(name) for name in top["covariate"]], cause_name(cause)
        label = "rise of the IBS when shuffled, x 1000"
        plot_importance(middle, low, high, names, xlabel=label, title=title, ax=ax)
        first = top.iloc[0]
        yield Image(
            _uri(figure),
            f"Importance of covariates for {cause_name(cause)}; the first is {first['covariate']}, "
            f"{1000 * first['importance']:.2f} ({1000 * first['low']:.2f} to "
            f"{1000 * first['high']:.2f}) thousandths.",
        )


def _patient(patient: Patient, causes: tuple[Any, ...]) -> Image:
    figure = Figure(figsize=NARROW, layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    labels = _labels(causes)
    curves = (patient.times, patient.incidence, labels)
    plot_incidence(*curves, deviation=patient.deviation, ax=above)
    plot_stacked(*curves, ax=below)
    above.set_xlabel("")
    _legend_below(figure, below)
    ends = _list(
        f"{cause_name(c)} {v:.1%}" for c, v in zip(causes, patient.incidence[:, -1], strict=True)
    )
    return Image(
        _uri(figure),
        f"Predicted incidence of each cause for the subject of {patient.name} risk, as lines and "
        f"stacked. At the end of the time grid: {ends}.",
    )


def _canvas(size: tuple[float, float]) -> tuple[Figure, Any]:
    figure = Figure(figsize=size, layout="constrained")
    return figure, figure.subplots()


def _legend_below(figure: Figure, ax: Any) -> None:
    handles, labels = ax.get_legend_handles_labels()
    columns = 3 if sum(map(len, labels[:3])) <= MOST_LETTERS else 1
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False)


def _uri(figure: Figure) -> str:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    return "data:image/svg+xml;base64," + base64.b64encode(buffer.getvalue()).decode()


def _labels(causes: Any) -> list[str]:
    return [_short(cause_name(cause)) for cause in causes]


def _short(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"


def _list(parts: Iterator[str]) -> str:
    return ", ".join(parts)
