"""All messy tables, by name."""

from messy import (  # noqa: F401
    alignment,
    at_prediction,
    covariates,
    durations,
    events,
    files,
    identifiers,
    start_stop,
)
from messy.table import ENTRIES, Cohort, Entry, Messy

TABLES: dict[str, Entry] = {entry.name: entry for entry in ENTRIES}


def make(name: str, seed: int = 0) -> Messy:
    """Make a messy table by its name."""
    return TABLES[name].make(Cohort(seed))
