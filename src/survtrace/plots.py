"""Arrays in, axes out: curves, attention, calibration, training history, differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's palette: told apart by the colour-blind and in grey print.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442")
DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
GREY = "#5B5B5B"


def plot_incidence(
    times: ArrayLike,
    incidence: ArrayLike,
    causes: Sequence[Any],
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
        Shape (cause, time).
    causes
        A label for each cause.
    unit, title, ax
        Unit of the times, title, and axes to draw on (new ones by default).

    Examples
    --------
    >>> ax = plot_incidence([0, 1, 2], [[0, 0.1, 0.2], [0, 0.3, 0.4]], ["heart", "other"])
    >>> [line.get_label() for line in ax.lines]
    ['heart', 'other']
    """
    ax = _draw_curves(times, incidence, deviation, causes, ax)
    ax.set(xlabel=_with_unit("time", unit), ylabel="cumulative incidence", title=title)
    ax.set_ylim(bottom=0)
    return ax


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
        Unit of the times, title, and axes to draw on (new ones by default).

    Examples
    --------
    >>> ax = plot_survival([0, 1, 2], [[1, 0.8, 0.7], [1, 0.9, 0.6]], ["SurvTRACE", "CPH"])
    >>> [line.get_label() for line in ax.lines]
    ['SurvTRACE', 'CPH']
    """
    ax = _draw_curves(times, survival, deviation, methods, ax)
    ax.set(xlabel=_with_unit("time", unit), ylabel="survival", title=title, ylim=(0, 1.02))
    return ax


def plot_stacked(
    times: ArrayLike,
    incidence: ArrayLike,
    causes: Sequence[Any],
    *,
    unit: str = "",
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """All states of one subject over time: incidences stacked up, event-free on top.

    Examples
    --------
    >>> ax = plot_stacked([0, 1], [[0, 0.2], [0, 0.3]], ["heart", "other"])
    >>> ax.get_ylabel()
    'probability'
    """
    ax = _axes(ax)
    times, incidence = np.asarray(times), np.asarray(incidence)
    layers = np.vstack([incidence, 1 - incidence.sum(axis=0)])
    colours = [COLOURS[k % len(COLOURS)] for k in range(len(causes))] + ["#EDEDED"]
    labels = [*(str(cause) for cause in causes), "event-free"]
    ax.stackplot(times, layers, colors=colours, labels=labels, edgecolor="white", linewidth=0.5)
    ax.set(xlabel=_with_unit("time", unit), ylabel="probability", title=title)
    ax.set_xlim(times[0], times[-1])
    ax.set_ylim(0, 1)
    return ax


def plot_attention(
    weights: ArrayLike,
    names: Sequence[str],
    *,
    limits: tuple[float, float] | None = None,
    colours: str = "cividis",
    bar: bool = True,
    digits: int | None = None,
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Attention of each covariate (row) to each other (column), as a heat map.

    Parameters
    ----------
    weights
        Shape (covariate, covariate).
    names
        Of the covariates.
    limits, colours
        Ends of the colour scale (by default the least and the largest weight), and its name.
    bar
        Whether the scale is drawn; maps side by side share one.
    digits
        How many digits of each weight are written into its cell; None writes nothing.
    title, ax
        Title, and axes to draw on (new ones by default).

    Examples
    --------
    >>> ax = plot_attention([[0.5, 0.5], [0.2, 0.8]], ["age", "sex"])
    >>> [tick.get_text() for tick in ax.get_xticklabels()]
    ['age', 'sex']
    """
    ax = _axes(ax)
    low, high = limits or (None, None)
    weights = np.asarray(weights)
    image = ax.imshow(weights, cmap=colours, vmin=low, vmax=high)
    ax.set_xticks(range(len(names)), names, rotation=45, ha="right", rotation_mode="anchor")
    ax.set_yticks(range(len(names)), names)
    ax.set(xlabel="attends to", title=title)
    if digits is not None:
        brightness = image.to_rgba(weights)[..., :3] @ (0.299, 0.587, 0.114)
        for (row, column), weight in np.ndenumerate(weights):
            ax.text(column, row, f"{weight:.{digits}f}", ha="center", va="center", fontsize=7,
                    color="black" if brightness[row, column] > 0.5 else "white")  # fmt: skip
    if bar:
        ax.figure.colorbar(image, ax=ax, fraction=0.046, pad=0.04, label="attention")
    ax.spines[:].set_visible(False)
    return ax


def plot_calibration(
    predicted: ArrayLike,
    observed: ArrayLike,
    *,
    label: str = "",
    colour: str = COLOURS[0],
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Observed incidence in groups of rising predicted incidence; on the diagonal is right.

    Examples
    --------
    >>> ax = plot_calibration([0.1, 0.4], [0.12, 0.35], label="heart")
    >>> ax.get_xlabel()
    'predicted incidence'
    """
    ax = _axes(ax)
    predicted, observed = np.asarray(predicted), np.asarray(observed)
    end = 1.05 * max(predicted.max(), observed.max(), *ax.get_xlim() if ax.lines else (0.0,))
    if not ax.lines:
        ax.axline((0, 0), slope=1, color=GREY, lw=1, ls=":")
    ax.plot(predicted, observed, "o-", color=colour, label=label, ms=5, lw=1.2)
    ax.set(xlabel="predicted incidence", ylabel="observed incidence", title=title)
    ax.set_xlim(0, end)
    ax.set_ylim(0, end)
    ax.set_aspect("equal")
    return ax


def plot_history(history: pd.DataFrame, *, title: str = "", ax: Axes | None = None) -> Axes:
    """Training and validation survival loss of every member, its best epoch marked.

    Examples
    --------
    >>> history = pd.DataFrame({"epoch": [0, 1], "member": [0, 0], "survival_loss": [2.0, 1.5],
    ...                         "validation_loss": [1.9, 1.6], "improved": [True, True]})
    >>> plot_history(history).get_xlabel()
    'epoch'
    """
    ax = _axes(ax)
    for member, rows in history.groupby("member"):
        first = member == history["member"].iloc[0]
        ax.plot(rows["epoch"], rows["survival_loss"], color=COLOURS[0], alpha=0.35, lw=1,
                label="training" if first else None)  # fmt: skip
        ax.plot(rows["epoch"], rows["validation_loss"], color=COLOURS[1], alpha=0.5, lw=1,
                label="validation" if first else None)  # fmt: skip
        best = rows[rows["improved"]].iloc[-1]
        ax.plot(best["epoch"], best["validation_loss"], "o", color=COLOURS[1], ms=5,
                label="best epoch" if first else None)  # fmt: skip
    ax.set(xlabel="epoch", ylabel="survival loss", title=title)
    ax.legend(frameon=False)
    return ax


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
    """Difference of each method to a reference, with its interval; 0 is no difference.

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
    ax = _axes(ax)
    ax.axhline(0, color=GREY, lw=1, ls=":")
    beside = 0.6 * ((np.arange(len(methods)) + 0.5) / len(methods) - 0.5)
    rows = zip(np.asarray(difference), np.asarray(low), np.asarray(high), strict=True)
    for k, (middle, bottom, top) in enumerate(rows):
        ax.errorbar(np.arange(len(places)) + beside[k], middle, [middle - bottom, top - middle],
                    color=COLOURS[k % len(COLOURS)], fmt=MARKERS[k % len(MARKERS)], ms=6, lw=1.5,
                    capsize=3, label=methods[k])  # fmt: skip
    ax.set_xticks(range(len(places)), places)
    ax.set_xlim(-0.5, len(places) - 0.5)
    ax.set_title(title)
    return ax


def _draw_curves(
    times: ArrayLike,
    curves: ArrayLike,
    deviation: ArrayLike | None,
    labels: Sequence[Any],
    ax: Axes | None,
) -> Axes:
    """Curves (curve, time), each in its own colour and dashes, and their bands."""
    ax = _axes(ax)
    times, curves = np.asarray(times), np.asarray(curves)
    for k, label in enumerate(labels):
        colour, dashes = COLOURS[k % len(COLOURS)], DASHES[k % len(DASHES)]
        ax.plot(times, curves[k], color=colour, linestyle=dashes, lw=2, label=str(label))
        if deviation is not None:
            spread = 2 * np.asarray(deviation)[k]
            low, high = np.clip(curves[k] - spread, 0, 1), np.clip(curves[k] + spread, 0, 1)
            ax.fill_between(times, low, high, color=colour, alpha=0.15, lw=0)
    ax.set_xlim(times[0], times[-1])
    return ax


def _axes(ax: Axes | None) -> Axes:
    """The axes given, or new ones; without the frame's upper and right side."""
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(layout="constrained")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _with_unit(name: str, unit: str) -> str:
    return f"{name} ({unit})" if unit else name
