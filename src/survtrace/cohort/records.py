"""A subject in few bytes, as it lies on disk, and back again as tensors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from survtrace.batch import Batch
from survtrace.cohort.scratch_file import Records
from survtrace.tables.covariates.encoding import Encoded, Encoding, Scale
from survtrace.tables.outcome.outcome import Outcome
from survtrace.tables.outcome.time_grid import StayScale, end_follow_up, locate


@dataclass(frozen=True)
class Layout:
    """How a subject becomes a record: numbers of rows in the smallest type, no values that are 1.

    ``stay`` standardises durations; ``weight`` is the mean sample weight, or None where all
    subjects weigh the same. Follow-up ends with the last cut.
    """

    encoding: Encoding
    cuts: NDArray[np.float64]
    n_causes: int
    stay: StayScale
    weight: float | None = None

    @cached_property
    def dtype(self) -> np.dtype[np.void]:
        """The type of a record."""
        most_rows = max(column.n_rows for column in self.encoding.columns)
        fields: list[Any] = [
            ("rows", np.min_scalar_type(most_rows - 1), (len(self.encoding.columns),)),
            ("values", np.float32, (len(self._numerical),)),
            ("interval", np.min_scalar_type(len(self.cuts))),
            ("fraction", np.float32),
            ("event", np.min_scalar_type(self.n_causes)),
            ("stay", np.float32),
        ]
        return np.dtype(fields if self.weight is None else [*fields, ("weight", np.float32)])

    @cached_property
    def _numerical(self) -> list[int]:
        """Which tokens have a value of their own."""
        return [j for j, column in enumerate(self.encoding.columns) if isinstance(column, Scale)]

    def pack(self, encoded: Encoded, outcome: Outcome, weight: NDArray[np.float64]) -> Records:
        """Subjects as records."""
        records = np.empty(len(outcome), self.dtype)
        records["rows"] = encoded.rows - self.encoding.first_rows[:-1]
        records["values"] = encoded.values[:, self._numerical]
        ended = end_follow_up(outcome, self.cuts[-1])
        records["interval"], records["fraction"] = locate(ended.duration, self.cuts)
        records["event"] = ended.event
        records["stay"] = self.stay.standardise(outcome.duration)
        if self.weight is not None:
            records["weight"] = weight / self.weight
        return records

    def unpack(self, records: Records) -> Batch:
        """Records as tensors; no subject has an IPS weight of its own."""
        first_rows = self.encoding.first_rows[:-1].astype(np.int32)
        values = np.ones(records["rows"].shape, dtype=np.float32)
        values[:, self._numerical] = records["values"]
        return Batch(
            rows=torch.from_numpy(records["rows"].astype(np.int32) + first_rows),
            values=torch.from_numpy(values),
            interval=torch.from_numpy(records["interval"].astype(np.int64)),
            fraction=torch.from_numpy(records["fraction"].copy()),
            event=torch.from_numpy(records["event"].astype(np.int64)),
            stay=torch.from_numpy(records["stay"].copy()),
            weight=torch.ones(len(records))
            if self.weight is None
            else torch.from_numpy(records["weight"].copy()),
            ips=torch.ones(len(records), self.n_causes),
        )
