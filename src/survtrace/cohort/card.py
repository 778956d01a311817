"""The model card: when an estimator was fitted, and on how many subjects of what kind."""

from __future__ import annotations

from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np

from survtrace.tables.covariates.encoding import Encoded, Encoding
from survtrace.tables.outcome.outcome import Outcome


class CohortCounts(NamedTuple):
    """How many subjects, events of each cause, and missing values of each covariate."""

    n_subjects: int
    n_events: dict[Any, int]
    n_missing: dict[str, int]


def count_cohort(encoding: Encoding, encoded: Encoded, outcome: Outcome) -> CohortCounts:
    """Count the subjects of a table in memory."""
    is_missing = encoded.rows[: len(outcome)] == encoding.first_rows[:-1]
    n_missing = dict(zip(encoding.names.tolist(), is_missing.sum(axis=0).tolist(), strict=True))
    return CohortCounts(len(outcome), outcome.n_events, n_missing)


def model_card(counts: CohortCounts, *, interrupted: bool) -> dict[str, Any]:
    """Plain values for ``SurvTRACE.card_`` and its file.

    Examples
    --------
    >>> card = model_card(CohortCounts(3, {1: 2}, {"age": 0}), interrupted=False)
    >>> card["n_events"], card["n_censored"]
    ({'1': 2}, 1)
    """
    return {
        "fitted_on": datetime.now(UTC).date().isoformat(),
        "n_subjects": int(counts.n_subjects),
        "n_events": {str(cause): int(n) for cause, n in counts.n_events.items()},
        "n_censored": int(counts.n_subjects - np.sum(list(counts.n_events.values()))),
        "n_missing": {name: int(n) for name, n in counts.n_missing.items()},
        "interrupted": bool(interrupted),
        "survtrace_version": version("survtrace"),
    }
