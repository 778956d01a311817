"""Curves of a subject, and scores over time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from survtrace.plots.style import (
    BESIDE,
    GREY,
    HATCHES,
    axes_or_new,
    cause_labels,
    draw_curves,
    line,
    two_deviations,
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
    deviation: ArrayLike | None = None,
    unit: str = "",
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Incidence of each cause, with a band of two deviations between members.

    Parameters
    ----------
    times
        Shape (time,).
    incidence, deviation
        Shape (cause, time). A deviation that is NaN, as one member has, draws no band.
    causes
        A label for each cause, or a mapping to their texts such as ``est.cause_names_``.
    unit, title, ax
        Unit of the times (``est.time_unit_``), title, and axes to draw on (new by default).

    Examples
    --------
    >>> ax = plot_incidence([0, 1, 2], [[0, 0.1, 0.2], [0, 0.3, 0.4]], ["heart", "other"])
    >>> [line.get_label() for line in ax.lines]
    ['heart', 'other']
    """
    own, ax = ax is None, axes_or_new(ax)
    draw_curves(ax, times, incidence, cause_labels(causes), two_deviations(incidence, deviation))
    ax.set(xlabel=with_unit("time", unit), ylabel="cumulative incidence", title=title)
    ax.set_ylim(bottom=0)
    return with_legend(ax, own)


def plot_survival(
    times: ArrayLike,
    survival: ArrayLike,
    methods: Sequence[str],
    *,
    deviation: ArrayLike | None = None,
    unit: str = "",
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Survival of one subject by each method, with a band of two deviations between members.

    Parameters
    ----------
    times
        Shape (time,).
    survival, deviation
        Shape (method, time); a deviation is nan where a method has none.
    methods
        A label for each method.
    unit, title, ax
        Unit of the times (``est.time_unit_``), title, and axes to draw on (new by default).

    Examples
    --------
    >>> ax = plot_survival([0, 1, 2], [[1, 0.8, 0.7], [1, 0.9, 0.6]], ["SurvTRACE", "CPH"])
    >>> [line.get_label() for line in ax.lines]
    ['SurvTRACE', 'CPH']
    """
    own, ax = ax is None, axes_or_new(ax)
    draw_curves(ax, times, survival, methods, two_deviations(survival, deviation))
    ax.set(xlabel=with_unit("time", unit), ylabel="survival", title=title, ylim=(0, 1.02))
    return with_legend(ax, own)


def plot_stacked(
    times: ArrayLike,
    incidence: ArrayLike,
    causes: Iterable[Any],
    *,
    deviation: ArrayLike | None = None,
    unit: str = "",
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """All states of one subject over time: incidences stacked up, event-free on top.

    Parameters
    ----------
    times
        Shape (time,).
    incidence, deviation
        Shape (cause, time). Bars on the upper edge of each layer are two deviations of that
        cause's own incidence: of how thick the layer is. (Bands would run into each other.)
    causes
        A label for each cause, or a mapping to their texts such as ``est.cause_names_``.
    unit, title, ax
        Unit of the times (``est.time_unit_``), title, and axes to draw on (new by default).

    Examples
    --------
    >>> ax = plot_stacked([0, 1], [[0, 0.2], [0, 0.3]], ["heart", "other"])
    >>> ax.get_ylabel()
    'probability'
    """
    own, ax = ax is None, axes_or_new(ax)
    times, incidence = np.asarray(times), np.asarray(incidence)
    layers, n_causes = np.vstack([incidence, 1 - incidence.sum(axis=0)]), len(incidence)
    labels = [*cause_labels(causes), "event-free"]
    colours = [*(line(k)["color"] for k in range(n_causes)), "#EDEDED"]
    drawn = ax.stackplot(times, layers, colors=colours, labels=labels, edgecolor="white", lw=0.5)
    for k, layer in enumerate(drawn[:-1]):
        layer.set_hatch(HATCHES[k % len(HATCHES)])
    edges = np.cumsum(incidence, axis=0)
    ax.plot(times, edges.T, color="black", lw=0.8)
    known = deviation is not None and not np.isnan(np.asarray(deviation)).all()
    for k, spread in enumerate(np.asarray(deviation) if known else []):
        at = (len(times) * (np.array([0.3, 0.6, 0.9]) + 0.08 * k / n_causes)).astype(int)
        ax.errorbar(times[at], edges[k, at], 2 * spread[at], color="black", fmt="none", lw=1.5,
                    capsize=3)  # fmt: skip
    ax.set(xlabel=with_unit("time", unit), ylabel="probability", title=title)
    ax.set_xlim(times[0], times[-1])
    ax.set_ylim(0, 1)
    return with_legend(ax, own, reverse=True, **BESIDE)


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
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """A score of each method at each time, such as the concordance or the Brier score.

    Parameters
    ----------
    times
        Shape (time,).
    scores, low, high
        The scores and the ends of their intervals, shape (method, time).
    methods
        A label for each method.
    score
        Name of the score.
    reference
        A score worth a line, such as a concordance of 0.5.
    unit, title, ax
        Unit of the times (``est.time_unit_``), title, and axes to draw on (new by default).

    Examples
    --------
    >>> ax = plot_scores_over_time([1, 2], [[0.7, 0.6]], ["CPH"], score="concordance")
    >>> ax.get_ylabel()
    'concordance'
    """
    own, ax = ax is None, axes_or_new(ax)
    if reference is not None:
        ax.axhline(reference, color=GREY, lw=1, ls=":")
    band = None if low is None or high is None else (np.asarray(low), np.asarray(high))
    draw_curves(ax, times, scores, methods, band)
    ax.set(xlabel=with_unit("time", unit), ylabel=score, title=title)
    return with_legend(ax, own)
