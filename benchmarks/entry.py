"""Late entry on a simulated cohort: distance to the truth, and the bias when entry is ignored.

A cohort of 20,000 is fitted four times: seen from the start; half of it seen from a later month on
(who had an event by then is never seen); the same rows with entry left out, as if all had been seen
from the start; and another of 20,000 seen subjects, half of them late. Each fit predicts the
incidences of 10,000 new subjects from their start, whose truth is known. Cox beside it.

    python benchmarks/entry.py              # writes benchmarks/results/entry.json
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from survtrace import SurvTRACE
from survtrace.baselines import CauseSpecificCox
from survtrace.datasets import make_cohort

RESULTS = Path(__file__).parent / "results" / "entry.json"
N_SUBJECTS, N_TEST, MONTHS = 20_000, 10_000, np.arange(6.0, 121.0, 6.0)
BIAS_AT = (12.0, 60.0, 120.0)
START, LATE, IGNORED, AS_MANY = "from the start", "half late", "entry ignored", "20,000, half late"
Cohort = tuple[pd.DataFrame, pd.DataFrame]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--subjects", type=int, default=N_SUBJECTS)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    found = [
        {"seed": seed, "method": method, "cohort": name, **scores(method, seed, *table)}
        for seed in range(given.seeds)
        for name, table in cohorts(given.subjects, seed).items()
        for method in ("SurvTRACE", "Cox")
    ]
    report = {"subjects": given.subjects, "test": N_TEST, "months": MONTHS.tolist(), "fits": found}
    RESULTS.write_text(json.dumps(report, indent=1) + "\n")
    print(markdown(report))


def cohorts(n_subjects: int, seed: int) -> dict[str, Cohort]:
    """The same subjects seen from the start, late, and late without saying so; and as many late."""
    X, late = make_cohort(n_subjects, late_entry=0.5, random_state=seed)
    return {
        START: make_cohort(n_subjects, random_state=seed),
        LATE: (X, late),
        IGNORED: (X, late.drop(columns="entry")),
        AS_MANY: half_late(n_subjects, seed),
    }


def half_late(n_seen: int, seed: int) -> Cohort:
    """So many subjects who are seen, half of them late: others are drawn until there are enough."""
    X, y = make_cohort(2 * n_seen, late_entry=0.5, random_state=100 + seed)
    late = (y["entry"] > 0).to_numpy()
    rows = np.concatenate([np.flatnonzero(some)[: n_seen // 2] for some in (late, ~late)])
    return X.iloc[rows].reset_index(drop=True), y.iloc[rows].reset_index(drop=True)


def scores(method: str, seed: int, X: pd.DataFrame, y: pd.DataFrame) -> dict[str, Any]:
    """Fit, and compare what is predicted for new subjects with their truth."""
    test_X, _, truth = make_cohort(N_TEST, random_state=200 + seed, return_truth=True)
    est: Any = (
        SurvTRACE(random_state=seed, verbose=False)
        if method == "SurvTRACE"
        else CauseSpecificCox(n_grid=200)
    )
    began = time.perf_counter()
    est.fit(X, y)
    seconds = time.perf_counter() - began
    gap = est.predict_cumulative_incidence(test_X, MONTHS) - truth.incidence(MONTHS)
    at = [int(np.flatnonzero(month == MONTHS)[0]) for month in BIAS_AT]
    return {
        "rows": len(y),
        "late": int((y["entry"] > 0).sum()) if "entry" in y else 0,
        "events": int((y["event"] > 0).sum()),
        "distance": root_mean_square(gap),
        "distance_by_cause": [root_mean_square(gap[:, k]) for k in range(gap.shape[1])],
        "bias_in_points": [[100 * float(gap[:, k, j].mean()) for j in at] for k in range(2)],
        "seconds": round(seconds, 1),
    }


def root_mean_square(gap: Any) -> float:
    return float(np.sqrt(np.mean(gap**2)))


def markdown(report: dict[str, Any]) -> str:
    """Mean over seeds, a row for each method and cohort; ratios to the cohort from the start."""
    table = pd.DataFrame(report["fits"])
    lines = [
        "| | rows, events | distance to the truth | times that from the start "
        "| bias in points at 12, 60, 120 months: cause 1 | cause 2 |",
        "|---|---|---|---|---|---|",
    ]
    for (method, name), some in table.groupby(["method", "cohort"], sort=False):
        same = table[(table["method"] == method) & (table["cohort"] == START)]
        ratios = some["distance"].to_numpy() / same["distance"].to_numpy()
        bias = np.mean(np.array(some["bias_in_points"].tolist()), axis=0)
        words = [" ".join(f"{value:+.1f}" for value in each) for each in bias]
        counts = f"{some['rows'].mean():,.0f}, {some['events'].mean():,.0f}"
        ratio = f"{ratios.mean():.2f} ({ratios.min():.2f} to {ratios.max():.2f})"
        row = [f"{method}, {name}", counts, f"{some['distance'].mean():.4f}", ratio, *words]
        lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
