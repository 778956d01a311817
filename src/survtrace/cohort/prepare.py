"""Prepare a cohort for training: source, statistics, encoding, store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from survtrace.cohort.batch_source import BatchSource, MemorySource
from survtrace.cohort.disk_source import DiskSource
from survtrace.cohort.file_source import FileSource, require_streamable
from survtrace.cohort.records import Columns, Layout
from survtrace.cohort.scratch_file import RecordStore, ScratchFile, require_space, scratch_folder
from survtrace.cohort.source import Source, read_frame
from survtrace.cohort.statistics import TableStatistics, add_up, collect_statistics
from survtrace.cohort.validation import ValidationSplit, split_validation
from survtrace.errors import DataError
from survtrace.inspection.dictionary import read_dictionary
from survtrace.inspection.plan import Plan, plan_columns
from survtrace.losses.propensity import ips_weights, propensities
from survtrace.tables.covariates.encoding import Categories, Encoded, Encoding
from survtrace.tables.files.chunk_warnings import warnings_of_rows
from survtrace.tables.outcome.outcome import (
    Outcome,
    warn_if_complete,
    warn_of_unknown_durations,
)
from survtrace.tables.outcome.roles import is_path, read_roles
from survtrace.tables.outcome.time_grid import (
    StayScale,
    checked_cuts,
    end_follow_up,
    quantile_cuts,
    warn_of_late_events,
    warn_of_sparse_causes,
)

EncodeChunks = Callable[..., Iterator[Columns]]


class CohortCounts(NamedTuple):
    """How many subjects, events of each cause, and missing values of each covariate."""

    n_subjects: int
    n_events: dict[Any, int]
    n_missing: dict[str, int]


class Cohort(NamedTuple):
    """Encoded subjects, who trains on whom, and what was learned from the training rows.

    ``store`` holds the subjects as arrays in memory or as records on disk; their follow-up ends
    with the last cut. ``trained_on`` has the whole of it, of a sample of a million at most.
    """

    store: Columns | RecordStore
    layout: Layout
    split: ValidationSplit
    trained_on: Outcome
    counts: CohortCounts

    @property
    def encoding(self) -> Encoding:
        """Scales and categories."""
        return self.layout.encoding

    @property
    def cuts(self) -> NDArray[np.float64]:
        """The time grid."""
        return self.layout.cuts

    def batch_source(
        self, seed: int, seeds: list[int], batch_size: int, device: torch.device
    ) -> BatchSource:
        """Give training its batches, from memory or from disk."""
        if isinstance(self.store, dict):
            tensors = self.layout.tensors(self.store).to(device)
            return MemorySource(tensors, self.split, seeds, batch_size)
        return DiskSource(self.store, self.layout, self.split, seed, seeds, batch_size, device)

    def content(self) -> Iterator[bytes]:
        """Give the bytes that tell these data from others, for a checkpoint."""
        if isinstance(self.store, dict):
            yield from (column.tobytes() for column in self.store.values())
        else:
            yield self.store.fingerprint
        yield self.split.bits.tobytes()


class Passes:
    """How files are read: in this process, into a scratch file that is gone at the end."""

    def each_span(self, source: FileSource, work: Callable[..., Any]) -> Iterable[Any]:
        """Do the work on spans of chunks that make up the table: here, on all at once."""
        return [work(None)]

    @contextmanager
    def records(
        self, source: FileSource, layout: Layout, encode: EncodeChunks, n_subjects: int
    ) -> Iterator[RecordStore]:
        """Hold all records on disk, as long as they are needed; space is asked for first."""
        require_space(n_subjects * layout.dtype.itemsize, scratch_folder())
        with ScratchFile(layout.dtype) as store:
            for columns in encode(None):
                store.append(layout.pack(columns))
            yield store


IN_THIS_PROCESS = Passes()


def open_source(X: Any, y: Any, sample_weight: Any, eval_set: Any, settings: Any) -> Source:
    """Open a table in memory or, given a path, the files there."""
    if not is_path(X):
        return read_frame(X, y, sample_weight, eval_set, zero_duration=settings.zero_duration)
    require_streamable(settings, sample_weight=sample_weight, eval_set=eval_set)
    return FileSource(Path(X), read_roles(y), settings.zero_duration)


@contextmanager
def prepare(
    source: Source, settings: Any, seeds: list[int], passes: Passes = IN_THIS_PROCESS
) -> Iterator[Cohort]:
    """Draw validation rows, learn scales, categories and cuts from the others, encode all.

    "The others" are the rows that at least one member trains on. With an evaluation set, every
    member trains on all subjects and is stopped by that set, from which nothing is learned.
    """
    grid = None if settings.time_grid is None else checked_cuts(settings.time_grid)
    scan = source.scan(None if grid is None else grid[-1])
    source = scan.source
    if source.evaluation is None:
        split = split_validation(scan.event, settings.validation_fraction, seeds)
    else:
        held_out = np.arange(len(scan.event) + len(source.evaluation.rows)) >= len(scan.event)
        split = ValidationSplit.of(np.tile(held_out, (len(seeds), 1)))
    learned_from = split.learned_from()
    planned = _plan(source, settings)
    collect = partial(collect_statistics, source, planned.covariates, learned_from, scan.sizes)
    statistics = _checked(add_up(_each_span(passes, source, collect), planned.covariates), source)
    encoding = statistics.encoding(planned.covariates, planned.left_out, planned.words())
    duration, event = statistics.outcomes.columns
    trained_on = Outcome(duration, event, scan.causes, scan.censored)
    if isinstance(source, FileSource):  # of a frame, all this was looked at as it was read
        _require_levels(encoding, settings.columns)
        warn_of_unknown_durations(trained_on)
        if source.roles.censored is None:
            warn_if_complete(trained_on)
    cuts = choose_cuts(trained_on, settings.n_intervals, grid)
    if grid is not None:
        warn_of_late_events(scan.n_events, scan.n_events_on_grid, cuts[-1])
    n_events = dict(zip(scan.causes, statistics.events[1:].tolist(), strict=True))
    warn_of_sparse_causes(_events_until(cuts[-1], n_events, trained_on), len(cuts) - 1)
    layout = Layout(
        encoding.leaving_out(source.beside),
        cuts,
        len(scan.causes),
        StayScale.of(trained_on, cuts[-1]),
        statistics.weight.mean if source.has_weights else None,
    )
    n_missing = dict(zip(encoding.names.tolist(), statistics.n_missing.tolist(), strict=True))
    counts = CohortCounts(len(scan.event), scan.n_events, n_missing)
    with _stored(source, layout, settings, learned_from, len(scan.event), passes) as store:
        yield Cohort(store, layout, split, trained_on, counts)


def choose_cuts(
    trained_on: Outcome, n_intervals: int, grid: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Take the cuts of the user, or else those at quantiles of the event times."""
    quantiles = quantile_cuts(trained_on, n_intervals)  # refuses a cohort without events
    if grid is None:
        return quantiles
    if not end_follow_up(trained_on, grid[-1]).event.any():
        raise DataError(
            f"at least one event must lie within the time grid; it ends at {grid[-1]:g} and the "
            f"first event is at {trained_on.duration[trained_on.event > 0].min():g}. Choose a "
            "time_grid that ends later, in the unit of the durations."
        )
    return grid


def encode_chunks(source: Source, layout: Layout, span: range | None = None) -> Iterator[Columns]:
    """Encode all chunks of a source, or some; warn of each thing once."""
    warned = set[str]()
    encoding = layout.encoding
    for chunk in source.chunks(span):
        with warnings_of_rows(chunk.first_row, len(chunk.table), warned):
            columns = (chunk.column(covariate) for covariate in encoding.covariates)
            rows, values = encoding.encode_columns(columns, len(chunk.table))
        encoded = Encoded(rows[chunk.rows], values[chunk.rows])
        yield layout.columns(encoded, chunk.outcome, chunk.weight)


def _plan(source: Source, settings: Any) -> Plan:
    """Decide what will be done with each column, by the first chunk."""
    first = next(iter(source.chunks(range(1))))
    table = first.table if len(first.rows) == len(first.table) else first.table[first.rows]
    planned = plan_columns(
        table, first.outcome, categorical=settings.categorical, columns=settings.columns
    )
    planned.require_answers()
    return planned


def _each_span(passes: Passes, source: Source, work: Callable[..., Any]) -> Iterable[Any]:
    return passes.each_span(source, work) if isinstance(source, FileSource) else [work(None)]


@contextmanager
def _stored(
    source: Source,
    layout: Layout,
    settings: Any,
    learned_from: NDArray[np.bool_],
    n_subjects: int,
    passes: Passes,
) -> Iterator[Columns | RecordStore]:
    """Encode a frame into memory, and files into records on disk."""
    encode = partial(encode_chunks, source, layout)
    if isinstance(source, FileSource):
        with passes.records(source, layout, encode, n_subjects) as store:
            yield store
        return
    (columns,) = encode(None)
    if source.evaluation is not None:
        chunk = source.evaluation
        encoded = layout.encoding.encode(chunk.table)
        more = layout.columns(encoded, chunk.outcome, chunk.weight)
        columns = {name: np.concatenate([columns[name], more[name]]) for name in columns}
    if settings.ips != "none":
        columns["ips"] = _ips_weights(columns, layout.n_causes, learned_from, settings)
    yield columns


def _ips_weights(
    columns: Columns, n_causes: int, learned_from: NDArray[np.bool_], settings: Any
) -> NDArray[np.float32]:
    encoded, event = Encoded(columns["rows"], columns["values"]), columns["event"]
    training = np.flatnonzero(learned_from)
    propensity = propensities(encoded, event, n_causes, training, settings.ips_clip)
    return ips_weights(settings.ips, propensity, event).astype(np.float32)


def _require_levels(encoding: Encoding, columns: Any) -> None:
    """Refuse levels, found in any row, that the data dictionary does not have."""
    entries = read_dictionary(columns)
    for covariate, column in zip(encoding.covariates, encoding.columns, strict=True):
        known = entries[covariate.name].levels if covariate.name in entries else ()
        if known and isinstance(column, Categories):
            unknown = [level for level in column.levels if level not in known]
            if unknown:
                raise DataError(
                    f"column {covariate.name!r} has the levels {unknown[:5]}, which the data "
                    "dictionary does not have. Correct them, or add them to its levels."
                )


def _events_until(end: float, n_events: Mapping[Any, int], sample: Outcome) -> dict[Any, int]:
    """Count the events of each cause within the grid, by their share in a sample of outcomes.

    The sample is the whole up to a million subjects; the count is then exact.
    """
    before, after = sample.n_events, end_follow_up(sample, end).n_events
    return {
        cause: round(n * after[cause] / before[cause]) if before[cause] else n
        for cause, n in n_events.items()
    }


def _checked(statistics: TableStatistics | None, source: Source) -> TableStatistics:
    """Refuse a cohort of nobody, and weights that are all zero."""
    if statistics is None:
        raise DataError("fit needs at least two subjects; got none.")
    if statistics.weight.mean == 0:
        column = f"column {source.roles.weight!r}" if isinstance(source, FileSource) else "each"
        raise DataError(f"weights must not all be zero; {column} is.")
    return statistics
