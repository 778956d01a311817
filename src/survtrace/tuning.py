"""Search settings with Optuna, on training and validation rows only; a killed search goes on."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import Progress
from sklearn.model_selection import KFold

from survtrace.errors import SavedFileError, SettingError, require
from survtrace.estimator import SurvTRACE, require_whole_fit
from survtrace.files import own_errors, replacing
from survtrace.folder_lock import only_writer
from survtrace.rules import Rule, check_value, either, one_of, read_path, whole
from survtrace.settings import RULES
from survtrace.tables.content_digest import content_digest
from survtrace.tables.covariates.covariates import open_table
from survtrace.tables.outcome.outcome import read_outcome

Suggest = Callable[[Any], dict[str, Any]]
TRIALS = "trials.log"
CONTENT = "content"  # what a search remembers of its data
Fold = tuple[NDArray[np.int64], NDArray[np.int64]]


def paper_space(trial: Any) -> dict[str, Any]:
    """Return the grid of the paper's implementation section."""
    return {"lr": trial.suggest_categorical("lr", [1e-4, 1e-3]), **_sizes(trial)}


def wide_space(trial: Any) -> dict[str, Any]:
    """Extend the paper's grid by what mattered: dropout, intervals, batches, averaging."""
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
        Learning rows only: keep the rows to report on out of this. Rows of one subject stay on one
        side of each fold.
    folder
        Where trials and the best settings are kept.
    space
        "paper" (its grid) or "wide" (the grid and more).
    n_trials, n_folds
        How many settings are tried in all, each on how many inner folds.
    fixed
        Settings held fixed, such as ``{"n_members": 1, "categorical": [...]}``.
    random_state
        Seed of the folds, the search and every fit.

    Examples
    --------
    >>> import tempfile
    >>> from survtrace.datasets import make_cohort
    >>> X, y = make_cohort(200, proportions=(0.4, 0.2), random_state=0)
    >>> X, small = X.select_dtypes("number"), {"n_members": 1, "max_epochs": 1, "depth": 1}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     best = tune(X, y, folder, n_trials=1, n_folds=2, fixed=small)
    >>> best["depth"], "lr" in best
    (1, True)
    """
    require("optuna", "tune", "a search needs")  # before a folder is made
    check_search(n_trials, n_folds, fixed, random_state)
    trials = read_path("folder", folder) / TRIALS
    with only_writer(Path(folder)), own_errors(trials):
        _mend(trials)
        return _search(X, y, folder, space, n_trials, n_folds, fixed or {}, random_state)


def check_search(n_trials: int, n_folds: int, fixed: Any, random_state: Any) -> None:
    """Refuse arguments of a search that break a rule, before anything is done.

    Examples
    --------
    >>> check_search(30, 3, {"breadth": 8}, 0)
    Traceback (most recent call last):
    survtrace.errors.SettingError: fixed must be a mapping from settings of SurvTRACE, but for \
random_state, to values that JSON can hold; got {'breadth': 8}.
    """
    check_value("n_trials", n_trials, whole(1))
    check_value("n_folds", n_folds, whole(2))
    check_value("random_state", random_state, either(whole(0, 2**32 - 1), one_of(None)))
    check_value("fixed", fixed, FIXED)
    for name, value in (fixed or {}).items():
        if name in RULES:
            check_value(name, value, RULES[name])


def _can_be_fixed(fixed: Any) -> bool:
    """Check that a trial can remember settings, which are written as JSON."""
    if fixed is None:
        return True
    names = set(SurvTRACE().get_params()) - {"random_state"}
    if not isinstance(fixed, Mapping) or not names.issuperset(fixed):
        return False
    try:
        json.dumps(dict(fixed))
    except (TypeError, ValueError):
        return False
    return True


FIXED = Rule(
    _can_be_fixed,
    "a mapping from settings of SurvTRACE, but for random_state, to values that JSON can hold",
)


def _search(
    X: Any,
    y: Any,
    folder: str | Path,
    space: str,
    n_trials: int,
    n_folds: int,
    fixed: Mapping[str, Any],
    random_state: int,
) -> dict[str, Any]:
    """Try settings until so many trials are done, and keep the best."""
    optuna = require("optuna", "tune", "a search needs")
    study = open_study(folder, space, random_state)
    require_same_search(
        study, folder, content_digest(X, y, n_folds, random_state, sorted(fixed.items()))
    )
    X, y = with_rows(X), with_rows(y)
    folds = inner_folds(y, n_folds, random_state)

    def objective(trial: Any) -> float:
        settings = suggest(trial, space, fixed)
        mean = np.inf
        for step, mean in enumerate(mean_losses(X, y, folds, settings, random_state)):
            trial.report(mean, step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return mean

    with Progress(console=Console(stderr=True)) as progress:
        done = count_done(study)
        task = progress.add_task("trials", total=n_trials, completed=done)
        study.optimize(
            objective,
            n_trials=max(0, n_trials - done),
            callbacks=[lambda study, trial: progress.advance(task)],
        )
    return keep_best(study, folder)


def open_study(folder: str | Path, space: str, random_state: int) -> Any:
    """Return the search in a folder, begun or to be gone on with."""
    optuna = require("optuna", "tune", "a search needs")
    if space not in list(SPACES):
        raise SettingError(f"space must be one of {sorted(SPACES)}; got {space!r}.")
    Path(folder).mkdir(parents=True, exist_ok=True)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    trials = Path(folder, TRIALS)
    try:
        return optuna.create_study(
            study_name=space,
            storage=optuna.storages.JournalStorage(
                optuna.storages.journal.JournalFileBackend(str(trials))
            ),
            load_if_exists=True,
            sampler=optuna.samplers.TPESampler(seed=random_state),
            pruner=optuna.pruners.MedianPruner(n_startup_trials=5),
        )
    except (ValueError, TypeError, LookupError) as error:
        raise SavedFileError(
            f"{trials} is not a readable search ({error}). Delete it to start anew."
        ) from None


def require_same_search(study: Any, folder: str | Path, content: str) -> None:
    """Refuse to go on with a search on other data: its losses say nothing about these."""
    if study.user_attrs.get(CONTENT, content) != content:
        raise SettingError(
            f"the folder {folder} holds a search on other data, folds, seed or fixed settings. "
            "Choose another folder, or delete this one to start anew."
        )
    study.set_user_attr(CONTENT, content)  # one of an earlier version has none


def _mend(trials: Path) -> None:
    """Cut off the line that a killed search or a full disk has left half written.

    The next line would be appended to it, and the journal could not be read again.
    """
    if not trials.exists():
        return
    content = trials.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        os.truncate(trials, whole)


def count_done(study: Any) -> int:
    """Count how many trials have come to an end, or were broken off."""
    from optuna.trial import TrialState

    return len(study.get_trials(states=(TrialState.COMPLETE, TrialState.PRUNED)))


def suggest(trial: Any, space: str, fixed: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a trial, which it remembers."""
    settings = {**SPACES[space](trial), **fixed}
    trial.set_user_attr("settings", settings)
    return settings


def inner_folds(y: Any, n_folds: int, random_state: int) -> list[Fold]:
    """Return rows to learn from and rows held out, of each fold; a subject's rows stay together.

    Examples
    --------
    >>> y = {"id": [7, 7, 8, 9], "entry": [0, 2, 0, 0], "duration": [2, 9, 3, 4],
    ...      "event": [0, 1, 0, 1]}
    >>> [held_out.tolist() for _, held_out in inner_folds(y, 3, random_state=0)]
    [[3], [2], [0, 1]]
    """
    outcome = read_outcome(y)
    subject = np.arange(len(outcome)) if outcome.id is None else outcome.id
    if n_folds > outcome.n_subjects:
        raise SettingError(
            f"n_folds must be at most the number of subjects, {outcome.n_subjects}; got {n_folds}."
        )
    folds = KFold(n_folds, shuffle=True, random_state=random_state)
    sides = [np.isin(subject, held_out) for _, held_out in folds.split(np.unique(subject))]
    return [(np.flatnonzero(~side), np.flatnonzero(side)) for side in sides]


def mean_losses(
    X: Any, y: Any, folds: list[Fold], settings: Mapping[str, Any], random_state: int
) -> Iterator[float]:
    """Yield after each fold the mean integrated Brier score of all so far, over causes too."""
    losses = []
    for learn, held_out in folds:
        # Intervals of predictions have no part in the score, and take half of the time more.
        chosen = {"verbose": False, "intervals": False, **settings}
        est = SurvTRACE(random_state=random_state, **chosen)
        est.fit(_rows(X, learn), _rows(y, learn))
        require_whole_fit(est)
        losses.append(-est.score(_rows(X, held_out), _rows(y, held_out)))
        yield float(np.mean(losses))


def keep_best(study: Any, folder: str | Path) -> dict[str, Any]:
    """Write the settings with the lowest loss beside the trials."""
    best: dict[str, Any] = study.best_trial.user_attrs["settings"]
    with replacing(Path(folder, "settings.json")) as part:
        part.write_text(json.dumps(best, indent=1) + "\n")
    return best


def with_rows(table: Any) -> Any:
    """Return a table whose rows can be taken by number: mappings and lists become frames."""
    if isinstance(table, Mapping | list | tuple):
        return open_table(table).to_native()
    return table


def _rows(table: Any, rows: NDArray[np.int64]) -> Any:
    return table.iloc[rows] if hasattr(table, "iloc") else table[rows]
