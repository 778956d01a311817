"""A cohort in Parquet files becomes blocks on disk that members train on; memory stays small."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from survtrace.cohort.card import CohortCounts
from survtrace.cohort.epoch_chunks import DiskSource, Walk
from survtrace.cohort.inspect_files import plan_files, require_levels
from survtrace.cohort.passes import Counting, Writing, store
from survtrace.cohort.prepare import choose_cuts
from survtrace.cohort.records import Layout
from survtrace.cohort.scratch_file import RecordStore
from survtrace.cohort.source import CohortFiles
from survtrace.cohort.statistics import TableStatistics
from survtrace.cohort.validation import count_held_out
from survtrace.errors import DataError, SettingError
from survtrace.tables.covariates.encoding import Encoding
from survtrace.tables.outcome.outcome import (
    Outcome,
    warn_if_complete,
    warn_of_empty,
    warn_of_unknown_durations,
)
from survtrace.tables.outcome.time_grid import (
    StayScale,
    end_follow_up,
    warn_of_late_events,
    warn_of_sparse_causes,
)


class Streamed(NamedTuple):
    """The cohort on disk, and what was learned from the training rows: a `Prepared` of any size.

    ``trained_on`` is a sample of their outcomes: all of them, up to a million.
    """

    store: RecordStore
    layout: Layout
    trained_on: Outcome
    fraction: float
    counts: CohortCounts

    @property
    def encoding(self) -> Encoding:
        """Scales and categories."""
        return self.layout.encoding

    @property
    def cuts(self) -> NDArray[np.float64]:
        """The time grid."""
        return self.layout.cuts

    @property
    def n_training(self) -> int:
        """How many subjects each member trains on."""
        return sum(n - count_held_out(n, self.fraction) for n in self.store.sizes)

    def batch_source(
        self, seed: int, seeds: list[int], batch_size: int, device: torch.device
    ) -> DiskSource:
        """Where training gets its batches from."""
        return DiskSource(
            self.store, self.layout, Walk(seed, seeds, self.fraction, batch_size), device
        )

    def content(self) -> Iterator[bytes]:
        """What tells these data from others, for a checkpoint."""
        yield self.store.fingerprint


@contextmanager
def prepare_streamed(
    files: CohortFiles,
    *,
    seeds: list[int],
    categorical: Sequence[str | int] | None,
    columns: Any = None,
    n_intervals: int,
    time_grid: ArrayLike | None,
    validation_fraction: float,
    zero_duration: str,
    take: Callable[[Counting], TableStatistics | None] = Counting.__call__,
    keep: Callable[[Writing], AbstractContextManager[RecordStore]] = store,
) -> Iterator[Streamed]:
    """Learn scales, categories and cuts in one pass, write the encoded cohort in a second.

    Who is censored is decided before, by a pass over event and duration alone.

    As in `prepare`, nothing is learned from rows that every member holds out. ``take`` and ``keep``
    say who makes the two passes; by default this process does, and its scratch file, in the folder
    for temporary files, is gone at the end.
    """
    meaning = files.meaning()
    planned = plan_files(
        files, zero_duration, causes=meaning.causes, categorical=categorical, columns=columns
    )
    planned.require_answers()
    covariates = planned.covariates
    counting = Counting(
        files, covariates, seeds, validation_fraction, zero_duration, meaning.causes
    )
    statistics = _checked(take(counting), files)
    encoding = statistics.encoding(covariates, planned.left_out, planned.words())
    require_levels(encoding, columns)
    trained_on = replace(statistics.outcome(), censored=meaning.censored)
    warn_of_unknown_durations(trained_on)
    if files.roles.censored is None:
        warn_if_complete(trained_on)
    cuts = choose_cuts(trained_on, n_intervals, time_grid)
    left = _events_until(cuts[-1], statistics.n_events, trained_on)
    warn_of_late_events(statistics.n_events, left, cuts[-1])
    warn_of_sparse_causes(left, len(cuts) - 1)
    weight = None if files.roles.weight is None else statistics.weight.mean
    stay = StayScale.of(trained_on, cuts[-1])
    layout = Layout(encoding, cuts, len(statistics.causes), stay, weight)
    moved = statistics.shift if zero_duration == "shift" else zero_duration
    with keep(Writing(files, layout, statistics.causes, moved)) as stored:
        counts = CohortCounts(
            statistics.n_rows - statistics.n_empty,
            statistics.n_events_of_all,
            dict(zip(encoding.names.tolist(), statistics.n_missing.tolist(), strict=True)),
        )
        yield Streamed(stored, layout, trained_on, validation_fraction, counts)


def require_streamable(ips: str, recalibrate: bool | str, **given: Any) -> None:
    """Refuse what needs the whole table at once."""
    if ips != "none" or recalibrate is True:
        raise SettingError(
            "inverse-propensity weights and recalibration need the whole table in memory; got "
            f"the path of a file with ips={ips!r} and recalibrate={recalibrate!r}. Read the table "
            "first, or leave them out."
        )
    beside = [name for name, value in given.items() if value is not None]
    if beside:
        raise SettingError(
            f"{beside[0]} cannot be given beside the path of a file. A column of weights is named "
            'in y, {..., "weight": "column"}; validation rows are drawn from the file.'
        )


def _events_until(end: float, n_events: Mapping[Any, int], sample: Outcome) -> dict[Any, int]:
    """How many events of each cause lie within the grid, by their share in a sample of outcomes.

    The sample is the whole up to a million subjects; the count is then exact.
    """
    before, after = sample.n_events, end_follow_up(sample, end).n_events
    return {
        cause: round(n * after[cause] / before[cause]) if before[cause] else n
        for cause, n in n_events.items()
    }


def _checked(statistics: TableStatistics | None, files: CohortFiles) -> TableStatistics:
    """Refuse a cohort that cannot be learned from."""
    n_subjects = statistics.n_rows - statistics.n_empty if statistics else 0
    if statistics is None or n_subjects < 2:
        raise DataError(f"fit needs at least two subjects; {files.path} has {n_subjects}.")
    if statistics.weight.mean == 0:
        raise DataError(f"weights must not all be zero; column {files.roles.weight!r} is.")
    if statistics.n_empty:
        warn_of_empty(statistics.n_empty, statistics.n_rows, statistics.first_empty)
    return statistics
