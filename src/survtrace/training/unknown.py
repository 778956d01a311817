"""After the training, learns what an unknown covariate means; nothing else is changed.

A covariate that no training subject lacks has a row "missing" that training never met, and no
training subject has a level that is "unseen". Left at zero these rows say something arbitrary: of
a patient of whom nothing is known, flchain's network predicted 6 % where the cohort has 14 %. Here
covariates of training subjects are hidden at random, any share of them up to all, and only these
rows learn to make the likelihood largest. Answers for subjects without such values stay the same to
the bit, which hiding covariates during the training itself did not achieve: it cost up to .003 in
concordance.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from survtrace import ops
from survtrace.batch import Batch
from survtrace.cohort.batch_source import BatchSource, training_steps
from survtrace.cohort.prepare import CohortCounts
from survtrace.losses.objective import survival_loss
from survtrace.network.assembly import Network
from survtrace.tables.covariates.encoding import Encoding

LEARNING_RATE = 0.05
# The share of a subject's covariates that are hidden is drawn evenly from 0 to this; above 1 all
# are, so that a fifth of the subjects teach the answer for one of whom nothing is known.
MOST_HIDDEN = 1.25
# Rows of "missing" that fewer subjects than this have taught are learned here; the others keep
# the meaning that missing has in the table.
ENOUGH = 0.01


class Unknown(NamedTuple):
    """The rows of each covariate that say "unknown", and which of them are to be learned.

    Examples
    --------
    >>> encoding = Encoding.from_dict({
    ...     "age": {"mean": 60.0, "deviation": 10.0, "low": 40.0, "typical": 60.0, "high": 80.0},
    ...     "sex": {"levels": ["f", "m"]}})
    >>> unknown = Unknown.of(encoding, CohortCounts(1000, {1: 90}, {"age": 0, "sex": 500}))
    >>> unknown.missing.tolist(), unknown.unseen.tolist(), unknown.learned.tolist()
    ([0, 2], [0, 3], [0, 3])
    """

    missing: Int[Tensor, " token"]
    unseen: Int[Tensor, " token"]
    learned: Int[Tensor, " row"]

    @classmethod
    def of(cls, encoding: Encoding, counts: CohortCounts) -> "Unknown":
        """Those of a cohort: a row that many training subjects have is left as they taught it."""
        missing = encoding.first_rows[:-1].tolist()
        pairs = zip(missing, encoding.columns, strict=True)
        unseen = [row + column.n_silent - 1 for row, column in pairs]  # a numerical one has none
        named = zip(missing, encoding.names, strict=True)
        rare = {row for row, name in named if counts.n_missing[name] < ENOUGH * counts.n_subjects}
        learned = sorted(rare | (set(unseen) - set(missing)))
        return cls(*(torch.tensor(rows, dtype=torch.int64) for rows in (missing, unseen, learned)))

    def hide(
        self, batch: Batch, generator: torch.Generator
    ) -> tuple[Int[Tensor, "member subject token"], Float[Tensor, "member subject token"]]:
        """Rows and values of a batch in which covariates are hidden, the same for all members."""
        _, n_subjects, n_tokens = batch.rows.shape
        drawn = torch.rand(3, n_subjects, n_tokens, generator=generator)
        share = MOST_HIDDEN * drawn[0, :, :1]
        unknown = torch.where(drawn[2] < 0.25, self.unseen, self.missing).to(batch.rows)
        hidden: Bool[Tensor, "subject token"] = (drawn[1] < share).to(batch.rows.device)
        return torch.where(hidden, unknown, batch.rows), torch.where(hidden, 1.0, batch.values)


def learn_unknown(
    network: Network, batch_source: BatchSource, unknown: Unknown, n_steps: int, seed: int
) -> None:
    """Take ``n_steps`` of Adam on the rows that say "unknown", at a rate that falls to zero."""
    if n_steps == 0 or len(unknown.learned) == 0:
        return
    table, learned = network.embedding.table, unknown.learned.to(network.device)
    rows = torch.nn.Parameter(table.detach()[:, learned])
    optimiser = torch.optim.Adam([rows], lr=LEARNING_RATE)
    falling = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.0, total_iters=n_steps)
    generator = torch.Generator().manual_seed(seed)
    network.eval()
    for cohort, subjects in training_steps(batch_source, network.shape.n_members, n_steps):
        batch = ops.gather(cohort, subjects)
        hidden_rows, values = unknown.hide(batch, generator)
        loss = survival_loss(network.cause_logits(hidden_rows, values), batch).sum()
        (gradient,) = torch.autograd.grad(loss, [table])
        rows.grad = gradient[:, learned]
        optimiser.step()
        falling.step()
        with torch.no_grad():
            table[:, learned] = rows
