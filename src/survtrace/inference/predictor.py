"""A fitted network predicts: subjects in batches, members averaged, at any times."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from survtrace.errors import DataError, SettingError, memory_errors
from survtrace.inference import curves
from survtrace.inference.answers import (
    BLOCK,
    Answers,
    Question,
    require_finite,
    whole_blocks,
    write_answers,
)
from survtrace.inference.curve_function import curve_functions
from survtrace.inference.paths import answer_chunks, read_rows, times_of_rows
from survtrace.inference.times import read_starts, require_row_each
from survtrace.inference.unlike import require_typicality, warn_of_unlike
from survtrace.network.assembly import Network
from survtrace.network.power import raised
from survtrace.ops import cause_logits, find_kernel
from survtrace.tables.covariates.covariates import open_table
from survtrace.tables.covariates.encoding import Encoded, Encoding
from survtrace.tables.covariates.ranges import warn_of_far_values
from survtrace.tables.files.text_levels import as_learned
from survtrace.tables.table import Table, is_path
from survtrace.tables.typicality.typicality import Typicality
from survtrace.threads import run_in_few_threads, threads

Array = NDArray[np.float64]
T = TypeVar("T")
FEWER_ROWS = "Ask for fewer rows or times at once, or from a file, which is read in chunks."
# Subjects times members of a batch, and its logits; and of a part of it, in plain torch.
BATCH, MOST_LOGITS = 2**17, 2**24
PART, PART_ON_GPU = 2**9, 2**15


@dataclass(frozen=True)
class Predictor:
    """Everything a prediction needs: the network, the covariates' encoding, the cuts.

    ``X`` is a table, predicted in one go, or the path of one, read in chunks.
    """

    network: Network
    encoding: Encoding
    cuts: Array
    batch_size: int | str
    device: torch.device
    n_threads: int | None
    typicality: Typicality | None = None

    def curve(
        self,
        X: Table,
        kind: str,
        points: Array,
        *,
        cause: int | None = None,
        after: ArrayLike | None = None,
        with_std: bool = False,
    ) -> tuple[Array, Array | None]:
        """Compute the mean over members of a curve, and its standard deviation between them.

        ``kind`` is the name of a function of `curves`, asked at ``points``, (time,) for all or
        (subject, time); ``cause`` a place on the cause axis. With ``after`` the curve is that of
        subjects event-free until then. One member has no standard deviation: it is NaN.
        """

        def answer(rows: Table, first: int) -> tuple[Array, Array | None]:
            table, times, starts = open_table(rows), points, after
            if is_path(X):
                starts = times_of_rows(after, first, len(table))
                times = np.asarray(times_of_rows(points, first, len(table), name="times"))
            return self.curve_of(
                self.encode(table), kind, times, cause=cause, after=starts, with_std=with_std
            )

        means, deviations = zip(*self.in_chunks(X, answer), strict=True)
        if is_path(X):
            n_subjects = sum(map(len, means))
            times_of_rows(after, 0, n_subjects, whole=True)
            times_of_rows(points, 0, n_subjects, whole=True, name="times")
        return _joined(means), _joined(deviations) if with_std else None

    def functions(self, X: Table, kind: str, knots: Array) -> NDArray[np.object_]:
        """Return curves as a `CurveFunction` for each subject: (subject,), or (subject, cause)."""
        hazards, _ = self.curve(X, "hazards", knots[:1])
        return curve_functions(kind, hazards, knots, self.cuts, curves.mean_curve)

    def attention(self, X: Table) -> NDArray[np.float32]:
        """Compute attention weights, averaged over members."""

        def answer(rows: Table, first: int) -> NDArray[np.float32]:
            encoded = self.encode(open_table(rows))
            found = Answers(len(encoded.rows))

            def attend(subjects: slice, rows: Tensor, values: Tensor) -> None:
                weights = self.network.attention(rows, values)
                found.write(subjects, weights)
                require_finite(weights, subjects.start)

            with self._threads(len(encoded.rows)):
                self._each_part(encoded, slice(0, len(encoded.rows)), attend)
            return found.array

        return _joined(list(self.in_chunks(X, answer)))

    def typicality_of(
        self, X: Table, *, with_reasons: bool = False
    ) -> tuple[Array, list[tuple[str, ...]]]:
        """Tell how usual each subject is among those learned from, and why it is not."""
        learned = require_typicality(self.typicality)

        def answer(rows: Table, first: int) -> tuple[Array, list[tuple[str, ...]]]:
            encoded = self.encode(open_table(rows), judge=False)
            reasons = learned.reasons(encoded) if with_reasons else []
            return learned.of(encoded, run_in_few_threads), reasons

        shares, reasons = zip(*self.in_chunks(X, answer), strict=True)
        return _joined(shares), [each for chunk in reasons for each in chunk]

    def in_chunks(
        self, X: Table, answer: Callable[[Table, int], T], more: Sequence[str] = ()
    ) -> Iterator[T]:
        """Answer for the rows of a table and the number of the first, of a file in chunks.

        Of a file, the covariates and the columns ``more`` are read.
        """
        if is_path(X):
            rows = (as_learned(self.encoding, chunk) for chunk in read_rows(X, self.encoding, more))
            return answer_chunks(rows, answer)
        return iter([answer(X, 0)])

    def on_device(self, values: ArrayLike) -> Tensor:
        """Return a float64 tensor beside the hazards."""
        # A copy: torch warns of arrays that may not be written to, as those of pandas 3.
        return torch.as_tensor(np.array(values, dtype=np.float64), device=self.device)

    def curve_of(
        self,
        encoded: Encoded,
        kind: str,
        points: Array,
        *,
        cause: int | None = None,
        after: ArrayLike | None = None,
        with_std: bool = False,
    ) -> tuple[Array, Array | None]:
        """Compute what `curve` does, of subjects that are encoded already."""
        n, cuts = len(encoded.rows), self.on_device(self.cuts)
        start = None if after is None else self._starts(after, n)
        at = curves.locate_times(self._points(points, n), cuts)._replace(start=start)
        question = Question(kind, at, cause)
        means, deviations = Answers(n), Answers(n) if with_std else None
        with torch.no_grad(), self._threads(n), memory_errors("predict", FEWER_ROWS):
            factor = self.network.recalibration_factor
            for subjects in _cut(slice(0, n), self._batch_size()):
                logits = self._raised(self._logits(encoded, subjects))
                write_answers(question, logits, factor, subjects, means, deviations)
        return means.array, None if deviations is None else deviations.array

    def _logits(self, encoded: Encoded, subjects: slice) -> Tensor:
        """Compute the logits of some subjects, which fill up whole blocks."""
        if self.device.type != "cpu" or find_kernel("cause_logits", self.network):
            rows, values = self._tensors(encoded, subjects)
            return cause_logits(self.network, rows[None], values[None])
        shape = self.network.shape
        size = whole_blocks(subjects.stop - subjects.start)
        logits = torch.empty(shape.n_members, size, shape.n_causes, shape.n_intervals)

        def write(some: slice, rows: Tensor, values: Tensor) -> None:
            first = some.start - subjects.start
            found = cause_logits(self.network, rows[None], values[None])
            logits[:, first : first + len(rows)] = found

        self._each_part(encoded, subjects, write)
        return logits

    def _raised(self, logits: Tensor) -> Tensor:
        """Raise hazards to the powers of an update, in one thread: the bits are any number's."""
        with threads(1):
            return raised(logits, self.network.hazard_power)

    def _each_part(
        self, encoded: Encoded, subjects: slice, task: Callable[[slice, Tensor, Tensor], None]
    ) -> None:
        """Call ``task`` with rows and values of each part of the subjects, in a few threads."""
        on_cpu = self.device.type == "cpu"
        size = (PART if on_cpu else PART_ON_GPU) // self.network.shape.n_members
        parts = _cut(subjects, min(size, self._batch_size()))

        def run(k: int) -> None:
            with torch.no_grad(), threads(1):
                task(parts[k], *self._tensors(encoded, parts[k]))

        if on_cpu:
            run_in_few_threads(run, len(parts))
        else:
            for k in range(len(parts)):
                run(k)

    def _tensors(self, encoded: Encoded, subjects: slice) -> tuple[Tensor, Tensor]:
        """Return rows and values of some subjects, the last one repeated up to a whole block."""
        lacking = -(subjects.stop - subjects.start) % BLOCK
        rows, values = encoded.rows[subjects], encoded.values[subjects]
        if lacking:
            rows = np.pad(rows, ((0, lacking), (0, 0)), "edge")
            values = np.pad(values, ((0, lacking), (0, 0)), "edge")
        return torch.from_numpy(rows).to(self.device), torch.from_numpy(values).to(self.device)

    def _batch_size(self) -> int:
        """Count the subjects of a batch, whose logits are held in memory at a time."""
        if self.batch_size != "auto":
            return int(self.batch_size)
        shape = self.network.shape
        most = min(BATCH, MOST_LOGITS // (shape.n_causes * shape.n_intervals))
        return most // shape.n_members

    def _threads(self, n_subjects: int) -> AbstractContextManager[None]:
        shape = self.network.shape
        return threads(self.n_threads, n_subjects * shape.n_members * shape.n_tokens)

    def encode(self, table: Table, *, judge: bool = True) -> Encoded:
        """Encode a table with at least one subject, in threads where that pays.

        ``judge`` warns of values and subjects unlike those learned from.
        """
        with self._threads(len(table)):
            if self.network.device != self.device:
                self.network.to(self.device)
            self.network.eval()
            encoded = self.encoding.encode(table, run=run_in_few_threads)
            if len(encoded.rows) == 0:
                raise DataError("X must have at least one subject; got 0 sample(s).")
            if judge:
                warn_of_far_values(self.encoding, encoded, run_in_few_threads)
            if judge and self.typicality is not None:
                warn_of_unlike(self.typicality, encoded, run_in_few_threads)
        return encoded

    def _starts(self, after: ArrayLike, n_subjects: int) -> Tensor:
        return self.on_device(_whole_blocks_of(read_starts(after, n_subjects))).view(-1, 1)

    def _points(self, points: Array, n_subjects: int) -> Tensor:
        """Return times as (1, time) where they are common to all subjects, else (subject, time)."""
        if points.ndim == 1:
            return self.on_device(points).view(1, -1)
        require_row_each(points, n_subjects)
        return self.on_device(_whole_blocks_of(points))


def _cut(subjects: slice, size: int) -> list[slice]:
    """Cut subjects into parts of so many, rounded up to whole blocks.

    Examples
    --------
    >>> _cut(slice(32, 102), size=60)
    [slice(32, 96, None), slice(96, 102, None)]
    """
    size = whole_blocks(max(1, size))
    firsts = range(subjects.start, subjects.stop, size)
    return [slice(first, min(first + size, subjects.stop)) for first in firsts]


def _whole_blocks_of(values: Array) -> Array:
    """Repeat the last subject's values up to a whole block."""
    lacking = -len(values) % BLOCK
    return np.concatenate([values, np.repeat(values[-1:], lacking, axis=0)])


def _joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return the answers of all chunks as one array; that of a single one is not copied."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def choose_device(device: str) -> torch.device:
    """Return the device asked for; "auto" takes CUDA where there is one."""
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        chosen = torch.device(device)
        if chosen.type not in ("cpu", "cuda"):
            raise ValueError(chosen.type)
    except (RuntimeError, TypeError, ValueError):
        raise SettingError(f"device must be 'auto', 'cpu' or 'cuda'; got {device!r}.") from None
    if chosen.type == "cuda" and not torch.cuda.is_available():
        raise SettingError("device is 'cuda', but torch finds no CUDA device. Pass device='auto'.")
    return chosen
