"""A CSV table of subjects in, the same table with probabilities beside it out."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from survtrace.app.answers.answers import Answers, some, words_of
from survtrace.app.answers.limits import Limits
from survtrace.errors import DataError, DataWarning, keep_warnings, row_name, warn
from survtrace.naming import state_names
from survtrace.rules import near_name
from survtrace.tables.covariates.covariate import require_distinct_names
from survtrace.tables.covariates.encoding import Categories, Encoded, Scale
from survtrace.tables.covariates.missing import MARKERS
from survtrace.tables.covariates.values import text_of

Array = NDArray[np.float64]
Column = Scale | Categories
MAX_COLUMNS = 2_000
CHUNK = 1_000  # rows written at a time
NOT_KNOWN = {"", *(marker.casefold() for marker in MARKERS)}


@dataclass(frozen=True)
class Table:
    """Column names and cells, as the text they are."""

    names: list[str]
    rows: list[list[str]]

    def cells(self, name: str) -> list[str]:
        """Return the cells of a column."""
        place = self.names.index(name)
        return [row[place] for row in self.rows]


@dataclass(frozen=True)
class Scored:
    """A table with its subjects' probabilities beside it; NaN is an empty cell."""

    table: Table
    names: list[str]
    values: Array
    warnings: list[str]

    def csv(self) -> Iterator[str]:
        """Write the table as text, some rows at a time; its own cells are left as they were."""
        rows = self.table.rows
        for first in range(0, len(rows), CHUNK):
            text = io.StringIO()
            writer = csv.writer(text, lineterminator="\n")
            if first == 0:
                writer.writerow([*self.table.names, *self.names])
            numbers = self.values[first : first + CHUNK].tolist()
            for cells, found in zip(rows[first : first + CHUNK], numbers, strict=True):
                writer.writerow([*cells, *(None if each != each else each for each in found)])
            yield text.getvalue()


def score(
    answers: Answers,
    content: bytes,
    times: Sequence[float] | None,
    after: str | None = None,
    ahead: Sequence[float] | None = None,
) -> Scored:
    """Add the probability of each state at each time to the columns of a CSV table.

    ``after`` names a column with a time at which each subject is event-free, such as its age;
    ``ahead`` are times counted from there, in place of ``times``. A subject for whose time there
    are no curves gets empty cells, and a warning says so.
    """
    with keep_warnings() as kept:
        table = read_csv(content, answers.limits)
        if ahead and after is None:
            raise DataError(
                f"ahead={list(ahead)} is counted from a time of each subject's own; after "
                "names the column that has it. Add for example after=age."
            )
        columns = _columns(answers, table, after)
        starts = None if after is None else _now(table, after)
        distinct = list(dict.fromkeys(ahead or times or [answers.est.median_event_time_]))
        names = _new_names(answers, table, distinct, mark="+" if ahead else "")
        answers.limits.check(len(table.rows), len(distinct), 1 + len(answers.causes))
        encoded = answers.predictor.encode(columns)
        values = _states(answers, encoded, starts, distinct, from_start=bool(ahead), after=after)
    return Scored(table, names, values, words_of(kept))


def read_csv(content: bytes, limits: Limits) -> Table:
    r"""Read a CSV table as text; a row shorter than the first is filled with empty cells.

    Examples
    --------
    >>> read_csv(b"id,age\n007,61\n", Limits()).rows
    [['007', '61']]
    """
    rows = list[list[str]]()
    try:
        lines = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), strict=True)
        names = next(lines, [])
        if len(names) > MAX_COLUMNS:
            raise DataError(f"a table may have {MAX_COLUMNS} columns; got {len(names)}.")
        if len(names) == 1 and (marks := {";", "\t"} & set(names[0])):
            raise DataError(
                f"cells must be separated by commas; the first line has {min(marks)!r} and no "
                "comma. Write it with commas, and decimal points. (`survtrace predict` reads it.)"
            )
        for row in lines:
            if len(row) > len(names):
                raise csv.Error(
                    f"line {lines.line_num} has {len(row)} cells, and the first line {len(names)}"
                )
            if row:
                rows.append(row + [""] * (len(names) - len(row)))
                limits.check(len(rows), 1, 1)
        if not names:
            raise csv.Error("it has no column names")
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(
            f"the table could not be read as CSV in UTF-8 ({error}). Write a line of column "
            "names, then a line for each subject."
        ) from None
    require_distinct_names(names)
    return Table(names, rows)


def _columns(answers: Answers, table: Table, after: str | None) -> dict[str, NDArray[Any]]:
    """Read the columns of the covariates by their kinds; what the table lacks is unknown."""
    missing = [name for name in answers.names if name not in table.names]
    if len(missing) == len(answers.names):
        raise DataError(
            f"the table must have columns named as in /schema; it has none of {some(missing)}, "
            f"but {some(table.names)}. Rename them."
        )
    unused = [name for name in table.names if name not in answers.blank and name != after]
    for name in missing:
        if (near := near_name(name, unused)) is not None:
            raise DataError(
                f"the table has no column {name!r}; is {near!r} meant? Rename it, or add an "
                f"empty column {name!r} if it is not known."
            )
    if missing:
        warn(
            f"covariates that are no columns of the table are unknown: {some(missing)}.",
            DataWarning,
        )
    unknown = np.full(len(table.rows), None, dtype=object)
    kinds = dict(zip(answers.names, answers.est.encoding_.columns, strict=True))
    columns = dict.fromkeys((*unused, *missing), unknown)
    for name in table.names:
        if name in kinds:
            columns[name] = np.array(_values(table.cells(name), kinds[name]), dtype=object)
    return columns


def _values(cells: list[str], kind: Column) -> list[Any]:
    """Read the cells of a covariate: a category is text, so that 01 is not 1; "" is missing.

    Cells that are all plain numbers are numbers; else the covariate's own rules for numbers in
    text hold (decimal commas, units).
    """
    if isinstance(kind, Categories):
        known = set(kind.levels)
        level_of = {cell: _level(cell, known) for cell in set(cells)}
        return [level_of[cell] for cell in cells]
    try:
        return [_number(cell) for cell in cells]
    except ValueError:
        return [cell or None for cell in cells]


def _level(cell: str, known: set[str]) -> str | None:
    """Return the level that a cell means; 1.0 is the level 1 where there is no level 1.0."""
    if cell in known or cell == "":
        return cell or None
    try:
        number = text_of(float(cell))
    except (ValueError, OverflowError):
        return cell
    return number if number in known else cell


def _number(cell: str) -> float | None:
    """Read a plain number; None if it is missing.

    Examples
    --------
    >>> _number("61.5"), _number("NA")
    (61.5, None)
    """
    if cell.strip().casefold() in NOT_KNOWN:
        return None
    if "_" in cell or not cell.strip().isascii():  # what Python alone takes for a number
        raise ValueError(cell)
    return float(cell)


def _now(table: Table, name: str) -> Array:
    """Return the column of a table that has the time now of each subject."""
    if name not in table.names:
        raise DataError(
            f"after must name a column of the table; got {name!r}, which is none of "
            f"{some(table.names)}. Add the column, or correct the name."
        )
    values = np.array([_time(cell) for cell in table.cells(name)], dtype=np.float64)
    if np.isnan(values).any():
        row = int(np.flatnonzero(np.isnan(values))[0])
        raise DataError(
            f"column {name!r} must have a time for each subject; {np.isnan(values).sum()} of "
            f"{len(values)} rows have none (first: {row_name(row)}). Fill them in."
        )
    return values


def _time(cell: str) -> float | None:
    try:
        return _number(cell)
    except ValueError:
        return None


def _new_names(answers: Answers, table: Table, times: list[float], mark: str) -> list[str]:
    """Name the columns to add; a table that has one of them already is refused."""
    names = state_names(times, answers.causes, mark=mark)
    if there := [name for name in names if name in table.names]:
        raise DataError(
            f"the table already has columns named {some(there)}, which would be added to it. "
            "Rename or remove them."
        )
    return names


def _states(
    answers: Answers,
    encoded: Encoded,
    starts: Array | None,
    times: list[float],
    *,
    from_start: bool,
    after: str | None,
) -> Array:
    """Compute the probability of each state at each time, (subject, state * time)."""
    n_subjects, first_time = len(encoded.rows), float(answers.est.time_grid_[0])
    answerable = np.ones(n_subjects, dtype=np.bool_)
    if starts is None:
        answers.warn_of_late_grid(np.zeros(1))
        points = answers.points(times, n_subjects)
    else:
        answerable = ~answers.outside(starts)
        _warn_of_unanswerable(answers, ~answerable, starts, after)
        starts = starts[answerable]
        answers.warn_of_late_grid(starts)
        asked = np.add.outer(starts, times) if from_start else times
        points = answers.points(asked, len(starts))
        starts = starts if starts.any() or first_time > 0 else None
    some_encoded = Encoded(encoded.rows[answerable], encoded.values[answerable])
    found, _ = answers.predictor.curve_of(some_encoded, "states", points, after=starts)
    values = np.full((n_subjects, found[0].size), np.nan)
    values[answerable] = found.reshape(len(found), -1)
    return values


def _warn_of_unanswerable(
    answers: Answers, outside: NDArray[np.bool_], starts: Array, name: str | None
) -> None:
    """Warn of subjects whose time lies where there are no curves; refuse if all do."""
    if not outside.any():
        return
    first, end = answers.est.time_grid_[[0, -1]]
    row = int(np.flatnonzero(outside)[0])
    seen = (
        f"{outside.sum()} of {len(outside)} rows have a time in column {name!r} that does not lie "
        f"between {first:g} and {end:g}, where the curves begin and end (first: {row_name(row)}, "
        f"{starts[row]:g})"
    )
    if outside.all():
        raise DataError(f"{seen}. Give times there until which subjects are event-free.")
    warn(f"{seen}; their cells are left empty.", DataWarning)
