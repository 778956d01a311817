"""Prepare a cohort for training: source, statistics, encoding, store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray

from survtrace.cohort.batch_source import BatchSource, MemorySource
from survtrace.cohort.disk_source import DiskSource
from survtrace.cohort.file_source import FileSource, Source
from survtrace.cohort.records import Columns, Layout
from survtrace.cohort.scratch_file import RecordStore, ScratchFile, require_space, scratch_folder
from survtrace.cohort.source import Chunk, FrameSource, OutcomeScan
from survtrace.cohort.statistics import OUTCOME, add_up, collect_statistics
from survtrace.cohort.subjects import number_rows
from survtrace.cohort.validation import ValidationSplit, split_validation
from survtrace.errors import DataError, DataWarning, warn
from survtrace.inspection.dictionary import read_dictionary
from survtrace.inspection.plan import Plan, plan_columns
from survtrace.losses.propensity import ips_weights, propensities, propensities_by_rate
from survtrace.tables.covariates.encoding import Categories, Encoded, Encoding, learn_from_summaries
from survtrace.tables.covariates.magnitude import LARGEST
from survtrace.tables.files.chunks import warnings_of_rows
from survtrace.tables.outcome.outcome import Outcome
from survtrace.tables.outcome.outcome_warnings import (
    warn_if_complete,
    warn_of_origin,
    warn_of_unknown_durations,
)
from survtrace.tables.outcome.time_grid import StayScale, checked_cuts, choose_cuts, end_follow_up

EncodeChunks = Callable[..., Iterator[Columns]]


class CohortCounts(NamedTuple):
    """How many subjects, events of each cause, missing values of each covariate, and rows.

    ``entry`` is the earliest, median and latest entry of a subject, None: all at 0.
    """

    n_subjects: int
    n_events: dict[Any, int]
    n_missing: dict[str, int]
    n_rows: int
    entry: tuple[float, float, float] | None = None

    @property
    def has_start_stop(self) -> bool:
        """Whether a subject has several rows."""
        return self.n_rows > self.n_subjects


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
            split, columns = self.split, self.store
            if split.id is not None:
                columns = self.layout.with_empty_row(columns)
            return MemorySource(
                self.layout.tensors(columns).to(device),
                split.training,
                split.validation,
                seeds,
                batch_size,
                rows_per_subject=split.rows_per_subject,
                n_validation=split.n_validation,
            )
        return DiskSource(self.store, self.layout, self.split, seed, seeds, batch_size, device)

    def content(self) -> Iterator[bytes]:
        """Give the bytes that tell these data from others, for a checkpoint."""
        if isinstance(self.store, dict):
            yield from (column.tobytes() for column in self.store.values())
        else:
            yield self.store.fingerprint
        yield self.split.bits.tobytes()
        if self.split.id is not None:
            yield self.split.id.tobytes()


@runtime_checkable
class FileReaders(Protocol):
    """Reads files by many processes at once; without one, this process reads them."""

    def each_span(self, source: FileSource, work: Callable[[range], Any]) -> Iterable[Any]:
        """Do the work on spans of chunks that make up the table."""

    def records(
        self, source: FileSource, layout: Layout, encode: EncodeChunks, n_subjects: int
    ) -> AbstractContextManager[RecordStore]:
        """Hold all records where all processes see them, as long as they are needed."""


@contextmanager
def prepare(
    source: Source, settings: Any, seeds: list[int], readers: FileReaders | None = None
) -> Iterator[Cohort]:
    """Draw validation rows, learn scales, categories and cuts from the others, encode all.

    "The others" are the rows that at least one member trains on. With an evaluation set, every
    member trains on all subjects and is stopped by that set, from which nothing is learned.
    """
    grid = None if settings.time_grid is None else checked_cuts(settings.time_grid)
    scan = source.scan(None if grid is None else grid[-1])
    source, subjects, n_rows = scan.source, scan.subjects, len(scan.event)
    split = _split(scan, settings.validation_fraction, seeds)
    learned_from = split.learned_from()
    planned = _plan_columns(source, settings)
    covariates = planned.covariates
    share = None if subjects is None else subjects.share
    collect = partial(collect_statistics, source, covariates, learned_from, scan.sizes, share)
    if readers is not None and isinstance(source, FileSource):
        statistics = add_up(readers.each_span(source, collect), covariates)
    else:
        statistics = collect()
    if statistics.weight.largest < 1 / LARGEST:  # as `checked_weight` has it of a frame
        raise DataError(f"weights must not all be zero; {source.weight_name} is.")
    if (n_struck := int(statistics.events[1:].sum())) and statistics.event_weight.largest == 0:
        raise DataError(
            f"somebody with an event must have a weight above 0; all {n_struck} who are learned "
            f"from have 0 in {source.weight_name}. Correct the weights, or leave them out."
        )
    values, *shares = statistics.values.columns
    encoding = learn_from_summaries(
        covariates,
        statistics.columns,
        values.T,
        planned.left_out,
        planned.words(),
        statistics.copies,
        *shares,
    )
    followed = dict(zip(OUTCOME, statistics.outcomes.columns, strict=False))
    trained_on = Outcome(**followed, causes=scan.causes, censored=scan.censored)
    if isinstance(source, FileSource):  # of a frame, all this was looked at as it was read
        _require_levels(encoding, settings.columns)
        warn_of_unknown_durations(trained_on)
        warn_of_origin(trained_on)
        if source.roles.censored is None:
            warn_if_complete(scan.event, scan.censored)
    n_events = scan.count_events(scan.event)
    left = scan.count_events(scan.event_on_grid)
    learned = dict(zip(scan.causes, statistics.events[1:].tolist(), strict=True))
    cuts = choose_cuts(trained_on, settings.n_intervals, grid, n_events, left, learned)
    if scan.entry is not None:
        cuts[0] = scan.entry[0]  # also where the first to enter is held out, or not in the sample
    _warn_of_parts(scan.n_whole, n_rows, settings)
    whole = trained_on.is_whole
    is_weighted = source.weight_name is not None or split.id is not None
    layout = Layout(
        encoding.leaving_out(source.beside),
        cuts,
        len(scan.causes),
        StayScale.of(trained_on.take(whole) if whole.any() else trained_on, cuts[-1]),
        # A batch has the mean over rows; so many for a subject make that the mean over subjects.
        statistics.weight.mean / split.rows_per_subject if is_weighted else None,
        has_entry=trained_on.entry is not None or _enters_late(source.evaluation),
    )
    n_missing = dict(zip(encoding.names.tolist(), statistics.n_missing.tolist(), strict=True))
    counts = CohortCounts(scan.n_subjects, n_events, n_missing, n_rows, scan.entry)
    with _stored(source, layout, settings, learned_from, n_rows, readers) as store:
        yield Cohort(store, layout, split, trained_on, counts)


def _split(scan: OutcomeScan, fraction: float, seeds: list[int]) -> ValidationSplit:
    """Draw validation subjects, or hold out those of an evaluation set."""
    source, subjects, event = scan.source, scan.subjects, scan.event_on_grid
    if source.evaluation is None:
        if subjects is None:
            return split_validation(event, fraction, seeds)
        return split_validation(subjects.event(event), fraction, seeds, subjects.id)
    everybody = number_rows([source.chunk.outcome, source.evaluation.outcome])
    held_out = np.tile(np.arange(everybody.n) >= scan.n_subjects, (len(seeds), 1))
    return ValidationSplit.of(held_out, everybody.id if len(everybody.id) > everybody.n else None)


def _enters_late(evaluation: Chunk | None) -> bool:
    return evaluation is not None and evaluation.outcome.entry is not None


def _warn_of_parts(n_whole: int, n_rows: int, settings: Any) -> None:
    """Warn of rows from which the auxiliary tasks cannot learn."""
    if n_whole < n_rows and (settings.mortality_weight > 0 or settings.stay_weight > 0):
        seen = (
            f"{n_rows - n_whole} of {n_rows} rows enter after 0 or go on in a later row: the "
            "auxiliary tasks, mortality and length of stay, leave them out. Nothing else does. To "
            "switch the tasks off, say"
        )
        warn(
            DataWarning(
                f"{seen} mortality_weight=0, stay_weight=0.",
                in_command=f"{seen} --set mortality_weight=0 --set stay_weight=0.",
            )
        )


def _plan_columns(source: Source, settings: Any) -> Plan:
    """Decide what will be done with each column, by the first chunk."""
    first = next(iter(source.chunks(range(1))))
    table = first.table if len(first.rows) == len(first.table) else first.table[first.rows]
    planned = plan_columns(
        table,
        first.outcome,
        categorical=settings.categorical,
        columns=settings.columns,
        run=first.run,
    )
    planned.require_answers()
    return planned


def encode_chunks(source: Source, layout: Layout, span: range | None = None) -> Iterator[Columns]:
    """Encode all chunks of a source, or some; warn of each thing once."""
    warned = set[str]()
    encoding = layout.encoding
    for chunk in source.chunks(span):
        with warnings_of_rows(chunk.first_row, len(chunk.table), warned):
            columns = chunk.columns(encoding.covariates)
            rows, values = encoding.encode_columns(columns, len(chunk.table), run=chunk.run)
        chunk.release()
        if len(chunk.rows) < len(rows):
            rows, values = rows[chunk.rows], values[chunk.rows]
        yield layout.columns(Encoded(rows, values), chunk.outcome, chunk.weight)


@contextmanager
def _stored(
    source: Source,
    layout: Layout,
    settings: Any,
    learned_from: NDArray[np.bool_],
    n_rows: int,
    readers: FileReaders | None,
) -> Iterator[Columns | RecordStore]:
    """Encode a frame into memory, and files into records on disk."""
    encode = partial(encode_chunks, source, layout)
    if not isinstance(source, FileSource):
        columns = _with_evaluation(next(encode()), source.evaluation, layout)
        if settings.ips != "none":
            columns["ips"] = _ips(columns, source, layout, learned_from, settings)
        yield columns
    elif readers is not None:
        with readers.records(source, layout, encode, n_rows) as store:
            yield store
    else:
        require_space(n_rows * layout.dtype.itemsize, scratch_folder())
        with ScratchFile(layout.dtype) as store:
            for columns in encode():
                store.append(layout.pack(columns))
            yield store


def _with_evaluation(columns: Columns, evaluation: Chunk | None, layout: Layout) -> Columns:
    """Add the subjects of an evaluation set to the columns of a frame."""
    if evaluation is None:
        return columns
    encoded = layout.encoding.encode(evaluation.table)
    more = layout.columns(encoded, evaluation.outcome, evaluation.weight)
    return {name: np.concatenate([columns[name], more[name]]) for name in columns}


def _ips(
    columns: Columns,
    source: FrameSource,
    layout: Layout,
    learned_from: NDArray[np.bool_],
    settings: Any,
) -> NDArray[np.float32]:
    """Compute the IPS weights of all rows, by the chances of each cause in training rows."""
    encoded, event = Encoded(columns["rows"], columns["values"]), columns["event"]
    training, n_causes, clip = np.flatnonzero(learned_from), layout.n_causes, settings.ips_clip
    if not layout.has_entry:
        propensity = propensities(encoded, event, n_causes, training, clip)
        return ips_weights(settings.ips, propensity, event).astype(np.float32)
    outcomes = [chunk.outcome for chunk in (source.chunk, source.evaluation) if chunk is not None]
    time = np.concatenate([_time(end_follow_up(one, layout.cuts[-1])) for one in outcomes])
    subjects = number_rows(outcomes)
    n_subjects = len(np.unique(subjects.id[training]))
    propensity = propensities_by_rate(encoded, event, time, n_subjects, n_causes, training, clip)
    of_subject = subjects.event(event)[subjects.id]
    return ips_weights(settings.ips, propensity, of_subject, subjects.share).astype(np.float32)


def _time(outcome: Outcome) -> NDArray[np.float64]:
    """Compute how long each row was under observation."""
    return outcome.duration - (0.0 if outcome.entry is None else outcome.entry)


def _require_levels(encoding: Encoding, columns: Any) -> None:
    """Refuse levels, found in any row, that the data dictionary does not have."""
    entries = read_dictionary(columns)
    for covariate, column in zip(encoding.covariates, encoding.columns, strict=True):
        listed = entries[covariate.name].levels if covariate.name in entries else ()
        if listed and isinstance(column, Categories):
            unknown = [level for level in column.levels if level not in listed]
            if unknown:
                raise DataError(
                    f"column {covariate.name!r} has the levels {unknown[:5]}, which the data "
                    "dictionary does not have. Correct them, or add them to its levels."
                )
