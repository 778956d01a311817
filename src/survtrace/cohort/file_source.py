"""Subjects in Parquet files, read in chunks of one size: covariates, outcome and weight."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from survtrace.cohort.source import Chunk, FrameSource, OutcomeScan
from survtrace.errors import DataError, SettingError, row_name
from survtrace.tables.covariates.columns import numbers
from survtrace.tables.covariates.covariate import Covariate
from survtrace.tables.covariates.magnitude import LARGEST
from survtrace.tables.files.formats import (
    changed_meanwhile,
    file_stamp,
    readable,
    require_columns,
    require_table,
)
from survtrace.tables.files.parquet import (
    is_parquet,
    parquet_chunks,
    parquet_columns,
    parquet_files,
)
from survtrace.tables.outcome.censoring_labels import (
    MOST_CAUSES,
    LabelCounts,
    label_numbers,
    read_meaning,
)
from survtrace.tables.outcome.outcome import Outcome, read_labels, read_outcome, shifted
from survtrace.tables.outcome.outcome_warnings import warn_of_empty, warn_of_entry
from survtrace.tables.outcome.roles import Roles
from survtrace.tables.outcome.subject_rows import RowsInChunks, SubjectRows

CHUNK_ROWS = 16_384


@dataclass(frozen=True)
class FileSource:
    """A Parquet file, or a folder of them, and what its columns are.

    ``causes`` are known after a scan; ``zero_duration`` is then a number where it was "shift", and
    ``observed`` tells when each row began and whose it is, where that is not 0 and its own.
    ``stamps`` are sizes and times of the files: each pass must read the same.
    """

    path: Path
    roles: Roles
    zero_duration: str | float = "raise"
    causes: tuple[Any, ...] | None = None
    observed: SubjectRows | None = None
    stamps: tuple[Any, ...] = ()
    chunk_rows: int = CHUNK_ROWS
    evaluation: None = None

    @property
    def beside(self) -> list[str]:
        """Names of the columns that have a role."""
        return self.roles.named

    @property
    def weight_name(self) -> str | None:
        """What errors call the sample weights; None where there are none."""
        return None if self.roles.weight is None else f"column {self.roles.weight!r}"

    def scan(self, end: float | None = None) -> OutcomeScan:
        """Read the columns of the outcome: who is censored, before a covariate is read.

        Of each row a code of its label is kept, and whether its duration is 0 or after ``end``:
        four bytes, so that validation subjects can be drawn over the whole table. Where rows have
        an entry or an id, all times and ids are kept, to check the rows of each subject.
        """
        self._require_covariates()
        roles, stamps = self.roles, self._stamps()
        names, rows = list(roles.outcome), RowsInChunks()
        has_rows = roles.entry is not None or roles.id is not None
        durations, weights = [np.empty(0)], [np.empty(0)]
        counts, numbers_of, smallest = LabelCounts(), dict[Any, int](), inf
        read = [(np.empty(0, np.uint16), np.empty(0, bool), np.empty(0, bool))]
        with readable(self.path):
            require_columns(parquet_columns(self.path), names)
            if has_rows and roles.weight is not None:
                names.append(roles.weight)
            for number, table in enumerate(parquet_chunks(self.path, names, self.chunk_rows)):
                first_row = number * self.chunk_rows
                found = read_labels(self._outcome(table), roles.censored, first_row)
                counts |= found.counts
                if len(counts) > 100 * MOST_CAUSES:
                    break  # an identifier, which is refused below
                places = [numbers_of.setdefault(label, len(numbers_of)) for label in found.labels]
                late = found.duration > (inf if end is None else end)
                code = np.array(places, dtype=np.uint16)[found.codes]
                read.append((code, found.duration == 0, late))
                smallest = min(smallest, found.duration[found.duration > 0].min(initial=inf))
                if has_rows:
                    rows.add(found.id, found.entry, found.duration, code)
                    durations.append(found.duration)
                    weights.append(self._weight(table, first_row))
        enters = roles.entry is not None
        meaning = read_meaning(counts, roles.censored, name=roles.event, late_entry=enters)
        codes, at_zero, late = (np.concatenate(parts) for parts in zip(*read, strict=True))
        event_of_code = np.array(label_numbers(list(numbers_of), meaning), dtype=np.uint8)
        event = event_of_code[codes]
        followed = ~(at_zero & (event == 0))
        self._require_subjects(followed)
        ends = range(self.chunk_rows, len(event), self.chunk_rows)
        moved = shifted(smallest) if self.zero_duration == "shift" else self.zero_duration
        label_of = None if roles.id is None else partial(self._label, roles.id)
        observed = rows.finish(event_of_code > 0, label_of) if has_rows else None
        scan = OutcomeScan(
            replace(
                self, causes=meaning.causes, zero_duration=moved, observed=observed, stamps=stamps
            ),
            meaning.causes,
            meaning.censored,
            event[followed],
            late[followed],
            [int(chunk.sum()) for chunk in np.split(followed, ends)],
            n_whole=int(followed.sum()),
        )
        if observed is None:
            return scan
        duration = np.concatenate(durations)
        if not isinstance(moved, str):
            duration[at_zero] = moved
        outcome = Outcome(duration, event, meaning.causes, meaning.censored, **observed._asdict())
        warn_of_entry(outcome)
        return scan.knowing(outcome.take(followed), np.concatenate(weights)[followed])

    def chunks(self, span: range | None = None) -> Iterator[Chunk]:
        """Read all rows in order, or those of some chunks; outcomes as in `read_outcome`."""
        if span is None:  # other machines may have other clocks
            self._require_unchanged()
        with readable(self.path):
            columns = parquet_columns(self.path)
            tables = parquet_chunks(self.path, columns, self.chunk_rows, span)
            for number, table in enumerate(tables, start=span.start if span else 0):
                first_row = number * self.chunk_rows
                outcome = read_outcome(  # entry and id were read in the scan, over all chunks
                    self._outcome(table.select([self.roles.event, self.roles.duration])),
                    causes=self.causes,
                    censored=self.roles.censored,
                    zero_duration=self.zero_duration,
                    first_row=first_row,
                )
                if self.observed is not None:
                    place = slice(first_row, first_row + len(outcome))
                    here: Any = [None if one is None else one[place] for one in self.observed]
                    outcome = replace(outcome, **dict(zip(SubjectRows._fields, here, strict=True)))
                rows = np.flatnonzero(~outcome.is_empty)
                weight = self._weight(table, first_row)[rows]
                covariates = nw.from_native(table.select(self.roles.covariates(columns)))
                yield Chunk(number, first_row, covariates, rows, outcome.take(rows), weight)
        if span is None:
            self._require_unchanged()

    def _stamps(self) -> tuple[Any, ...]:
        return tuple((file, file_stamp(file)) for file in parquet_files(self.path))

    def _require_unchanged(self) -> None:
        """Refuse a table that is not the one that was scanned: rows would be taken for others."""
        if self.stamps and self.stamps != self._stamps():
            raise changed_meanwhile(self.path)

    def _require_covariates(self) -> None:
        """Refuse what is no Parquet, and files without a column that has no other role."""
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

    def _require_subjects(self, followed: NDArray[np.bool_]) -> None:
        """Refuse fewer than two subjects; warn of rows without any follow-up."""
        n_subjects = int(followed.sum())
        if n_subjects < 2:
            raise DataError(f"fit needs at least two subjects; {self.path} has {n_subjects}.")
        if n_subjects < len(followed):
            first = int(np.flatnonzero(~followed)[0])
            warn_of_empty(len(followed) - n_subjects, len(followed), first)

    def _outcome(self, table: Any) -> Any:
        """Return the columns of the outcome that a table has, under their usual names."""
        import pyarrow

        named = {k: v for k, v in self.roles.outcome.items() if k in table.column_names}
        for column, role in named.items():
            kind = table.schema.field(column).type
            is_text = pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind)
            if is_text and role in ("duration", "entry"):
                raise DataError(
                    f"{role} must be a number in a file that is read in blocks; column "
                    f"{column!r} holds {kind}. Write it as numbers, or read the table into memory."
                )
        return table.select(list(named)).rename_columns(list(named.values()))

    def _label(self, column: str, row: int) -> Any:
        """Read the id of a row again, to name it in an error."""
        chunk = row // self.chunk_rows
        span = range(chunk, chunk + 1)
        table = next(iter(parquet_chunks(self.path, [column], self.chunk_rows, span)))
        return table.column(0)[row % self.chunk_rows].as_py()

    def _weight(self, table: Any, first_row: int) -> NDArray[np.float64]:
        if self.roles.weight is None:
            return np.ones(len(table))
        column = Covariate(self.roles.weight, "numerical")
        weight = numbers(nw.from_native(table), column, first_row)
        bad = ~((weight >= 0) & (weight <= LARGEST))
        if bad.any():
            raise DataError(
                f"weights must be finite numbers of zero or more (up to {LARGEST:g}); {bad.sum()} "
                f"of {len(bad)} are not (first: "
                f"{row_name(first_row + np.flatnonzero(bad)[0])}). Drop or correct them."
            )
        return weight


Source = FrameSource | FileSource


def needs_whole_table(settings: Any) -> bool:
    """Tell whether settings need the whole table in memory."""
    return bool(settings.ips != "none")


def require_streamable(settings: Any, **given: Any) -> None:
    """Refuse what needs the whole table at once."""
    if needs_whole_table(settings):
        raise SettingError(
            "inverse-propensity weights need the whole table in memory; got the path of a file "
            f"with ips={settings.ips!r}. Read the table first, or leave them out."
        )
    beside = [name for name, value in given.items() if value is not None]
    if beside:
        raise SettingError(
            f"{beside[0]} cannot be given beside the path of a file. A column of weights is named "
            'in y, {..., "weight": "column"}; validation rows are drawn from the file.'
        )
