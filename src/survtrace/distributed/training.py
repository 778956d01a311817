"""One fit on many machines: every worker takes its share of each batch, and may be killed."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from survtrace.cohort.prepare import Cohort
from survtrace.distributed.cluster import cluster, environment, our_errors, require_workers
from survtrace.distributed.ingestion import FileReaders
from survtrace.distributed.worker import Task, work
from survtrace.errors import SettingError, SurvtraceError, TrainingError
from survtrace.estimator import SurvTRACE
from survtrace.network.assembly import Network
from survtrace.training.checkpoint import Checkpoint
from survtrace.training.fit import fingerprint
from survtrace.training.history import History
from survtrace.training.loop import Plan

# Ray looks at its workers every two seconds, which an epoch of a small table would wait for; and
# it starts a process that watches for machines to be taken away, of which our workers, whose state
# is kept after every epoch, have no use.
QUICK = {"RAY_TRAIN_HEALTH_CHECK_INTERVAL_S": "0.2", "RAY_TRAIN_ENABLE_PREEMPTION_WATCHER": "0"}


def fit(
    est: SurvTRACE,
    X: Any,
    y: Any,
    sample_weight: ArrayLike | None = None,
    eval_set: Any = None,
    *,
    n_workers: int = 2,
    cpus_per_worker: int = 1,
    use_gpu: bool = False,
    storage: str | Path | None = None,
    max_failures: int = 3,
) -> SurvTRACE:
    """Fit an estimator on a Ray cluster, as `SurvTRACE.fit` would in one process, to rounding.

    Each batch is cut into shares, one for each worker, and their gradients are added up. The state
    is kept after every epoch: when workers are lost, others go on from there.

    Parameters
    ----------
    est
        An estimator; it is fitted in place.
    X, y, sample_weight, eval_set
        As in `SurvTRACE.fit`.
    n_workers, cpus_per_worker, use_gpu
        Processes that train together, the CPUs of each, and whether each gets a GPU.
    storage
        A folder or bucket that all machines see, where the state is kept: the same call goes on
        where an earlier one was killed. By default the ``checkpoint_dir`` of the estimator, or
        else a temporary folder, which is enough on one machine.
    max_failures
        How often workers may be lost before the fit is given up.

    Returns
    -------
    SurvTRACE
        The estimator.

    Examples
    --------
    >>> est = SurvTRACE(random_state=0)
    >>> fit(est, X, y, n_workers=4, storage="/shared/state").save("model")  # doctest: +SKIP
    """
    require_workers(n_workers, cpus_per_worker)
    with (
        cluster(n_workers * cpus_per_worker, n_workers if use_gpu else 0),
        our_errors(),
        _kept_in(storage or est.checkpoint_dir) as folder,
    ):
        workers = TrainingWorkers(folder, n_workers, cpus_per_worker, use_gpu, max_failures)
        return est._fit(X, y, sample_weight, eval_set, workers)


@dataclass(frozen=True)
class TrainingWorkers(FileReaders):
    """The workers of a fit: they read files together, and train together."""

    n_workers: int
    cpus: int
    use_gpu: bool
    max_failures: int

    def train(
        self, network: Network, cohort: Cohort, plan: Plan, settings: Any, history: History
    ) -> None:
        """Train a network on the workers, and load what they have learned."""
        batch_size = min(plan.batch_size, cohort.split.n_training)
        if batch_size < self.n_workers:
            raise SettingError(
                f"every batch must have a subject for each worker; got {batch_size} for "
                f"{self.n_workers}. Raise batch_size, or take fewer workers."
            )
        task = Task(network.shape, plan, fingerprint(settings, cohort, plan), settings.n_threads)
        result = self._run(task, cohort)
        if result.checkpoint is not None:
            with result.checkpoint.as_directory() as saved:
                Checkpoint(saved, task.fingerprint).load(network, history)
        if isinstance(result.return_value, SurvtraceError):
            raise result.return_value
        history.interrupted = False

    def _run(self, task: Task, cohort: Cohort) -> Any:
        """Train; what is left is the state after the last epoch."""
        import ray
        from ray.train import (
            CheckpointConfig,
            FailureConfig,
            RunConfig,
            ScalingConfig,
            TrainingFailedError,
        )
        from ray.train.torch import TorchTrainer

        trainer = TorchTrainer(
            work,
            train_loop_config={"task": task, "cohort": ray.put(cohort)},
            scaling_config=ScalingConfig(
                num_workers=self.n_workers,
                use_gpu=self.use_gpu,
                resources_per_worker={"CPU": self.cpus, **({"GPU": 1} if self.use_gpu else {})},
            ),
            run_config=RunConfig(
                name=f"fit-{task.fingerprint[:16]}",
                storage_path=self.folder,
                failure_config=FailureConfig(max_failures=self.max_failures),
                checkpoint_config=CheckpointConfig(num_to_keep=1),
            ),
        )
        try:
            with environment(QUICK):
                return trainer.fit()
        except SystemExit as left:  # Ray's answer to Ctrl-C
            if left.code not in (0, 1):
                raise
            raise KeyboardInterrupt from None
        except TrainingFailedError as error:
            raise TrainingError(
                f"workers were lost more than max_failures={self.max_failures} times. Where "
                "storage was given, the same call goes on from the last epoch. Ray's last words: "
                f"{str(error).strip().splitlines()[-1]}"
            ) from error


@contextmanager
def _kept_in(storage: str | Path | None) -> Iterator[str]:
    """Give the storage as Ray wants it named; without any, a folder that is gone at the end."""
    import ray

    n_machines = sum(node["Alive"] for node in ray.nodes())
    if storage is None and n_machines > 1:
        raise SettingError(
            f"{n_machines} machines need a folder that all of them see, for checkpoints and data. "
            "Pass its path, or that of a bucket, as storage."
        )
    if storage is None:
        with tempfile.TemporaryDirectory(prefix="survtrace-") as folder:
            yield folder
    else:
        yield str(storage) if "://" in str(storage) else str(Path(storage).absolute())
