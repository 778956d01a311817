"""What each worker of a fit does: the same training as anywhere, on its share of every batch."""

from __future__ import annotations

import tempfile
import warnings
from dataclasses import dataclass
from typing import Any

from survtrace.cohort.prepare import Cohort
from survtrace.errors import SettingError, SurvtraceError, TrainingError
from survtrace.network.assembly import Network, Shape
from survtrace.threads import threads
from survtrace.training.checkpoint import Checkpoint
from survtrace.training.history import History
from survtrace.training.loop import Plan, train
from survtrace.training.process_group import ProcessGroup
from survtrace.training.state import State


@dataclass(frozen=True)
class Task:
    """What to train; the cohort itself lies in Ray's memory, or on storage that all share."""

    shape: Shape
    plan: Plan
    fingerprint: str
    n_threads: int | None


class Reported(Checkpoint):
    """A checkpoint that Ray keeps: the first worker hands it over, after a restart all read it."""

    def __init__(self, fingerprint: str, rank: int) -> None:
        self.fingerprint = fingerprint
        self.rank = rank

    def save(self, epoch: int, state: State) -> None:
        """Report from every worker, and wait for the others."""
        import ray.train

        with tempfile.TemporaryDirectory() as folder:
            checkpoint = None
            if self.rank == 0:
                Checkpoint(folder, self.fingerprint).save(epoch, state)
                checkpoint = ray.train.Checkpoint.from_directory(folder)
            ray.train.report({"epoch": epoch}, checkpoint=checkpoint)

    def restore(self, state: State) -> int:
        """Load the latest state, if there is one; returns the first epoch still to do."""
        import ray.train

        latest = ray.train.get_checkpoint()
        if latest is None:
            return 0
        with latest.as_directory() as folder:
            return Checkpoint(folder, self.fingerprint).restore(state)


def work(config: dict[str, Any]) -> SurvtraceError | None:
    """Train on this worker's share; returns what no restart would mend."""
    import ray
    from ray.train import get_context
    from ray.train.torch import get_device

    task: Task = config["task"]
    plan, context, device = task.plan, get_context(), get_device()
    group = ProcessGroup(context.get_world_rank(), context.get_world_size())
    cohort: Cohort = ray.get(config["cohort"])
    network = Network(task.shape)
    network.initialise(plan.seeds)
    with warnings.catch_warnings():
        # All workers of a machine read one copy of the arrays, which none of them changes.
        warnings.filterwarnings("ignore", "The given NumPy array is not writable")
        batch_source = cohort.batch_source(plan.dropout_seed, plan.seeds, plan.batch_size, device)
    checkpoint = Reported(task.fingerprint, group.rank)
    try:
        with threads(task.n_threads, task.plan.n_tokens(task.shape)):
            train(network.to(device), batch_source, plan, History(), False, checkpoint, group)
    except (SettingError, TrainingError) as error:  # all workers meet it at once
        return error
    return None
