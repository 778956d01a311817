"""SurvTRACE: transformers for survival analysis with competing events."""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from survtrace.errors import (
    DataError,
    DataWarning,
    LearnedRowsWarning,
    NotEnoughMemoryError,
    SavedFileError,
    SettingError,
    StorageError,
    SurvtraceError,
    TrainingError,
    UnlikePatientsWarning,
)

# OpenMP reads it when torch is loaded. Threads that spin while they wait take the processor from
# those they wait for: on a busy machine of two cores a fit was five times as slow.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

if TYPE_CHECKING:
    from survtrace.estimator import SurvTRACE
    from survtrace.persistence import load
    from survtrace.tables.landmarks import landmark
    from survtrace.tables.outcome.outcome import Surv
    from survtrace.tables.start_stop import to_start_stop

    __version__: str

__all__ = [
    "DataError",
    "DataWarning",
    "LearnedRowsWarning",
    "NotEnoughMemoryError",
    "SavedFileError",
    "SettingError",
    "StorageError",
    "Surv",
    "SurvTRACE",
    "SurvtraceError",
    "TrainingError",
    "UnlikePatientsWarning",
    "landmark",
    "load",
    "to_start_stop",
]

ON_DEMAND = {
    "Surv": "survtrace.tables.outcome.outcome",
    "SurvTRACE": "survtrace.estimator",
    "landmark": "survtrace.tables.landmarks",
    "load": "survtrace.persistence",
    "to_start_stop": "survtrace.tables.start_stop",
}


def __dir__() -> list[str]:
    """Return names to offer, also those that are imported on demand."""
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    """Import what needs torch when it is first asked for: the command answers at once."""
    if name == "__version__":  # reading it takes longer than all else here
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("survtrace")
        except PackageNotFoundError:  # the small distribution of packages/portable
            return version("survtrace-portable")
    if name not in ON_DEMAND:
        raise AttributeError(f"module 'survtrace' has no attribute {name!r}")
    return getattr(import_module(ON_DEMAND[name]), name)
