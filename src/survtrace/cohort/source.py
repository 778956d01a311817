"""Subjects in chunks of a table, and the source of one chunk: a frame in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

from survtrace.cohort.subjects import (
    Subjects,
    one_row_each,
    require_same_weight,
    require_subjects,
    spread_of_entry,
    subjects_of,
)
from survtrace.errors import DataError, short
from survtrace.tables.covariates.columns import read_columns
from survtrace.tables.covariates.covariate import Covariate
from survtrace.tables.covariates.covariates import open_table
from survtrace.tables.covariates.magnitude import LARGEST
from survtrace.tables.covariates.real_numbers import real_numbers
from survtrace.tables.covariates.values import Column
from survtrace.tables.outcome.outcome import (
    Outcome,
    read_outcome,
    require_same_subjects,
)
from survtrace.tables.outcome.outcome_warnings import (
    informative,
    warn_if_complete,
    warn_of_entry,
    warn_of_origin,
    warn_of_other_unit,
    warn_of_unknown_durations,
)
from survtrace.tables.outcome.pairing import pair
from survtrace.tables.outcome.roles import names_columns, read_roles
from survtrace.tables.tasks import MANY_ROWS, Run, one_by_one
from survtrace.threads import run_in_few_threads

if TYPE_CHECKING:
    from survtrace.cohort.file_source import FileSource


@dataclass(frozen=True)
class Chunk:
    """Consecutive rows of a table.

    ``rows`` are those with any follow-up, by their place in the chunk; outcome and weight are
    theirs alone. ``whole`` says that the table has no other chunk.
    """

    number: int
    first_row: int
    table: nw.DataFrame[Any]
    rows: NDArray[np.int64]
    outcome: Outcome
    weight: NDArray[np.float64]
    whole: bool = False
    _read: dict[str, Column] = field(default_factory=dict, repr=False)

    def columns(self, covariates: Sequence[Covariate]) -> list[Column]:
        """Read covariates of all rows, once until `release`; those of many rows in threads."""
        unread = [covariate for covariate in covariates if covariate.name not in self._read]
        columns = read_columns(self.table, unread, self.first_row, self.run)
        self._read.update(zip([covariate.name for covariate in unread], columns, strict=True))
        return [self._read[covariate.name] for covariate in covariates]

    @property
    def run(self) -> Run:
        """How the parts of a table of this size are run: in threads where that pays."""
        return run_in_few_threads if len(self.table) > MANY_ROWS else one_by_one

    def release(self) -> None:
        """Drop the columns that were read: a frame lives as long as its training, they need not."""
        self._read.clear()


class OutcomeScan(NamedTuple):
    """What the outcomes of all subjects tell before any covariate is read.

    ``is_late`` marks the durations after the end of a time grid that was given. ``sizes`` are the
    rows of each chunk. ``source`` is the scanned one, which now knows the causes. ``n_whole``
    counts the rows that are all of a subject's time from 0 on, and ``entry`` is the earliest,
    median and latest entry of a subject, None: all at 0. ``subjects`` tells which rows belong
    together, None: none do.
    """

    source: FrameSource | FileSource
    causes: tuple[Any, ...]
    censored: tuple[Any, ...]
    event: NDArray[Any]
    is_late: NDArray[np.bool_]
    sizes: list[int]
    n_whole: int
    entry: tuple[float, float, float] | None = None
    subjects: Subjects | None = None

    def knowing(self, outcome: Outcome, weight: NDArray[np.float64]) -> OutcomeScan:
        """Add what entries and ids tell; refuse one subject alone, and two weights of one."""
        subjects = subjects_of(outcome)
        if subjects is not None:
            require_subjects(weight, subjects, self.source.weight_name or "the table")
        return self._replace(
            n_whole=int(np.count_nonzero(outcome.is_whole)),
            entry=spread_of_entry(outcome),
            subjects=subjects,
        )

    @property
    def n_subjects(self) -> int:
        """How many subjects there are, whatever the number of their rows."""
        return len(self.event) if self.subjects is None else self.subjects.n

    @property
    def event_on_grid(self) -> NDArray[Any]:
        """The events, those after the end of the grid being 0."""
        return np.where(self.is_late, 0, self.event).astype(self.event.dtype, copy=False)

    def count_events(self, event: NDArray[Any]) -> dict[Any, int]:
        """Count events of each cause."""
        counts = np.bincount(event, minlength=len(self.causes) + 1)[1:]
        return dict(zip(self.causes, counts.tolist(), strict=True))


@dataclass(frozen=True)
class FrameSource:
    """A table in memory: one chunk.

    ``weight_name`` is what errors call the sample weights, None where there are none.
    ``evaluation`` are subjects to stop by; ``beside`` names columns that are no covariates.
    """

    chunk: Chunk
    weight_name: str | None = None
    evaluation: Chunk | None = None
    beside: list[str] = field(default_factory=list)

    def scan(self, end: float | None) -> OutcomeScan:
        """Tell what is known of the outcomes."""
        outcome = self.chunk.outcome
        is_late = outcome.duration > (np.inf if end is None else end)
        labels, n_rows = (outcome.causes, outcome.censored), len(outcome)
        scan = OutcomeScan(self, *labels, outcome.event, is_late, [n_rows], n_whole=n_rows)
        return scan.knowing(outcome, self.chunk.weight)

    def chunks(self, span: range | None = None) -> Iterator[Chunk]:
        """Give the only chunk."""
        yield self.chunk


def read_frame(
    X: Any,
    y: Any,
    sample_weight: ArrayLike | None = None,
    eval_set: Any = None,
    *,
    zero_duration: str = "raise",
) -> FrameSource:
    """Check table, outcome and weights once; leave out subjects without any follow-up."""
    given = pair(X, y, sample_weight)
    table = open_table(given.X)
    if len(table) == 0 or len(table.columns) == 0:
        lacking = "feature" if len(table) else "sample"
        raise DataError(
            f"X must have subjects and covariates; got 0 {lacking}(s) (shape={table.shape}) "
            "while a minimum of 1 is required. Check how it was read."
        )
    if len(table) < 2:
        raise DataError("fit needs at least two subjects; got 1 sample. Predicting takes one.")
    weight = checked_weight(given.sample_weight, len(table))
    outcome = read_outcome(
        given.y, censored=given.censored, event_name=given.event_name, zero_duration=zero_duration
    )
    require_same_subjects(len(table), outcome)
    warn_of_unknown_durations(outcome)
    warn_of_origin(outcome)
    warn_of_entry(outcome)
    if given.censored is None:
        warn_if_complete(outcome.event, outcome.censored)
    outcome = one_row_each(outcome)
    followed = np.flatnonzero(informative(outcome))
    if len(followed) < len(outcome):
        table, outcome, weight = table[followed], outcome.take(followed), weight[followed]
    evaluation = None if eval_set is None else _read_evaluation(eval_set, outcome, zero_duration)
    beside = read_roles(y).named if names_columns(y) else []
    weight_name = None if given.sample_weight is None else "sample_weight of the training rows"
    return FrameSource(_only_chunk(table, outcome, weight), weight_name, evaluation, beside)


def checked_weight(sample_weight: ArrayLike | None, n_subjects: int) -> NDArray[np.float64]:
    """Check that there is one finite weight of zero or more for each subject, not all zero."""
    if sample_weight is None:
        return np.ones(n_subjects)
    try:
        weight = real_numbers(sample_weight, "sample_weight")
    except DataError:
        raise
    except (TypeError, ValueError):
        raise DataError(
            f"sample_weight must be one number for each of the {n_subjects} subjects; got "
            f"{short(sample_weight)}. Convert them to numbers, or leave them out."
        ) from None
    is_weight = (weight >= 0) & (weight <= LARGEST)
    if weight.shape != (n_subjects,) or not is_weight.all() or weight.max() < 1 / LARGEST:
        first = "" if is_weight.all() else f" with {weight[~is_weight][0]:g}"
        raise DataError(
            f"sample_weight must be one finite number of zero or more (up to {LARGEST:g}) for each "
            f"of the {n_subjects} subjects, not all zero; got shape {weight.shape}{first}. Correct "
            "them, or leave them out."
        )
    return weight


def _read_evaluation(eval_set: Any, trained_on: Outcome, zero_duration: str) -> Chunk:
    try:
        X, y = eval_set
    except (TypeError, ValueError):
        raise DataError(
            f"eval_set must be a pair (X, y); got {type(eval_set).__name__}. Pass covariates and "
            "outcome of subjects to stop by, or leave it out."
        ) from None
    given = pair(X, y)
    outcome = read_outcome(
        given.y,
        causes=trained_on.causes,
        censored=trained_on.censored if given.censored is None else given.censored,
        zero_duration=zero_duration,
    )
    outcome, table = one_row_each(outcome), open_table(given.X)
    require_same_subjects(len(table), outcome)
    followed = np.flatnonzero(informative(outcome))
    if len(followed) == 0:
        raise DataError(
            f"eval_set must have at least one subject with follow-up; got 0 of {len(table)}. Leave "
            "it out."
        )
    warn_of_other_unit(outcome, trained_on)
    weight = checked_weight(given.sample_weight, len(table))
    if len(followed) < len(outcome):
        table, outcome, weight = table[followed], outcome.take(followed), weight[followed]
    if (subjects := subjects_of(outcome)) is not None:
        require_same_weight(weight, subjects, "eval_set")
    return _only_chunk(table, outcome, weight)


def _only_chunk(table: nw.DataFrame[Any], outcome: Outcome, weight: NDArray[np.float64]) -> Chunk:
    return Chunk(0, 0, table, np.arange(len(weight)), outcome, weight, whole=True)
