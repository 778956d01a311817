"""The baselines, behind one contract: fit, predict_survival_function, predict_cumulative_incidence.

| for one cause | for any causes |
|---|---|
| CoxPH (ours), RandomSurvivalForest (scikit-survival) | AalenJohansen (ours) |
| DeepSurv, PCHazard (pycox) | DeepHit (pycox) |
| | DeepSurvivalMachines (ours) |
| | SurvivalBoost (hazardous) |
| | CompetingRiskForest, FineGray (comprisk) |
| | CauseSpecific: one of the left column per cause; CauseSpecificCox |

``search_space`` of a baseline holds the settings that a fair comparison tries. Where a method
breaks a law of probability (SurvivalBoost's incidences may fall, FineGray's may sum to more than
1), that is shown, not corrected.

AalenJohansen, CoxPH and CauseSpecificCox take late entry and start-stop rows; every other one
refuses them and says why. All predict from a landmark on (``conditional_after``).
"""

from survtrace.baselines.aalen_johansen import AalenJohansen
from survtrace.baselines.cause_specific import CauseSpecific, CauseSpecificCox
from survtrace.baselines.comprisk_models import CompetingRiskForest, FineGray
from survtrace.baselines.cox import CoxPH
from survtrace.baselines.deep_survival_machines import DeepSurvivalMachines
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
    "DeepSurvivalMachines",
    "FineGray",
    "PCHazard",
    "RandomSurvivalForest",
    "SurvivalBoost",
]
