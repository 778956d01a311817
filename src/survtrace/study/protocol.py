"""What is scored on what: data sets, their shared splits, horizons and time grids."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from survtrace.datasets import (
    Truth,
    load_flchain,
    load_metabric,
    load_public,
    load_seer,
    load_support,
    make_cohort,
)
from survtrace.datasets.download import data_folders
from survtrace.datasets.public import PUBLIC
from survtrace.errors import DataError
from survtrace.metrics.censoring import Ties
from survtrace.tables.outcome.outcome import read_outcome

Rows = NDArray[np.int64]
VALIDATION = ":val"
TABLE_2 = ("metabric", "support")
SHARED = {"metabric": load_metabric, "support": load_support, "flchain": load_flchain}
SIMULATED = ("simulated", "linear")
SIMULATED_SUBJECTS = 20_000
SEER = "seer:"


@dataclass(frozen=True)
class Split:
    """Rows to learn from, to choose settings by, and to report on."""

    train: Rows
    val: Rows
    test: Rows

    @property
    def learn(self) -> Rows:
        """Training and validation rows together: what the final fit receives."""
        return np.concatenate([self.train, self.val])


@dataclass(frozen=True, eq=False)
class Task:
    """A cohort with its splits; ``horizons`` and ``grid`` may depend on the split.

    ``ties`` says how scores weight an event at a time at which others were censored:
    ``"scikit-survival"`` for the cohorts of the paper's Table 2, which was scored with it.
    """

    name: str
    X: pd.DataFrame
    y: pd.DataFrame
    splits: tuple[Split, ...]
    horizons: NDArray[np.float64] | None = None
    grid: NDArray[np.float64] | None = None
    truth: Truth | None = None
    ties: Ties = "left-limit"

    def for_search(self) -> Task:
        """Return the same cohort without its test rows: what was validation is scored instead."""
        nobody = np.array([], dtype=np.int64)
        splits = tuple(Split(split.train, nobody, split.val) for split in self.splits)
        return replace(self, name=self.name + VALIDATION, splits=splits)

    def times(self, split: Split) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the three horizons and the grid of the integrated Brier score.

        Fixed by the split files of the single-event data; otherwise quantiles of the training
        rows' event times, whatever the cause: 25, 50, 75 % and 50 points from 5 to 95 %.
        """
        if self.horizons is not None and self.grid is not None:
            return self.horizons, self.grid
        outcome = read_outcome(self.y.iloc[split.train])
        event_times = outcome.duration[outcome.event > 0]
        first, last = np.quantile(event_times, [0.05, 0.95])
        return np.quantile(event_times, [0.25, 0.5, 0.75]), np.linspace(first, last, 50)


@cache
def load_task(name: str) -> Task:
    """Load a task: metabric, support, flchain, simulated, linear, or one of `load_public`.

    "seer:" and a path is a SEER export, treated as in the paper. "linear" is simulated without
    interactions, as Cox's regression assumes. ":val" behind a name hides test rows.

    Examples
    --------
    >>> task = load_task("simulated")
    >>> len(task.splits), task.truth is not None
    (5, True)
    """
    if name.endswith(VALIDATION):
        return load_task(name.removesuffix(VALIDATION)).for_search()
    if name in SHARED:
        return _shared(name, *SHARED[name]())
    if name in SIMULATED:
        cohort = make_cohort(
            SIMULATED_SUBJECTS, linear=name == "linear", random_state=0, return_truth=True
        )
        return _randomly_split(name, *cohort)
    if name in PUBLIC:
        return _randomly_split(name, *load_public(name))
    if name.startswith(SEER):
        return _randomly_split("seer", *load_seer(name.removeprefix(SEER), treatment="paper"))
    names = [*SHARED, *SIMULATED, *PUBLIC, SEER + "path"]
    raise DataError(f"data must be one of {names}; got {name!r}.")


def random_splits(
    n_subjects: int, n_splits: int, seed: int = 0, test: float = 0.3, val: float = 0.1
) -> tuple[Split, ...]:
    """Return splits of a table of one's own: 30 % to report on, a tenth of the rest to choose by.

    Examples
    --------
    >>> split = random_splits(100, n_splits=1)[0]
    >>> len(split.train), len(split.val), len(split.test)
    (63, 7, 30)
    """
    splits = []
    for number in range(n_splits):
        order = np.random.default_rng([seed, number]).permutation(n_subjects)
        n_test = round(test * n_subjects)
        n_val = round(val * (n_subjects - n_test))
        splits.append(
            Split(order[n_test + n_val :], order[n_test : n_test + n_val], order[:n_test])
        )
    return tuple(splits)


def _shared(name: str, X: pd.DataFrame, y: pd.DataFrame) -> Task:
    """Return a data set whose splits lie in a file, so that every method meets the same ones."""
    paths = [folder / f"splits_{name}.npz" for folder in data_folders()]
    found = [path for path in paths if path.is_file()]
    if not found:
        raise DataError(
            f"splits_{name}.npz, which holds the shared splits of {name}, is in none of "
            f"{[str(path.parent) for path in paths]}. Set SURVTRACE_DATA_HOME to its folder."
        )
    with np.load(found[0]) as file:
        n_splits = sum(key.startswith("test_") for key in file.files)
        splits = tuple(
            Split(*(file[f"{part}_{number}"] for part in ("train", "val", "test")))
            for number in range(n_splits)
        )
        times = {k: file[k] for k in ("horizons", "ibs_grid") if k in file.files}
    ties: Ties = "scikit-survival" if name in TABLE_2 else "left-limit"
    return Task(name, X, y, splits, times.get("horizons"), times.get("ibs_grid"), ties=ties)


def _randomly_split(
    name: str, X: pd.DataFrame, y: pd.DataFrame, truth: Truth | None = None
) -> Task:
    return Task(name, X, y, random_splits(len(X), n_splits=5), truth=truth)
