"""How good predictions are on subjects not learned from."""

from survtrace.evaluation.score_table import evaluate
from survtrace.evaluation.validation import Validation, validate

__all__ = ["Validation", "evaluate", "validate"]
