"""The rivals, behind one contract: fit, predict_survival_function, predict_cumulative_incidence."""

from survtrace.baselines.aalen_johansen import AalenJohansen
from survtrace.baselines.cause_specific_cox import CauseSpecificCox

__all__ = ["AalenJohansen", "CauseSpecificCox"]
