"""How good predictions are on subjects not learned from."""

from survtrace.evaluation.score_table import evaluate

__all__ = ["evaluate"]
