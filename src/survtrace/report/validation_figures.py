"""The figures of a validation: calibration with band, decision curves, subgroups and centres."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import rc_context

from survtrace.evaluation import Validation
from survtrace.naming import Names
from survtrace.plots import (
    COLOURS,
    GREY,
    plot_decision_curve,
    plot_smooth_calibration,
    plot_subgroups,
)
from survtrace.report.drawing import SMALL, STYLE, Image, canvas, legend_below, short, uri
from survtrace.report.formatting import interval

SQUARE = (4.6, 4.2)  # inches: half of the page wide, room for equal axes
MOST_GROUPS = 40  # rows of a forest plot; of more, the largest
OF_GROUPS = {  # scores drawn by group: name of the axis, value of a good prediction, is a ratio
    "O/E": ("observed / expected", 1.0, True),
    "AUC": ("AUC", None, False),
}


def draw_validation(
    validation: Validation, names: Names, horizons: tuple[float, ...]
) -> dict[str, list[Image]]:
    """Draw the images of each section."""
    with rc_context(STYLE):
        return {
            "calibration": list(calibration_images(validation, names, horizons)),
            "decisions": list(decision_images(validation, names, horizons)),
            "groups": list(group_images(validation, names, horizons)),
            "centres": list(group_images(validation, names, horizons, of_centres=True)),
        }


def calibration_images(
    validation: Validation,
    names: Names,
    horizons: tuple[float, ...],
    groups: pd.DataFrame | None = None,
) -> Iterator[Image]:
    """Draw a smooth curve with its band, and points of groups, for each cause and horizon.

    The points are tenths of the subjects, or else ``groups`` at the only horizon.
    """
    for cause, horizon, title in _panels(validation, names, horizons):
        curve = _at(validation.calibration, cause, horizon)
        points = _at(validation.tenths, cause, horizon)
        if groups is not None:
            points = groups[groups["cause"] == cause]
        points = points.dropna(subset="observed")
        if curve.empty and points.empty:
            continue
        figure, ax = canvas(SQUARE)
        predictions = _each_prediction(_at(validation.predictions, cause, horizon))
        ends = [np.quantile(predictions, 0.99), points["high"].max()]
        plot_smooth_calibration(
            curve["predicted"],
            curve["observed"],
            low=curve["low"],
            high=curve["high"],
            predictions=predictions,
            label="smooth, with 95 % band" if len(curve) else "",
            colour=_colour(validation, cause),
            limit=min(1.0, 1.05 * float(np.nanmax(ends))),
            title=title,
            ax=ax,
        )
        ax.vlines(points["predicted"], points["low"], points["high"], color=GREY, lw=1)
        ax.plot(points["predicted"], points["observed"], "o", ms=4, color=GREY, label="groups")
        ax.locator_params(nbins=6)
        legend_below(figure, ax)
        texts = ", ".join(
            f"{row.predicted:.1%} and {row.observed:.1%}" for row in points.itertuples()
        )
        yield Image(
            uri(figure),
            f"Calibration of {title}; predicted and observed in {len(points)} groups of rising "
            f"prediction: {texts}.",
        )


def decision_images(
    validation: Validation, names: Names, horizons: tuple[float, ...]
) -> Iterator[Image]:
    """Draw net benefit over thresholds for each cause and horizon."""
    for cause, horizon, title in _panels(validation, names, horizons):
        here = _at(validation.decisions, cause, horizon)
        if here.empty:
            continue
        ours, everybody = (here[here["strategy"] == name] for name in ("model", "treat all"))
        figure, ax = canvas(SMALL)
        plot_decision_curve(
            ours["threshold"],
            ours["value"],
            ["by prediction, with 95 % band"],
            low=ours["low"],
            high=ours["high"],
            treat_all=everybody["value"],
            title=title,
            ax=ax,
        )
        ax.set_xlabel("threshold")
        ax.locator_params(nbins=6)
        legend_below(figure, ax)
        some = ours.iloc[:: max(1, len(ours) // 5)]
        texts = ", ".join(f"{row.value:.4f} at {row.threshold:g}" for row in some.itertuples())
        yield Image(uri(figure), f"Net benefit of deciding by prediction, {title}: {texts}.")


def group_images(
    validation: Validation, names: Names, horizons: tuple[float, ...], *, of_centres: bool = False
) -> Iterator[Image]:
    """Draw a forest plot of each score in `OF_GROUPS`, for each cause and horizon."""
    table = validation.groups
    table = table[(table["column"] == validation.centre) == of_centres]
    if table.empty:
        return
    for cause, horizon, title in _panels(validation, names, horizons):
        for score, (xlabel, reference, is_ratio) in OF_GROUPS.items():
            groups = _at(table[table["score"] == score], cause, horizon)
            if len(groups) > MOST_GROUPS:
                groups = groups.nlargest(MOST_GROUPS, "n").sort_index()
            everybody = _at(validation.scores[validation.scores["score"] == score], cause, horizon)
            counts = _at(validation.counts, cause, horizon).iloc[0]
            first = everybody.assign(column="", group="all", n=counts["n"], events=counts["events"])
            rows = pd.concat([first, groups], ignore_index=True)
            if of_centres:
                rows = pd.concat(
                    [rows, _of_new_centre(validation, cause, horizon, score)], ignore_index=True
                )
            yield _forest(rows, names, title, xlabel, reference, is_ratio)


def _forest(
    rows: pd.DataFrame,
    names: Names,
    title: str,
    xlabel: str,
    reference: float | None,
    is_ratio: bool,
) -> Image:
    labels = [
        (short(names.covariate(column)) if column else "", short(str(group)))
        for column, group in zip(rows["column"], rows["group"], strict=True)
    ]
    headings = len(dict.fromkeys(column for column, _ in labels if column))
    figure, ax = canvas((SMALL[0], max(2.2, 0.9 + 0.21 * (len(rows) + headings))))
    counts = zip(rows["n"].astype(float), rows["events"].astype(float), strict=True)
    sizes = ["" if np.isnan(n) else f"{n:,.0f} / {events:,.0f}" for n, events in counts]
    plot_subgroups(
        labels,
        rows["value"],
        rows["low"],
        rows["high"],
        sizes=sizes,
        reference=reference if reference is not None else float(rows["value"].iloc[0]),
        is_ratio=is_ratio,
        xlabel=xlabel,
        ax=ax,
    )
    ax.annotate("subjects / events", (1.02, 1.0), xycoords="axes fraction", fontsize="small",
                va="bottom", annotation_clip=False)  # fmt: skip
    ax.set_title(title, pad=16)  # above these words, which a long title would run into
    texts = ", ".join(
        f"{row.group} {interval((row.value, row.low, row.high), digits=2)}"
        for row in rows.dropna(subset="value").itertuples()
    )
    return Image(uri(figure), f"{xlabel} of {title}, by group: {texts}.")


def _of_new_centre(validation: Validation, cause: Any, horizon: float, score: str) -> pd.DataFrame:
    """Return rows for the mean over centres and for a centre yet unseen."""
    spread = _at(validation.spread[validation.spread["score"] == score], cause, horizon)
    rows = [
        {"column": "over centres", "group": name, "value": row.mean, "low": low, "high": high}
        for row in spread.itertuples()
        for name, low, high in (
            ("mean", row.low, row.high),
            ("a new centre", row.new_low, row.new_high),
        )
    ]
    return pd.DataFrame(rows, columns=["column", "group", "value", "low", "high", "n", "events"])


def _panels(
    validation: Validation, names: Names, horizons: tuple[float, ...]
) -> Iterator[tuple[Any, float, str]]:
    after = "" if validation.landmark is None else " after the landmark"
    for cause in validation.causes:
        for horizon in horizons:
            title = f"{short(names.cause(cause))} by {names.time(f'{horizon:.4g}')}{after}"
            yield cause, horizon, title


def _at(table: pd.DataFrame, cause: Any, horizon: float) -> pd.DataFrame:
    return table[(table["cause"] == cause) & (table["horizon"] == horizon)]


def _each_prediction(histogram: pd.DataFrame) -> Any:
    """Make predictions that give the histogram, evenly spread in each bin: no gaps in others."""
    bins = zip(histogram["from"], histogram["to"], histogram["n"], strict=True)
    return np.concatenate([np.linspace(low, high, int(n) + 2)[1:-1] for low, high, n in bins])


def _colour(validation: Validation, cause: Any) -> str:
    return COLOURS[validation.causes.index(cause) % len(COLOURS)]
