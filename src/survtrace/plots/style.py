"""What every plot shares: colours, dashes, markers, hatches, bands, axes and legend."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from survtrace.errors import require
from survtrace.naming import default_cause_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes


Band = tuple[NDArray[np.float64], NDArray[np.float64]]

# Okabe and Ito's palette: told apart by the colour-blind and in grey print.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442")
DASHES = ("-", "--", "-.", ":", (0, (9, 3)), (0, (3, 1, 1, 1, 1, 1)), (0, (1, 4)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
HATCHES = ("//", "..", "\\\\", "xx", "--", "oo", "++")
GREY = "#5B5B5B"
BESIDE: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1, 1)}  # a legend's place


def line(k: int) -> dict[str, Any]:
    """Colour and dashes of the k-th of several lines."""
    return {"color": COLOURS[k % len(COLOURS)], "linestyle": DASHES[k % len(DASHES)]}


def mark(k: int) -> dict[str, Any]:
    """Colour and marker of the k-th of several points; ``mark(k) | line(k)`` joins them."""
    return {**line(k), "marker": MARKERS[k % len(MARKERS)], "linestyle": "none"}


def band_of(
    curves: ArrayLike,
    interval: Sequence[ArrayLike] | None,
    deviation: ArrayLike | None,
) -> Band | None:
    """Choose an interval, or else two deviations to each side, within 0 and 1, or None.

    Examples
    --------
    >>> band_of([[0.2]], ([[0.1]], [[0.4]]), None)[1].tolist()
    [[0.4]]
    >>> band_of([[0.2]], None, [[0.15]])[0].tolist()
    [[0.0]]
    """
    if interval is not None:
        return np.asarray(interval[0], np.float64), np.asarray(interval[1], np.float64)
    if deviation is None or np.isnan(np.asarray(deviation, dtype=np.float64)).all():
        return None
    middle, spread = np.asarray(curves), 2 * np.asarray(deviation)
    return np.clip(middle - spread, 0, 1), np.clip(middle + spread, 0, 1)


def draw_curves(
    ax: Axes, times: ArrayLike, curves: ArrayLike, labels: Sequence[Any], band: Band | None
) -> None:
    """Draw curves (curve, time), each in its own colour and dashes, and their bands."""
    times, curves = np.asarray(times), np.asarray(curves)
    for k, label in enumerate(labels):
        ax.plot(times, curves[k], lw=2, label=str(label), **line(k))
        if band is not None and not np.isnan(band[0][k]).all():
            ax.fill_between(times, band[0][k], band[1][k], color=line(k)["color"], alpha=0.15, lw=0)
    ax.set_xlim(times[0], times[-1])


def cause_labels(causes: Iterable[Any]) -> list[str]:
    """Name causes: by the texts of a mapping such as ``est.cause_names_``, or by their labels.

    Examples
    --------
    >>> cause_labels({1: "heart", 2: "other"}), cause_labels(["heart", 2])
    (['heart', 'other'], ['heart', 'cause 2'])
    """
    labels = causes.values() if isinstance(causes, Mapping) else causes
    return [default_cause_name(label) for label in labels]


def side_by_side(n: int) -> NDArray[np.float64]:
    """Return offsets of n marks that share a place of width 1."""
    return 0.6 * ((np.arange(n) + 0.5) / n - 0.5)


def axes_or_new(ax: Axes | None, height: float = 4.8) -> Axes:
    """Return the axes given, or new ones; without the frame's upper and right side."""
    if ax is None:
        plt = require("matplotlib.pyplot", "plots", "figures need")
        _, ax = plt.subplots(figsize=(6.4, height), layout="constrained")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def with_legend(ax: Axes, wanted: bool, **settings: Any) -> Axes:
    """Return the axes, with a legend where one is wanted."""
    if wanted:
        ax.legend(frameon=False, handlelength=3, **settings)
    return ax


def with_unit(name: str, unit: str) -> str:
    """Return the name of an axis, and the unit if there is one."""
    return f"{name} ({unit})" if unit else name
