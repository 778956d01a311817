"""Subjects as the columns of a batch: arrays, tensors, and records of few bytes for a disk."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from survtrace.batch import INTEGER_COLUMNS, Batch, no_entry
from survtrace.cohort.scratch_file import Records
from survtrace.tables.covariates.encoding import Encoded, Encoding, Scale
from survtrace.tables.outcome.outcome import Outcome
from survtrace.tables.outcome.time_grid import StayScale, end_follow_up, locate

Columns = dict[str, NDArray[Any]]
# The types of tensors; every column that is not named here holds floats.
TYPES: dict[str, Any] = {"rows": np.int32, **dict.fromkeys(INTEGER_COLUMNS, np.int64)}


@dataclass(frozen=True)
class Layout:
    """How a subject becomes the columns of a batch, and these a record.

    ``stay`` standardises durations; ``weight`` is what sample weights are divided by, or None where
    all rows weigh the same. Follow-up ends with the last cut. A record has each column in the
    smallest type, and none that is the same for everybody. One of zeros is the empty row: it has
    no exposure and, where rows have weights, weighs nothing.
    """

    encoding: Encoding
    cuts: NDArray[np.float64]
    n_causes: int
    stay: StayScale
    weight: float | None = None
    has_entry: bool = False

    def columns(self, encoded: Encoded, outcome: Outcome, weight: NDArray[np.float64]) -> Columns:
        """Compute every column of a batch that is not the same for everybody."""
        ended = end_follow_up(outcome, self.cuts[-1])
        interval, fraction = locate(ended.duration, self.cuts)
        columns: Columns = {
            "rows": encoded.rows,
            "values": encoded.values,
            "interval": interval,
            "fraction": fraction,
            "event": ended.event,
            "stay": self.stay.standardise(outcome.duration),
        }
        if self.has_entry:
            entry = np.zeros(len(ended)) if ended.entry is None else ended.entry
            columns["entry_interval"], columns["entry_fraction"] = locate(entry, self.cuts)
            columns["whole"] = outcome.is_whole
        if self.weight is not None:
            columns["weight"] = weight / self.weight
        return _typed(columns)

    def tensors(self, columns: Columns) -> Batch:
        """Turn columns into tensors of a batch; those missing are the same for everybody."""
        n_subjects = len(columns["event"])
        constant = {
            "weight": torch.ones(n_subjects),
            "ips": torch.ones(n_subjects, self.n_causes),
            **no_entry(n_subjects),
        }
        given = {name: torch.from_numpy(column) for name, column in _typed(columns).items()}
        return Batch(**{**constant, **given})

    def with_empty_row(self, columns: Columns) -> Columns:
        """Add the row that fills up lists of rows: it has no exposure and weighs nothing."""
        empty = {name: np.zeros_like(column[:1]) for name, column in columns.items()}
        empty["rows"][:] = self.encoding.first_rows[:-1]
        return {name: np.concatenate([column, empty[name]]) for name, column in columns.items()}

    @cached_property
    def dtype(self) -> np.dtype[np.void]:
        """The type of a record."""
        most_rows = max(column.n_rows for column in self.encoding.columns)
        small: dict[str, tuple[Any, ...]] = {
            "rows": (np.min_scalar_type(most_rows - 1), (len(self.encoding.columns),)),
            "values": (np.float32, (len(self._numerical),)),
            "interval": (np.min_scalar_type(len(self.cuts)),),
            "entry_interval": (np.min_scalar_type(len(self.cuts)),),
            "event": (np.min_scalar_type(self.n_causes),),
        }
        constant: tuple[str, ...] = ("ips",) if self.weight is not None else ("ips", "weight")
        if not self.has_entry:
            constant += ("entry_interval", "entry_fraction", "whole")
        names = [name for name in Batch._fields if name not in constant]
        return np.dtype([(name, *small.get(name, (np.float32,))) for name in names])

    @cached_property
    def _numerical(self) -> list[int]:
        """Which tokens have a value other than 1."""
        return [j for j, column in enumerate(self.encoding.columns) if isinstance(column, Scale)]

    def pack(self, columns: Columns) -> Records:
        """Pack columns into records: rows counted from the covariate's first, values of numbers."""
        records = np.empty(len(columns["event"]), self.dtype)
        rows = columns["rows"] - self.encoding.first_rows[:-1]
        values = columns["values"][:, self._numerical]
        for name, column in {**columns, "rows": rows, "values": values}.items():
            records[name] = column
        return records

    def unpack(self, records: Records) -> Batch:
        """Turn records into the tensors of a batch."""
        columns: Columns = {name: records[name].copy() for name in self.dtype.names or ()}
        columns["rows"] = records["rows"] + self.encoding.first_rows[:-1].astype(np.int32)
        columns["values"] = np.ones(records["rows"].shape, dtype=np.float32)
        columns["values"][:, self._numerical] = records["values"]
        return self.tensors(columns)


def _typed(columns: Columns) -> Columns:
    """Return the columns in the types of their tensors."""
    return {
        name: np.ascontiguousarray(column, TYPES.get(name, np.float32))
        for name, column in columns.items()
    }
