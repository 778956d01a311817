"""Scales and categories, learned on training rows; they turn a table into rows and values."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from survtrace.data.covariates import (
    Covariate,
    Levels,
    levels,
    numbers,
    select_columns,
)
from survtrace.errors import DataWarning

MISSING, UNSEEN = 0, 1


class Encoded(NamedTuple):
    """Each token as a row of the embedding table and a value that multiplies it."""

    rows: NDArray[np.int32]
    values: NDArray[np.float32]

    def design(self, n_rows: int) -> sparse.csr_matrix:
        """The same as a matrix for linear models: one column per row of the embedding table."""
        n, n_tokens = self.rows.shape
        starts = np.arange(0, n * n_tokens + 1, n_tokens)
        return sparse.csr_matrix(
            (self.values.ravel().astype(np.float64), self.rows.ravel(), starts), (n, n_rows)
        )


@dataclass(frozen=True)
class Scale:
    """A numerical covariate: two rows of the embedding table, "missing" and its own.

    ``low``, ``typical`` and ``high`` are the 1, 50 and 99 % quantiles of the training rows.
    """

    mean: float
    deviation: float
    low: float
    typical: float
    high: float
    n_rows: ClassVar[int] = 2
    n_silent: ClassVar[int] = 1

    @classmethod
    def around(cls, mean: float, deviation: float, **quantiles: float) -> Scale:
        """A scale whose quantiles, where they are not known, are guessed from mean and spread."""
        spread = 2 * deviation
        guessed = {"low": mean - spread, "typical": mean, "high": mean + spread}
        return cls(mean, deviation, **{**guessed, **quantiles})

    def encode(self, values: NDArray[np.float64]) -> Encoded:
        """Standardise; a missing value becomes 1 times the missing row."""
        missing = np.isnan(values)
        scaled = np.where(missing, 1.0, (values - self.mean) / self.deviation)
        return Encoded(np.where(missing, MISSING, 1).astype(np.int32), scaled.astype(np.float32))


@dataclass(frozen=True)
class Categories:
    """A categorical covariate: the rows "missing", "unseen", then one per level.

    ``typical`` is the level most training rows have; None if it is not known.
    """

    levels: tuple[str, ...]
    typical: str | None = None
    n_silent: ClassVar[int] = 2

    @property
    def n_rows(self) -> int:
        """How many rows of the embedding table it takes."""
        return len(self.levels) + self.n_silent

    def encode(self, values: Levels) -> Encoded:
        """The row of each level, with value 1."""
        place = {level: number + self.n_silent for number, level in enumerate(self.levels)}
        row_of = np.array([place.get(text, UNSEEN) for text in values.text] + [MISSING])
        rows = row_of[values.place].astype(np.int32)
        return Encoded(rows, np.ones(len(rows), dtype=np.float32))


@dataclass(frozen=True)
class Encoding:
    """What was learned of each covariate, in token order."""

    covariates: tuple[Covariate, ...]
    columns: tuple[Scale | Categories, ...]

    @property
    def names(self) -> NDArray[np.object_]:
        """Names of the covariates, in token order."""
        return np.array([covariate.name for covariate in self.covariates], dtype=object)

    @property
    def first_rows(self) -> NDArray[np.int64]:
        """Where each covariate's block of the embedding table begins, and where the last ends."""
        return np.cumsum([0, *(column.n_rows for column in self.columns)])

    @property
    def silent_rows(self) -> tuple[int, ...]:
        """The rows of "missing" and "unseen"."""
        return tuple(
            int(first) + silent
            for first, column in zip(self.first_rows, self.columns, strict=False)
            for silent in range(column.n_silent)
        )

    def encode(self, table: nw.DataFrame[Any]) -> Encoded:
        """Rows and values of every token; unseen categories are counted in one warning."""
        table = select_columns(table, self.covariates)
        encoded = [
            column.encode(_values_of(table, covariate))
            for covariate, column in zip(self.covariates, self.columns, strict=True)
        ]
        self._warn_of_unseen([column.rows for column in encoded])
        rows = np.stack([column.rows for column in encoded], axis=1)
        values = np.stack([column.values for column in encoded], axis=1)
        return Encoded(rows + self.first_rows[:-1].astype(np.int32), values)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for a file."""
        kept = ("mean", "deviation", "low", "typical", "high", "levels")
        return {
            covariate.name: {name: vars(column)[name] for name in kept if name in vars(column)}
            for covariate, column in zip(self.covariates, self.columns, strict=True)
        }

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Encoding:
        """The encoding that `as_dict` described; of an early file, with quantiles guessed."""
        columns = [
            Categories(tuple(known["levels"]), known.get("typical"))
            if "levels" in known
            else Scale.around(**known)
            for known in plain.values()
        ]
        covariates = [
            Covariate(name, "categorical" if isinstance(column, Categories) else "numerical")
            for name, column in zip(plain, columns, strict=True)
        ]
        return cls(tuple(covariates), tuple(columns))

    def _warn_of_unseen(self, rows: Sequence[NDArray[np.int32]]) -> None:
        counts = {
            covariate.name: int((row == UNSEEN).sum())
            for covariate, row in zip(self.covariates, rows, strict=True)
            if covariate.kind == "categorical" and (row == UNSEEN).any()
        }
        if counts:
            warnings.warn(
                "categories not seen in fit get the unseen token; subjects concerned, by "
                f"column: {counts}.",
                DataWarning,
                stacklevel=4,
            )


def learn_encoding(table: nw.DataFrame[Any], covariates: Sequence[Covariate]) -> Encoding:
    """Learn scales and categories from training rows.

    Examples
    --------
    >>> from survtrace.data.covariates import infer_covariates, open_table
    >>> table = open_table({"age": [40.0, 60.0, None], "sex": ["f", "m", "f"]})
    >>> encoding = learn_encoding(table, infer_covariates(table))
    >>> encoding.encode(table).rows.tolist()       # age: 0 missing, 1 value; sex: 2 + 2 silent
    [[1, 4], [1, 5], [0, 4]]
    >>> encoding.encode(table).values.tolist()
    [[-1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]
    """
    columns = [_values_of(table, covariate) for covariate in covariates]
    _warn_of_idle_columns(covariates, columns)
    return Encoding(tuple(covariates), tuple(_learn(column) for column in columns))


Column = NDArray[np.float64] | Levels


def _values_of(table: nw.DataFrame[Any], covariate: Covariate) -> Any:
    return (numbers if covariate.kind == "numerical" else levels)(table, covariate)


def _learn(values: Column) -> Scale | Categories:
    if isinstance(values, Levels):
        known = values.place[values.place >= 0]
        typical = values.text[np.bincount(known).argmax()] if len(known) else None
        return Categories(tuple(sorted(set(values.text))), typical)
    present = values[~np.isnan(values)]
    if not len(present):
        return Scale.around(0.0, 1.0)
    mean, deviation = float(present.mean()), float(present.std())
    low, typical, high = np.quantile(present, [0.01, 0.5, 0.99], method="nearest").tolist()
    return Scale(mean, deviation if deviation > 0 else 1.0, low, typical, high)


def _warn_of_idle_columns(covariates: Sequence[Covariate], columns: Sequence[Column]) -> None:
    """Name the columns that cannot teach anything: empty, constant, or a copy of another."""
    idle: dict[str, list[str]] = {"all missing": [], "constant": [], "a copy of another": []}
    seen: set[bytes] = set()
    for covariate, column in zip(covariates, columns, strict=True):
        content = (column.place if isinstance(column, Levels) else column).tobytes()
        n_distinct, n_missing = _count(column)
        if n_distinct == 0:
            idle["all missing"].append(covariate.name)
        elif n_distinct == 1 and n_missing == 0:
            idle["constant"].append(covariate.name)
        elif content in seen:
            idle["a copy of another"].append(covariate.name)
        seen.add(content)
    found = {reason: names for reason, names in idle.items() if names}
    if found:
        warnings.warn(
            f"some columns carry no information of their own: {found}. They are kept; drop them "
            "to train faster.",
            DataWarning,
            stacklevel=4,
        )


def _count(column: Column) -> tuple[int, int]:
    """How many distinct values a column has, and how many missing ones."""
    if isinstance(column, Levels):
        return len(column.text), int((column.place < 0).sum())
    missing = np.isnan(column)
    return len(np.unique(column[~missing])), int(missing.sum())
