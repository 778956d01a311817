"""A treatment that starts in the course of time: predictions at landmarks against the truth.

Start-stop rows teach hazards of covariates as they stand, so a prediction at a landmark is that of
a subject whose covariates stay as they are. Two simulated cohorts of 20,000:

- treatment starts until month 24, or never: from then on nothing changes, and what the covariates
  as they stand say is what will be seen;
- treatment always may start: there are two truths, as if it stayed and with starts to come. Start-
  stop rows give the first; a fit on the rows of the landmark, whose covariates are those of that
  time and whose treatment starts as it does, the second.

Beside a fit on first values only, and Cox with start-stop rows.

    python benchmarks/changing.py           # writes benchmarks/results/changing.json
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from survtrace import SurvTRACE, landmark
from survtrace.baselines import CauseSpecificCox
from survtrace.datasets import make_changing_cohort

RESULTS = Path(__file__).parent / "results" / "changing.json"
N_SUBJECTS, N_TEST, SEED = 20_000, 5_000, 0
AHEAD = np.arange(6.0, 61.0, 6.0)  # months after the landmark
COHORTS = {
    "starts until month 24": {"last_start": 24.0, "landmarks": (24.0, 48.0)},
    "always may start": {"last_start": np.inf, "landmarks": (12.0, 24.0, 48.0)},
}
START_STOP, FIRST, COX, LANDMARK = (
    "SurvTRACE, start-stop rows", "SurvTRACE, first values only", "Cox, start-stop rows",
    "SurvTRACE, rows of the landmark",
)  # fmt: skip
Table = tuple[pd.DataFrame, pd.DataFrame]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--subjects", type=int, default=N_SUBJECTS)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    found = [
        {"cohort": name, **row}
        for name, setting in COHORTS.items()
        for row in study(given.subjects, setting["last_start"], setting["landmarks"])
    ]
    report = {"subjects": given.subjects, "months_ahead": AHEAD.tolist(), "rows": found}
    RESULTS.write_text(json.dumps(report, indent=1) + "\n")
    print(markdown(report))


def study(n_subjects: int, last_start: float, landmarks: tuple[float, ...]) -> list[dict[str, Any]]:
    """Fit every method and compare its predictions at each landmark with both truths."""
    how = {"last_start": last_start}
    train = make_changing_cohort(n_subjects, random_state=SEED, **how)
    test = make_changing_cohort(N_TEST, random_state=SEED + 1, return_truth=True, **how)
    predictors = {
        START_STOP: fitted(SurvTRACE(random_state=0, verbose=False), train),
        FIRST: fitted(SurvTRACE(random_state=0, verbose=False), first_values(*train)),
        COX: fitted(CauseSpecificCox(n_grid=200), train),
    }
    rows = []
    for at in landmarks:
        if np.isinf(last_start):
            est = SurvTRACE(random_state=0, verbose=False)
            predictors[LANDMARK] = fitted(est, at_landmark(*train, at))
        rows += [
            {"landmark": at, "method": name, **distances(predict, test, at, name == FIRST)}
            for name, predict in predictors.items()
        ]
    return rows


def fitted(est: Any, table: Table) -> Callable[..., Any]:
    """Fit an estimator; return its incidences."""
    began = time.perf_counter()
    est.fit(*table)
    print(type(est).__name__, len(table[0]), "rows", round(time.perf_counter() - began), "s")
    return est.predict_cumulative_incidence


def first_values(X: pd.DataFrame, y: pd.DataFrame) -> Table:
    """One row for each subject: its first covariates, and what ended its follow-up."""
    subject = y.groupby("id")
    outcome = {"event": subject["event"].last(), "duration": subject["duration"].last()}
    first = ~y["id"].duplicated()
    return X[first].reset_index(drop=True), pd.DataFrame(outcome).reset_index(drop=True)


def at_landmark(X: pd.DataFrame, y: pd.DataFrame, at: float) -> Table:
    """The subjects at risk at a landmark, with the covariates of then and their later outcome."""
    table = landmark(X.assign(**y), at=at).drop(columns="landmark").set_index("id")
    outcome = ["entry", "duration", "event"]
    return table.drop(columns=outcome), table[outcome]


def distances(predict: Callable[..., Any], test: Any, at: float, first: bool) -> dict[str, Any]:
    """Root mean squared distance to either truth, over causes and times, in points."""
    X, y, truth = test
    known = at_landmark(X, y, at)[0]
    subjects = known.index.to_numpy()
    known = X[~y["id"].duplicated()].iloc[subjects] if first else known
    at_risk, times = truth.take(subjects), at + AHEAD
    incidence = predict(known, times, conditional_after=at)
    stays, goes_on = (at_risk.incidence(times, at=at, stays=each) for each in (True, False))
    treated = (at_risk.start <= at) & (at_risk.start > 0)
    return {
        "at_risk": len(subjects),
        "started_since_0": float(treated.mean()),
        "to_as_if_it_stayed": distance(incidence, stays),
        "to_starts_to_come": distance(incidence, goes_on),
        "between_truths": distance(stays, goes_on),
        "of_those_started_since_0": distance(incidence[treated], goes_on[treated]),
    }


def distance(one: Any, other: Any) -> float:
    return 100 * float(np.sqrt(np.mean((one - other) ** 2)))


def markdown(report: dict[str, Any]) -> str:
    """A row for each cohort, landmark and method."""
    lines = [
        "| cohort, landmark (at risk, treated since month 0) | method "
        "| to the truth as if it stayed | with starts to come | of those treated since month 0 |",
        "|---|---|---|---|---|",
    ]
    for row in report["rows"]:
        what = f"{row['cohort']}, {row['landmark']:.0f} ({row['at_risk']:,}, " + (
            f"{100 * row['started_since_0']:.0f} %)"
        )
        keys = ("to_as_if_it_stayed", "to_starts_to_come", "of_those_started_since_0")
        numbers = [f"{row[key]:.2f}" for key in keys]
        lines.append("| " + " | ".join([what, row["method"], *numbers]) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
