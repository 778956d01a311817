"""The figures of a summary, each an image that travels inside the page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure

from survtrace.metrics.censoring import FEWEST_AT_RISK
from survtrace.naming import Names
from survtrace.plots import (
    plot_at_risk,
    plot_differences,
    plot_history,
    plot_importance,
    plot_incidence,
    plot_scores_over_time,
    plot_stacked,
)
from survtrace.report.baselines import AALEN_JOHANSEN
from survtrace.report.collected import Summary
from survtrace.report.drawing import (
    MOST_LETTERS,
    SMALL,
    STYLE,
    Image,
    canvas,
    legend_below,
    short,
    uri,
)
from survtrace.report.validation_figures import (
    calibration_images,
    decision_images,
    group_images,
)

NARROW = (3.3, 5.4)  # inches: a third of the page wide
MOST_COVARIATES = 20


def draw(summary: Summary) -> dict[str, list[Image]]:
    """Draw the images of each section."""
    validated = (summary.validation, summary.names, (summary.scores.horizon,))
    with rc_context(STYLE):
        return {
            "observed": [_observed(summary)],
            "at_risk": [] if summary.cohort.observation is None else [_at_risk(summary)],
            "history": [_history(summary)],
            "differences": [_differences(summary)] if len(summary.scores.differences) else [],
            "scores": list(_scores(summary)),
            "calibration": list(calibration_images(*validated, groups=summary.scores.calibration)),
            "decisions": list(decision_images(*validated)),
            "groups": list(group_images(*validated)),
            "importance": list(_importance(summary)),
            "patients": list(_patients(summary)),
        }


def _observed(summary: Summary) -> Image:
    cohort, causes, names = summary.cohort, summary.fit.causes, summary.names
    figure, ax = canvas(SMALL)
    labels = _labels(causes, names)
    plot_stacked(
        cohort.times, cohort.incidence, labels, unit=names.time_unit, clock=names.clock, ax=ax
    )
    legend_below(figure, ax)
    since = ""
    if cohort.since is not None:
        since = f" Of those event-free at {names.clock} {cohort.since:.3g}: before, fewer than "
        since += f"{FEWEST_AT_RISK} were at risk when an event came."
    return Image(
        uri(figure),
        "Observed incidence of each cause, stacked, over time. At the end of follow-up: "
        f"{_ends(causes, cohort.incidence, names)}.",
        "What happened to the scored subjects: Aalen-Johansen incidence of each cause, stacked up; "
        f"above, those still event-free.{since}",
    )


def _at_risk(summary: Summary) -> Image:
    observation, names = summary.cohort.observation, summary.names
    assert observation is not None
    figure, ax = canvas(SMALL)
    plot_at_risk(observation.outcome, unit=names.time_unit, clock=names.clock, ax=ax)
    legend_below(figure, ax)
    seen = ", ".join(
        f"{row.subjects:,} at {row.time:g}" for row in observation.at_risk.itertuples()
    )
    return Image(
        uri(figure),
        f"Subjects under observation over time: {seen}.",
        "Subjects under observation; marks below are events. Where few are at risk, curves and "
        "scores rest on few.",
    )


def _history(summary: Summary) -> Image:
    fit = summary.fit
    figure, ax = canvas(SMALL)
    plot_history(fit.history, ax=ax)
    return Image(
        uri(figure),
        f"Training and validation loss of {len(fit.members)} members over "
        f"{fit.members['epochs'].max()} epochs; best validation losses between "
        f"{fit.members['loss'].min():.4f} and {fit.members['loss'].max():.4f}.",
        "Each line is a member; a dot marks the epoch it went back to.",
    )


def _differences(summary: Summary) -> Image:
    scores, names = summary.scores, summary.names
    table = scores.differences[scores.differences["score"] == "IBS"]
    causes, baselines = (list(dict.fromkeys(table[name])) for name in ("cause", "baseline"))
    middle, low, high = (
        1000 * table.pivot(index="baseline", columns="cause", values=name).loc[baselines, causes]
        for name in ("difference", "low", "high")
    )
    figure, ax = canvas(SMALL)
    plot_differences(middle, low, high, baselines, _labels(causes, names), ax=ax)
    ax.set_ylabel("SurvTRACE minus baseline, IBS x 1000")
    if sum(map(len, _labels(causes, names))) > MOST_LETTERS:
        ax.tick_params(axis="x", rotation=30)
    legend_below(figure, ax)
    better, worse = int((table["high"] < 0).sum()), int((table["low"] > 0).sum())
    return Image(
        uri(figure),
        f"Difference of the integrated Brier score to each baseline, for each cause: the 95 % "
        f"interval lies below 0 (SurvTRACE better) in {better} and above 0 (worse) in {worse} of "
        f"{len(table)} comparisons.",
        "Below 0 SurvTRACE is better. Bars are 95 % intervals; one that crosses 0 leaves open "
        "which of the two is better.",
    )


def _scores(summary: Summary) -> Iterator[Image]:
    """Compute the Brier score saved against Aalen-Johansen; without it, the score itself."""
    scores, names = summary.scores, summary.names
    tables = {
        cause: table.pivot(index="method", columns="time", values="value").loc[scores.methods]
        for cause, table in scores.brier.groupby("cause", sort=False)
    }
    shown, reference = "Brier score", AALEN_JOHANSEN
    if reference in scores.methods:
        shown = "Brier score saved (%)"
        tables = {
            cause: 100 * (1 - wide.drop(reference) / wide.loc[reference].replace(0, np.nan))
            for cause, wide in tables.items()
        }
    # Where hardly anybody has had an event the reference is near 0, and a share of it may be any
    # number below 1.
    limits = _limits((wide.to_numpy() for wide in tables.values()), lowest=0.04)
    for cause, wide in tables.items():
        figure, ax = canvas(SMALL)
        labels = {"title": names.cause(cause), "score": shown, "unit": names.time_unit}
        at_start = scores.landmark is None
        labels["clock"] = names.clock if at_start else "time after the landmark"
        times, methods = wide.columns.to_numpy(), list(wide.index)
        plot_scores_over_time(times, wide.to_numpy(), methods, reference=0, **labels, ax=ax)
        ax.set_ylim(limits)
        legend_below(figure, ax)
        ends = ", ".join(f"{m} {v:.3g}" for m, v in zip(methods, wide.iloc[:, -1], strict=True))
        beyond = (wide < limits[0]).any(axis=None)
        yield Image(
            uri(figure),
            f"{shown}, {names.cause(cause)}, over time. At the end: {ends}.",
            "Some times, where few had an event, lie below the scale." if beyond else "",
        )


def _importance(summary: Summary) -> Iterator[Image]:
    names, table = summary.names, summary.importance.table
    tops = {c: rows.head(MOST_COVARIATES) for c, rows in table.groupby("cause", sort=False)}
    limits = _limits(1000 * top[["importance", "low", "high"]].to_numpy() for top in tops.values())
    for cause, top in tops.items():
        size = (SMALL[0], max(SMALL[1], 0.8 + 0.22 * len(top)))
        figure, ax = canvas(size)
        middle, low, high = 1000 * top[["importance", "low", "high"]].to_numpy().T
        shown, title = [short(names.covariate(c)) for c in top["covariate"]], names.cause(cause)
        label = "rise of the IBS when shuffled, x 1000"
        plot_importance(middle, low, high, shown, xlabel=label, title=title, ax=ax)
        ax.set_xlim(limits)
        first = top.iloc[0]
        yield Image(
            uri(figure),
            f"Importance of covariates for {names.cause(cause)}; the first is "
            f"{names.covariate(first['covariate'])}, {1000 * first['importance']:.2f} "
            f"({1000 * first['low']:.2f} to {1000 * first['high']:.2f}) thousandths.",
        )


def _patients(summary: Summary) -> Iterator[Image]:
    patients, names, causes = summary.patients.each, summary.names, summary.fit.causes
    labels = _labels(causes, names)
    # Where no band is known its ends are NaN.
    tops = [np.fmax(each.incidence, each.high).max() for each in patients]
    top = 1.05 * min(1.0, float(max(tops)))
    for patient in patients:
        figure = Figure(figsize=NARROW, layout="constrained")
        above, below = figure.subplots(2, 1, sharex=True)
        curves = (patient.times, patient.incidence, labels)
        axis = {"unit": names.time_unit, "clock": names.clock}
        plot_incidence(*curves, interval=(patient.low, patient.high), **axis, ax=above)
        plot_stacked(*curves, **axis, ax=below)
        above.set_xlabel("")
        above.set_ylim(0, top)
        legend_below(figure, below)
        yield Image(
            uri(figure),
            f"Predicted incidence of each cause for the subject of {patient.name} risk, as lines "
            f"and stacked. At the end of the time grid: {_ends(causes, patient.incidence, names)}.",
        )


def _limits(parts: Iterable[Any], lowest: float = 0.0) -> tuple[float, float]:
    """Ends of an axis that all panels share: 0 and all values but the ``lowest`` share of them."""
    values = np.concatenate([np.ravel(part) for part in parts])
    values = np.append(values[np.isfinite(values)], 0.0)
    low, high = np.quantile(values, [lowest, 1])
    low, high = min(float(low), 0.0), max(float(high), 0.0)
    margin = 0.05 * ((high - low) or 1.0)
    return low - margin, high + margin


def _ends(causes: Any, incidence: Any, names: Names) -> str:
    ends = zip(causes, incidence[:, -1], strict=True)
    return ", ".join(f"{names.cause(cause)} {value:.1%}" for cause, value in ends)


def _labels(causes: Any, names: Names) -> list[str]:
    return [short(names.cause(cause)) for cause in causes]
