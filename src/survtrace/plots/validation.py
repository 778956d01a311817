"""What reviewers ask to see: calibration with a band, decision curves, subgroups side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from survtrace.errors import DataError
from survtrace.plots.style import (
    BESIDE,
    GREY,
    axes_or_new,
    line,
    mark,
    with_legend,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BINS = 50  # of the predictions below a calibration curve
TALLEST = 0.12  # of these bars, as a share of the axis


def plot_smooth_calibration(
    predicted: ArrayLike,
    observed: ArrayLike,
    *,
    low: ArrayLike | None = None,
    high: ArrayLike | None = None,
    predictions: ArrayLike | None = None,
    label: str = "",
    colour: str | None = None,
    limit: float | None = None,
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw observed incidence as a smooth curve over the predicted, with its band.

    On the diagonal predictions come true; above it, more happened than was predicted. Called again
    on the same axes it adds a curve, in the next colour and dashes.

    Parameters
    ----------
    predicted, observed, low, high
        As from `survtrace.metrics.smooth_calibration_curve`; low and high are the band.
    predictions
        The prediction of each subject: bars below the curve show where they lie, and so where the
        curve rests on many.
    label, colour
        Of the curve.
    limit
        End of both axes; by default what the curve and the middle of its band need.
    title, ax
        Title, and axes to draw on (new ones by default).

    Examples
    --------
    >>> ax = plot_smooth_calibration(
    ...     [0.1, 0.4], [0.12, 0.35], low=[0.1, 0.3], high=[0.2, 0.5], predictions=[0.1, 0.2, 0.4]
    ... )
    >>> ax.get_ylabel(), len(ax.collections)
    ('observed incidence', 1)
    """
    is_new, ax = ax is None, axes_or_new(ax)
    predicted, observed = (np.asarray(part, dtype=np.float64) for part in (predicted, observed))
    end = limit or _end(predicted, observed, low, high)
    first = not ax.lines
    if first:
        ax.axline((0, 0), slope=1, color=GREY, lw=0.8, ls=":", label="as predicted")
    else:
        end = max(end, ax.get_xlim()[1])
    k = len(ax.lines) - 1
    look = line(k) | ({"color": colour} if colour else {})
    if low is not None and high is not None:
        bottom, top = (np.asarray(part, dtype=np.float64) for part in (low, high))
        ax.fill_between(predicted, bottom, top, color=look["color"], alpha=0.18, lw=0)
    ax.plot(predicted, observed, lw=2, label=label or None, **look)
    ax.set(xlabel="predicted incidence", ylabel="observed incidence", title=title)
    ax.set(xlim=(0, end), ylim=(0, end), aspect="equal")
    if predictions is not None and first:  # bars of two groups would cover each other
        _draw_bars(ax, np.asarray(predictions), end, look["color"])
    return with_legend(ax, is_new and label != "", loc="upper left")


def _end(
    predicted: ArrayLike, observed: ArrayLike, low: ArrayLike | None, high: ArrayLike | None
) -> float:
    """Room for the curve, and for its band as far as that is not wider than the curve is high."""
    middle = float(np.nanmax([predicted, observed]))
    top = middle if high is None or low is None else float(np.nanmax(high))
    return min(1.0, 1.05 * min(top, 1.5 * middle)) or 1.0


def _draw_bars(ax: Axes, predictions: ArrayLike, end: float, colour: str) -> None:
    """Show how many predictions lie where, along the bottom of the axes."""
    counts, edges = np.histogram(predictions, bins=BINS, range=(0, end))
    heights = TALLEST * end * counts / max(counts.max(), 1)
    ax.bar(edges[:-1], heights, width=np.diff(edges), align="edge", color=colour, alpha=0.45, lw=0)


def plot_decision_curve(
    thresholds: ArrayLike,
    benefits: ArrayLike,
    labels: Sequence[str],
    *,
    low: ArrayLike | None = None,
    high: ArrayLike | None = None,
    treat_all: ArrayLike | None = None,
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw the net benefit of deciding by predictions, of treating everybody, and nobody.

    Parameters
    ----------
    thresholds
        The predicted incidence above which one would treat, increasing.
    benefits
        Net benefit of each prediction at each threshold, shape (threshold,) or
        (prediction, threshold), as from `survtrace.metrics.net_benefit`.
    labels
        A name for each prediction.
    low, high
        Ends of the intervals of the benefits, in their shape.
    treat_all
        Net benefit of treating everybody.
    title, ax
        Title, and axes to draw on (new ones by default).

    Examples
    --------
    >>> ax = plot_decision_curve([0.1, 0.2], [0.05, 0.03], ["by prediction"], treat_all=[0.04, 0])
    >>> ax.get_legend_handles_labels()[1]
    ['by prediction', 'treat all', 'treat none']
    """
    is_new, ax = ax is None, axes_or_new(ax)
    places, curves = np.asarray(thresholds, dtype=np.float64), np.atleast_2d(benefits)
    if len(curves) != len(labels) or curves.shape[1] != len(places):
        raise DataError(
            f"benefits must have a row for each of {len(labels)} labels and a column for each of "
            f"{len(places)} thresholds; got shape {curves.shape}."
        )
    dots: dict[str, Any] = {"marker": "o", "ms": 4} if len(places) <= 10 else {}
    for k, (curve, label) in enumerate(zip(curves, labels, strict=True)):
        ax.plot(places, curve, lw=2, label=label, **line(k), **dots)
        if low is not None and high is not None:
            ends = np.atleast_2d(low)[k], np.atleast_2d(high)[k]
            ax.fill_between(places, *ends, color=line(k)["color"], alpha=0.15, lw=0)
    if treat_all is not None:
        ax.plot(places, treat_all, lw=1.2, ls="--", color=GREY, label="treat all")
    ax.axhline(0, lw=1.2, ls=":", color=GREY, label="treat none")
    tops = [curves, *([] if high is None else [np.asarray(high)])]
    tops += [] if treat_all is None else [np.asarray(treat_all)]
    top = 1.08 * max(float(np.nanmax(np.concatenate([t.ravel() for t in tops]))), 1e-3)
    bottom = min(float(np.nanmin(curves)), 0.0)
    # Treating all falls without end and may leave the picture; a prediction that does harm may not.
    ax.set_ylim(bottom - 0.1 * (top - bottom), top)
    ax.set_xlim(places[0], places[-1] if len(places) > 1 else 1)
    ax.set(xlabel="threshold: predicted incidence above which one treats", title=title)
    ax.set_ylabel("net benefit per subject")
    return with_legend(ax, is_new, **BESIDE)


def plot_subgroups(
    groups: Sequence[tuple[str, str]],
    value: ArrayLike,
    low: ArrayLike,
    high: ArrayLike,
    *,
    sizes: Sequence[str] | None = None,
    reference: float | None = None,
    is_ratio: bool = False,
    xlabel: str = "",
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw a score in each subgroup with its interval, one below the other (a forest plot).

    Parameters
    ----------
    groups
        For each row the covariate it belongs to and its level, in order; ("", "all") is everybody
        and stands out. A new covariate begins with its name.
    value, low, high
        The score of each group and the ends of its interval; NaN where it was not scored.
    sizes
        A text at the right of each row, such as subjects and events.
    reference
        Where the score is that of a good prediction, or of everybody: a line is drawn.
    is_ratio
        Draw on a log scale, as the observed/expected ratio wants.
    xlabel, title, ax
        Name of the score, title, and axes to draw on (new ones by default).

    Examples
    --------
    >>> groups = [("", "all"), ("sex", "f"), ("sex", "m")]
    >>> ax = plot_subgroups(groups, [1.0, 0.9, 1.2], [0.9, 0.7, 0.9], [1.1, 1.2, 1.5])
    >>> [tick.get_text() for tick in ax.get_yticklabels()]
    ['all', 'sex', 'f', 'm']
    """
    middle, bottom, top = (np.asarray(part, dtype=np.float64) for part in (value, low, high))
    if not len(groups) == len(middle) == len(bottom) == len(top):
        raise DataError(
            f"each of {len(groups)} groups needs a value and the ends of its interval; got "
            f"{len(middle)}, {len(bottom)} and {len(top)}."
        )
    places, ticks = _rows_of_groups(groups)
    ax = axes_or_new(ax, max(2.4, 1.0 + 0.26 * len(ticks)))
    if reference is not None:
        ax.axvline(reference, color=GREY, lw=1, ls=":")
    for k, (place, (covariate, _)) in enumerate(zip(places, groups, strict=True)):
        look = mark(0) if covariate else {**mark(3), "color": "black"}
        if np.isfinite(middle[k]):
            ax.plot([bottom[k], top[k]], [place, place], color=look["color"], lw=1.6)
            ax.plot(middle[k], place, ms=6, **look)
        else:
            ax.annotate("not scored", (0.5, place), xycoords=("axes fraction", "data"),
                        ha="center", va="center", fontsize="small", color=GREY,
                        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1})  # fmt: skip
        if sizes is not None:
            ax.annotate(sizes[k], (1.02, place), xycoords=("axes fraction", "data"), va="center",
                        fontsize="small", annotation_clip=False)  # fmt: skip
    ax.set_yticks(range(len(ticks)), [text for text, _ in ticks])
    for tick, (_, is_heading) in zip(ax.get_yticklabels(), ticks, strict=True):
        tick.set_fontweight("bold" if is_heading else "normal")
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.set_ylim(len(ticks) - 0.4, -0.6)
    if is_ratio:
        _log_scale(ax, np.concatenate([bottom, top]))
    ax.set(xlabel=xlabel, title=title)
    return ax


def _rows_of_groups(
    groups: Sequence[tuple[str, str]],
) -> tuple[list[int], list[tuple[str, bool]]]:
    """Tell where each group stands, and the text of each row with whether it is a heading."""
    places, ticks, above = list[int](), list[tuple[str, bool]](), ""
    for covariate, level in groups:
        if covariate and covariate != above:
            ticks.append((covariate, True))
        above = covariate
        places.append(len(ticks))
        ticks.append((level, not covariate))
    return places, ticks


RATIOS = (0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.7, 0.85, 1, 1.2, 1.5, 2, 3, 5, 10, 30, 100)


def _log_scale(ax: Axes, ends: ArrayLike) -> None:
    """Make a log axis with ticks at plain numbers; an interval from 0 begins at the left end."""
    values = np.asarray(ends, dtype=np.float64)
    values = values[np.isfinite(values) & (values > 0)]
    least, most = (values.min(), values.max()) if len(values) else (0.5, 2.0)
    least, most = min(least, 0.9), max(most, 1.1)
    # From 1 outwards, as many as have room for their numbers.
    apart, ticks = np.log(most / least) / 9, list[float]()
    for tick in sorted(RATIOS, key=lambda ratio: abs(np.log(ratio))):
        if least <= tick <= most and all(abs(np.log(tick / t)) > apart for t in ticks):
            ticks.append(tick)
    ax.set_xscale("log")
    ax.set_xlim(least / 1.08, most * 1.08)
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.set_xticks([], minor=True)
