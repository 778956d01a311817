"""Bounds that hold as often as promised, whether or not the estimator is right."""

from survtrace.conformal.lower_bound import SurvivalLowerBound

__all__ = ["SurvivalLowerBound"]
