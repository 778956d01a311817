"""A fitted network predicts: subjects in batches, members averaged, at any times."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from threading import Lock
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor
from torch.nn.functional import softplus

from survtrace.errors import DataError, SettingError, row_name
from survtrace.inference import curves
from survtrace.inference.curve_function import CurveFunction
from survtrace.inference.paths import Table, answer_chunks, read_rows, times_of_rows
from survtrace.inference.times import numbers_or_nan
from survtrace.network.assembly import Network
from survtrace.ops import cause_logits
from survtrace.tables.covariates.covariates import open_table
from survtrace.tables.covariates.encoding import Encoded, Encoding
from survtrace.tables.covariates.ranges import warn_of_far_values
from survtrace.tables.files.text_levels import as_learned
from survtrace.tables.outcome.roles import is_path
from survtrace.threads import run_in_all_threads, run_in_threads, threads

Array = NDArray[np.float64]
T = TypeVar("T")
# A subject alone gets the same answer, to the bit, as in a table: vector instructions round the odd
# rows at the end of a tensor differently, so that there must be none.
BLOCK = 32
# Subjects of a batch, times members. Small ones cost in Python what they save in waiting.
FEWEST_SUBJECTS, MOST_SUBJECTS, MOST_ON_GPU = 2**8, 2**11, 2**17
SHARES = 32  # of what is left, to be a batch
# Numbers of all members' curves: in a core's cache, or in the memory of a GPU.
CURVE_ELEMENTS, CURVE_ELEMENTS_ON_GPU = 2**17, 2**26


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
        """Mean over members of a curve, and its standard deviation between them.

        ``kind`` is the name of a function of `curves`, asked at ``points``; ``cause`` a place on
        the cause axis. With ``after`` the curve is that of subjects event-free until then. One
        member has no standard deviation: it is NaN.
        """

        def answer(rows: Table, first: int) -> tuple[Array, Array | None]:
            table = open_table(rows)
            starts = times_of_rows(after, first, len(table)) if is_path(X) else after
            return self._curve(table, kind, points, cause, starts, with_std)

        means, deviations = zip(*self.in_chunks(X, answer), strict=True)
        if is_path(X):
            times_of_rows(after, 0, sum(map(len, means)), whole=True)
        return _joined(means), _joined(deviations) if with_std else None

    def functions(self, X: Table, kind: str, knots: Array) -> NDArray[np.object_]:
        """Curves as a `CurveFunction` for each subject: (subject,), or (subject, cause)."""
        hazards, _ = self.curve(X, "hazards", knots[:1])
        curve = getattr(curves, kind)
        causes = [None] if kind == "survival" else range(hazards.shape[2])
        functions = [
            [CurveFunction(knots, hazard, self.cuts, curve, cause) for cause in causes]
            for hazard in hazards
        ]
        found = np.array(functions, dtype=object)
        return found[:, 0] if kind == "survival" else found

    def attention(self, X: Table) -> NDArray[np.float32]:
        """Attention weights, averaged over members."""

        def answer(rows: Table, first: int) -> NDArray[np.float32]:
            encoded = self._encode(open_table(rows))
            found = Answers(len(encoded.rows))

            def attend(subjects: slice, rows: Tensor, values: Tensor) -> None:
                weights = self.network.attention(rows, values)
                found.write(subjects, weights)
                _require_finite(weights, subjects.start)

            self._each_batch(encoded, attend)
            return found.array

        return _joined(list(self.in_chunks(X, answer)))

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
        """A float64 tensor beside the hazards."""
        return torch.as_tensor(np.asarray(values, dtype=np.float64), device=self.device)

    def _curve(
        self,
        table: Table,
        kind: str,
        points: Array,
        cause: int | None,
        after: ArrayLike | None,
        with_std: bool,
    ) -> tuple[Array, Array | None]:
        encoded = self._encode(table)
        n, curve, cuts = len(encoded.rows), getattr(curves, kind), self.on_device(self.cuts)
        start = None if after is None else self._starts(after, n)
        times = self.on_device(points).view(1, -1)
        at = curves.locate_times(times, cuts)
        n_points = len(points) * (curves.N_NODES if curve is curves.cumulative_hazard else 1)
        means, deviations = Answers(n), Answers(n)

        def predict(subjects: slice, rows: Tensor, values: Tensor) -> None:
            hazards = self._hazards(rows, values)
            at_once, first = self._curves_at_once(n_points), subjects.start
            for hazard in hazards.split(at_once, dim=1):
                some = slice(first, min(first + at_once, subjects.stop))
                if start is None:
                    member_curves, share = curve(hazard, at), None
                else:
                    starts = start[first : first + hazard.shape[1]]
                    member_curves = curve(*curves.after(hazard, cuts, starts, times))
                    share = curves.member_shares(hazard, curves.locate_times(starts, cuts))
                if cause is not None:
                    member_curves = member_curves[:, :, cause]
                means.write(some, _mean(member_curves, share))
                if with_std:
                    deviation = _deviation(member_curves)
                    deviations.write(some, deviation if len(hazard) > 1 else deviation * torch.nan)
                first = some.stop
            # Last, when a GPU has been waited for anyway. No sum of such floats overflows a double.
            if not torch.isfinite(hazards.sum()):
                _require_finite(hazards.transpose(0, 1), subjects.start)

        self._each_batch(encoded, predict)
        return means.array, deviations.array if with_std else None

    def _encode(self, table: Table) -> Encoded:
        """Encode a table with at least one subject, by all threads where that pays."""
        with self._threads(len(table)):
            encoded = self.encoding.encode(table, run=run_in_all_threads)
            if len(encoded.rows) == 0:
                raise DataError("X must have at least one subject; got 0 sample(s).")
            warn_of_far_values(self.encoding, encoded, run_in_all_threads)
        return encoded

    def _hazards(self, rows: Tensor, values: Tensor) -> Tensor:
        """Hazards as `Network.hazards` defines them, by kernels where there are some."""
        logits = cause_logits(self.network, rows.unsqueeze(0), values.unsqueeze(0))
        return (softplus(logits) * self.network.recalibration_factor).double()

    def _each_batch(
        self, encoded: Encoded, answer: Callable[[slice, Tensor, Tensor], None]
    ) -> None:
        """Call ``answer`` with some subjects, by number, and their rows and values; for all.

        Each batch is one task of one thread, from encoded rows to the answers it writes.
        """
        batches = cut_batches(len(encoded.rows), *self._batch_sizes())
        self.network.to(self.device).eval()

        @torch.no_grad()
        def run(k: int) -> None:
            rows, values = (
                _on_whole_blocks(column[batches[k]]).to(self.device) for column in encoded
            )
            answer(batches[k], rows, values)

        with self._threads(len(encoded.rows)):
            if self.device.type == "cpu":
                run_in_all_threads(run, len(batches))
            else:
                run_in_threads(run, len(batches), 1)

    def _threads(self, n_subjects: int) -> AbstractContextManager[None]:
        shape = self.network.shape
        return threads(self.n_threads, n_subjects * shape.n_members * shape.n_tokens)

    def _batch_sizes(self) -> tuple[int, int]:
        """Count the subjects of the smallest and the largest batch."""
        members = self.network.shape.n_members
        if self.batch_size != "auto":
            return int(self.batch_size), int(self.batch_size)
        if self.device.type == "cuda":
            largest = MOST_ON_GPU // members
            return largest, largest
        return FEWEST_SUBJECTS // members, MOST_SUBJECTS // members

    def _curves_at_once(self, n_points: int) -> int:
        """Count the subjects whose curves at so many points are computed at once."""
        shape = self.network.shape
        per_subject = shape.n_members * shape.n_causes * max(n_points, shape.n_intervals)
        most = CURVE_ELEMENTS if self.device.type == "cpu" else CURVE_ELEMENTS_ON_GPU
        return _whole_blocks(max(most // per_subject, 1))

    def _starts(self, after: ArrayLike, n_subjects: int) -> Tensor:
        start = numbers_or_nan(after, "conditional_after")
        if start.shape not in ((), (n_subjects,)) or not (np.isfinite(start) & (start >= 0)).all():
            raise DataError(
                "conditional_after must be a time of zero or more, or one for each of the "
                f"{n_subjects} subjects; got {after!r}."
            )
        whole = np.full(n_subjects, start)
        return self.on_device(np.pad(whole, (0, -n_subjects % BLOCK), mode="edge")).view(-1, 1)


class Answers:
    """An array of all subjects' answers; the first to be written tells the shape of each."""

    def __init__(self, n_subjects: int) -> None:
        self.n_subjects = n_subjects
        self.array: NDArray[Any]
        self._lock = Lock()

    def write(self, subjects: slice, answers: Tensor) -> None:
        """Write the answers of some subjects, from any thread; what fills up their block goes."""
        found = answers[: subjects.stop - subjects.start].cpu().numpy()
        with self._lock:
            if not hasattr(self, "array"):
                self.array = np.empty((self.n_subjects, *found.shape[1:]), found.dtype)
        self.array[subjects] = found


def cut_batches(n_subjects: int, smallest: int, largest: int) -> list[slice]:
    """Cut subjects into batches of whole blocks, by their number alone.

    Batches get smaller towards the end, so that threads end at about the same time.

    Examples
    --------
    >>> [batch.stop for batch in cut_batches(9000, smallest=32, largest=4096)][:3]
    [256, 512, 768]
    >>> cut_batches(70, smallest=64, largest=64)
    [slice(0, 64, None), slice(64, 70, None)]
    """
    batches, first = [], 0
    while first < n_subjects:
        size = _whole_blocks(min(largest, max(smallest, (n_subjects - first) // SHARES)))
        batches.append(slice(first, min(first + size, n_subjects)))
        first += size
    return batches


def _whole_blocks(n_subjects: int) -> int:
    return -(-n_subjects // BLOCK) * BLOCK


def _on_whole_blocks(column: NDArray[Any]) -> Tensor:
    """Rows of a batch as a tensor, the last one repeated up to a whole block."""
    lacking = -len(column) % BLOCK
    return torch.from_numpy(np.pad(column, ((0, lacking), (0, 0)), "edge") if lacking else column)


def _mean(member_curves: Tensor, share: Tensor | None) -> Tensor:
    """Mean over members, each weighted by its share of the survivors where there are shares."""
    if share is None:
        return member_curves.mean(0)
    share = share if member_curves.dim() == 3 else share.unsqueeze(2)
    share = share.expand_as(member_curves)  # whose sum is 1 to rounding
    return (share * member_curves).sum(0) / share.sum(0)


def _deviation(member_curves: Tensor) -> Tensor:
    """Standard deviation between members, in two passes: a tenth of the time of `Tensor.std`."""
    return (member_curves - member_curves.mean(0)).square().mean(0).sqrt()


def _joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """The answers of all chunks as one array; that of a single one is not copied."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _require_finite(answers: Tensor, first: int = 0) -> None:
    """Refuse to answer where the network overflows; ``first`` is the number of the first row."""
    finite = torch.isfinite(answers)
    if not finite.all():
        bad = torch.nonzero(~finite.flatten(1).all(1))
        raise DataError(
            f"predictions must be finite; the network's are not for {row_name(first + int(bad[0]))}"
            ". Its covariates are too large for it: correct them, or leave them out as missing. "
            "If they are of the size seen in fit, the saved network is damaged: fit it again."
        )


def choose_device(device: str) -> torch.device:
    """The device asked for; "auto" takes CUDA where there is one."""
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        chosen = torch.device(device)
    except (RuntimeError, TypeError):
        raise SettingError(f"device must be 'auto', 'cpu' or 'cuda'; got {device!r}.") from None
    if chosen.type == "cuda" and not torch.cuda.is_available():
        raise SettingError("device is 'cuda', but torch finds no CUDA device. Pass device='auto'.")
    return chosen
