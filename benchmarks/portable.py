"""The portable predictor against the estimator: differences, import time, size, one patient.

Six models of few epochs (flchain's four causes with eight members; one cause; one member; one
updated by level and slope; late entry; the paper's small network), 10,000 random raw rows each:
columns shuffled, values missing, levels unseen; by numpy and by the kernel. Then the time of an
import in fresh interpreters, the megabytes that it needs installed, how long one patient takes as a
mapping, with all warnings looked for, and how many rows a second requests of 1,000 patients get
(states, intervals, typicality; one core). With --install it also makes a fresh environment with
nothing but packages/portable in it, and predicts there. Writes results/portable.json.
"""

from __future__ import annotations

import io
import json
import os
import platform
import subprocess
import sys
import tempfile
import warnings
from datetime import date
from importlib.metadata import files
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import survtrace
from survtrace import SurvTRACE, portable
from survtrace.datasets import load_flchain, make_cohort

RESULTS = Path(__file__).parent / "results"
N_ROWS = 10_000
IMPORT = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"


def models() -> dict[str, tuple[SurvTRACE, pd.DataFrame]]:
    """Fit the models, each with the table it is to be asked about."""
    small: dict[str, Any] = {"max_epochs": 5, "verbose": False, "random_state": 0}
    X, y = make_cohort(2_000, n_causes=4, missing=0.1, random_state=0)
    died = y.assign(event=(y["event"] > 0).astype(int))
    chain = load_flchain()
    one = SurvTRACE(n_members=4, **small).fit(X[:1000], died[:1000])
    updated = SurvTRACE(n_members=4, **small).fit(X[:1000], died[:1000])
    updated.update(X[1000:], died[1000:], how="slope")
    late = make_cohort(2_000, n_causes=2, late_entry=0.5, random_state=1)
    paper = {"token_bias": False, "proportional": 0.0, "head_depth": 1, "n_heads": 1}
    return {
        "flchain, four causes, eight members": (SurvTRACE(**small).fit(*chain), chain[0]),
        "one cause": (one, X),
        "one member, four causes": (SurvTRACE(n_members=1, **small).fit(X, y), X),
        "one cause, updated by slope": (updated, X),
        "late entry, two causes": (SurvTRACE(n_members=2, **small).fit(*late), late[0]),
        "the paper's network": (SurvTRACE(n_members=2, **paper, **small).fit(X, y), X),
    }


def random_rows(X: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Draw raw rows: each column on its own, some values missing, some levels never seen."""
    rng, columns = np.random.default_rng(seed), {}
    for name in X:
        column = X[name].astype(object).to_numpy()[rng.integers(len(X), size=N_ROWS)]
        where = rng.random(N_ROWS)
        if any(isinstance(value, str) for value in column):
            column[where > 0.98] = "never seen"
        column[where < 0.1] = None
        columns[str(name)] = column
    return pd.DataFrame(columns)


def largest_differences(est: SurvTRACE, light: Any, X: pd.DataFrame) -> dict[str, float]:
    """Largest absolute difference of each answer; relative above 1, and to the grid for times."""
    end = float(est.time_grid_[-1])
    times, after = np.linspace(0, end, 20), np.linspace(0, 0.9 * end, len(X))
    asked: dict[str, tuple[str, tuple[Any, ...], dict[str, Any], float]] = {
        "survival": ("predict_survival_function", (times,), {}, 1.0),
        "incidence": ("predict_cumulative_incidence", (times,), {}, 1.0),
        "incidence, conditional": (
            "predict_cumulative_incidence", (times,), {"conditional_after": after}, 1.0
        ),
        "interval": ("predict_interval", (times,), {}, 1.0),
        "cumulative hazard": ("predict_cumulative_hazard_function", (times,), {}, 1.0),
        "restricted mean": ("predict_rmst", (end / 2,), {}, end),
        "typicality": ("typicality", (), {}, 1.0),
    }  # fmt: skip
    rows, found = X.to_dict("records"), {}
    for name, (method, args, how, scale) in asked.items():
        if method == "predict_interval" and est.interval_ is None:
            continue
        expected, got = (
            getattr(est, method)(X, *args, **how),
            getattr(light, method)(rows, *args, **how),
        )
        size = scale * np.maximum(1.0, np.abs(np.asarray(expected) / scale))
        found[name] = float((np.abs(np.asarray(got) - np.asarray(expected)) / size).max())
    return found


def import_seconds(module: str) -> float:
    """Median over fresh interpreters, of the import statement alone."""
    command = [sys.executable, "-c", IMPORT.format(module)]
    runs = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(9)]
    return float(np.median([float(run.stdout) for run in runs]))


def megabytes(package: str) -> float:
    """Size of what a package installs."""
    return sum(file.size or 0 for file in files(package) or ()) / 2**20


ONE_PATIENT = """
import json, sys, time, warnings
import numpy as np
from survtrace import portable
warnings.simplefilter("ignore")
light = portable.load(sys.argv[1], compiled=sys.argv[2] == "kernel")
rows, taken = json.load(sys.stdin), []
times = light.time_grid_[1:3]
for k in range(5_000):
    row = [rows[k % len(rows)]]
    begin = time.perf_counter()
    light.predict_cumulative_incidence(row, times)
    taken.append(1e6 * (time.perf_counter() - begin))
print(json.dumps(np.quantile(taken, [0.0, 0.5, 0.95]).tolist()))
"""


MANY_PATIENTS = """
import json, sys, time, warnings
import numpy as np
from survtrace import portable
from survtrace.inference.interval import ends_of_states, with_cuts
warnings.simplefilter("ignore")
light, rows = portable.load(sys.argv[1], compiled=sys.argv[2] == "kernel"), json.load(sys.stdin)
predictor, times = light._predictor(), light.time_grid_[1:3]
points = with_cuts(light.time_grid_, times)
taken = []
for _ in range(20):
    begin = time.perf_counter()
    encoded = predictor.encode(rows, judge=False)
    predictor.judge(encoded)
    mean, std = predictor.curve_of(encoded, "states", points, with_std=True)
    ends_of_states(light.interval_, mean, std, light.time_grid_, times, 0.95)
    taken.append(time.perf_counter() - begin)
print(len(rows) / np.median(taken), len(rows) / min(taken))
"""


def many_patients(folder: str, X: pd.DataFrame, how: str) -> dict[str, float]:
    """Rows a second of requests of 1,000 patients: states, intervals, typicality; one thread."""
    command = [sys.executable, "-c", MANY_PATIENTS, folder, how]
    text, env = X[:1_000].to_json(orient="records"), {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    run = subprocess.run(command, input=text, capture_output=True, text=True, check=True, env=env)
    return dict(zip(("median", "best"), map(float, run.stdout.split()), strict=True))


ALONE = """
import json, sys, warnings
warnings.simplefilter("ignore")
from survtrace import portable
rows = json.load(sys.stdin)
print(json.dumps(portable.load(sys.argv[1]).predict(rows).tolist()))
"""


def fresh_install(folder: str, X: pd.DataFrame) -> dict[str, Any]:
    """Install packages/portable into a fresh environment, and predict in it."""
    root = Path(__file__).parents[1]
    with tempfile.TemporaryDirectory() as place:
        subprocess.run([sys.executable, "-m", "venv", place], check=True)
        pip = [f"{place}/bin/python", "-m", "pip"]
        small = str(root / "packages" / "portable")
        subprocess.run([*pip, "install", "--quiet", small], check=True)
        listed = subprocess.run([*pip, "freeze"], capture_output=True, text=True, check=True)
        text = X[:200].to_json(orient="records")
        command = [f"{place}/bin/python", "-c", ALONE, folder]
        run = subprocess.run(
            command, input=text, capture_output=True, text=True, check=True, cwd=place
        )
        site = next(Path(place).glob("lib/python*/site-packages"))
        sizes = {
            name: sum(file.stat().st_size for file in site.glob(f"{name}*/**/*") if file.is_file())
            for name in ("numpy", "safetensors", "survtrace")
        }
    expected = survtrace.load(folder).predict(pd.read_json(io.StringIO(text)))
    return {
        "packages": [line.split()[0].partition("==")[0] for line in listed.stdout.splitlines()],
        "megabytes": {name: size / 2**20 for name, size in sizes.items()},
        "largest difference": float(np.abs(np.array(json.loads(run.stdout)) - expected).max()),
    }


def one_patient(folder: str, X: pd.DataFrame, how: str) -> dict[str, float]:
    """Microseconds for the incidences of one patient at two times, of 200 by turns; one thread."""
    command = [sys.executable, "-c", ONE_PATIENT, folder, how]
    text, env = X[:200].to_json(orient="records"), {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    run = subprocess.run(command, input=text, capture_output=True, text=True, check=True, env=env)
    return dict(zip(("best", "median", "95 %"), json.loads(run.stdout), strict=True))


def main() -> None:
    found: dict[str, Any] = {"machine": platform.processor() or platform.machine()}
    found["date"], found["load"] = date.today().isoformat(), os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(action="ignore"):
        differences = {}
        for k, (name, (est, X)) in enumerate(models().items()):
            est.save(f"{folder}/{k}")
            for how in ("numpy", "kernel"):
                light = portable.load(f"{folder}/{k}", compiled=how == "kernel")
                found_now = largest_differences(
                    survtrace.load(f"{folder}/{k}"), light, random_rows(X, k)
                )
                differences[f"{name}, {how}"] = found_now
                print(name, how, {what: f"{value:.1e}" for what, value in found_now.items()})
            if k == 0:
                found["microseconds for one patient"] = {
                    how: one_patient(f"{folder}/{k}", X, how) for how in ("numpy", "kernel")
                }
                found["rows a second"] = {
                    how: many_patients(f"{folder}/{k}", X, how) for how in ("numpy", "kernel")
                }
                if "--install" in sys.argv:
                    found["fresh environment"] = fresh_install(f"{folder}/{k}", X)
    found["largest differences"] = differences
    found["seconds to import"] = {
        module: import_seconds(module) for module in ("numpy", "survtrace.portable", "torch")
    }
    package = Path(survtrace.__file__).parent
    own = sum(file.stat().st_size for file in package.rglob("*.py")) / 2**20
    found["megabytes installed"] = {
        "numpy, safetensors, survtrace": megabytes("numpy") + megabytes("safetensors") + own,
        "torch beside them": megabytes("torch"),
    }
    for what in list(found)[1:]:
        print(what, found[what])
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "portable.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
