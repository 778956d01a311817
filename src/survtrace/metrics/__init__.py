"""Scores of survival and incidence predictions, with intervals; no torch is imported."""

from survtrace.metrics.auc import auc, auc_at
from survtrace.metrics.brier import (
    brier_score,
    brier_score_at,
    brier_score_survival,
    integrated_brier_score,
    integrated_brier_score_survival,
)
from survtrace.metrics.calibration import (
    CalibrationCurve,
    aalen_johansen_calibration,
    calibration_curve,
    kaplan_meier_calibration,
    mean_incidence,
)
from survtrace.metrics.calibration_distance import (
    CalibrationError,
    CalibrationErrors,
    calibration_errors,
)
from survtrace.metrics.calibration_regression import (
    CalibrationRegression,
    SmoothCalibrationCurve,
    calibration_intercept_slope,
    smooth_calibration_curve,
)
from survtrace.metrics.censoring import CensoringSurvival, censoring_survival
from survtrace.metrics.centre_spread import CentreSpread, centre_spread, difference_test
from survtrace.metrics.comparison import (
    Bootstrap,
    Comparison,
    bootstrap,
    compare,
    corrected_t_test,
    paired_bootstrap,
)
from survtrace.metrics.concordance import (
    concordance_antolini,
    concordance_cause_specific,
    concordance_paper,
)
from survtrace.metrics.distribution_calibration import (
    DCalibration,
    d_calibration,
    d_calibration_incidence,
)
from survtrace.metrics.net_benefit import DecisionCurve, net_benefit, net_benefit_difference
from survtrace.metrics.nonparametric import aalen_johansen, kaplan_meier, nelson_aalen
from survtrace.metrics.observed_expected import ObservedExpectedRatio, observed_expected_ratio
from survtrace.metrics.pseudo_values import pseudo_values
from survtrace.metrics.scaled_brier import scaled_brier_score
from survtrace.metrics.score import Score
from survtrace.metrics.scorers import Scorer, auc_scorer, brier_scorer, concordance_scorer
from survtrace.metrics.step_function import StepFunction

__all__ = [
    "Bootstrap",
    "CalibrationCurve",
    "CalibrationError",
    "CalibrationErrors",
    "CalibrationRegression",
    "CensoringSurvival",
    "CentreSpread",
    "Comparison",
    "DCalibration",
    "DecisionCurve",
    "ObservedExpectedRatio",
    "Score",
    "Scorer",
    "SmoothCalibrationCurve",
    "StepFunction",
    "aalen_johansen",
    "aalen_johansen_calibration",
    "auc",
    "auc_at",
    "auc_scorer",
    "bootstrap",
    "brier_score",
    "brier_score_at",
    "brier_score_survival",
    "brier_scorer",
    "calibration_curve",
    "calibration_errors",
    "calibration_intercept_slope",
    "censoring_survival",
    "centre_spread",
    "compare",
    "concordance_antolini",
    "concordance_cause_specific",
    "concordance_paper",
    "concordance_scorer",
    "corrected_t_test",
    "d_calibration",
    "d_calibration_incidence",
    "difference_test",
    "integrated_brier_score",
    "integrated_brier_score_survival",
    "kaplan_meier",
    "kaplan_meier_calibration",
    "mean_incidence",
    "nelson_aalen",
    "net_benefit",
    "net_benefit_difference",
    "observed_expected_ratio",
    "paired_bootstrap",
    "pseudo_values",
    "scaled_brier_score",
    "smooth_calibration_curve",
]
