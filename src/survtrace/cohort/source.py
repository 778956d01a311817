"""A cohort in Parquet files, read in blocks of one size: covariates, outcome and weight."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from survtrace.errors import DataError, row_name
from survtrace.tables.covariates.columns import numbers
from survtrace.tables.covariates.covariates import Covariate, infer_covariates
from survtrace.tables.files.formats import readable, require_columns, require_table
from survtrace.tables.files.parquet import (
    is_parquet,
    parquet_chunks,
    parquet_columns,
    parquet_schema,
)
from survtrace.tables.outcome.censoring_labels import (
    MOST_CAUSES,
    LabelCounts,
    Meaning,
    read_meaning,
)
from survtrace.tables.outcome.outcome import Outcome, count_labels, read_outcome
from survtrace.tables.outcome.roles import Roles

BLOCK_ROWS = 16_384


class Block(NamedTuple):
    """Consecutive rows of a table.

    ``kept`` are those with any follow-up, by their place in the block; outcome and weight are
    theirs alone.
    """

    number: int
    first_row: int
    table: nw.DataFrame[Any]
    kept: NDArray[np.int64]
    outcome: Outcome
    weight: NDArray[np.float64]


@dataclass(frozen=True)
class CohortFiles:
    """A Parquet file, or a folder of them, and what its columns are."""

    path: Path
    roles: Roles
    block_rows: int = BLOCK_ROWS

    def covariates(self, categorical: Sequence[str | int] | None = None) -> tuple[Covariate, ...]:
        """The covariates, in the order of the columns; their kind is that of the file's types."""
        return infer_covariates(nw.from_native(self.empty_table()), categorical)

    def covariate_names(self) -> list[str]:
        """Names of all columns that have no other role."""
        path = require_table(self.path)
        if not is_parquet(path):
            raise DataError(
                f"fit reads a Parquet file or a folder of them; got {path.name}. Write the table "
                "as Parquet, or read it into memory: fit(read_table(path), y)."
            )
        with readable(path):
            names = self.roles.covariates(parquet_columns(path))
        if not names:
            raise DataError(f"{path} must have covariates; all its columns have other roles.")
        return names

    def empty_table(self) -> Any:
        """The covariates of no rows, with the types of the file."""
        names = self.covariate_names()
        with readable(self.path):
            return parquet_schema(self.path).empty_table().select(names)

    def meaning(self) -> Meaning:
        """Which labels are causes and which mean censored, by the whole table.

        This is a pass of its own over the two columns of the outcome: who is censored must be known
        before the first block is read.
        """
        counts = LabelCounts()
        with readable(self.path):
            names = [self.roles.event, self.roles.duration]
            require_columns(parquet_columns(self.path), names)
            for number, piece in enumerate(parquet_chunks(self.path, names, self.block_rows)):
                y, first_row = self._outcome(piece), number * self.block_rows
                counts |= count_labels(y, self.roles.censored, first_row)
                if len(counts) > 100 * MOST_CAUSES:
                    break  # an identifier, which is refused below
        return read_meaning(counts, self.roles.censored, name=self.roles.event)

    def blocks(
        self,
        *,
        causes: Sequence[Any] | None = None,
        zero_duration: str | float = "raise",
        span: range | None = None,
    ) -> Iterator[Block]:
        """The rows in order, or those of some blocks; outcomes are read as in `read_outcome`."""
        with readable(self.path):
            columns = parquet_columns(self.path)
            pieces = parquet_chunks(self.path, columns, self.block_rows, span)
            for number, piece in enumerate(pieces, start=span.start if span else 0):
                first_row = number * self.block_rows
                outcome = read_outcome(
                    self._outcome(piece),
                    causes=causes,
                    censored=self.roles.censored,
                    zero_duration=zero_duration,
                    first_row=first_row,
                )
                kept = np.flatnonzero(~outcome.is_empty)
                weight = self._weight(piece, first_row)[kept]
                table = nw.from_native(piece.select(self.roles.covariates(columns)))
                yield Block(number, first_row, table, kept, outcome.take(kept), weight)

    def _outcome(self, piece: Any) -> Any:
        """The two columns of the outcome under their usual names."""
        import pyarrow

        kind = piece.schema.field(self.roles.duration).type
        if pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind):
            raise DataError(
                f"duration must be a number in a file that is read in blocks; column "
                f"{self.roles.duration!r} holds {kind}. Write it as numbers, or read the table "
                "into memory."
            )
        y = piece.select([self.roles.event, self.roles.duration])
        return y.rename_columns(["event", "duration"])

    def _weight(self, piece: Any, first_row: int) -> NDArray[np.float64]:
        if self.roles.weight is None:
            return np.ones(len(piece))
        column = Covariate(self.roles.weight, "numerical")
        weight = numbers(nw.from_native(piece), column, first_row)
        bad = ~(weight >= 0)
        if bad.any():
            raise DataError(
                f"weights must be finite numbers of zero or more; {bad.sum()} of {len(bad)} are "
                f"not (first: {row_name(first_row + np.flatnonzero(bad)[0])}). Drop or correct "
                "them."
            )
        return weight
