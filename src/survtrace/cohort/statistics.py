"""Statistics of a table of any size: those of its chunks add up to those of the whole."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from survtrace.cohort.file_source import Source
from survtrace.cohort.row_sample import Sample
from survtrace.cohort.source import Chunk
from survtrace.errors import DataError
from survtrace.tables.covariates.covariate import Covariate
from survtrace.tables.covariates.encoding import find_copies
from survtrace.tables.covariates.summary import Counts, Spread, Summary, summarise
from survtrace.tables.covariates.values import Column, Levels
from survtrace.tables.tasks import map_in_order

MOST_OUTCOMES = 1_000_000
MOST_VALUES = 2**16
MOST_LEVELS = 100_000
WAITING = 2**22  # numbers in samples that wait to be joined
OUTCOME = ("duration", "event", "entry", "id", "goes_on")  # as far as an outcome has them


@dataclass(frozen=True)
class TableStatistics:
    """Covariates and outcome of some subjects, in memory that does not grow with their number.

    Values and outcomes are samples of rows: of all, up to `MOST_VALUES` and `MOST_OUTCOMES`.
    """

    columns: tuple[Summary, ...]  # of each covariate
    values: Sample  # of the numerical covariates, for quantiles; behind them, rows' shares
    events: NDArray[np.int64]  # how many rows are censored, then of each cause
    outcomes: Sample  # of duration and event, and of what else `OUTCOME` names
    weight: Spread  # of the sample weights
    event_weight: Spread  # of the same, 0 for who is censored
    n_missing: NDArray[np.int64]  # of each covariate, also of subjects nothing is learned from
    copies: tuple[str, ...] = ()  # covariates like another; known only where one chunk is the table


def collect_statistics(
    source: Source,
    covariates: Sequence[Covariate],
    learned_from: NDArray[np.bool_],
    sizes: Sequence[int],
    share: NDArray[np.float64] | None,
    span: range | None = None,
) -> TableStatistics:
    """Collect the statistics of all chunks of a source, or of some.

    ``learned_from`` marks the rows of the table that statistics may be of, ``sizes`` are the rows
    of each chunk, and ``share`` what part of its subject's time each row is, None: all of it.
    """
    ends = np.cumsum(sizes)

    def collect(chunk: Chunk) -> TableStatistics:
        rows = slice(ends[chunk.number] - len(chunk.rows), ends[chunk.number])
        of_chunk = None if share is None else share[rows]
        return chunk_statistics(chunk, covariates, np.flatnonzero(learned_from[rows]), of_chunk)

    return add_up(map(collect, source.chunks(span)), covariates)


def chunk_statistics(
    chunk: Chunk,
    covariates: Sequence[Covariate],
    subjects: NDArray[np.int64],
    share: NDArray[np.float64] | None = None,
) -> TableStatistics:
    """Collect the statistics of some subjects of a chunk, by number."""
    outcome, rows = chunk.outcome.take(subjects), chunk.rows[subjects]
    row = chunk.first_row + rows
    complete = chunk.columns(covariates)
    columns = map_in_order(lambda column: _take(column, rows), complete, chunk.run)
    numerical = [column for column in columns if not isinstance(column, Levels)]
    n_missing = map_in_order(lambda one: _count_missing(one, chunk.rows), complete, chunk.run)
    values = np.array(numerical).reshape(len(numerical), len(row)).T
    share = None if share is None else share[subjects]
    followed = [getattr(outcome, name) for name in OUTCOME]
    return TableStatistics(
        columns=tuple(map_in_order(lambda one: summarise(one, share), columns, chunk.run)),
        values=Sample(row, (values,) if share is None else (values, share)),
        events=np.bincount(outcome.event, minlength=len(outcome.causes) + 1),
        outcomes=Sample(row, tuple(each for each in followed if each is not None), outcome.id),
        weight=Spread.of(chunk.weight[subjects], share),
        event_weight=Spread.of(chunk.weight[subjects] * (outcome.event > 0), share),
        n_missing=np.array(n_missing),
        copies=tuple(find_copies(covariates, columns, chunk.run)) if chunk.whole else (),
    )


def join(parts: Sequence[TableStatistics]) -> TableStatistics:
    """Add up statistics of several parts: the same in whatever order and however cut."""
    return TableStatistics(
        columns=tuple(
            reduce(add, column) for column in zip(*(p.columns for p in parts), strict=True)
        ),
        values=Sample.join([part.values for part in parts], MOST_VALUES),
        events=np.sum([part.events for part in parts], axis=0),
        outcomes=Sample.join([part.outcomes for part in parts], MOST_OUTCOMES),
        weight=reduce(add, (part.weight for part in parts)),
        event_weight=reduce(add, (part.event_weight for part in parts)),
        n_missing=np.sum([part.n_missing for part in parts], axis=0),
    )


def add_up(parts: Iterable[TableStatistics], covariates: Sequence[Covariate]) -> TableStatistics:
    """Add up statistics as they come, one part at least; a lone part stays as it is."""
    waiting: list[TableStatistics] = []
    n_numbers = 0
    for part in parts:
        waiting.append(part)
        n_numbers += part.values.columns[0].size + 3 * len(part.outcomes.row)
        if n_numbers > WAITING and len(waiting) > 1:
            waiting, n_numbers = [join(waiting)], 0
            _require_few_levels(waiting[0], covariates)
    if len(waiting) > 1:
        waiting = [join(waiting)]
        _require_few_levels(waiting[0], covariates)
    return waiting[0]


def _require_few_levels(statistics: TableStatistics, covariates: Sequence[Covariate]) -> None:
    """Refuse a categorical covariate of so many levels that it must be an identifier."""
    for covariate, summary in zip(covariates, statistics.columns, strict=True):
        if isinstance(summary, Counts) and len(summary.levels) > MOST_LEVELS:
            raise DataError(
                f"a categorical covariate read from a file may have {MOST_LEVELS:,} levels; "
                f"{covariate.name!r} has more and looks like an identifier. Leave it out: "
                f'y={{..., "drop": [{covariate.name!r}]}}.'
            )


def _take(column: Column, rows: NDArray[np.int64]) -> Column:
    """Take some rows of a column, in order; all of them are not copied."""
    if isinstance(column, Levels):
        return Levels(_take_values(column.codes, rows), column.text)
    return _take_values(column, rows)


def _take_values(values: NDArray[Any], rows: NDArray[np.int64]) -> NDArray[Any]:
    return values if len(rows) == len(values) else values[rows]


def _count_missing(column: Column, rows: NDArray[np.int64]) -> int:
    values = _take(column, rows)
    missing = values.codes < 0 if isinstance(values, Levels) else np.isnan(values)
    return int(np.count_nonzero(missing))
