"""What happened to subjects, alone and beside predictions: at risk, calibration, risk groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from survtrace.errors import DataError, SettingError
from survtrace.metrics import kaplan_meier
from survtrace.metrics.event_table import event_table
from survtrace.metrics.inputs import read_outcome
from survtrace.plots.style import GREY, axes_or_new, line, mark, with_legend, with_unit
from survtrace.tables.outcome.outcome import Outcome

if TYPE_CHECKING:
    from matplotlib.axes import Axes

USUAL_NAMES = {1: ["all"], 2: ["low", "high"], 3: ["low", "middle", "high"]}


def plot_calibration(
    predicted: ArrayLike,
    observed: ArrayLike,
    *,
    low: ArrayLike | None = None,
    high: ArrayLike | None = None,
    size: ArrayLike | None = None,
    label: str = "",
    colour: str | None = None,
    limit: float | None = None,
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw observed incidence in groups of rising predicted incidence; right is the diagonal.

    Called again on the same axes it adds a curve, in the next colour and with the next marker.

    Parameters
    ----------
    predicted, observed
        Of each group, shape (group,), as from `survtrace.metrics.calibration_curve`.
    low, high
        Ends of the intervals of the observed incidence.
    size
        Subjects in each group; written into the corner.
    label, colour
        Of the curve.
    limit
        End of both axes; by default what the points and intervals need. Panels that are to be
        compared share one.
    title, ax
        Title, and axes to draw on (new ones by default).

    Examples
    --------
    >>> ax = plot_calibration([0.1, 0.4], [0.12, 0.35], label="heart", size=[50, 49])
    >>> ax.get_xlabel(), ax.texts[0].get_text()
    ('predicted incidence', '2 groups of 49 to 50')
    """
    is_new, ax = ax is None, axes_or_new(ax)
    predicted, observed = np.asarray(predicted), np.asarray(observed)
    ends = [predicted, observed, *([] if high is None else [np.asarray(high)])]
    end = limit or 1.05 * float(np.nanmax(ends))
    if ax.lines:
        end = max(end, ax.get_xlim()[1])
    else:
        ax.axline((0, 0), slope=1, color=GREY, lw=0.8, label="as predicted")
    k = sum(curve.get_marker() not in ("None", None, "") for curve in ax.lines)
    look = mark(k) | line(k) | ({"color": colour} if colour else {})
    if low is not None and high is not None:
        ax.vlines(predicted, low, high, color=look["color"], lw=1.5, alpha=0.6)
    ax.plot(predicted, observed, label=label, ms=6, lw=1.2, **look)
    if size is not None:
        ax.text(0.97, 0.03, _group_sizes(np.asarray(size)), transform=ax.transAxes, ha="right",
                va="bottom", fontsize="small", color=GREY)  # fmt: skip
    ax.set(xlabel="predicted incidence", ylabel="observed incidence", title=title)
    ax.set(xlim=(0, end), ylim=(0, end), aspect="equal")
    return with_legend(ax, is_new and label != "")


def _group_sizes(size: NDArray[np.int64]) -> str:
    least, most = int(size.min()), int(size.max())
    each = f"{least:,}" if least == most else f"{least:,} to {most:,}"
    return f"{len(size)} group{'s' if len(size) > 1 else ''} of {each}"


def plot_risk_groups(
    y: Any,
    risk: ArrayLike,
    *,
    groups: int = 3,
    names: Sequence[str] | None = None,
    unit: str = "",
    clock: str = "time",
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw Kaplan-Meier survival in groups of rising predicted risk, numbers at risk below.

    Parameters
    ----------
    y
        The outcome: event (any cause counts) and duration of each subject, and its entry where
        some entered late: they are at risk from then on.
    risk
        One number for each subject, higher for those at higher risk, as from
        `SurvTRACE.predict`; of other subjects than the estimator learned from.
    groups, names
        How many groups, cut at even quantiles of the risk, and a name for each, lowest first.
    unit, clock, title, ax
        Unit of the durations, their name (such as "age"), title, and axes to draw on (new ones by
        default).

    Examples
    --------
    >>> y = {"event": [1, 1, 0, 1], "duration": [1.0, 2.0, 6.0, 5.0]}
    >>> ax = plot_risk_groups(y, [0.9, 0.8, 0.1, 0.2], groups=2)
    >>> [line.get_label() for line in ax.lines]
    ['low (n = 2)', 'high (n = 2)']
    """
    is_new, ax = ax is None, axes_or_new(ax)
    outcome, risks = read_outcome(y), np.asarray(risk, dtype=np.float64)
    if risks.shape != (len(outcome),) or not np.isfinite(risks).all():
        raise DataError(
            f"risk must be one finite number for each of {len(outcome)} subjects; got shape "
            f"{risks.shape}, {(~np.isfinite(risks)).sum()} not finite. Pass est.predict(X)."
        )
    if groups < 1 or len(names or range(groups)) != groups:
        raise SettingError(
            f"groups must be 1 or more, with a name for each or none; got {groups} and {names}."
        )
    if outcome.is_start_stop:
        raise DataError(
            "risk groups need one row for each subject, whose predicted risk changes between the "
            f"{len(outcome)} start-stop rows. Take them as known at one time: survtrace.landmark."
        )
    edges = np.quantile(risks, np.arange(1, groups) / groups)
    group = np.searchsorted(edges, risks)
    numbered = ["1 (lowest)", *(str(k) for k in range(2, groups)), f"{groups} (highest)"]
    labels = names or USUAL_NAMES.get(groups) or numbered
    members = {
        name: outcome.take(group == k) for k, name in enumerate(labels) if (group == k).any()
    }
    start = 0.0 if outcome.entry is None else float(outcome.entry.min())
    for k, (name, some) in enumerate(members.items()):
        curve = kaplan_meier(some)
        times, survival = np.r_[start, curve.times], np.r_[1.0, curve.values]
        label = f"{name} (n = {len(some)})"
        ax.step(times, survival, where="post", lw=2, label=label, **line(k))
    ax.set(xlabel=with_unit(clock, unit), ylabel="survival", title=title, ylim=(0, 1.02))
    ax.set_xlim(start, outcome.duration.max())
    _write_numbers_at_risk(ax, members)
    return with_legend(ax, is_new, title="predicted risk")


def plot_at_risk(
    y: Any,
    *,
    unit: str = "",
    clock: str = "time",
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw how many subjects are under observation over time; a tick below for each event.

    Parameters
    ----------
    y
        The outcome: event, duration and, where some entered late, entry and id.
    unit, clock, title, ax
        As in `plot_risk_groups`.

    Examples
    --------
    >>> ax = plot_at_risk({"event": [1, 0], "duration": [3.0, 5.0], "entry": [0.0, 2.0]})
    >>> ax.lines[0].get_ydata().tolist()
    [1.0, 2.0, 1.0, 0.0]
    """
    is_new, ax = ax is None, axes_or_new(ax)
    table = event_table(read_outcome(y))
    # The table counts those at risk just before a time: from there on it is those of the next.
    times = table.times if table.entered is not None else np.r_[0.0, table.times]
    after = np.r_[table.at_risk[len(table.times) + 1 - len(times) :], 0.0]
    ax.step(times, after, where="post", lw=2, color=line(0)["color"], label="at risk")
    ax.fill_between(times, after, step="post", color=line(0)["color"], alpha=0.15, lw=0)
    struck = table.times[table.events.sum(axis=0) > 0]
    ax.plot(struck, np.full(len(struck), 0.015), "|", color=GREY, ms=5, alpha=0.5,
            transform=ax.get_xaxis_transform(), label="event")  # fmt: skip
    ax.set(xlabel=with_unit(clock, unit), ylabel="subjects at risk", title=title)
    ax.set_xlim(times[0], times[-1])
    ax.set_ylim(bottom=0)
    return with_legend(ax, is_new)


def _write_numbers_at_risk(ax: Axes, members: dict[str, Outcome]) -> None:
    """Write a row for each group below the axis: how many are under observation at each tick."""
    start, end = ax.get_xlim()
    ticks = [tick for tick in ax.get_xticks() if start <= tick <= end]
    below: dict[str, Any] = {
        "textcoords": "offset points",
        "annotation_clip": False,
        "fontsize": "small",
    }
    at_left: dict[str, Any] = {"xycoords": "axes fraction", "ha": "right", **below}
    at_tick: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "ha": "center", **below}
    ax.annotate("at risk", (0, 0), (-24, -44), **at_left)
    for k, (name, some) in enumerate(members.items()):
        entry = np.full(len(some), -np.inf) if some.entry is None else some.entry
        height = -57 - 13 * k
        ax.annotate(name, (0, 0), (-24, height), **at_left)
        for tick in ticks:
            at_risk = int(((entry < tick) & (some.duration >= tick)).sum())
            ax.annotate(str(at_risk), (tick, 0), (0, height), **at_tick)
