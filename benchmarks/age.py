"""Age as the clock on simulated people: the next ten years against the truth, by age.

6,000 people enter between 40 and 80 and are followed for up to twelve years; the hazards of two
causes grow with age (Gompertz), so the truth is known. The incidence of cause 1 in the next ten
years is predicted for 3,000 others by

- age as the clock, with the default grid;
- age as the clock, with no more than four intervals over all ages;
- time since entry as the clock, with age as a covariate.

    python benchmarks/age.py                # writes benchmarks/results/age.json
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from survtrace import Surv, SurvTRACE

RESULTS = Path(__file__).parent / "results" / "age.json"
N_SUBJECTS, N_TEST, AHEAD, DECADES = 6_000, 3_000, 10.0, (40, 50, 60, 70)
GROWTH, AT_60 = np.array([0.085, 0.1]), np.array([0.006, 0.008])  # of each cause's hazard, a year
BY_AGE, FOUR, SINCE_ENTRY = "by age", "by age, four intervals", "since entry, age a covariate"
Floats = NDArray[np.float64]


class People(NamedTuple):
    """Covariates, log hazard ratios of each cause, and ages at entry and at the end."""

    X: pd.DataFrame
    ratios: Floats
    entry: Floats
    end: Floats
    event: NDArray[np.int64]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    found = [row for seed in range(given.seeds) for row in compare(seed)]
    report = {"subjects": N_SUBJECTS, "years_ahead": AHEAD, "rows": found}
    RESULTS.write_text(json.dumps(report, indent=1) + "\n")
    print(markdown(report))


def draw(n: int, seed: int) -> People:
    """Draw people and what becomes of them after they entered."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"bmi": rng.normal(27, 4, n), "pressure": rng.normal(140, 18, n)})
    smoker, diabetes = rng.random(n) < 0.3, rng.random(n) < 0.15
    bmi, pressure = (X["bmi"] - 27) / 4, (X["pressure"] - 140) / 18
    X["smoker"], X["diabetes"] = np.where(smoker, "yes", "no"), np.where(diabetes, "yes", "no")
    first = 0.4 * pressure + 0.7 * smoker + 0.5 * diabetes + 0.2 * bmi**2 - 0.2
    ratios = np.stack([first, 0.6 * smoker + 0.2 * bmi], axis=1)
    entry = rng.uniform(40, 80, n)
    # The age at which the hazard since entry has added up to an exponential number.
    waits = GROWTH * rng.exponential(size=(n, 2)) / (AT_60 * np.exp(ratios))
    struck = 60 + np.log(np.exp(GROWTH * (entry[:, None] - 60)) + waits) / GROWTH
    left = entry + rng.uniform(3, 12, n)
    end = np.minimum(struck.min(axis=1), left)
    event = np.where(end == left, 0, 1 + struck.argmin(axis=1))
    return People(X, ratios, entry, end, event)


def true_incidence(people: People) -> Floats:
    """Chance of cause 1 in the years ahead, by numerical integration."""
    step = AHEAD / 500
    total, survival_loss = np.zeros(len(people.entry)), np.zeros(len(people.entry))
    for middle in np.arange(step / 2, AHEAD, step):
        age = (people.entry + middle - 60)[:, None]
        hazards = AT_60 * np.exp(people.ratios + GROWTH * age)
        total += np.exp(-survival_loss - hazards.sum(axis=1) * step / 2) * hazards[:, 0] * step
        survival_loss += hazards.sum(axis=1) * step
    return total


def compare(seed: int) -> list[dict[str, Any]]:
    """Predict the years ahead by every method, and tell how far they are from the truth."""
    people, others = draw(N_SUBJECTS, seed), draw(N_TEST, 1000 + seed)
    truth, decade = true_incidence(others), 10 * (others.entry // 10)
    found = []
    for method, predicted in predictions(people, others, seed).items():
        gap = 100 * (predicted - truth)
        rows: dict[str, Any] = {
            "bias_in_points": [float(gap[decade == each].mean()) for each in DECADES],
            "distance_in_points": float(np.sqrt(np.mean(gap**2))),
        }
        true = [100 * float(truth[decade == each].mean()) for each in DECADES]
        found.append({"seed": seed, "method": method, "true_percent": true, **rows})
    return found


def predictions(people: People, others: People, seed: int) -> dict[str, Floats]:
    """The chance of cause 1 in the years ahead, by method."""
    by_age = Surv.from_arrays(people.event, people.end, entry=people.entry)
    four = np.quantile(people.end[people.event > 0], [0.25, 0.5, 0.75, 1.0])
    settings: dict[str, Any] = {"random_state": seed, "verbose": False}
    found = {}
    for method, grid in {BY_AGE: None, FOUR: four}.items():
        est = SurvTRACE(**settings, time_grid=grid).fit(people.X, by_age)
        found[method] = est.predict_cumulative_incidence(
            others.X, others.entry[:, None] + AHEAD, cause=1, conditional_after=others.entry
        )[:, 0]
    since = Surv.from_arrays(people.event, people.end - people.entry)
    est = SurvTRACE(**settings).fit(people.X.assign(age=people.entry), since)
    asked = others.X.assign(age=others.entry)
    found[SINCE_ENTRY] = est.predict_cumulative_incidence(asked, [AHEAD], cause=1)[:, 0]
    return found


def markdown(report: dict[str, Any]) -> str:
    """Means over draws, a row for each method."""
    table = pd.DataFrame(report["rows"])
    ages = ", ".join(f"{age}s" for age in DECADES)
    true = " ".join(f"{each:.1f}" for each in np.mean(table["true_percent"].tolist(), axis=0))
    lines = [
        f"| | bias in points, {ages} (true: {true} %) | distance in points |",
        "|---|---|---|",
    ]
    for method, some in table.groupby("method", sort=False):
        bias = np.mean(some["bias_in_points"].tolist(), axis=0)
        words = " ".join(f"{each:+.1f}" for each in bias)
        lines.append(f"| {method} | {words} | {some['distance_in_points'].mean():.2f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
