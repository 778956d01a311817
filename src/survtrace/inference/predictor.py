"""A fitted network answers: subjects in batches, members averaged, at any times."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from survtrace.errors import DataError, DataWarning, SettingError, row_name, warn
from survtrace.inference import curves
from survtrace.network.assembly import Network
from survtrace.tables.covariates.covariates import open_table
from survtrace.tables.covariates.encoding import Encoding
from survtrace.tables.covariates.ranges import warn_of_far_values
from survtrace.tables.covariates.real_numbers import real_numbers

Array = NDArray[np.float64]
Curve = Callable[[Tensor, curves.TimeIndex], Tensor]
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

        With ``after`` the curve is that of subjects event-free until then. One member has no
        standard deviation: it is NaN.
        """
        table = open_table(X)
        n = len(table)
        start = None if after is None else self._starts(after, n)
        asked, cuts = self.on_device(times).view(1, -1), self.on_device(self.cuts)
        means, deviations = [], []
        for first, hazard in self._pieces(table, len(times)):
            if start is None:
                member_curves = curve(hazard, curves.locate_times(asked, cuts))
                means.append(member_curves.mean(0).cpu())
            else:
                own = start[first : first + hazard.shape[1]]
                member_curves = curve(*curves.after(hazard, cuts, own, asked))
                share = curves.member_shares(hazard, curves.locate_times(own, cuts))
                share = share if member_curves.dim() == 3 else share.unsqueeze(2)
                share = share.expand_as(member_curves)  # whose sum is 1 to rounding
                means.append(((share * member_curves).sum(0) / share.sum(0)).cpu())
            if with_std:
                deviation = member_curves.std(0, correction=0).cpu()
                deviations.append(deviation if len(hazard) > 1 else deviation.fill_(torch.nan))
        between = torch.cat(deviations).numpy()[:n] if with_std else None
        return torch.cat(means).numpy()[:n], between

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
        weights = torch.cat(pieces)
        _require_finite(weights)
        return weights.numpy()[: len(open_table(X))]

    def on_device(self, values: ArrayLike) -> Tensor:
        """A float64 tensor beside the hazards."""
        return torch.as_tensor(np.asarray(values, dtype=np.float64), device=self.device)

    def _pieces(self, X: Any, size: int) -> Iterator[tuple[int, Tensor]]:
        """Hazards (member, subject, cause, interval) in pieces whose curves fit in memory."""
        members, causes = self.network.shape.n_members, self.network.shape.n_causes
        at_once = CURVE_ELEMENTS // (members * causes * max(size, len(self.cuts)))
        at_once = max(BLOCK, at_once // BLOCK * BLOCK)
        first = 0
        with torch.no_grad():
            for batch in self._batches(X):
                hazards = self.network.hazards(*batch)
                _require_finite(hazards.transpose(0, 1), first)
                for hazard in hazards.double().split(at_once, dim=1):
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
        start = numbers_or_nan(after, "conditional_after")
        if start.shape not in ((), (n_subjects,)) or not (np.isfinite(start) & (start >= 0)).all():
            raise DataError(
                "conditional_after must be a time of zero or more, or one for each of the "
                f"{n_subjects} subjects; got {after!r}."
            )
        whole = np.full(n_subjects, start)
        return self.on_device(np.pad(whole, (0, -n_subjects % BLOCK), mode="edge")).view(-1, 1)


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


def numbers_or_nan(values: Any, name: str = "times") -> Array:
    """Floats; NaN, which every door refuses, for what is no number."""
    try:
        return real_numbers(values, name)
    except DataError:
        raise
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
    warn(f"{seen}; curves are constant there.", DataWarning)
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
