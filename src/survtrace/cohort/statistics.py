"""What one pass over a cohort of any size learns; what its parts teach adds up to the whole."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from survtrace.cohort.row_sample import Sample
from survtrace.cohort.source import Block
from survtrace.errors import DataError
from survtrace.tables.covariates.columns import Column, Levels, read_column
from survtrace.tables.covariates.covariates import Covariate
from survtrace.tables.covariates.encoding import Encoding, learn_column, warn_of_idle_columns
from survtrace.tables.covariates.summary import Counts, Spread, Summary, summarise
from survtrace.tables.outcome.event_labels import sort_causes
from survtrace.tables.outcome.outcome import Outcome, shifted

MOST_OUTCOMES = 1_000_000
MOST_VALUES = 2**16
MOST_LEVELS = 100_000
WAITING = 2**22  # numbers in samples that wait to be joined
NONE = 2**62  # the first of no rows


@dataclass(frozen=True)
class TableStatistics:
    """Covariates and outcome of some subjects, in memory that does not grow with their number.

    Attributes
    ----------
    columns
        A summary of each covariate.
    values
        The numerical covariates of a sample of rows, for quantiles.
    causes
        Labels of the causes, sorted.
    events
        How many subjects are censored, and how many had an event of each cause.
    outcomes
        Duration and event of a sample of rows: of all, up to a million.
    weight
        A summary of the sample weights.
    smallest
        The smallest positive duration, infinite if there is none.
    n_empty, first_empty
        How many rows are censored at duration 0, and the first of them.
    n_rows
        Rows of the table.
    all_events, n_missing
        ``events`` counted among all subjects, and how many of them lack each covariate; for the
        model card.
    """

    columns: tuple[Summary, ...]
    values: Sample
    causes: tuple[Any, ...]
    events: NDArray[np.int64]
    outcomes: Sample
    weight: Spread
    smallest: float
    n_empty: int
    first_empty: int
    n_rows: int
    all_events: NDArray[np.int64]
    n_missing: NDArray[np.int64]

    def encoding(
        self, covariates: Sequence[Covariate], left_out: Sequence[str] = (), remarks: str = ""
    ) -> Encoding:
        """Scales and categories, as `learn_encoding` learns them from a table in memory."""
        warn_of_idle_columns(covariates, self.columns, remarks=remarks)
        numerical = iter(self.values.columns[0].T)
        learned = [
            learn_column(summary, next(numerical) if isinstance(summary, Spread) else None)
            for summary in self.columns
        ]
        return Encoding(tuple(covariates), tuple(learned), tuple(left_out))

    def outcome(self) -> Outcome:
        """Duration and event of the sample, events at duration 0 moved to `shift`."""
        duration, event = self.outcomes.columns
        at_zero = (duration == 0) & (event > 0)
        return Outcome(np.where(at_zero, self.shift, duration), event, self.causes)

    @property
    def n_events(self) -> dict[Any, int]:
        """How many events of each cause there are, also beyond the sample."""
        return dict(zip(self.causes, self.events[1:].tolist(), strict=True))

    @property
    def n_events_of_all(self) -> dict[Any, int]:
        """The same among all subjects, also those that every member holds out."""
        return dict(zip(self.causes, self.all_events[1:].tolist(), strict=True))

    @property
    def shift(self) -> float:
        """Where an event at duration 0 goes."""
        return shifted(self.smallest)


def collect_statistics(
    block: Block, covariates: Sequence[Covariate], used: NDArray[np.int64]
) -> TableStatistics:
    """The census of a block; only its subjects ``used``, by number, may be learned from.

    What all subjects say is which causes there are, and the smallest duration.
    """
    outcome, codes = block.outcome.take(used), block.kept[used]
    row = block.first_row + codes
    complete = [read_column(block.table, c, block.first_row) for c in covariates]
    columns = [_take(column, codes) for column in complete]
    numerical = [column for column in columns if not isinstance(column, Levels)]
    positive = block.outcome.duration[block.outcome.duration > 0]
    empty = np.delete(np.arange(len(block.table)), block.kept)
    return TableStatistics(
        columns=tuple(summarise(column) for column in columns),
        values=Sample(row, (np.array(numerical).reshape(len(numerical), len(row)).T,)),
        causes=outcome.causes,
        events=np.bincount(outcome.event, minlength=len(outcome.causes) + 1),
        outcomes=Sample(row, (outcome.duration, outcome.event)),
        weight=Spread.of(block.weight[used]),
        smallest=float(positive.min(initial=np.inf)),
        n_empty=len(empty),
        first_empty=block.first_row + int(empty[0]) if len(empty) else NONE,
        n_rows=len(block.table),
        all_events=np.bincount(block.outcome.event, minlength=len(outcome.causes) + 1),
        n_missing=np.array([_count_missing(column, block.kept) for column in complete]),
    )


def join(parts: Sequence[TableStatistics]) -> TableStatistics:
    """The census of several parts together, the same in whatever order and however cut."""
    causes = sort_causes(cause for part in parts for cause in part.causes)
    alike = [_renumbered(part, causes) for part in parts]
    return TableStatistics(
        columns=tuple(
            reduce(add, column) for column in zip(*(p.columns for p in parts), strict=True)
        ),
        values=Sample.join([part.values for part in parts], MOST_VALUES),
        causes=causes,
        events=np.sum([part.events for part in alike], axis=0),
        outcomes=Sample.join([part.outcomes for part in alike], MOST_OUTCOMES),
        weight=reduce(add, (part.weight for part in parts)),
        smallest=min(part.smallest for part in parts),
        n_empty=sum(part.n_empty for part in parts),
        first_empty=min(part.first_empty for part in parts),
        n_rows=sum(part.n_rows for part in parts),
        all_events=np.sum([part.all_events for part in alike], axis=0),
        n_missing=np.sum([part.n_missing for part in parts], axis=0),
    )


def gather(
    parts: Iterable[TableStatistics], covariates: Sequence[Covariate]
) -> TableStatistics | None:
    """The census of any number of parts, joined as they come; None if there is none."""
    waiting: list[TableStatistics] = []
    n_numbers = 0
    for part in parts:
        waiting.append(part)
        n_numbers += part.values.columns[0].size + 3 * len(part.outcomes.row)
        if n_numbers > WAITING:
            waiting, n_numbers = [join(waiting)], 0
            _require_few_levels(waiting[0], covariates)
    if not waiting:
        return None
    whole = join(waiting)
    _require_few_levels(whole, covariates)
    return whole


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
    return Levels(column.codes[rows], column.text) if isinstance(column, Levels) else column[rows]


def _count_missing(column: Column, rows: NDArray[np.int64]) -> int:
    values = _take(column, rows)
    missing = values.codes < 0 if isinstance(values, Levels) else np.isnan(values)
    return int(np.count_nonzero(missing))


def _renumbered(part: TableStatistics, causes: tuple[Any, ...]) -> TableStatistics:
    """The same with the events numbered by a longer list of causes."""
    if part.causes == causes:
        return part
    number = np.array([0, *(causes.index(cause) + 1 for cause in part.causes)])
    events, all_events = (
        np.bincount(number, weights=counts, minlength=len(causes) + 1).astype(np.int64)
        for counts in (part.events, part.all_events)
    )
    duration, event = part.outcomes.columns
    outcomes = Sample(part.outcomes.row, (duration, number[event]))
    return replace(part, causes=causes, events=events, all_events=all_events, outcomes=outcomes)
