"""Settings searched with Ray Tune, many trials at a time, each on the inner folds of `tuning`."""

from __future__ import annotations

import math
import uuid
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from survtrace import tuning
from survtrace.distributed.cluster import MANY, cluster, environment, our_errors
from survtrace.errors import require

QUIET = {"TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1", "RAY_AIR_NEW_OUTPUT": "0"}


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
    cpus_per_trial: int = 1,
    gpus_per_trial: float = 0.0,
    max_failures: int = 3,
) -> dict[str, Any]:
    """Find settings as `survtrace.tuning.tune` does, as many trials at a time as there is room for.

    The folder is that of `survtrace.tuning.tune`: either function goes on with a search of the
    other. Several machines need one that all of them see.

    Parameters
    ----------
    X, y, folder, space, n_trials, n_folds, fixed, random_state
        As in `survtrace.tuning.tune`.
    cpus_per_trial, gpus_per_trial
        What each trial takes of the cluster; .25 GPUs let four trials share one.
    max_failures
        How often a trial may lose its worker before it is given up.

    Returns
    -------
    dict
        The best settings, for ``SurvTRACE(**settings)``.

    Examples
    --------
    >>> best = tune(X, y, "/shared/tuning", n_trials=100)  # doctest: +SKIP
    """
    require("ray", "distributed", MANY)
    tuning.check_search(n_trials, n_folds, fixed, random_state)
    study = tuning.open_study(folder, space, random_state)
    missing = n_trials - tuning.count_done(study)
    if missing > 0:
        folds = tuning.inner_folds(y, n_folds, random_state)
        suggest = partial(tuning.suggest, space=space, fixed=dict(fixed or {}))
        with cluster(cpus_per_trial, gpus_per_trial), our_errors():
            from ray import tune as ray_tune

            trial = ray_tune.with_resources(
                ray_tune.with_parameters(run_trial, X=X, y=y, folds=folds, seed=random_state),
                {"cpu": cpus_per_trial, "gpu": gpus_per_trial},
            )
            search = _searcher(suggest, study, n_folds)
            _run(trial, search, missing, str((Path(folder) / "ray").absolute()), max_failures)
    return tuning.keep_best(study, folder)


def run_trial(
    settings: dict[str, Any], X: Any, y: Any, folds: list[tuning.Fold], seed: int
) -> None:
    """Fit and score fold by fold; Ray may break off a trial that falls behind the others."""
    from ray import tune as ray_tune

    for done, loss in enumerate(tuning.mean_losses(X, y, folds, settings, seed), start=1):
        ray_tune.report({"loss": loss, "folds": done})


def _run(trial: Any, search: Any, n_trials: int, storage: str, max_failures: int) -> None:
    """Run trials; what they say is kept in the study of the folder."""
    from ray import tune as ray_tune
    from ray.tune.schedulers import MedianStoppingRule

    tuner = ray_tune.Tuner(
        trial,
        tune_config=ray_tune.TuneConfig(
            metric="loss",
            mode="min",
            search_alg=search,
            scheduler=MedianStoppingRule(
                time_attr="folds",
                grace_period=1,
                min_samples_required=5,
                min_time_slice=math.inf,  # a trial set aside would begin anew
            ),
            num_samples=n_trials,
        ),
        run_config=ray_tune.RunConfig(
            name=uuid.uuid4().hex[:8],
            storage_path=storage,
            failure_config=ray_tune.FailureConfig(max_failures=max_failures),
            verbose=0,
        ),
    )
    with environment(QUIET):
        results = tuner.fit()
    if results.num_errors == len(results):
        raise results.errors[0]


def _searcher(suggest: Any, study: Any, n_folds: int) -> Any:
    """Optuna's search; a trial that was broken off counts as such, not by its folds so far."""
    from ray.tune.search.optuna import OptunaSearch

    class Search(OptunaSearch):  # type: ignore[misc]
        def on_trial_complete(
            self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False
        ) -> None:
            whole = result is not None and result["folds"] == n_folds
            super().on_trial_complete(trial_id, result if whole else None, error)

    return Search(
        suggest,
        metric="loss",
        mode="min",
        sampler=study.sampler,
        study_name=study.study_name,
        storage=study._storage,
    )
