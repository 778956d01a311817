"""Save four tiny estimators in today's format, with what they predict, for tests of later versions.

Run once for each new format: ``python tests/saved_formats/make.py``. It writes format_N/ beside
itself; folders of earlier formats are never written again, since only versions of that time can.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from survtrace import SurvTRACE
from survtrace.saved_folder import FORMAT_VERSION

FOLDER = Path(__file__).parent / f"format_{FORMAT_VERSION}"
TIMES = [1.0, 4.0, 9.0]
SETTINGS = {
    "n_members": 2,
    "n_intervals": 3,
    "width": 4,
    "depth": 1,
    "n_heads": 2,
    "hidden": 8,
    "batch_size": 32,
    "max_epochs": 2,
    "unknown_steps": 5,
    "device": "cpu",
    "n_threads": 1,
    "random_state": 0,
    "verbose": False,
}


def draw(n_causes: int, n_subjects: int = 200) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Draw covariates of every kind, and an outcome with some causes."""
    rng = np.random.default_rng(n_causes)
    X = pd.DataFrame(
        {
            "age": rng.normal(60.0, 10.0, n_subjects).round(1),
            "size": np.where(rng.random(n_subjects) < 0.1, np.nan, rng.gamma(2.0, 3.0, n_subjects)),
            "sex": rng.choice(["f", "m"], n_subjects),
            "stage": rng.choice(["I", "II", "III"], n_subjects),
        }
    )
    latent = rng.exponential(np.arange(10, 10 + n_causes), (n_subjects, n_causes))
    censoring = rng.uniform(1.0, 20.0, n_subjects)
    first = latent.min(axis=1)
    event = np.where(first < censoring, latent.argmin(axis=1) + 1, 0)
    return X, pd.DataFrame({"event": event, "duration": np.minimum(first, censoring)})


def fit_all() -> dict[str, SurvTRACE]:
    """Fit an estimator for each kind of folder there is."""
    X, y = draw(1)
    several, z = draw(2)
    words = z.assign(event=z["event"].map({0: "alive", 1: "relapse", 2: "death"}))
    late = z.assign(entry=np.where(np.arange(len(z)) % 2, 0.5 * z["duration"], 0.0))
    numbers, plain = ["age", "size"], {**SETTINGS, "intervals": False}
    named = {"time_unit": "months", "cause_names": {"death": "death, any cause"}}
    return {
        "one_cause": SurvTRACE(**{**plain, "head_depth": 1}).fit(X[numbers], y),
        "categories": SurvTRACE(**SETTINGS, **named).fit(several, words),
        "entry": SurvTRACE(**plain).fit(several[numbers], late),
        "updated": SurvTRACE(**plain).fit(X, y).update(X[:100], y[:100], how="slope"),
    }


def ask(est: Any, rows: pd.DataFrame) -> dict[str, Any]:
    """Ask an estimator, or its portable form, all that a folder decides."""
    answers = {
        "incidence": est.predict_cumulative_incidence(rows, TIMES),
        "survival": est.predict_survival_function(rows, TIMES, conditional_after=0.5),
        "typicality": est.typicality(rows),
    }
    if est.interval_ is not None:
        answers["interval_low"], answers["interval_high"] = est.predict_interval(rows, TIMES)
    return answers


def main() -> None:
    """Write a folder and its answers for each estimator."""
    for name, est in fit_all().items():
        path = FOLDER / name
        est.save(path / "est")
        rows = draw(2)[0][:5][est.feature_names_in_.tolist()]
        answers = {name: np.asarray(each).tolist() for name, each in ask(est, rows).items()}
        note = {"rows": rows.to_dict("list"), "answers": answers}
        (path / "answers.json").write_text(json.dumps(note, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
