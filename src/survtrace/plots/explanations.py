"""What an estimator looks at and relies on: attention, importance, partial dependence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from survtrace.plots.style import (
    BESIDE,
    GREY,
    axes_or_new,
    cause_labels,
    line,
    mark,
    side_by_side,
    with_legend,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
    """Draw attention of each covariate (row) to each other (column), as a heat map.

    Parameters
    ----------
    weights
        Shape (covariate, covariate).
    names
        Of the covariates.
    limits, colours
        Ends of the colour scale, and its name. By default it runs from 0 to the largest weight, so
        that attention that is nearly even looks nearly even.
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
    ax = axes_or_new(ax)
    weights = np.asarray(weights)
    low, high = limits or (0.0, float(weights.max()))
    image = ax.imshow(weights, cmap=colours, vmin=low, vmax=high)
    ax.set_xticks(range(len(names)), names, rotation=45, ha="right", rotation_mode="anchor")
    ax.set_yticks(range(len(names)), names)
    ax.set(xlabel="attends to", ylabel="covariate", title=title)
    if digits is not None:
        brightness = image.to_rgba(weights)[..., :3] @ (0.299, 0.587, 0.114)
        for (row, column), weight in np.ndenumerate(weights):
            ax.text(column, row, f"{weight:.{digits}f}", ha="center", va="center", fontsize=7,
                    color="black" if brightness[row, column] > 0.5 else "white")  # fmt: skip
    if bar:
        ax.figure.colorbar(image, ax=ax, fraction=0.046, pad=0.04, label="attention")
    ax.spines[:].set_visible(False)
    return ax


def plot_importance(
    importance: ArrayLike,
    low: ArrayLike,
    high: ArrayLike,
    covariates: Sequence[str],
    *,
    causes: Iterable[Any] | None = None,
    reference: float = 0.0,
    ordered: bool = False,
    colour: str | None = None,
    xlabel: str = "rise of the integrated Brier score when shuffled",
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw the importance of each covariate with its interval, the most important on top.

    Parameters
    ----------
    importance, low, high
        The importances and the ends of their intervals, shape (covariate,), or
        (cause, covariate) for several causes side by side.
    covariates
        Names.
    causes
        A label for each cause, or a mapping to their texts such as ``est.cause_names_``.
    reference
        Where the line of no importance stands: 0, or for relevance the even share.
    ordered
        True keeps the covariates in the order given, as panels that share an axis need.
    colour
        Of the marks, where there is one cause.
    xlabel, title, ax
        Name of the importance, title, and axes to draw on (new ones by default).

    Examples
    --------
    >>> ax = plot_importance([0.1, 0.3], [0.0, 0.2], [0.2, 0.4], ["sex", "age"])
    >>> [tick.get_text() for tick in ax.get_yticklabels()]
    ['age', 'sex']
    """
    middle, bottom, top = (np.atleast_2d(part) for part in (importance, low, high))
    height = max(3.0, 1.2 + 0.16 * (middle.size + len(covariates)))
    is_new, ax = ax is None, axes_or_new(ax, height)
    by_size = np.argsort(-middle.max(axis=0), kind="stable")
    order = np.arange(middle.shape[1]) if ordered else by_size
    ax.axvline(reference, color=GREY, lw=1, ls=":")
    for place in range(1, len(order) if len(middle) > 1 else 0):
        ax.axhline(place - 0.5, color="#DDDDDD", lw=0.5)
    for k, offset in enumerate(side_by_side(len(middle))):
        label = None if causes is None else cause_labels(causes)[k]
        centre, half = (bottom[k] + top[k]) / 2, (top[k] - bottom[k]) / 2
        places = np.arange(len(order)) + offset
        look = mark(k) | ({"color": colour} if colour else {})
        ax.errorbar(centre[order], places, xerr=half[order], color=look["color"], fmt="none",
                    lw=1.5, capsize=2.5)  # fmt: skip
        ax.plot(middle[k, order], places, ms=5, label=label, **look)
    ax.set_yticks(range(len(order)), [covariates[place] for place in order])
    ax.set_ylim(len(order) - 0.5, -0.5)
    ax.set(xlabel=xlabel, title=title)
    return with_legend(ax, is_new and causes is not None, **BESIDE)


def plot_partial_dependence(
    values: Sequence[Any],
    incidence: ArrayLike,
    *,
    low: ArrayLike | None = None,
    high: ArrayLike | None = None,
    causes: Iterable[Any] = ("incidence",),
    covariate: str = "",
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw the mean incidence at each value of a covariate: a line, or points for categories.

    A missing value (None or NaN) stands apart, at the right.

    Parameters
    ----------
    values
        Of the covariate; numbers in rising order.
    incidence, low, high
        The incidence and the ends of its band, shape (value,) or (cause, value).
    covariate
        Its name.
    causes, title, ax
        As in `plot_importance`.

    Examples
    --------
    >>> ax = plot_partial_dependence(["f", "m", None], [0.1, 0.2, 0.15], covariate="sex")
    >>> [tick.get_text() for tick in ax.get_xticklabels()]
    ['f', 'm', 'missing']
    """
    is_new, ax, labels = ax is None, axes_or_new(ax), cause_labels(causes)
    curves = np.atleast_2d(np.asarray(incidence, dtype=np.float64))
    ends = np.stack([np.atleast_2d(curves if end is None else end) for end in (low, high)])
    is_present = ~np.asarray(pd.isna(np.asarray(values, dtype=object)))
    present = pd.Series([value for value in values if not pd.isna(value)])
    joined = is_present & (present.dtype.kind in "iuf")
    places, width = np.arange(len(values), dtype=np.float64), 1.0
    if joined.any():
        width = 0.15 * (np.ptp(present) or 1.0)
        places[is_present], places[~is_present] = present, present.max() + width
    for k, offset in enumerate(side_by_side(len(curves)) * width):
        if joined.any():
            ax.plot(places[joined], curves[k, joined], lw=2, ms=4, label=labels[k],
                    **mark(k) | line(k))  # fmt: skip
            ax.fill_between(
                places[joined], *ends[:, k, joined], color=line(k)["color"], alpha=0.12, lw=0
            )
        bottom, top = ends[:, k, ~joined]
        ax.errorbar(places[~joined] + offset, (bottom + top) / 2, (top - bottom) / 2, lw=1.5,
                    color=line(k)["color"], fmt="none", capsize=3)  # fmt: skip
        ax.plot(places[~joined] + offset, curves[k, ~joined], ms=6,
                label=None if joined.any() else labels[k], **mark(k))  # fmt: skip
    _name_values(ax, places, is_present, joined, present)
    ax.set(xlabel=covariate, ylabel="cumulative incidence", title=title)
    ax.set_ylim(bottom=0)
    return with_legend(ax, is_new and len(curves) > 1, **BESIDE)


def _name_values(
    ax: Axes,
    places: NDArray[np.float64],
    is_present: NDArray[np.bool_],
    joined: NDArray[np.bool_],
    present: pd.Series[Any],
) -> None:
    """Ticks at the categories, or at round numbers, and one for "missing" where it occurs."""
    if joined.all():
        return
    ticks = list(places[is_present])
    labels = [str(value) for value in present]
    if joined.any():
        ticks = [tick for tick in ax.get_xticks() if present.min() <= tick <= present.max()]
        labels = ax.xaxis.get_major_formatter().format_ticks(ticks)
    else:
        ax.set_xlim(-0.5, len(places) - 0.5)
    labels = [*labels, *["missing"] * int((~is_present).sum())]
    slant: dict[str, Any] = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
    crowded = len("".join(labels)) > 50
    ax.set_xticks([*ticks, *places[~is_present]], labels, **(slant if crowded else {}))
