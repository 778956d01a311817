"""The tensors of a cohort, the rows each member learns from, and the shuffled walk over them."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor


class Cohort(NamedTuple):
    """Everything a step needs to know of each subject; indexing with (member, row) makes a batch.

    ``weight`` is the sample weight (mean 1), ``ips`` the weight of each cause's loss.
    """

    rows: Int[Tensor, "*subject token"]
    values: Float[Tensor, "*subject token"]
    interval: Int[Tensor, "*subject"]
    fraction: Float[Tensor, "*subject"]
    event: Int[Tensor, "*subject"]
    stay: Float[Tensor, "*subject"]
    weight: Float[Tensor, "*subject"]
    ips: Float[Tensor, "*subject cause"]

    def take(self, subjects: Int[Tensor, "member row"]) -> "Cohort":
        """The batch in which member m sees the subjects of row m."""
        return Cohort(*(tensor[subjects] for tensor in self))

    def to(self, device: torch.device) -> "Cohort":
        """The same cohort on another device."""
        return Cohort(*(tensor.to(device) for tensor in self))


class Draws(NamedTuple):
    """The subjects each member trains on and those it is stopped by."""

    training: NDArray[np.int64]
    validation: NDArray[np.int64]

    def of(self, members: Int[Tensor, " some"]) -> "Draws":
        """The subjects of some members."""
        chosen = members.cpu().numpy()
        return Draws(self.training[chosen], self.validation[chosen])


def draw_validation(event: NDArray[np.int64], fraction: float, seeds: list[int]) -> Draws:
    """Give each member its own validation subjects, the same share of every cause.

    Examples
    --------
    >>> draws = draw_validation(np.array([0, 0, 0, 0, 1, 1, 1, 1]), 0.25, seeds=[1, 2, 3])
    >>> draws.training.shape, draws.validation.shape
    ((3, 6), (3, 2))
    """
    strata = [np.flatnonzero(event == label) for label in np.unique(event)]
    counts = _spread(max(1, round(fraction * len(event))), [len(s) for s in strata])
    validation = []
    for seed in seeds:
        rng = np.random.default_rng([seed, 1])
        chosen = [
            rng.choice(s, size=count, replace=False)
            for s, count in zip(strata, counts, strict=True)
        ]
        validation.append(np.sort(np.concatenate(chosen)))
    everyone = np.arange(len(event))
    training = [np.setdiff1d(everyone, own, assume_unique=True) for own in validation]
    return Draws(np.stack(training), np.stack(validation))


def _spread(total: int, sizes: list[int]) -> list[int]:
    """Share ``total`` over strata in proportion to their sizes, by largest remainder."""
    exact = total * np.asarray(sizes) / sum(sizes)
    counts = np.floor(exact).astype(int)
    left_over = np.argsort(counts - exact, kind="stable")[: total - counts.sum()]
    counts[left_over] += 1
    return [int(count) for count in counts]


def count_steps(n_rows: int, batch_size: int) -> int:
    """How many batches an epoch has: as many as come closest to the batch size asked for.

    Examples
    --------
    >>> count_steps(1200, 64), count_steps(10, 64)
    (19, 1)
    """
    return max(1, round(n_rows / batch_size))


def shuffled_walk(
    training: NDArray[np.int64], batch_size: int, seeds: list[int], epoch: int
) -> Iterator[Int[Tensor, "member row"]]:
    """Batches of one epoch, all of one size; every member walks its own rows in its own order.

    The order depends on the seed and the epoch alone, so a resumed fit walks the same way.
    Fewer than one row per batch is left out of an epoch, other ones each time.

    Examples
    --------
    >>> training = np.array([[0, 1, 2, 3, 4]])
    >>> [batch.shape for batch in shuffled_walk(training, 2, seeds=[0], epoch=0)]
    [torch.Size([1, 2]), torch.Size([1, 2])]
    """
    n_rows = training.shape[1]
    n_steps = count_steps(n_rows, batch_size)
    size = n_rows // n_steps
    order = np.stack(
        [
            np.random.default_rng([seed, 2, epoch]).permutation(own)
            for seed, own in zip(seeds, training, strict=True)
        ]
    )
    for step in range(n_steps):
        yield torch.from_numpy(order[:, step * size : (step + 1) * size])
