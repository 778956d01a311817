"""Say of each covariate how far it lies from what all the others together suggest."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from survtrace.tables.covariates.encoding import Categories, Encoded, Encoding
from survtrace.tables.typicality.normal_scores import Scores

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
RARE = 0.02  # levels that fewer subjects have, and the most frequent one, have no indicator
SMALLEST_SCALE = 0.3  # of an indicator: that of a rare level would be far from 0 in each who has it
MOST_DIMENSIONS = 512
LEAST_SHRINKAGE, SMALLEST_EIGENVALUE = 0.001, 0.001
SWEEPS = 3  # over what is missing, in which each is put where the others suggest


@dataclass(frozen=True)
class Residuals:
    """Normal scores of numbers and indicators of levels, and the inverse of their correlations.

    ``row`` is the row of the embedding table and ``column`` the covariate that each of these
    dimensions belongs to; ``centre`` and ``scale`` standardise it.
    """

    row: Whole
    column: Whole
    centre: Array
    scale: Array
    precision: Array

    def read(self, encoding: Encoding, encoded: Encoded, scores: Scores) -> Array:
        """Compute the standardised residual of each dimension given all others, of some subjects.

        Residuals of what is missing are 0.
        """
        values, missing = self.standardise(encoding, encoded, scores)
        residuals: Array = (values @ self.precision) / self.root
        residuals[missing] = 0.0
        return residuals

    @cached_property
    def root(self) -> Array:
        """Return the root of the precision of each dimension."""
        return np.sqrt(np.diagonal(self.precision))

    def standardise(
        self, encoding: Encoding, encoded: Encoded, scores: Scores
    ) -> tuple[Array, NDArray[np.bool_]]:
        """Compute each dimension, filled in where missing, and where that is."""
        values = _centred(self.row, self.column, self.centre, encoding, encoded, scores)
        values /= self.scale
        missing = np.isnan(values)
        if missing.any():
            values[missing] = 0.0
            self._fill_in(values, missing)
        return values, missing

    def _fill_in(self, values: Array, missing: NDArray[np.bool_]) -> None:
        """Put what is missing near where all that is known suggests, by turns."""
        diagonal = np.diagonal(self.precision)
        subjects = {j: np.flatnonzero(missing[:, j]) for j in np.flatnonzero(missing.any(axis=0))}
        for _ in range(SWEEPS):
            for j, some in subjects.items():
                values[some, j] -= values[some] @ self.precision[:, j] / diagonal[j]


def learn_residuals(encoding: Encoding, encoded: Encoded, scores: Scores) -> Residuals:
    """Learn which covariates go together, from the pairs of values that are known."""
    dimensions = _choose_dimensions(encoding, encoded)
    values = _centred(*dimensions, encoding, encoded, scores)
    known = ~np.isnan(values)
    values[~known] = 0.0
    variance = np.square(values).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    scale = np.maximum(np.sqrt(variance), SMALLEST_SCALE)
    values /= scale
    as_numbers = known.astype(np.float64)
    n_known = as_numbers.T @ as_numbers
    correlation = values.T @ values / np.maximum(n_known, 1)
    np.fill_diagonal(correlation, 1.0)
    return Residuals(*dimensions, scale, _shrunk_inverse(correlation, n_known))


def _choose_dimensions(encoding: Encoding, encoded: Encoded) -> tuple[Whole, Whole, Array]:
    """Choose rows of the embedding table, their covariates, and what is subtracted from each."""
    chosen, first = list[tuple[int, int, float]](), encoding.first_rows.tolist()
    for j, column in enumerate(encoding.columns):
        if not isinstance(column, Categories):
            chosen.append((first[j] + 1, j, 0.0))
            continue
        counts = np.bincount(encoded.rows[:, j] - first[j], minlength=column.n_rows)
        counts = counts[column.n_silent :]
        share = counts / max(counts.sum(), 1)
        share[share == share.max(initial=0.0)] = 0.0
        frequent = np.flatnonzero(share >= RARE).tolist()
        chosen += [(first[j] + column.n_silent + k, j, float(share[k])) for k in frequent]
    rows, columns, centres = zip(*chosen[:MOST_DIMENSIONS], strict=True) if chosen else ((), (), ())
    return np.array(rows, np.int64), np.array(columns, np.int64), np.array(centres, np.float64)


def _centred(
    row: Whole,
    column: Whole,
    centre: Array,
    encoding: Encoding,
    encoded: Encoded,
    scores: Scores,
) -> Array:
    """Compute each dimension of some subjects, NaN where missing."""
    values: Array = scores.normal.take(column, axis=1)
    of_level = encoding.is_categorical.take(column).nonzero()[0]
    if len(of_level):
        j = column.take(of_level)
        rows = encoded.rows.take(j, axis=1)
        indicator = (rows == row.take(of_level)) - centre.take(of_level)
        indicator[rows < encoding.first_rows.take(j) + Categories.n_silent] = np.nan
        values[:, of_level] = indicator
    return values


def _shrunk_inverse(correlation: Array, n_known: Array) -> Array:
    """Invert a correlation matrix, shrunk by what chance makes of it (Schafer, Strimmer 2005)."""
    n = len(correlation)
    others = ~np.eye(n, dtype=np.bool_)
    square = np.square(correlation[others])
    by_chance = np.square(1 - square) / np.maximum(n_known[others], 2)
    share = by_chance.sum() / max(square.sum(), 1e-12)
    share = float(np.clip(share, LEAST_SHRINKAGE, 1.0))
    values, vectors = np.linalg.eigh((1 - share) * correlation + share * np.eye(n))
    inverse: Array = (vectors / np.maximum(values, SMALLEST_EIGENVALUE)) @ vectors.T
    return inverse
