"""Every step of training, on one screen."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from survtrace import ops
from survtrace.cohort.batch_source import BatchSource
from survtrace.errors import TrainingError, warn
from survtrace.losses.objective import Tasks, task_weights
from survtrace.network.assembly import Network, Shape
from survtrace.training.checkpoint import Checkpoint
from survtrace.training.early_stopping import EarlyStopping
from survtrace.training.flat_parameters import AdamW, RunningAverage, gather_parameters, release
from survtrace.training.history import History, progress_bar
from survtrace.training.process_group import ProcessGroup
from survtrace.training.state import State
from survtrace.training.step import prepare_step, take_steps

ALONE = ProcessGroup()


@dataclass(frozen=True)
class Plan:
    """How to train: one number for each knob of the loop; ``batch_size`` counts subjects.

    Training goes on from a fitted network with ``keep_start``: a member that never gets better
    stays what it was. ``trained`` is 1 for the parameters that are trained, 0 for others (None:
    all are).
    """

    lr: float
    weight_decay: float
    batch_size: int
    max_epochs: int
    patience: int
    clip_norm: float
    averaging: float
    tasks: Tasks
    seeds: list[int]
    dropout_seed: int
    rows_per_subject: float
    keep_start: bool = False
    trained: Tensor | None = None

    def n_tokens(self, shape: Shape) -> int:
        """Tokens of all members in a step, by which threads are chosen."""
        n_rows = round(self.batch_size * self.rows_per_subject)
        return n_rows * shape.n_members * shape.n_tokens


def train(
    network: Network,
    batch_source: BatchSource,
    plan: Plan,
    history: History,
    verbose: bool | str = False,
    checkpoint: Checkpoint | None = None,
    group: ProcessGroup = ALONE,
) -> None:
    """Train all members together; each ends at its own best epoch, even if training breaks off."""
    device = network.device
    state = begin(network, plan, batch_source.n_steps, history)
    stopping = state.stopping
    first = checkpoint.restore(state) if checkpoint else 0
    if plan.keep_start:
        everyone = stopping.learning.tolist()
        stopping.best_loss.copy_(validation_loss(network, batch_source, everyone, group))
    step = prepare_step(state, plan.clip_norm, group, plan.trained)
    try:
        with progress_bar(verbose, plan.max_epochs, device) as show, tensor_cores(device):
            for epoch in range(first, plan.max_epochs):
                members = stopping.learning.tolist()
                if not members:
                    break
                network.train()
                network.seed_dropout(plan.dropout_seed + epoch)
                weight = task_weights(plan.tasks, epoch).to(device)
                chunks = batch_source.training(members, epoch)
                losses = [take_steps(step, chunk, weight) for chunk in chunks]
                training = group.all_reduce(torch.cat(losses))
                _require_finite(training, epoch)
                with state.average.in_place(state.flat_parameters):
                    validation = validation_loss(network, batch_source, members, group)
                    _require_finite_validation(validation, members, epoch)
                    improved = stopping.update(state.flat_parameters, validation, epoch)
                history.add(epoch, members, training.mean(0), validation, improved)
                show(epoch, stopping.best_loss, stopping.stopped)
                if stopping.stopped[members].any():
                    state.keep(~stopping.stopped[members])
                    step = prepare_step(state, plan.clip_norm, group, plan.trained)
                if checkpoint:
                    checkpoint.save(epoch, state)
    except KeyboardInterrupt:
        if not history.records:
            raise
        warn("training was interrupted; the best so far is kept.")
    else:
        history.interrupted = False
    finally:
        release(network, stopping.best)
        network.seed_dropout(None)
        network.eval()


@contextmanager
def tensor_cores(device: torch.device) -> Iterator[None]:
    """Let products on a GPU round their factors to ten bits (TF32), which trains as well."""
    if device.type != "cuda":
        yield
        return
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        with torch.cuda.device(device):
            yield
    finally:
        torch.set_float32_matmul_precision(before)


def begin(network: Network, plan: Plan, n_steps: int, history: History) -> State:
    """Make the state before the first step."""
    flat_parameters = gather_parameters(network)
    optimiser = AdamW(flat_parameters, plan.lr, plan.weight_decay)
    average = RunningAverage(flat_parameters, plan.averaging * n_steps)
    stopping = EarlyStopping(flat_parameters, plan.patience)
    return State(network, flat_parameters, optimiser, average, stopping, history)


@torch.no_grad()
def validation_loss(
    network: Network, batch_source: BatchSource, members: list[int], group: ProcessGroup = ALONE
) -> Float[Tensor, " member"]:
    """Compute the survival loss of each member on its validation subjects, without other tasks."""
    network.eval()
    total = torch.zeros(len(members), device=network.device)
    for chunk in batch_source.validation(members):
        for subjects in chunk.order:
            shard = group.shard(subjects)
            if shard.shape[1] > 0:
                total += ops.survival_loss(network, chunk.cohort, shard) * shard.shape[1]
    return group.all_reduce(total) / total.new_tensor(batch_source.n_validation)


def _require_finite(losses: Float[Tensor, "step part member"], epoch: int) -> None:
    broken = ~torch.isfinite(losses).flatten(1).all(1)
    if broken.any():
        raise TrainingError(
            f"the training loss must stay finite; it is not at epoch {epoch}, batch "
            f"{int(broken.nonzero()[0])}. The best parameters so far are kept. Lower lr, or look "
            "for extreme values among the covariates or weights."
        )


def _require_finite_validation(
    losses: Float[Tensor, " member"], members: list[int], epoch: int
) -> None:
    broken = [members[m] for m in (~torch.isfinite(losses)).nonzero().flatten().tolist()]
    if broken:
        raise TrainingError(
            f"the validation loss must stay finite; it is not at epoch {epoch} for member(s) "
            f"{', '.join(map(str, broken))}. The best parameters of earlier epochs, if any, are "
            "kept. Look for extreme values among the covariates of eval_set or of the rows held "
            "out, or lower lr."
        )
