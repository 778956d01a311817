"""Subjects are encoded, judged and answered for in chunks, as the estimator's predictor does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from survtrace.inference.curve_function import curve_functions
from survtrace.inference.times import read_starts, require_row_each
from survtrace.inference.unlike import require_typicality, warn_of_unlike
from survtrace.portable import curves
from survtrace.portable.kernel import Kernel
from survtrace.portable.network import Network
from survtrace.portable.plain_rows import PlainRows
from survtrace.portable.rows import encode_rows
from survtrace.tables.covariates.encoding import Encoded, Encoding
from survtrace.tables.covariates.magnitude import not_finite
from survtrace.tables.covariates.ranges import (
    Bounds,
    innermost_bounds,
    is_any_outside,
    warn_of_far_values,
)
from survtrace.tables.table import Table
from survtrace.tables.typicality.typicality import Typicality

Array = NDArray[np.float64]
MOST_NUMBERS = 2**20  # of the largest array of a chunk, all members together: it stays in a cache


@dataclass(frozen=True)
class Predictor:
    """Everything a prediction needs; `survtrace.inference.predictor` in numpy, for rows only."""

    network: Network
    encoding: Encoding
    cuts: Array
    typicality: Typicality | None = None
    compiled: bool | None = None

    @cached_property
    def kernel(self) -> Kernel:
        """What computes logits, and most curves: numpy, and compiled code once it is loaded."""
        return Kernel(self.network, compiled=self.compiled)

    def encode(self, X: Table, *, judge: bool = True) -> Encoded:
        """Encode rows; ``judge`` warns of values and subjects unlike those learned from."""
        encoded = self._plain_rows.encode(X)
        if encoded is None:
            encoded = encode_rows(self.encoding, X)
        if judge:
            self.judge(encoded)
        return encoded

    def judge(self, encoded: Encoded) -> Array | None:
        """Warn of values and subjects unlike those learned from; return how usual each is.

        Of a large table some subjects are judged; None where nothing was learned of it.
        """
        if is_any_outside(encoded, self._bounds):
            warn_of_far_values(self.encoding, encoded)
        return None if self.typicality is None else warn_of_unlike(self.typicality, encoded)

    @cached_property
    def _plain_rows(self) -> PlainRows:
        return PlainRows(self.encoding)

    @cached_property
    def _bounds(self) -> Bounds:
        return innermost_bounds(self.encoding)

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
        return self.curve_of(
            self.encode(X), kind, points, cause=cause, after=after, with_std=with_std
        )

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
        n_subjects = len(encoded.rows)
        start = None if after is None else read_starts(after, n_subjects)[:, None]
        require_row_each(points, n_subjects)
        at = curves.locate_times(np.atleast_2d(points), self.cuts)
        at = at._replace(start=start)
        means, deviations = list[Array](), list[Array]()
        for subjects in self._chunks(n_subjects, points.shape[-1]):
            mean, deviation = self._answer(
                encoded, subjects, kind, at.of(subjects), cause, with_std=with_std
            )
            means.append(mean)
            if deviation is not None:
                deviations.append(deviation)
        return _joined(means), _joined(deviations) if with_std else None

    def functions(self, X: Table, kind: str, knots: Array) -> NDArray[np.object_]:
        """Give curves as a `CurveFunction` for each subject: (subject,), or (subject, cause)."""
        hazards, _ = self.curve(X, "hazards", knots[:1])
        return curve_functions(kind, hazards, knots, self.cuts, curves.mean_curve)

    def attention(self, X: Table) -> NDArray[np.float32]:
        """Compute attention weights, averaged over members."""
        encoded = self.encode(X)
        return _joined(
            [
                self.network.attention(encoded.rows[subjects], encoded.values[subjects])
                for subjects in self._chunks(len(encoded.rows), 1)
            ]
        )

    def typicality_of(
        self, X: Table, *, with_reasons: bool = False
    ) -> tuple[Array, list[tuple[str, ...]]]:
        """Tell how usual each subject is among those learned from, and why it is not."""
        learned = require_typicality(self.typicality)
        encoded = self.encode(X, judge=False)
        return learned.of(encoded), learned.reasons(encoded) if with_reasons else []

    def _answer(
        self,
        encoded: Encoded,
        subjects: slice,
        kind: str,
        at: curves.TimeIndex,
        cause: int | None,
        *,
        with_std: bool,
    ) -> tuple[Array, Array | None]:
        """Compute the curve of some subjects, by a kernel where there is one."""
        logits = self.kernel.logits(encoded.rows[subjects], encoded.values[subjects])
        by_kernel = self.kernel.curves(logits, kind, at, cause, with_std=with_std)
        if by_kernel is not None:
            return by_kernel
        found, shares = self._member_curves(logits, subjects.start, kind, at)
        found = found if cause is None else found[:, :, cause]
        return _mean(found, shares), _deviation(found) if with_std else None

    def _member_curves(
        self, logits: NDArray[np.float32], first: int, kind: str, at: curves.TimeIndex
    ) -> tuple[Array, Array | None]:
        """Compute each member's curves of some subjects, and its shares of their survivors."""
        hazard = self.network.hazards(logits)
        if not np.isfinite(hazard.sum()):
            finite = np.isfinite(hazard).all(axis=(0, 2, 3))
            raise not_finite(first + int(np.argmin(finite)))
        curve: curves.Curve = getattr(curves, kind)
        if at.start is None or kind in curves.OF_AVERAGE:
            return curve(hazard, at), None
        shares = curves.member_shares(hazard, curves.locate_times(at.start, at.cuts))
        return curve(*curves.after(hazard, at)), shares

    def _chunks(self, n_subjects: int, n_points: int) -> Iterator[slice]:
        """Cut subjects into chunks whose largest array is not too large."""
        network = self.network
        _, n_causes, hidden, n_intervals = network.outer.weight.shape
        _, _, n_tokens, width = network.bias.shape
        most = max(n_tokens * max(hidden, 3 * width), n_causes * max(n_points, n_intervals, hidden))
        size = max(1, MOST_NUMBERS // (network.n_members * most))
        for first in range(0, n_subjects, size):
            yield slice(first, min(first + size, n_subjects))


def _mean(found: Array, shares: Array | None) -> Array:
    """Average over members, each weighted by its share of the survivors where there are shares."""
    if shares is None:
        mean: Array = found.sum(axis=0) / len(found)
        return mean
    shares = shares if found.ndim == 3 else shares[:, :, None]
    shares = np.broadcast_to(shares, found.shape)
    weighted: Array = (shares * found).sum(axis=0) / shares.sum(axis=0)
    return weighted


def _deviation(found: Array) -> Array:
    """Compute the standard deviation between members; NaN if there is only one."""
    if len(found) == 1:
        return np.full(found.shape[1:], np.nan)
    deviation: Array = np.sqrt(np.square(found - found.mean(axis=0)).mean(axis=0))
    return deviation


def _joined(parts: list[NDArray[Any]]) -> NDArray[Any]:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
