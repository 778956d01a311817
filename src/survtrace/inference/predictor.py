"""A fitted network predicts: subjects in batches, members averaged, at any times."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from survtrace.errors import DataError, SettingError, row_name
from survtrace.inference import curves
from survtrace.inference.curve_function import CurveFunction
from survtrace.inference.paths import Table, answer_chunks, read_rows, times_of_rows
from survtrace.inference.times import numbers_or_nan
from survtrace.network.assembly import Network
from survtrace.tables.covariates.covariates import open_table
from survtrace.tables.covariates.encoding import Encoding
from survtrace.tables.covariates.ranges import warn_of_far_values
from survtrace.tables.files.text_levels import as_learned
from survtrace.tables.outcome.roles import is_path
from survtrace.threads import threads

Array = NDArray[np.float64]
T = TypeVar("T")
CURVE_ELEMENTS = 2**21
BLOCK = 32


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
            table = open_table(rows)
            with torch.no_grad(), threads(self.n_threads):
                weights = torch.cat(
                    [self.network.attention(*batch).cpu() for batch in self._batches(table)]
                )
            _require_finite(weights)
            return weights.numpy()[: len(table)]

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
        n, curve, cuts = len(table), getattr(curves, kind), self.on_device(self.cuts)
        start = None if after is None else self._starts(after, n)
        times = self.on_device(points).view(1, -1)
        at = curves.locate_times(times, cuts)
        size = len(points) * (curves.N_NODES if curve is curves.cumulative_hazard else 1)
        means, deviations = [], []
        with torch.no_grad(), threads(self.n_threads):
            for first, hazard in self._hazards(table, size):
                if start is None:
                    member_curves, share = curve(hazard, at), None
                else:
                    starts = start[first : first + hazard.shape[1]]
                    member_curves = curve(*curves.after(hazard, cuts, starts, times))
                    share = curves.member_shares(hazard, curves.locate_times(starts, cuts))
                if cause is not None:
                    member_curves = member_curves[:, :, cause]
                means.append(_mean(member_curves, share).cpu())
                if with_std:
                    deviation = member_curves.std(0, correction=0).cpu()
                    deviations.append(deviation if len(hazard) > 1 else deviation.fill_(torch.nan))
        between = torch.cat(deviations).numpy()[:n] if with_std else None
        return torch.cat(means).numpy()[:n], between

    def _hazards(self, table: Table, size: int) -> Iterator[tuple[int, Tensor]]:
        """Hazards (member, subject, cause, interval) of so many subjects that curves fit in memory.

        ``size`` is the number of points of a curve; the number of the first subject comes along.
        """
        members, causes = self.network.shape.n_members, self.network.shape.n_causes
        at_once = CURVE_ELEMENTS // (members * causes * max(size, len(self.cuts)))
        at_once = max(BLOCK, at_once // BLOCK * BLOCK)
        first = 0
        for batch in self._batches(table):
            hazards = self.network.hazards(*batch)
            _require_finite(hazards.transpose(0, 1), first)
            for hazard in hazards.double().split(at_once, dim=1):
                yield first, hazard
                first += hazard.shape[1]

    def _batches(self, table: Table) -> Iterator[tuple[Tensor, Tensor]]:
        rows, values = encoded = self.encoding.encode(table)
        if len(rows) == 0:
            raise DataError("X must have at least one subject; got 0 sample(s).")
        warn_of_far_values(self.encoding, encoded)
        # A subject alone gets the same answer, to the bit, as in a table: vector instructions
        # round the odd rows at the end of a tensor differently, so that there must be none.
        fill = np.minimum(np.arange(-(-len(rows) // BLOCK) * BLOCK), len(rows) - 1)
        rows, values = rows[fill], values[fill]
        self.network.to(self.device).eval()
        batch_size = -(-self._batch_size() // BLOCK) * BLOCK
        for first in range(0, len(rows), batch_size):
            some = slice(first, first + batch_size)
            yield (
                torch.from_numpy(rows[some]).to(self.device),
                torch.from_numpy(values[some]).to(self.device),
            )

    def _batch_size(self) -> int:
        if self.batch_size != "auto":
            return int(self.batch_size)
        return 4096 if self.device.type == "cuda" else 512 // self.network.shape.n_members

    def _starts(self, after: ArrayLike, n_subjects: int) -> Tensor:
        start = numbers_or_nan(after, "conditional_after")
        if start.shape not in ((), (n_subjects,)) or not (np.isfinite(start) & (start >= 0)).all():
            raise DataError(
                "conditional_after must be a time of zero or more, or one for each of the "
                f"{n_subjects} subjects; got {after!r}."
            )
        whole = np.full(n_subjects, start)
        return self.on_device(np.pad(whole, (0, -n_subjects % BLOCK), mode="edge")).view(-1, 1)


def _mean(member_curves: Tensor, share: Tensor | None) -> Tensor:
    """Mean over members, each weighted by its share of the survivors where there are shares."""
    if share is None:
        return member_curves.mean(0)
    share = share if member_curves.dim() == 3 else share.unsqueeze(2)
    share = share.expand_as(member_curves)  # whose sum is 1 to rounding
    return (share * member_curves).sum(0) / share.sum(0)


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
