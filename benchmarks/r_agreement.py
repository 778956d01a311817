"""Largest absolute difference between our scores and R's, over ten tables.

The tables and R's numbers are in tests/agreement/r/reference.json, made by reference.R beside it.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from survtrace.metrics import (
    aalen_johansen,
    auc,
    auc_at,
    brier_score,
    brier_score_at,
    censoring_survival,
    concordance_cause_specific,
    concordance_paper,
    integrated_brier_score,
    kaplan_meier,
)
from survtrace.tables.outcome.outcome import read_outcome

HERE = Path(__file__).parent
REFERENCE = HERE.parent / "tests" / "agreement" / "r" / "reference.json"
RESULTS = HERE / "results" / "r_agreement.json"


def main() -> None:
    reference = json.loads(REFERENCE.read_text())
    found = {name: differences(table) for name, table in reference["tables"].items()}
    largest: dict[str, float] = defaultdict(float)
    for table in found.values():
        for score, difference in table.items():
            largest[score] = max(largest[score], difference)
    report = {"largest": largest, "by_table": found, "versions": reference["versions"]}
    RESULTS.write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps(largest, indent=1))


def differences(table: dict[str, Any]) -> dict[str, float]:
    """The largest absolute difference to R for each score; relative for standard errors."""
    largest: dict[str, float] = defaultdict(float)
    for score, ours, theirs in _pairs(table):
        expected = np.array(theirs, dtype=float)
        known = np.isfinite(expected)  # R has no AUC without cases
        gap = np.abs(np.asarray(ours, dtype=float) - expected)[known]
        if score.endswith("error"):
            gap = gap / expected[known]
        largest[score] = max(largest[score], float(np.nan_to_num(gap, nan=np.inf).max(initial=0)))
    return dict(largest)


def _pairs(table: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Score, our values, R's values."""
    labels, x = np.atleast_1d(table["labels"]).tolist(), np.array(table["x"])
    censored = "censored" if isinstance(labels[0], str) else 0
    event = [labels[k - 1] if k else censored for k in table["event"]]
    y = {"event": np.array(event, dtype=object), "duration": np.array(table["duration"])}
    outcome, times = read_outcome(y), np.array(table["times"], dtype=float)
    incidence = np.outer(x, table["factors"])
    yield from _curves(outcome, times, table["curves"])
    for label, theirs in zip(labels, table["causes"], strict=True):
        yield from _scores(y, incidence, x, times, label, theirs)


def _curves(outcome: Any, times: Any, theirs: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    yield "Kaplan-Meier (survival)", kaplan_meier(outcome).at(times), theirs["kaplan_meier"]
    incidence = aalen_johansen(outcome).at(times)
    yield "Aalen-Johansen (cmprsk)", incidence, theirs["aalen_johansen"]
    G = censoring_survival(outcome).at(times)
    yield "censoring survival (prodlim)", G, theirs["censoring_survival"]
    first = np.sort(outcome.duration[outcome.event > 0])[:40]
    weights = censoring_survival(outcome).inverse_before(first)
    yield "event weights 1 / G(t-) (pec)", weights, theirs["event_weights"]


def _scores(
    y: Any, incidence: Any, x: Any, times: Any, cause: Any, theirs: dict[str, Any]
) -> Iterator[tuple[str, Any, Any]]:
    by_time = brier_score(y, incidence, times, cause=cause)
    yield "Brier (riskRegression)", by_time, theirs["brier"]
    yield "Brier (pec)", by_time, theirs["brier_pec"]
    integral = integrated_brier_score(y, incidence, times, cause=cause)
    yield "IBS, trapezoidal (riskRegression)", integral, theirs["integrated_brier"]
    yield "AUC (riskRegression)", auc(y, incidence, times, cause=cause), theirs["auc"]
    columns = list(zip(incidence.T, times, strict=True))
    errors = [brier_score_at(y, p, t, cause=cause).standard_error for p, t in columns]
    yield "Brier, relative difference of standard error", errors, theirs["brier_error"]
    if "auc_error" in theirs:
        errors = [auc_at(y, p, t, cause=cause).standard_error for p, t in columns]
        yield "AUC, relative difference of standard error", errors, theirs["auc_error"]
    if "concordance_pec" in theirs:
        ours = concordance_cause_specific(y, x, times[3], cause=cause)
        yield "cause-specific concordance (pec)", ours, theirs["concordance_pec"]
    if "uno" in theirs:
        ours = concordance_paper(y, x, np.nextafter(times[3], np.inf), cause=cause)
        yield "Uno's concordance (survival)", ours, theirs["uno"]


if __name__ == "__main__":
    main()
