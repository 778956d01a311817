"""The rivals, behind one contract: fit, predict_survival_function, predict_cumulative_incidence."""

from survtrace.baselines.aalen_johansen import AalenJohansen
from survtrace.baselines.cause_specific import CauseSpecific, CauseSpecificCox
from survtrace.baselines.comprisk_models import CompetingRiskForest, FineGray
from survtrace.baselines.cox import CoxPH
from survtrace.baselines.pycox_networks import DeepHit, DeepSurv, PCHazard
from survtrace.baselines.random_forest import RandomSurvivalForest
from survtrace.baselines.survival_boost import SurvivalBoost

__all__ = [
    "AalenJohansen",
    "CauseSpecific",
    "CauseSpecificCox",
    "CompetingRiskForest",
    "CoxPH",
    "DeepHit",
    "DeepSurv",
    "FineGray",
    "PCHazard",
    "RandomSurvivalForest",
    "SurvivalBoost",
]
