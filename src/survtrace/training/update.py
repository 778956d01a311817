"""Update a fitted network with subjects of another place, in one way or in the best of several."""

from __future__ import annotations

import copy
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from survtrace.errors import DataWarning, warn
from survtrace.metrics.observed_expected import warn_of_strange_ratio
from survtrace.network.assembly import Network
from survtrace.rules import check_value, one_of, whole
from survtrace.training.cross_fitting import (
    Compared,
    Predict,
    choose_way,
    compare_ways,
    draw_folds,
)
from survtrace.training.fine_tuning import fine_tune
from survtrace.training.local_rows import LocalRows
from survtrace.training.rescaling import events_ratio, rescale

# Ways of updating, the simpler first.
WAYS = ("none", "level", "slope", "heads", "whole")
TRAINED = ("heads", "whole")
# Events in all without which nothing is compared, and without which "auto" does not train.
ENOUGH_TO_COMPARE, ENOUGH_TO_TRAIN = 10, 50


class Updated(NamedTuple):
    """The network after an update, and what is remembered of it, in plain values."""

    network: Network
    record: dict[str, Any]


def update(
    network: Network,
    local: LocalRows,
    how: str,
    settings: Any,
    predict: Predict,
    n_folds: int,
    base: int,
) -> Updated:
    """Compare the ways that are asked for on held-out rows, then update by all rows.

    ``settings`` are those of an estimator, as attributes; ``base`` is the seed.
    """
    check_way(how, n_folds)
    _warn_of_strange_level(network, local)
    n_members = network.shape.n_members
    seeds = [int(seed) for seed in np.random.SeedSequence(base).generate_state(n_members)]
    by_way = partial(update_network, network, settings=settings, seeds=seeds, base=base)
    n_events = int((local.outcome.event > 0).sum())
    ways = [way for way in WAYS if how == "auto" or way in ("none", how)]
    if how == "auto" and n_events < ENOUGH_TO_TRAIN:
        ways = [way for way in ways if way not in TRAINED]
    # What "unknown" means is learned at the end alone: it takes longer than the rest.
    on_folds = SimpleNamespace(**{**vars(settings), "unknown_steps": 0, "verbose": False})
    tried = {way: partial(by_way, how=way, settings=on_folds) for way in ways}
    compared = dict[str, Compared]()
    if n_events >= ENOUGH_TO_COMPARE:
        folds = draw_folds(local.outcome, n_folds, base)
        compared = compare_ways(local, tried, folds, predict)
    chosen = how
    if how == "auto":
        chosen = "none"
        if compared:
            chosen = choose_way({way: each.score for way, each in compared.items()})
        else:
            _warn_of_few_events(n_events)
    record = _record(local, how, chosen, compared)
    return Updated(by_way(local, how=chosen), record)


def update_network(
    network: Network, local: LocalRows, how: str, settings: Any, seeds: list[int], base: int
) -> Network:
    """Give a copy of a network, updated in one way."""
    updated = copy.deepcopy(network)
    if how == "none":
        return updated
    cohort = local.cohort(settings.validation_fraction, seeds)
    assert isinstance(cohort.store, dict)
    subjects = cohort.layout.tensors(cohort.store).to(network.device)
    rescale(updated, subjects, with_power=how == "slope")
    if how in TRAINED:
        fine_tune(updated, cohort, settings, seeds, base, heads_only=how == "heads")
    return updated


def check_way(how: Any, n_folds: Any) -> None:
    """Refuse a way that there is not, and a number of folds that compares nothing.

    Examples
    --------
    >>> check_way("all", 5)
    Traceback (most recent call last):
    survtrace.errors.SettingError: how must be one of 'auto', 'none', 'level', 'slope', 'heads', \
'whole'; got 'all'.
    """
    check_value("how", how, one_of("auto", *WAYS))
    check_value("n_folds", n_folds, whole(2))


def _record(
    local: LocalRows, asked: str, how: str, compared: dict[str, Compared]
) -> dict[str, Any]:
    """Write down an update: when, by whom, how, and what it is worth on held-out rows."""
    outcome, scores = local.outcome, []
    for way, (score, ratios) in compared.items():
        gap = score.minus(compared["none"].score)
        scores.append(
            {
                "how": way,
                "integrated_brier": float(score),
                "difference": float(gap),
                "standard_error": gap.standard_error,
                "observed_expected": ratios,
            }
        )
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "survtrace_version": version("survtrace"),
        "rows": len(outcome),
        "subjects": outcome.n_subjects,
        "events": {str(cause): n for cause, n in outcome.n_events.items()},
        "asked": asked,
        "how": how,
        "scores": scores,
    }


def _warn_of_strange_level(network: Network, local: LocalRows) -> None:
    cohort = local.cohort(0.5, [0])
    assert isinstance(cohort.store, dict)
    subjects = cohort.layout.tensors(cohort.store).to(network.device)
    warn_of_strange_ratio(events_ratio(network, subjects))


def _warn_of_few_events(n_events: int) -> None:
    seen = (
        f"with {n_events} events on the time grid the ways of updating cannot be compared "
        f"({ENOUGH_TO_COMPARE} at times that can be scored are needed): the model is left as it "
        "is. To update it all the same, say"
    )
    warn(DataWarning(f'{seen} how="level".', in_command=f"{seen} --how level."))
