"""Curves of a subject, scores and losses over time, and differences between methods."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from survtrace.plots.style import (
    BESIDE,
    COLOURS,
    GREY,
    HATCHES,
    axes_or_new,
    band_of,
    cause_labels,
    draw_curves,
    line,
    mark,
    side_by_side,
    with_legend,
    with_unit,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_incidence(
    times: ArrayLike,
    incidence: ArrayLike,
    causes: Iterable[Any],
    *,
    interval: Sequence[ArrayLike] | None = None,
    deviation: ArrayLike | None = None,
    unit: str = "",
    clock: str = "time",
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw each cause's incidence, with a band: its interval, or two deviations of members.

    Parameters
    ----------
    times
        Shape (time,).
    incidence
        Shape (cause, time).
    interval
        Low and high ends of the same shape, as `SurvTRACE.predict_interval` gives them.
    deviation
        Where there is no interval: the standard deviation between members, of which two to each
        side are drawn. NaN, as one member has, draws no band.
    causes
        A label for each cause, or a mapping to their texts such as ``est.cause_names_``.
    unit, clock, title, ax
        Unit of the times (``est.time_unit_``), their name (such as "age"), title, and axes to
        draw on (new by default).

    Examples
    --------
    >>> ax = plot_incidence([0, 1, 2], [[0, 0.1, 0.2], [0, 0.3, 0.4]], ["heart", "other"])
    >>> [line.get_label() for line in ax.lines]
    ['heart', 'other']
    """
    is_new, ax = ax is None, axes_or_new(ax)
    draw_curves(ax, times, incidence, cause_labels(causes), band_of(incidence, interval, deviation))
    ax.set(xlabel=with_unit(clock, unit), ylabel="cumulative incidence", title=title)
    ax.set_ylim(bottom=0)
    return with_legend(ax, is_new)


def plot_survival(
    times: ArrayLike,
    survival: ArrayLike,
    methods: Sequence[str],
    *,
    interval: Sequence[ArrayLike] | None = None,
    deviation: ArrayLike | None = None,
    unit: str = "",
    clock: str = "time",
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw one subject's survival by each method, with a band: an interval, or two deviations.

    Parameters
    ----------
    survival, interval, deviation
        Shape (method, time); NaN where a method has no interval or deviation.
    methods
        A label for each method.
    times, unit, clock, title, ax
        As in `plot_incidence`.

    Examples
    --------
    >>> ax = plot_survival([0, 1, 2], [[1, 0.8, 0.7], [1, 0.9, 0.6]], ["SurvTRACE", "CPH"])
    >>> [line.get_label() for line in ax.lines]
    ['SurvTRACE', 'CPH']
    """
    is_new, ax = ax is None, axes_or_new(ax)
    draw_curves(ax, times, survival, methods, band_of(survival, interval, deviation))
    ax.set(xlabel=with_unit(clock, unit), ylabel="survival", title=title, ylim=(0, 1.02))
    return with_legend(ax, is_new)


def plot_stacked(
    times: ArrayLike,
    incidence: ArrayLike,
    causes: Iterable[Any],
    *,
    interval: Sequence[ArrayLike] | None = None,
    deviation: ArrayLike | None = None,
    unit: str = "",
    clock: str = "time",
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw all states of one subject over time: incidences stacked up, event-free on top.

    Parameters
    ----------
    incidence, interval, deviation
        Shape (cause, time). Bars on the upper edge of each layer are the interval, or else two
        deviations, of that cause's own incidence: of how thick the layer is. (Bands would run into
        each other.)
    times, causes, unit, clock, title, ax
        As in `plot_incidence`.

    Examples
    --------
    >>> ax = plot_stacked([0, 1], [[0, 0.2], [0, 0.3]], ["heart", "other"])
    >>> ax.get_ylabel()
    'probability'
    """
    is_new, ax = ax is None, axes_or_new(ax)
    times, incidence = np.asarray(times), np.asarray(incidence)
    layers, n_causes = np.vstack([incidence, 1 - incidence.sum(axis=0)]), len(incidence)
    labels = [*cause_labels(causes), "event-free"]
    colours = [*(line(k)["color"] for k in range(n_causes)), "#EDEDED"]
    drawn = ax.stackplot(times, layers, colors=colours, labels=labels, edgecolor="white", lw=0.5)
    for k, layer in enumerate(drawn[:-1]):
        layer.set_hatch(HATCHES[k % len(HATCHES)])
    edges = np.cumsum(incidence, axis=0)
    ax.plot(times, edges.T, color="black", lw=0.8)
    band = band_of(incidence, interval, deviation)
    sides = np.empty((2, 0, 0)) if band is None else np.abs(np.stack(band) - incidence)
    for k in range(sides.shape[1]):
        at = (len(times) * (np.array([0.3, 0.6, 0.9]) + 0.08 * k / n_causes)).astype(int)
        ax.errorbar(times[at], edges[k, at], sides[:, k, at], color="black", fmt="none", lw=1.5,
                    capsize=3)  # fmt: skip
    ax.set(xlabel=with_unit(clock, unit), ylabel="probability", title=title)
    ax.set_xlim(times[0], times[-1])
    ax.set_ylim(0, 1)
    return with_legend(ax, is_new, reverse=True, **BESIDE)


def plot_scores_over_time(
    times: ArrayLike,
    scores: ArrayLike,
    methods: Sequence[str],
    *,
    low: ArrayLike | None = None,
    high: ArrayLike | None = None,
    score: str = "Brier score",
    reference: float | None = None,
    unit: str = "",
    clock: str = "time",
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw a score of each method at each time, such as the concordance or the Brier score.

    Parameters
    ----------
    scores, low, high
        The scores and the ends of their intervals, shape (method, time).
    methods
        A label for each method.
    score
        Name of the score.
    reference
        A score worth a line, such as a concordance of 0.5.
    times, unit, clock, title, ax
        As in `plot_incidence`.

    Examples
    --------
    >>> ax = plot_scores_over_time([1, 2], [[0.7, 0.6]], ["CPH"], score="concordance")
    >>> ax.get_ylabel()
    'concordance'
    """
    is_new, ax = ax is None, axes_or_new(ax)
    if reference is not None:
        ax.axhline(reference, color=GREY, lw=1, ls=":")
    band = None if low is None or high is None else (np.asarray(low), np.asarray(high))
    draw_curves(ax, times, scores, methods, band)
    ax.set(xlabel=with_unit(clock, unit), ylabel=score, title=title)
    return with_legend(ax, is_new)


def plot_history(history: pd.DataFrame, *, title: str = "", ax: Axes | None = None) -> Axes:
    """Draw training and validation survival loss of every member, its best epoch marked.

    The scale is that of the losses after the first epoch, which is far above the others. The
    legend is always drawn.

    Examples
    --------
    >>> history = pd.DataFrame({"epoch": [0, 1], "member": [0, 0], "survival_loss": [2.0, 1.5],
    ...                         "validation_loss": [1.9, 1.6], "improved": [True, True]})
    >>> plot_history(history).get_xlabel()
    'epoch'
    """
    ax = axes_or_new(ax)
    for member, rows in history.groupby("member"):
        first = member == history["member"].iloc[0]
        ax.plot(rows["epoch"], rows["survival_loss"], color=COLOURS[0], alpha=0.6, lw=1, ls="--",
                label="training" if first else None)  # fmt: skip
        ax.plot(rows["epoch"], rows["validation_loss"], color=COLOURS[1], alpha=0.6, lw=1,
                label="validation" if first else None)  # fmt: skip
        best = rows[rows["improved"]].iloc[-1]
        ax.plot(best["epoch"], best["validation_loss"], "o", color=COLOURS[1], ms=5,
                label="best epoch" if first else None)  # fmt: skip
    settled = history[history["epoch"] > history["epoch"].min()]
    if len(settled):
        losses = settled[["survival_loss", "validation_loss"]]
        low, high = losses.min(axis=None), losses.max(axis=None)
        ax.set_ylim(low - 0.05 * (high - low), high + 0.25 * (high - low))
    ax.locator_params(axis="x", integer=True)
    ax.set(xlabel="epoch", ylabel="survival loss", title=title)
    return with_legend(ax, True)


def plot_differences(
    difference: ArrayLike,
    low: ArrayLike,
    high: ArrayLike,
    methods: Sequence[str],
    places: Sequence[str],
    *,
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw the difference of each method to a reference, with its interval; 0 is none.

    Parameters
    ----------
    difference, low, high
        The differences and the ends of their intervals, shape (method, place).
    methods, places
        A label for each method, and for each place along the axis.
    title, ax
        Title, and axes to draw on (new ones by default).

    Examples
    --------
    >>> ax = plot_differences([[-0.01, 0.02]], [[-0.03, 0.01]], [[0.01, 0.03]], ["a"], ["x", "y"])
    >>> [tick.get_text() for tick in ax.get_xticklabels()]
    ['x', 'y']
    """
    is_new, ax = ax is None, axes_or_new(ax)
    ax.axhline(0, color=GREY, lw=1, ls=":")
    beside = side_by_side(len(methods))
    rows = zip(np.asarray(difference), np.asarray(low), np.asarray(high), strict=True)
    for k, (middle, bottom, top) in enumerate(rows):
        ax.errorbar(np.arange(len(places)) + beside[k], middle, [middle - bottom, top - middle],
                    ms=6, lw=1.5, capsize=3, label=methods[k], **mark(k))  # fmt: skip
    ax.set_xticks(range(len(places)), places)
    ax.set_xlim(-0.5, len(places) - 0.5)
    ax.set_title(title)
    return with_legend(ax, is_new)
