"""How usual one subject is, by plain numbers: an array of one costs numpy as much as of a thousand.

`Typicality` is the definition; this gives its numbers, to rounding.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from math import exp
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from survtrace.tables.covariates.encoding import Categories
from survtrace.tables.typicality.normal_scores import NO_BIN
from survtrace.tables.typicality.residuals import SWEEPS

if TYPE_CHECKING:
    from survtrace.tables.typicality.typicality import Typicality

Knots = tuple[list[float], list[float]]


class OneSubject:
    """What was learned of how usual patients are, as lists."""

    def __init__(self, learned: Typicality) -> None:
        encoding, scores, residuals = learned.encoding, learned.scores, learned.residuals
        self._rarity, self._bins = scores.rarity.tolist(), scores.bins.tolist()
        self._edges = scores.edges.tolist()
        curves = zip(scores.knots.tolist(), scores.scores.tolist(), strict=True)
        places, missing = encoding.numerical.tolist(), encoding.missing_rows.tolist()
        self._numbers = list(zip(places, missing, curves, strict=True))
        self._pairs = [
            (i, j, table)
            for (i, j), table in zip(
                learned.pairs.columns.tolist(), learned.pairs.tables.tolist(), strict=True
            )
        ]
        first_known = encoding.first_rows + Categories.n_silent
        columns = [residuals.row, residuals.column, residuals.centre, residuals.scale]
        self._dimensions = [
            (row, j, centre, scale, int(first_known[j]) if encoding.is_categorical[j] else None)
            for row, j, centre, scale in zip(*(each.tolist() for each in columns), strict=True)
        ]
        self._precision, self._root = residuals.precision, residuals.root
        self._reference: list[Knots] = [(x, y) for x, y in learned.reference.tolist()]

    def share(self, rows: list[int], values: list[float]) -> float:
        """Compute the share of the patients learned from who are at least as unusual."""
        rarity = [self._rarity[row] for row in rows]
        bins = [self._bins[row] for row in rows]
        normal = dict[int, float]()
        for j, missing, curve in self._numbers:
            if rows[j] == missing:
                rarity[j], bins[j] = 0.0, NO_BIN
            else:
                normal[j] = score = interpolate(values[j], curve)
                rarity[j], bins[j] = abs(score), bisect_left(self._edges, score)
        surprise = [table[bins[i]][bins[j]] for i, j, table in self._pairs]
        measures = (
            max(rarity, default=0.0),
            max(surprise, default=0.0),
            self._largest_residual(rows, normal),
            sum(surprise),
        )
        *each, joined = self._reference
        level = max(map(interpolate, measures, each))
        return exp(-interpolate(level, joined))

    def _largest_residual(self, rows: list[int], normal: dict[int, float]) -> float:
        """Compute how far the least expected covariate lies from what all others suggest."""
        values, missing = list[float](), list[int]()
        for row, j, centre, scale, first_known in self._dimensions:
            if first_known is None:
                value = normal.get(j)
            else:
                value = None if rows[j] < first_known else (rows[j] == row) - centre
            if value is None:
                missing.append(len(values))
            values.append(0.0 if value is None else value / scale)
        if not values:
            return 0.0
        residuals = self._fill_in(np.array(values), missing) @ self._precision
        residuals /= self._root
        residuals[missing] = 0.0
        return float(max(residuals.max(), -residuals.min()))

    def _fill_in(self, values: NDArray[np.float64], missing: list[int]) -> NDArray[np.float64]:
        """Put what is missing near where all that is known suggests, by turns."""
        for _ in range(SWEEPS if missing else 0):
            for j in missing:
                values[j] -= values @ self._precision[:, j] / self._precision[j, j]
        return values


def interpolate(x: Any, knots: Knots) -> float:
    """Follow the line between knots, as `numpy.interp` does.

    Examples
    --------
    >>> [interpolate(x, ([0.0, 1.0, 2.0], [5.0, 10.0, 30.0])) for x in (-1, 0.5, 1.5, 9)]
    [5.0, 7.5, 20.0, 30.0]
    >>> interpolate(9, ([0.0], [7.0]))
    7.0
    """
    at, level = knots
    if x >= at[-1]:
        return level[-1]
    k = bisect_right(at, x)
    if k == 0:
        return level[0]
    slope = (level[k] - level[k - 1]) / (at[k] - at[k - 1])
    return slope * (x - at[k - 1]) + level[k - 1]
