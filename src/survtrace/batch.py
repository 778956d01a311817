"""The named columns of a batch: all that a step of training knows of its subjects."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

INTEGER_COLUMNS = ("interval", "event", "entry_interval")  # of 64 bits; rows have 32


class Batch(NamedTuple):
    """Everything a step needs to know of each subject; indexing with (member, row) makes a batch.

    A subject is exposed from its entry to the fraction of the interval in which it left. ``weight``
    is the sample weight (mean 1), ``ips`` the weight of each cause's loss. ``whole`` is 1 where a
    row is all of a subject's time from 0 on, else 0: auxiliary tasks leave such a row out.
    """

    rows: Int[Tensor, "*subject token"]
    values: Float[Tensor, "*subject token"]
    interval: Int[Tensor, "*subject"]
    fraction: Float[Tensor, "*subject"]
    event: Int[Tensor, "*subject"]
    stay: Float[Tensor, "*subject"]
    weight: Float[Tensor, "*subject"]
    ips: Float[Tensor, "*subject cause"]
    entry_interval: Int[Tensor, "*subject"]
    entry_fraction: Float[Tensor, "*subject"]
    whole: Float[Tensor, "*subject"]

    def take(self, subjects: Int[Tensor, "*member row"]) -> "Batch":
        """Take the batch in which member m sees the subjects of row m, or one without members."""
        return Batch(*(tensor[subjects] for tensor in self))

    def to(self, device: torch.device) -> "Batch":
        """Return the same cohort on another device."""
        return Batch(*(tensor.to(device) for tensor in self))


def no_entry(n_subjects: int) -> dict[str, Tensor]:
    """Make the last columns of a batch in which every row is the whole of a subject's time.

    Examples
    --------
    >>> {name: column.tolist() for name, column in no_entry(2).items()}
    {'entry_interval': [0, 0], 'entry_fraction': [0.0, 0.0], 'whole': [1.0, 1.0]}
    """
    return {
        "entry_interval": torch.zeros(n_subjects, dtype=torch.int64),
        "entry_fraction": torch.zeros(n_subjects),
        "whole": torch.ones(n_subjects),
    }
