"""Train a fitted network further on new subjects: the heads of its causes, or all of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from survtrace import ops
from survtrace.batch import Batch
from survtrace.cohort.batch_source import MemorySource
from survtrace.cohort.prepare import Cohort
from survtrace.errors import keep_warnings
from survtrace.losses.hazard import lived_through
from survtrace.losses.objective import Tasks
from survtrace.network.assembly import Network
from survtrace.network.power import raised
from survtrace.threads import threads
from survtrace.training.fit import plan_training
from survtrace.training.history import History
from survtrace.training.loop import train
from survtrace.training.rescaling import rescale
from survtrace.training.unknown import learn_unknown

# Steps are this part of the fit's. A third was best for the whole network at 300, 1,000 and 5,000
# subjects of a simulated hospital, where a tenth took longer; heads ended alike, later if smaller.
STEPS = {"heads": 1.0, "whole": 0.3}
N_HALVINGS, MOST_SUBJECTS = 50, 2**14


def fine_tune(
    network: Network,
    cohort: Cohort,
    settings: Any,
    seeds: list[int],
    base: int,
    *,
    heads_only: bool,
) -> None:
    """Train a network that begins at the level of the new subjects; it ends no worse than it began.

    "No worse" by the loss of each member's own validation subjects, as in a fit.
    """
    device = network.device
    _, plan = plan_training(settings, cohort, seeds, base)
    plan = replace(
        plan,
        lr=plan.lr * STEPS["heads" if heads_only else "whole"],
        weight_decay=0.0,  # it would pull parameters to 0, not to what they were
        tasks=Tasks(0.0, 0.0, None),
        keep_start=True,
        trained=head_parameters(network) if heads_only else None,
    )
    batch_source = cohort.batch_source(base, seeds, plan.batch_size, device)
    assert isinstance(batch_source, MemorySource)
    fold_in_recalibration(network, batch_source.cohort)
    with threads(settings.n_threads, plan.n_tokens(network.shape)):
        history = History()
        with keep_warnings():  # of an interruption, which is raised: half an update is none
            train(network, batch_source, plan, history, settings.verbose)
        if history.interrupted:
            raise KeyboardInterrupt
        rescale(network, batch_source.cohort, with_power=False)  # dropout shifts the level
        learn_unknown(network, cohort, batch_source, settings.unknown_steps, base)


def head_parameters(network: Network) -> Float[Tensor, " parameter"]:
    """Mark the parameters of the causes' heads among all: 1, else 0."""
    heads = {id(parameter) for parameter in network.causes.parameters()}
    marks = [
        torch.full((parameter[0].numel(),), float(id(parameter) in heads))
        for parameter in network.parameters()
    ]
    return torch.cat(marks).to(network.device)


@torch.no_grad()
def fold_in_recalibration(network: Network, subjects: Batch) -> None:
    """Move factor and power of a network into its heads: training knows nothing of them.

    A power scales the logits, and a factor shifts them, exactly so where hazards are small. The
    shift is the one by which as many events are expected, in each interval, as before.
    """
    factor, power = network.recalibration_factor, network.hazard_power
    if bool((factor == 1).all()) and bool((power == 1).all()):
        return
    step = -(-len(subjects.event) // MOST_SUBJECTS)
    subjects = Batch(*(column[::step] for column in subjects))
    logits = ops.cause_logits(network, subjects.rows[None], subjects.values[None])
    wanted = torch.nn.functional.softplus(raised(logits, power)) * factor
    entry = subjects.entry_interval, subjects.entry_fraction
    end = subjects.interval, subjects.fraction
    lived = lived_through(*entry, *end, network.shape.n_intervals)
    lived = torch.where(lived.sum(0) > 0, lived, 1.0)
    shift = _shift(logits * power.view(-1, 1), wanted, lived)
    for head, scale, by in zip(network.cause_heads, power, shift.unbind(1), strict=True):
        head.outer.weight.mul_(scale)
        head.outer.bias.mul_(scale)
        head.outer.bias.add_(network.causes.outputs_of(by).unsqueeze(1))
    factor.fill_(1.0)
    power.fill_(1.0)


def _shift(
    logits: Float[Tensor, "member subject cause interval"],
    wanted: Float[Tensor, "member subject cause interval"],
    lived: Float[Tensor, "subject interval"],
) -> Float[Tensor, "member cause interval"]:
    """Find what added to logits gives as many expected events as wanted, by bisection."""
    expected = torch.einsum("mski,si->mki", wanted, lived)
    low, high = torch.full_like(expected, -30.0), torch.full_like(expected, 30.0)
    for _ in range(N_HALVINGS):
        middle = (low + high) / 2
        hazard = torch.nn.functional.softplus(logits + middle.unsqueeze(1))
        too_few = torch.einsum("mski,si->mki", hazard, lived) < expected
        low, high = torch.where(too_few, middle, low), torch.where(too_few, high, middle)
    return (low + high) / 2
