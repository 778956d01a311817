"""Whether an estimator has learned from the subjects of a table, by the durations it remembers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from survtrace.errors import LearnedRowsWarning, warn
from survtrace.metrics import CensoringSurvival, censoring_survival
from survtrace.tables.outcome.outcome import Outcome

Floats = NDArray[np.float64]
UNLIKELY = 1e-6
SEEM_LEARNED = (
    "These seem to be rows the model was trained on: their durations are those it remembers, more "
    "than chance allows. The scores then say how well it remembers, not how well it predicts. "
    "Score it on other subjects."
)


def warn_of_learned_rows(est: Any, outcome: Outcome) -> None:
    """Warn if an estimator is about to be scored on rows it has learned from."""
    if looks_learned(est, outcome):
        warn(SEEM_LEARNED, LearnedRowsWarning)


def looks_learned(est: Any, outcome: Outcome) -> bool:
    """Tell whether the durations of a table are those that the estimator remembers.

    It remembers the censoring survival of the rows it learned from, and with it every distinct
    duration. A table whose censoring survival is the same is taken for these rows. So is one whose
    durations are all among those remembered (or hold them all), unless that can be chance: the
    share of durations moved by one step that are still among them says how likely it is. The rows
    of a subject are joined first: it does not matter where they are cut, nor what its id is.
    """
    here, there = _remembered(outcome), est.censoring_
    if np.array_equal(here.times, there.times) and np.allclose(here.values, there.values):
        return True
    return _contained_beyond_chance(here.times, there.times)


def holds_learned(est: Any, outcome: Outcome) -> bool:
    """Tell whether every duration that the estimator learned from occurs in a table."""
    return bool(np.isin(est.censoring_.times, _remembered(outcome).times).all())


def _remembered(outcome: Outcome) -> CensoringSurvival:
    """Return what an estimator would remember of a table: when each subject came and left."""
    return censoring_survival(outcome.take(outcome.duration > 0))


def _contained_beyond_chance(first: Floats, second: Floats) -> bool:
    few, many = sorted((first, second), key=len)
    if len(many) < 2 or not np.isin(few, many).all():
        return False
    gaps = np.diff(many)
    step = gaps[gaps > 1e-9 * many[-1]].min()
    beside = np.clip(np.searchsorted(many, few + step - step / 4), 0, len(many) - 1)
    by_chance = np.mean(np.abs(many[beside] - few - step) <= step / 4)
    return bool(by_chance ** len(few) < UNLIKELY)
