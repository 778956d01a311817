"""How a fit went, and how fits differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from survtrace.plots.style import COLOURS, GREY, axes_or_new, mark, side_by_side, with_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_history(history: pd.DataFrame, *, title: str = "", ax: Axes | None = None) -> Axes:
    """Training and validation survival loss of every member, its best epoch marked.

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
    own, ax = ax is None, axes_or_new(ax)
    ax.axhline(0, color=GREY, lw=1, ls=":")
    beside = side_by_side(len(methods))
    rows = zip(np.asarray(difference), np.asarray(low), np.asarray(high), strict=True)
    for k, (middle, bottom, top) in enumerate(rows):
        ax.errorbar(np.arange(len(places)) + beside[k], middle, [middle - bottom, top - middle],
                    ms=6, lw=1.5, capsize=3, label=methods[k], **mark(k))  # fmt: skip
    ax.set_xticks(range(len(places)), places)
    ax.set_xlim(-0.5, len(places) - 0.5)
    ax.set_title(title)
    return with_legend(ax, own)
