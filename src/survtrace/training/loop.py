"""Every step of training, on one screen."""

import warnings
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from survtrace.data.batches import Cohort, Draws, count_steps, shuffled_walk
from survtrace.errors import TrainingError
from survtrace.losses.objective import Tasks, objective, survival_loss
from survtrace.network.assembly import Logits, Network
from survtrace.training.averaging import RunningAverage
from survtrace.training.checkpoint import Checkpoint
from survtrace.training.early_stopping import EarlyStopping
from survtrace.training.history import History, progress_bar
from survtrace.training.state import State


@dataclass(frozen=True)
class Plan:
    """How to train: one number for each knob of the loop."""

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


def train(
    network: Network,
    cohort: Cohort,
    draws: Draws,
    plan: Plan,
    history: History,
    verbose: bool | str = False,
    checkpoint: Checkpoint | None = None,
) -> None:
    """Train all members together; each ends at its own best epoch, even if training breaks off."""
    device = network.level.device
    optimiser = torch.optim.AdamW(
        network.parameters(), lr=plan.lr, weight_decay=plan.weight_decay, fused=True
    )
    n_steps = count_steps(draws.training.shape[1], plan.batch_size)
    average = RunningAverage(network, plan.averaging * n_steps)
    stopping = EarlyStopping(network, network.shape.n_members, plan.patience)
    state = State(network, optimiser, average, stopping, history)
    first = checkpoint.restore(state) if checkpoint else 0
    try:
        with progress_bar(verbose, plan.max_epochs, device) as bar:
            for epoch in range(first, plan.max_epochs):
                members = stopping.learning
                if len(members) == 0:
                    break
                own, seeds = draws.of(members), [plan.seeds[m] for m in members.tolist()]
                network.train()
                network.seed_dropout(plan.dropout_seed + epoch)
                losses = []
                for subjects in shuffled_walk(own.training, plan.batch_size, seeds, epoch):
                    batch = cohort.take(subjects.to(device))
                    logits: Logits = network(batch.rows, batch.values)
                    parts = objective(*logits, batch, plan.tasks, epoch)
                    optimiser.zero_grad()
                    parts.sum().backward()
                    clip_by_member(network, plan.clip_norm)
                    optimiser.step()
                    average.update()
                    losses.append(parts.detach())
                training = torch.stack(losses)
                _require_finite(training, epoch)
                with average.in_place():
                    validation = validation_loss(network, cohort, own)
                    improved = stopping.update(network, validation, epoch)
                history.add(epoch, members, training.mean(0), validation, improved)
                bar.show(epoch, stopping.best_loss, stopping.stopped)
                if stopping.stopped[members].any():
                    state.keep(~stopping.stopped[members])
                if checkpoint:
                    checkpoint.save(epoch, state)
    except KeyboardInterrupt:
        if not history.records:
            raise
        warnings.warn("training was interrupted; the best so far is kept.", stacklevel=2)
    finally:
        stopping.restore(network)
        network.seed_dropout(None)
        network.eval()


@torch.no_grad()
def clip_by_member(network: torch.nn.Module, largest: float) -> None:
    """Scale each member's gradient to a norm of at most ``largest``."""
    gradients = [p.grad for p in network.parameters() if p.grad is not None]
    norm = torch.cat([g.flatten(1) for g in gradients], dim=1).norm(dim=1)
    scale = (largest / norm).clamp(max=1.0)
    for gradient in gradients:
        gradient.mul_(scale.view(-1, *[1] * (gradient.dim() - 1)))


@torch.no_grad()
def validation_loss(
    network: Network, cohort: Cohort, draws: Draws, chunk: int = 4096
) -> Float[Tensor, " member"]:
    """Survival loss of each member on its own validation subjects; the auxiliary tasks aside."""
    network.eval()
    total = torch.zeros(len(draws.validation), device=network.level.device)
    for subjects in torch.from_numpy(draws.validation).split(chunk, dim=1):
        batch = cohort.take(subjects.to(total.device))
        logits = network.causes(network.represent(batch.rows, batch.values))
        total += survival_loss(logits, batch) * subjects.shape[1]
    return total / draws.validation.shape[1]


def _require_finite(losses: Float[Tensor, "step part member"], epoch: int) -> None:
    broken = ~torch.isfinite(losses).flatten(1).all(1)
    if broken.any():
        raise TrainingError(
            f"the training loss must stay finite; it is not at epoch {epoch}, batch "
            f"{int(broken.nonzero()[0])}. The best parameters so far are kept. Lower lr, or look "
            "for extreme values among the covariates or weights."
        )
