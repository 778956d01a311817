"""Searches settings with Optuna, on training and validation rows only; a killed search goes on."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import Progress
from sklearn.model_selection import KFold

from survtrace.data.outcome import read_outcome
from survtrace.errors import SettingError
from survtrace.estimator import SurvTRACE

Suggest = Callable[[Any], dict[str, Any]]


def paper_space(trial: Any) -> dict[str, Any]:
    """The grid of the paper's implementation section."""
    return {"lr": trial.suggest_categorical("lr", [1e-4, 1e-3]), **_sizes(trial)}


def wide_space(trial: Any) -> dict[str, Any]:
    """The paper's grid, and what mattered in our trials: dropout, intervals, batches, averaging."""
    return {
        **_sizes(trial),
        "lr": trial.suggest_float("lr", 3e-4, 3e-3, log=True),
        "n_intervals": trial.suggest_categorical("n_intervals", [4, 6, 8]),
        "token_dropout": trial.suggest_float("token_dropout", 0.0, 0.3),
        "head_dropout": trial.suggest_float("head_dropout", 0.0, 0.5),
        "batch_size": trial.suggest_categorical("batch_size", [64, 128, 256]),
        "averaging": trial.suggest_categorical("averaging", [0.0, 1.0, 3.0, 6.0]),
        "stay_weight": trial.suggest_categorical("stay_weight", [0.0, 1.0]),
        "mortality_weight": trial.suggest_categorical("mortality_weight", [0.0, 1.0]),
    }


def _sizes(trial: Any) -> dict[str, Any]:
    return {
        "weight_decay": trial.suggest_categorical("weight_decay", [1e-3, 1e-4, 0.0]),
        "depth": trial.suggest_categorical("depth", [2, 3, 4]),
        "width": trial.suggest_categorical("width", [8, 16]),
        "hidden": trial.suggest_categorical("hidden", [32, 64]),
        "n_heads": trial.suggest_categorical("n_heads", [1, 2, 4]),
        "head_depth": trial.suggest_categorical("head_depth", [1, 2]),
    }


SPACES: dict[str, Suggest] = {"paper": paper_space, "wide": wide_space}


def tune(
    X: Any,
    y: Any,
    folder: str | Path,
    *,
    space: str = "wide",
    n_trials: int = 30,
    n_folds: int = 3,
    fixed: Mapping[str, Any] | None = None,
    random_state: int = 0,
) -> dict[str, Any]:
    """Find settings with the lowest integrated Brier score over inner folds.

    Each trial is scored fold by fold and broken off when it falls behind the median of the others.
    Trials are kept in ``folder``: called again, the search goes on until ``n_trials`` are done.
    The best settings are written to ``settings.json`` there, for ``SurvTRACE(**settings)``.

    Parameters
    ----------
    X, y
        Learning rows only: keep the rows to report on out of this.
    space
        "paper" (its grid) or "wide" (the grid and more).
    fixed
        Settings held fixed, such as ``{"n_members": 1, "categorical": [...]}``.
    """
    import optuna
    from optuna.storages.journal import JournalFileBackend

    if space not in SPACES:
        raise SettingError(f"space must be one of {sorted(SPACES)}; got {space!r}.")
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    n = len(read_outcome(y))
    folds = list(KFold(n_folds, shuffle=True, random_state=random_state).split(np.arange(n)))

    def objective(trial: Any) -> float:
        settings = {**SPACES[space](trial), **(fixed or {})}
        trial.set_user_attr("settings", settings)
        losses = []
        for step, (learn, held_out) in enumerate(folds):
            losses.append(_loss(X, y, learn, held_out, settings, random_state))
            trial.report(float(np.mean(losses)), step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return float(np.mean(losses))

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    storage = optuna.storages.JournalStorage(JournalFileBackend(str(folder / "trials.log")))
    study = optuna.create_study(
        study_name=space,
        storage=storage,
        load_if_exists=True,
        sampler=optuna.samplers.TPESampler(seed=random_state),
        pruner=optuna.pruners.MedianPruner(n_startup_trials=5),
    )
    ended = (optuna.trial.TrialState.COMPLETE, optuna.trial.TrialState.PRUNED)
    done = len(study.get_trials(states=ended))
    with Progress(console=Console(stderr=True)) as progress:
        task = progress.add_task("trials", total=n_trials, completed=done)
        study.optimize(
            objective,
            n_trials=max(0, n_trials - done),
            callbacks=[lambda study, trial: progress.advance(task)],
        )
    best: dict[str, Any] = study.best_trial.user_attrs["settings"]
    (folder / "settings.json").write_text(json.dumps(best, indent=1) + "\n")
    return best


def _loss(
    X: Any,
    y: Any,
    learn: NDArray[np.int64],
    held_out: NDArray[np.int64],
    settings: Mapping[str, Any],
    random_state: int,
) -> float:
    """Integrated Brier score of a fold, mean over causes."""
    est = SurvTRACE(random_state=random_state, **{"verbose": False, **settings})
    est.fit(_rows(X, learn), _rows(y, learn))
    return -est.score(_rows(X, held_out), _rows(y, held_out))


def _rows(table: Any, rows: NDArray[np.int64]) -> Any:
    return table.iloc[rows] if hasattr(table, "iloc") else table[rows]
