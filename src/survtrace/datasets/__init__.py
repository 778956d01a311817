"""Cohorts to learn on: embedded, downloaded, and simulated with known truth."""

from survtrace.datasets.changing import ChangingTruth, make_changing_cohort
from survtrace.datasets.cohort import make_cohort
from survtrace.datasets.deepsurv import load_metabric, load_support
from survtrace.datasets.flchain import FLCHAIN_CAUSES, load_flchain
from survtrace.datasets.public import load_public
from survtrace.datasets.seer import SEER_CAUSES, load_seer
from survtrace.datasets.truth import Truth

__all__ = [
    "FLCHAIN_CAUSES",
    "SEER_CAUSES",
    "ChangingTruth",
    "Truth",
    "load_flchain",
    "load_metabric",
    "load_public",
    "load_seer",
    "load_support",
    "make_changing_cohort",
    "make_cohort",
]
