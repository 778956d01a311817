"""Arrays in, axes out: curves, scores, risk groups, explanations, training history, validation.

Everything that differs in colour also differs in dashes, marker or hatching. Where no axes are
given, new ones are made and get a legend; on given axes the legend is left to the caller.
"""

from survtrace.plots.explanations import plot_attention, plot_importance, plot_partial_dependence
from survtrace.plots.groups import plot_at_risk, plot_calibration, plot_risk_groups
from survtrace.plots.over_time import (
    plot_differences,
    plot_history,
    plot_incidence,
    plot_scores_over_time,
    plot_stacked,
    plot_survival,
)
from survtrace.plots.style import COLOURS, DASHES, GREY, HATCHES, MARKERS
from survtrace.plots.validation import (
    plot_decision_curve,
    plot_smooth_calibration,
    plot_subgroups,
)

__all__ = [
    "COLOURS",
    "DASHES",
    "GREY",
    "HATCHES",
    "MARKERS",
    "plot_at_risk",
    "plot_attention",
    "plot_calibration",
    "plot_decision_curve",
    "plot_differences",
    "plot_history",
    "plot_importance",
    "plot_incidence",
    "plot_partial_dependence",
    "plot_risk_groups",
    "plot_scores_over_time",
    "plot_smooth_calibration",
    "plot_stacked",
    "plot_subgroups",
    "plot_survival",
]
