"""A fitted network answers: subjects in batches, members averaged, at any times."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from survtrace import curves
from survtrace.data.covariates import open_table
from survtrace.data.encoding import Encoding
from survtrace.data.ranges import warn_of_far_values
from survtrace.errors import DataError, DataWarning, SettingError
from survtrace.network.assembly import Network

Array = NDArray[np.float64]
Curve = Callable[[Tensor, curves.Place, curves.Place | None], Tensor]
CURVE_ELEMENTS = 2**21
BLOCK = 32


@dataclass(frozen=True)
class Forecast:
    """Everything a prediction needs: the network, the covariates' encoding, the cuts."""

    network: Network
    encoding: Encoding
    cuts: Array
    batch_size: int | str
    device: torch.device

    def curve(
        self,
        X: Any,
        times: Array,
        curve: Curve,
        after: ArrayLike | None = None,
        with_std: bool = False,
    ) -> tuple[Array, Array | None]:
        """Mean over members of a curve at ``times``, and its standard deviation between them.

        With ``after`` the curve is divided by survival until then. The curve function is told
        where that is, since some curves count from there.
        """
        table = open_table(X)
        n = len(table)
        start = None if after is None else self._starts(after, n)
        means, deviations = [], []
        for first, hazard in self._pieces(table, len(times)):
            own = None if start is None else start[first : first + hazard.shape[1]]
            member_curves, alive = self._members(hazard, times, curve, own)
            means.append((member_curves.mean(0) / alive.mean(0)).cpu())
            if with_std:
                deviations.append((member_curves / alive).std(0, correction=0).cpu())
        deviation = torch.cat(deviations).numpy()[:n] if with_std else None
        return torch.cat(means).numpy()[:n], deviation

    def each(self, X: Any, size: int, answer: Callable[[Tensor], Tensor]) -> Array:
        """Any function of the members' hazards, batch by batch."""
        table = open_table(X)
        answers = torch.cat([answer(hazard) for _, hazard in self._pieces(table, size)])
        return answers.cpu().numpy()[: len(table)]

    def attention(self, X: Any) -> NDArray[np.float32]:
        """Attention weights, averaged over members."""
        with torch.no_grad():
            pieces = [
                self.network.attention(*batch).cpu() for batch in self._batches(open_table(X))
            ]
        return torch.cat(pieces).numpy()[: len(open_table(X))]

    def on_device(self, values: ArrayLike) -> Tensor:
        """A float64 tensor beside the hazards."""
        return torch.as_tensor(np.asarray(values, dtype=np.float64), device=self.device)

    def _members(
        self, hazard: Tensor, times: Array, curve: Curve, start: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Each member's curve, and the survival until ``start`` to divide it by."""
        asked, cuts = self.on_device(times).view(1, -1), self.on_device(self.cuts)
        if start is None:
            return curve(hazard, curves.place(asked, cuts), None), hazard.new_ones(1)
        begin = curves.place(start, cuts)
        member_curves = curve(hazard, curves.place(torch.maximum(asked, start), cuts), begin)
        alive = curves.survival(hazard, begin).clamp(min=1e-300)
        return member_curves, alive if member_curves.dim() == 3 else alive.unsqueeze(2)

    def _pieces(self, X: Any, size: int) -> Iterator[tuple[int, Tensor]]:
        """Hazards (member, subject, cause, interval) in pieces whose curves fit in memory."""
        members, causes = self.network.shape.n_members, self.network.shape.n_causes
        at_once = CURVE_ELEMENTS // (members * causes * max(size, len(self.cuts)))
        at_once = max(BLOCK, at_once // BLOCK * BLOCK)
        first = 0
        with torch.no_grad():
            for batch in self._batches(X):
                for hazard in self.network.hazards(*batch).double().split(at_once, dim=1):
                    yield first, hazard
                    first += hazard.shape[1]

    def _batches(self, X: Any) -> Iterator[tuple[Tensor, Tensor]]:
        rows, values = encoded = self.encoding.encode(open_table(X))
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
        start = numbers_or_nan(after)
        if start.shape not in ((), (n_subjects,)) or not (np.isfinite(start) & (start >= 0)).all():
            raise DataError(
                "conditional_after must be a time of zero or more, or one for each of the "
                f"{n_subjects} subjects; got {after!r}."
            )
        whole = np.full(n_subjects, start)
        return self.on_device(np.pad(whole, (0, -n_subjects % BLOCK), mode="edge")).view(-1, 1)


def numbers_or_nan(values: Any) -> Array:
    """Floats; NaN, which every door refuses, for what is no number."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        return np.asarray(np.nan)


def read_times(times: ArrayLike | None, cuts: Array, extrapolate: str) -> tuple[Array, Any]:
    """The times asked, and a mask of those beyond the grid that must become NaN (or None)."""
    if extrapolate not in ("constant", "nan", "raise"):
        raise SettingError(
            f"extrapolate must be 'constant', 'nan' or 'raise'; got {extrapolate!r}."
        )
    asked = np.atleast_1d(numbers_or_nan(cuts if times is None else times))
    if asked.ndim != 1 or not (asked >= 0).all():
        raise DataError(
            f"times must be a flat sequence of numbers of zero or more; got {times!r}. "
            "Pass for example times=[12, 60]."
        )
    beyond = asked > cuts[-1]
    if not beyond.any():
        return asked, None
    seen = f"{beyond.sum()} of {len(asked)} times lie beyond the grid, which ends at {cuts[-1]:g}"
    if extrapolate == "raise":
        raise DataError(f"{seen}. Ask for earlier times, or pass extrapolate='nan'.")
    if extrapolate == "nan":
        return asked, beyond
    warnings.warn(f"{seen}; curves are constant there.", DataWarning, stacklevel=4)
    return asked, None


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


@contextmanager
def threads(n_threads: int | None) -> Iterator[None]:
    """Run torch with this many CPU threads, and put the old number back."""
    before = torch.get_num_threads()
    if n_threads is not None:
        torch.set_num_threads(n_threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)
