"""How often subjects outlive their lower bound: calibrated, and naive, under several censorings.

An estimator is fitted once to 2,000 simulated subjects with two competing causes; another one is
the same with its risk scores blurred by a covariate that does nothing ("blurred"). Each repeat
draws subjects to calibrate on, censors them by one of the laws, and counts who of 2,000 others
outlives the bound in truth. "naive" is the time by which the estimator predicts an event with
probability 1 - level; "observed" calibrates on the durations as if nobody were censored.
"""

from __future__ import annotations

import json
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from survtrace import SurvTRACE
from survtrace.conformal import SurvivalLowerBound
from survtrace.conformal.misses import crossing_time
from survtrace.datasets import make_cohort

RESULTS = Path(__file__).parent / "results" / "lower_bound.json"
N_TRAIN, N_TEST, LEVEL = 2000, 2000, 0.9
SIZES = (300, 1000, 2000)
LAWS = ("independent", "heavy", "cox", "sicker stay", "not cox")
QUESTIONS = {"any": None, "cause 2": 2}


def main(n_repeats: int, n_processes: int) -> None:
    jobs = [(law, n, seed) for seed, law, n in product(range(n_repeats), LAWS, SIZES)]
    fitted()  # once, for all processes that are forked from this one
    found: list[dict[str, Any]] = []
    with ProcessPoolExecutor(n_processes, mp_context=get_context("fork")) as pool:
        for k, rows in enumerate(pool.map(repeat, jobs)):
            found += rows
            if (k + 1) % (len(LAWS) * len(SIZES)) == 0:  # every law and size as often
                table = summarise(found)
                rows = table.round(4).reset_index().to_dict("records")
                report = {"repeats": jobs[k][2] + 1, "level": LEVEL, "rows": rows}
                RESULTS.write_text(json.dumps(report, indent=1) + "\n")
    print(table.round(3).to_string())


def summarise(found: list[dict[str, Any]]) -> pd.DataFrame:
    """Mean over repeats, with the standard error of the coverage."""
    by = ["question", "law", "estimator", "n", "way"]
    return (
        pd.DataFrame(found)
        .groupby(by, sort=False)
        .agg(
            coverage=("coverage", "mean"),
            se=("coverage", lambda each: each.std() / len(each) ** 0.5),
            in_high_risk_tenth=("high", "mean"),
            median_bound=("bound", "mean"),
        )
    )


class Remembered:
    """An estimator that predicts the same table at the same times once.

    "blurred" multiplies its cumulative hazards by what does not matter.
    """

    def __init__(self, est: SurvTRACE, blurred: bool) -> None:
        self.est, self.blurred, self.known = est, blurred, dict[Any, Any]()
        self.causes_, self.time_grid_, self.encoding_ = est.causes_, est.time_grid_, est.encoding_

    def predict_survival_function(self, X: Any, times: Any) -> Any:
        """Survival, to the power of a factor if blurred."""
        survival = self._once(self.est.predict_survival_function, X, times)
        factor = np.exp(np.sin(7 * X["body_mass_index"].to_numpy()))
        return survival ** factor[:, None] if self.blurred else survival

    def predict_cumulative_incidence(self, X: Any, times: Any, cause: Any) -> Any:
        """The incidence of a cause."""
        return self._once(self.est.predict_cumulative_incidence, X, times, cause)

    def _once(self, method: Any, X: Any, times: Any, *cause: Any) -> Any:
        key = (X["age"].to_numpy().tobytes(), times.tobytes(), *cause)
        if key not in self.known:
            self.known[key] = method(X, times, *cause)
        return self.known[key]


@cache
def fitted() -> dict[str, Any]:
    X, y, _ = draw(N_TRAIN, "independent", 12345)
    est = SurvTRACE(n_members=4, device="cpu", n_threads=1, random_state=0, verbose=False)
    est.fit(X, y)
    return {name: Remembered(est, name == "blurred") for name in ("SurvTRACE", "blurred")}


def draw(n: int, law: str, seed: Any) -> tuple[pd.DataFrame, pd.DataFrame, Any]:
    """Covariates, censored outcome, and the truth."""
    rng = np.random.default_rng(seed)
    settings = {"proportions": (0.35, 0.15), "continuous": True, "return_truth": True}
    X, _, truth = make_cohort(n, **settings, random_state=rng)
    age = ((X["age"] - 62) / 13).to_numpy()
    late = X["stage"].isin(["III", "IV"]).to_numpy()
    end = censoring_times(law, age, late, rng)
    seen = truth.duration <= end
    y = {"event": np.where(seen, truth.event, 0), "duration": np.minimum(truth.duration, end)}
    return X, pd.DataFrame(y), truth


def censoring_times(law: str, age: Any, late: Any, rng: np.random.Generator) -> Any:
    n = len(age)
    if law == "independent":
        return rng.uniform(0, 121, n)
    if law == "heavy":
        return rng.uniform(0, 40, n)
    if law == "cox":  # those at risk leave early
        return rng.exponential(60 * np.exp(-0.7 * age - 1.0 * late))
    if law == "sicker stay":
        return rng.exponential(40 * np.exp(0.7 * age + 1.0 * late))
    return 45 * np.exp(-0.5 * np.abs(age) - 0.8 * late * (age > 0)) * rng.weibull(2.5, n)


def repeat(job: tuple[str, int, int]) -> list[dict[str, Any]]:
    warnings.simplefilter("ignore")
    law, n, seed = job
    X, y, _ = draw(n, law, [seed, n, LAWS.index(law)])
    new, _, truth = draw(N_TEST, law, [seed, n, LAWS.index(law), 1])
    high = truth.survival([36.0])[:, 0]
    high = high <= np.quantile(high, 0.1)
    rows = []
    for est in fitted().values():
        est.known.clear()
    for (name, est), (question, cause) in product(fitted().items(), QUESTIONS.items()):
        if cause is not None and name == "blurred":
            continue
        event_time = (
            truth.duration
            if cause is None
            else np.where(truth.event == cause, truth.duration, np.inf)
        )
        for way in ("naive", "observed", "kaplan-meier", "cox"):
            bound = bounds(way, est, cause, X, y, new)
            held = event_time >= bound
            row = {"question": question, "law": law, "estimator": name, "n": n, "way": way}
            middle = float(np.median(bound))
            found = {"coverage": held.mean(), "high": held[high].mean(), "bound": middle}
            rows.append({**row, **found})
    return rows


def bounds(way: str, est: Any, cause: Any, X: Any, y: Any, new: Any) -> Any:
    """The bounds of new subjects."""
    kind = "cox" if way == "cox" else "kaplan-meier"
    bound = SurvivalLowerBound(est, LEVEL, cause=cause, censoring=kind)
    bound.fit(X, y.assign(event=cause or 1) if way == "observed" else y)
    if way == "naive":
        incidence = bound.predicted_incidence(new)
        return crossing_time(bound.times_, incidence, np.full_like(incidence, 1 - LEVEL))
    return bound.predict(new)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:] or (40, 2)))
