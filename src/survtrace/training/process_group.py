"""Several processes that train one network together, each on its share of every batch."""

from typing import NamedTuple

import torch
from torch import Tensor

from survtrace.errors import SettingError


class ProcessGroup(NamedTuple):
    """The number of this process and how many there are; alone, it has everything to itself.

    Gradients and losses are means over subjects, so that the mean over processes, each weighted
    by its share of the subjects, is that of the whole batch.
    """

    rank: int = 0
    size: int = 1

    def shard(self, subjects: Tensor) -> Tensor:
        """Take this process's share of a batch, whose subjects are the last axis.

        Examples
        --------
        >>> ProcessGroup(rank=1, size=2).shard(torch.tensor([[10, 11, 12, 13]]))
        tensor([[12, 13]])
        """
        return subjects if self.size == 1 else subjects.tensor_split(self.size, dim=-1)[self.rank]

    def part(self, n_subjects: int) -> tuple[int, int, int]:
        """Tell where this process's share of a batch begins and ends, and the size of the batch."""
        if n_subjects < self.size:
            raise SettingError(
                f"every batch must have a subject for each process; got {n_subjects} for "
                f"{self.size}. Raise batch_size, or take fewer processes."
            )
        shard = self.shard(torch.arange(n_subjects))
        return int(shard[0]), int(shard[-1]) + 1, n_subjects

    def all_reduce(self, tensor: Tensor) -> Tensor:
        """Sum over processes, in place."""
        if self.size > 1:
            torch.distributed.all_reduce(tensor)
        return tensor
