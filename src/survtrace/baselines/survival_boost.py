"""SurvivalBoost (hazardous's): boosted trees that take time as one more covariate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from survtrace.baselines.contract import Baseline, Floats, library
from survtrace.baselines.seeds import seeded
from survtrace.tables.outcome.outcome import Outcome


@dataclass(kw_only=True, eq=False)
class SurvivalBoost(Baseline):
    """A classifier of "what has happened by this time", trained with a proper score; any causes.

    Alberge et al. 2025. At every time the probabilities sum to 1, but nothing makes them
    monotone: an incidence may fall with time, and survival rise. They are handed on as they are.

    Parameters
    ----------
    n_iter, learning_rate, max_leaf_nodes, min_samples_leaf
        As in hazardous.
    categorical, random_state
        As for `Baseline`; seed of the times drawn and of the trees.
    """

    search_space: ClassVar = {"learning_rate": (0.02, 0.05), "max_leaf_nodes": (10, 31)}
    from_start_only: ClassVar = "hazardous asks what has happened to everybody by a time, from 0 on"

    n_iter: int = 100
    learning_rate: float = 0.05
    max_leaf_nodes: int = 31
    min_samples_leaf: int = 50
    categorical: Sequence[str | int] | None = None
    random_state: int | None = None

    def _fit(self, design: Floats, outcome: Outcome) -> None:
        self.booster_ = library("hazardous").SurvivalBoost(
            n_iter=self.n_iter,
            learning_rate=self.learning_rate,
            max_leaf_nodes=self.max_leaf_nodes,
            min_samples_leaf=self.min_samples_leaf,
            show_progressbar=False,
            random_state=self.random_state,
        )
        # hazardous gives its trees no seed: theirs is the global generator
        with seeded(self.random_state):
            self.booster_.fit(design, {"event": outcome.event, "duration": outcome.duration})

    def predict_survival_function(
        self, X: Any, times: ArrayLike, *, conditional_after: ArrayLike | None = None
    ) -> Floats:
        """Predict survival, which may rise with time; ``conditional_after`` as for incidences."""
        if conditional_after is not None:
            return super().predict_survival_function(X, times, conditional_after=conditional_after)
        return self._states(self.design_.matrix(X), np.asarray(times, dtype=np.float64))[:, 0]

    def _incidence(self, design: Floats, times: Floats) -> Floats:
        return self._states(design, times)[:, 1:]

    def _states(self, design: Floats, times: Floats) -> Floats:
        """Predict each state, shape (subject, 1 + cause, time): event-free, then each cause."""
        return np.clip(self.booster_.predict_cumulative_incidence(design, times), 0.0, 1.0)
