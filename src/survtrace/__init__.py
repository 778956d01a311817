"""SurvTRACE: transformers for survival analysis with competing events."""

from importlib.metadata import version

from survtrace.data.outcome import Surv
from survtrace.errors import (
    DataError,
    DataWarning,
    SavedFileError,
    SettingError,
    SurvtraceError,
    TrainingError,
)
from survtrace.estimator import SurvTRACE
from survtrace.persistence import load

__version__ = version("survtrace")
__all__ = [
    "DataError",
    "DataWarning",
    "SavedFileError",
    "SettingError",
    "Surv",
    "SurvTRACE",
    "SurvtraceError",
    "TrainingError",
    "load",
]
