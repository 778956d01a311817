"""The rows of some subjects from all columns of a cohort, in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numba import njit
from torch import Tensor


def take(columns: Sequence[Tensor], subjects: Tensor) -> list[Tensor]:
    """The rows of every column, (member, row, ...)."""
    out = [column.new_empty(*subjects.shape, *column.shape[1:]) for column in columns]
    numbers = subjects.reshape(-1).numpy()
    for column, taken in zip(columns, out, strict=True):
        _take(
            column.reshape(len(column), -1).numpy(), numbers, taken.view(len(numbers), -1).numpy()
        )
    return out


@njit(nogil=True, cache=True)
def _take(column: Any, subjects: Any, out: Any) -> None:
    for row in range(len(subjects)):
        for i in range(column.shape[1]):
            out[row, i] = column[subjects[row], i]
