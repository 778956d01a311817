"""The studies that can be rerun by name: which data, which methods, which columns to show."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from survtrace import baselines
from survtrace.datasets.public import PUBLIC
from survtrace.estimator import SurvTRACE
from survtrace.settings import IPS_FORMS
from survtrace.study.published import CONCORDANCE
from survtrace.study.runner import Method

QUIET = {"verbose": False}


class Preset(NamedTuple):
    """A study: data sets, methods by name, the scores its tables show, and peers on demand."""

    data: tuple[str, ...]
    methods: Mapping[str, Method]
    columns: tuple[str, ...]
    peers: Mapping[str, Method] = MappingProxyType({})


def survtrace(seed: int, **settings: Any) -> SurvTRACE:
    """SurvTRACE with default settings, but for those given."""
    return SurvTRACE(random_state=seed, **{**QUIET, **settings})


def without_seed(kind: type[Any], seed: int, **settings: Any) -> Any:
    """Return a method that draws nothing at random."""
    return kind(**settings)


def seeded(kind: type[Any], seed: int, **settings: Any) -> Any:
    """Return a method that starts from the seed."""
    return kind(random_state=seed, **settings)


def cause_specific(kind: type[Any], seed: int, **settings: Any) -> Any:
    """Return a method for one cause, fitted to each."""
    return baselines.CauseSpecific(kind, random_state=seed, **settings)


PAPER_NETWORK: dict[str, Any] = {
    "n_members": 1,
    "head_depth": 1,
    "token_bias": False,
    "proportional": 0.0,
    "token_dropout": 0.0,
    "head_dropout": 0.0,
    "averaging": 0.0,
}
ABLATION: dict[str, Method] = {
    "SurvTRACE": survtrace,
    "w/o MTL": partial(survtrace, mortality_weight=0.0, stay_weight=0.0),
    "w/o MP": partial(survtrace, mortality_weight=0.0),
    "w/o LS": partial(survtrace, stay_weight=0.0),
    "1 member": partial(survtrace, n_members=1),
    "4 members": partial(survtrace, n_members=4),
    "16 members": partial(survtrace, n_members=16),
    "w/o token bias": partial(survtrace, token_bias=False),
    "w/o pull": partial(survtrace, proportional=0.0),
    "w/o attention": partial(survtrace, depth=0),
    "paper's network": partial(survtrace, **PAPER_NETWORK),
}
IPS: dict[str, Method] = {form: partial(survtrace, ips=form, n_members=1) for form in IPS_FORMS}
SIMPLE: dict[str, Method] = {
    "Aalen-Johansen": partial(without_seed, baselines.AalenJohansen),
    "CS-CPH": partial(without_seed, baselines.CauseSpecificCox),
}
FOREST: dict[str, Method] = {"CS-RSF": partial(cause_specific, baselines.RandomSurvivalForest)}
# On a table of one's own nobody searched before: Cox searches its ridge, and both are bounded.
POOLED: dict[str, Any] = {"pool_below": 10, "max_columns": 200}
OWN_TABLE: dict[str, dict[str, Any]] = {
    "CS-CPH": {"ridge": "search", "n_grid": 500, **POOLED},
    "CS-RSF": {"n_estimators": 100, "n_times": 100, "n_grid": 100, **POOLED},
}
PAPER_SINGLE: dict[str, Method] = {
    "CPH": partial(without_seed, baselines.CoxPH),
    "DeepSurv": partial(seeded, baselines.DeepSurv),
    "DeepHit": partial(seeded, baselines.DeepHit),
    "RSF": partial(seeded, baselines.RandomSurvivalForest),
    "PC-Hazard": partial(seeded, baselines.PCHazard),
    "DSM": partial(seeded, baselines.DeepSurvivalMachines),
}
PAPER_COMPETING: dict[str, Method] = {
    **SIMPLE,
    "CS-PC-Hazard": partial(cause_specific, baselines.PCHazard),
    "DeepHit": partial(seeded, baselines.DeepHit),
    "DSM": partial(seeded, baselines.DeepSurvivalMachines),
}
BOOSTING: dict[str, Method] = {"SurvivalBoost": partial(seeded, baselines.SurvivalBoost)}
COMPRISK: dict[str, Method] = {
    "comprisk forest": partial(seeded, baselines.CompetingRiskForest),
    "Fine-Gray": partial(without_seed, baselines.FineGray),
}

BRIER = ("B25", "B50", "B75", "IBS")

PRESETS: dict[str, Preset] = {
    "ablation": Preset(("metabric", "support"), ABLATION, (*CONCORDANCE, "IBS")),
    "ips": Preset(("flchain", "simulated"), IPS, (*CONCORDANCE, "IBS", "AJ", "truth")),
    "paper-competing": Preset(
        ("flchain", "simulated", "linear"),
        {"SurvTRACE": survtrace, **PAPER_COMPETING},
        (*CONCORDANCE, "IBS", "truth"),
        peers={**BOOSTING, **COMPRISK},
    ),
    "paper-single": Preset(
        ("metabric", "support"),
        {"SurvTRACE": survtrace, **PAPER_SINGLE},
        (*CONCORDANCE, *BRIER),
        peers=BOOSTING,
    ),
    "robust": Preset(tuple(PUBLIC), {"SurvTRACE": survtrace, **SIMPLE}, (*CONCORDANCE, "IBS")),
}
