"""Read subjects of a new place in the encoding and on the time grid of a fitted estimator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from survtrace.cohort.prepare import Cohort, CohortCounts
from survtrace.cohort.records import Layout
from survtrace.cohort.subjects import one_row_each, subjects_of
from survtrace.cohort.validation import split_validation
from survtrace.errors import DataError, DataWarning, warn
from survtrace.tables.covariates.covariates import open_table
from survtrace.tables.covariates.encoding import Encoded, Encoding
from survtrace.tables.files.formats import read_table
from survtrace.tables.files.text_levels import as_learned
from survtrace.tables.outcome.outcome import Outcome, require_same_subjects
from survtrace.tables.outcome.outcome_warnings import informative
from survtrace.tables.outcome.pairing import read_scored
from survtrace.tables.outcome.roles import names_columns, read_roles
from survtrace.tables.outcome.time_grid import StayScale
from survtrace.tables.table import is_path

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class LocalRows:
    """Subjects of a new place; ``learned_from`` counts those that the network learned from."""

    encoded: Encoded
    outcome: Outcome
    encoding: Encoding
    cuts: NDArray[np.float64]
    learned_from: CohortCounts

    def take(self, rows: Rows) -> LocalRows:
        """Select some rows."""
        encoded = Encoded(self.encoded.rows[rows], self.encoded.values[rows])
        some = self.outcome.take(rows)
        return LocalRows(encoded, some, self.encoding, self.cuts, self.learned_from)

    def cohort(self, validation_fraction: float, seeds: list[int]) -> Cohort:
        """Draw each member's validation subjects, and lay all rows out as a fit does."""
        subjects, n_rows = subjects_of(self.outcome), len(self.outcome)
        if subjects is None:
            split = split_validation(self.outcome.event, validation_fraction, seeds)
        else:
            event = subjects.event(self.outcome.event)
            split = split_validation(event, validation_fraction, seeds, subjects.id)
        layout = Layout(
            self.encoding,
            self.cuts,
            len(self.outcome.causes),
            StayScale.of(self.outcome, self.cuts[-1]),
            None if subjects is None else 1 / split.rows_per_subject,
            has_entry=self.outcome.entry is not None,
        )
        store = layout.columns(self.encoded, self.outcome, np.ones(n_rows))
        return Cohort(store, layout, split, self.outcome, self.counts())

    def counts(self) -> CohortCounts:
        """Count what was missing in all rows the network has learned from, these included.

        By these numbers training decides which covariates are so rarely missing that the meaning
        of "missing" must be learned from values that are hidden.
        """
        missing = self.encoded.rows == self.encoding.first_rows[:-1]
        names, before = self.encoding.names.tolist(), self.learned_from
        n_missing = {
            name: int(n) + before.n_missing.get(name, 0)
            for name, n in zip(names, missing.sum(axis=0), strict=True)
        }
        n_rows = before.n_rows + len(self.outcome)
        return CohortCounts(self.outcome.n_subjects, self.outcome.n_events, n_missing, n_rows)


def read_local_rows(
    est: Any, X: Any, y: Any, encode: Callable[[Any], Encoded] | None = None
) -> LocalRows:
    """Read a table as `score` does; leave out rows without follow-up on the time grid.

    ``encode`` may warn of what is odd in a table; by default the encoding itself.
    """
    if names_columns(y) and read_roles(y).weight is not None:
        raise DataError(
            "an update takes no sample weights: ways of updating are compared by a score that "
            f"knows none; y names {read_roles(y).weight!r}. Leave it out."
        )
    if is_path(X):
        wanted = [*read_roles(y).outcome, *est.feature_names_in_]
        X = as_learned(est.encoding_, read_table(X)[wanted])
    covariates, outcome = read_scored(est, X, y)
    table = open_table(covariates)
    require_same_subjects(len(table), outcome)
    outcome = one_row_each(outcome)
    encoded = (encode or est.encoding_.encode)(table)
    followed = np.flatnonzero(_on_grid(outcome, est.time_grid_))
    if outcome.take(followed).n_subjects < 2:
        raise DataError(
            f"an update needs at least two subjects with follow-up; got {len(followed)} row(s) of "
            f"{len(outcome)} rows."
        )
    counts = est.card_.get("n_missing", {})
    before = CohortCounts(0, {}, counts, int(est.card_.get("n_rows", 0)))
    local = LocalRows(encoded, outcome, est.encoding_, est.time_grid_, before)
    return local if len(followed) == len(outcome) else local.take(followed)


def _on_grid(outcome: Outcome, cuts: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Mark rows with follow-up between the first and the last cut; warn of what lies outside."""
    kept = informative(outcome)
    early = kept & (outcome.duration <= cuts[0]) & (cuts[0] > 0)
    late = np.zeros(len(outcome), dtype=bool)
    if outcome.entry is not None:
        late = kept & (outcome.entry >= cuts[-1])
    outside = early | late
    if outside.any():
        warn(
            f"{outside.sum()} of {len(outcome)} rows have no follow-up between {cuts[0]:g} and "
            f"{cuts[-1]:g}, the time grid of the model; they are left out.",
            DataWarning,
        )
    beyond = kept & (outcome.event > 0) & (outcome.duration > cuts[-1])
    if beyond.any():
        warn(
            f"{beyond.sum()} of {(outcome.event > 0).sum()} events lie beyond the time grid of the "
            f"model, which ends at {cuts[-1]:g}: these subjects count as event-free there. To "
            "predict further, fit anew.",
            DataWarning,
        )
    return np.asarray(kept & ~outside)
