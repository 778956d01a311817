"""Learn after the training what an unknown covariate means; nothing else is changed.

A covariate that no training subject lacks has a row "missing" that training never met, and no
training subject has a level that is "unseen". Left at zero these rows say something arbitrary: of
a patient of whom nothing is known, flchain's network predicted 6 % where the cohort has 14 %. Here
covariates of training subjects are hidden at random, any share of them up to all, and only these
rows learn to make the likelihood largest. Answers for subjects without such values stay the same to
the bit, which hiding covariates during the training itself did not achieve: it cost up to .003 in
concordance. The level of the hazards is fitted before, and what is learned here is learned at that
level; the other way round a level fitted to rows that lack nothing moved the answer for one of whom
nothing is known by as much, up to 17 % from the cohort's.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from survtrace import ops
from survtrace.batch import Batch
from survtrace.cohort.batch_source import BatchSource, training_steps
from survtrace.cohort.prepare import Cohort
from survtrace.network.assembly import Network
from survtrace.training.flat_parameters import AdamW

LEARNING_RATE = 0.05
# The share of a subject's covariates that are hidden is drawn evenly from 0 to this; above 1 all
# are, so that a fifth of the subjects teach the answer for one of whom nothing is known.
MOST_HIDDEN = 1.25
# Rows of "missing" are learned here if a smaller share of the table's rows than this lacks the
# covariate; the others keep the meaning that missing has in the table.
ENOUGH = 0.01


def learn_unknown(
    network: Network, cohort: Cohort, batch_source: BatchSource, n_steps: int, seed: int
) -> None:
    """Take ``n_steps`` of Adam on the rows that say "unknown", at a rate that falls to zero."""
    encoding, counts = cohort.encoding, cohort.counts
    missing = encoding.first_rows[:-1]
    # A numerical covariate has no row "unseen": that of "missing" stands for it.
    unseen = missing + [column.n_silent - 1 for column in encoding.columns]
    n_missing = np.array([counts.n_missing[name] for name in encoding.names])
    rare = missing[n_missing < ENOUGH * counts.n_rows]
    learned = torch.from_numpy(np.union1d(rare, np.setdiff1d(unseen, missing))).to(network.device)
    if n_steps == 0 or len(learned) == 0:
        return
    unknown = torch.from_numpy(np.stack([missing, unseen]))
    table = network.embedding.table
    rows = torch.nn.Parameter(table.detach()[:, learned])
    optimiser = AdamW(rows, LEARNING_RATE)
    generator = torch.Generator().manual_seed(seed)
    network.eval()
    n_parameters = sum(parameter[0].numel() for parameter in network.parameters())
    gradient = torch.empty(len(table), n_parameters, device=network.device)
    survival_alone = torch.tensor([1.0, 0.0, 0.0], device=network.device)
    has_fitted_level = bool((network.recalibration_factor != 1).any())
    steps = training_steps(batch_source, network.shape.n_members, n_steps)
    with recalibrated_heads(network):
        for number, (tensors, subjects) in enumerate(steps):
            batch = tensors.take(subjects)
            hidden_rows, values = _hide(batch, unknown, generator)
            hidden = batch._replace(rows=hidden_rows, values=values)
            if has_fitted_level:  # which is that of rows without IPS weights
                hidden = hidden._replace(ips=torch.ones_like(batch.ips))
            places = torch.arange(subjects.numel(), device=subjects.device).view_as(subjects)
            flat = Batch(*(column.flatten(0, 1) for column in hidden))
            ops.gradient(network, flat, places, survival_alone, gradient)
            rows.grad = gradient[:, : table[0].numel()].view_as(table)[:, learned]
            optimiser.param_groups[0]["lr"] = LEARNING_RATE * (1 - number / n_steps)
            optimiser.step()
            with torch.no_grad():
                table[:, learned] = rows


@contextmanager
def recalibrated_heads(network: Network) -> Iterator[None]:
    """Let the heads give recalibrated hazards for a while, for a loss that knows no factor.

    The logarithm of the factor is added to the logits, which is exact where hazards are small.
    """
    biases = [head.outer.bias for head in network.cause_heads]
    before = [bias.detach().clone() for bias in biases]
    shifts = torch.log(network.recalibration_factor).unbind(2)
    with torch.no_grad():
        for bias, shift in zip(biases, shifts, strict=True):
            bias.add_(network.causes.outputs_of(shift.squeeze(1)).unsqueeze(1))
    try:
        yield
    finally:
        with torch.no_grad():
            for bias, kept in zip(biases, before, strict=True):
                bias.copy_(kept)


def _hide(
    batch: Batch, unknown: Int[Tensor, "2 token"], generator: torch.Generator
) -> tuple[Int[Tensor, "member subject token"], Float[Tensor, "member subject token"]]:
    """Hide covariates of a batch, the same for all members, as "missing" or as "unseen"."""
    _, n_subjects, n_tokens = batch.rows.shape
    drawn = torch.rand(3, n_subjects, n_tokens, generator=generator)
    share = MOST_HIDDEN * drawn[0, :, :1]
    missing, unseen = unknown
    rows = torch.where(drawn[2] < 0.25, unseen, missing).to(batch.rows)
    hidden: Bool[Tensor, "subject token"] = (drawn[1] < share).to(batch.rows.device)
    return torch.where(hidden, rows, batch.rows), torch.where(hidden, 1.0, batch.values)
