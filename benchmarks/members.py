"""What members cost: 8 trained together against 1, and against 8 separate fits, per epoch.

Same process, warm, repeated, at the sizes of METABRIC and SUPPORT (simulated covariates of the
same number and kind). Prints ratios and writes benchmarks/results/members.json.
"""

from __future__ import annotations

import json
import platform
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from survtrace import Surv, SurvTRACE

RESULTS = Path(__file__).parent / "results"
SIZES = {"METABRIC": (1333, 5, 4), "SUPPORT": (6211, 8, 6)}
EPOCHS, REPEATS = 3, 5


def table(n: int, n_numerical: int, n_categorical: int) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(n, n_numerical))).add_prefix("n")
    for j in range(n_categorical):
        X[f"c{j}"] = pd.Categorical(rng.integers(0, 3, n).astype(str))
    event = rng.random(n) < 0.6
    return X, Surv.from_arrays(event=event, duration=rng.exponential(100, n))


def seconds_per_epoch(X: pd.DataFrame, y: np.ndarray, n_members: int, seed: int) -> float:
    est = SurvTRACE(
        n_members=n_members, max_epochs=EPOCHS, patience=EPOCHS, random_state=seed, verbose=False
    )
    est.fit(X, y)
    per_epoch = est.history_.groupby("epoch")["seconds"].first()
    return float(per_epoch.iloc[1:].mean())  # the first epoch warms up


def main() -> None:
    found = {
        "machine": {
            "cpu": platform.processor() or platform.machine(),
            "threads": torch.get_num_threads(),
            "torch": torch.__version__,
            "python": platform.python_version(),
        }
    }
    for name, size in SIZES.items():
        X, y = table(*size)
        seconds_per_epoch(X, y, 8, 0)
        one, eight = [], []
        for repeat in range(REPEATS):
            one.append(seconds_per_epoch(X, y, 1, repeat))
            eight.append(seconds_per_epoch(X, y, 8, repeat))
        ratios = np.array(eight) / np.array(one)
        found[name] = {
            "one_member_seconds": [round(s, 4) for s in one],
            "eight_members_seconds": [round(s, 4) for s in eight],
            "eight_over_one": round(float(np.median(ratios)), 2),
            "spread": [round(float(r), 2) for r in np.quantile(ratios, [0, 1])],
            "eight_separate_over_together": round(float(np.median(8 / ratios)), 2),
        }
        print(
            f"{name}: 8 members cost {found[name]['eight_over_one']} times one member an epoch "
            f"(spread {found[name]['spread']}); 8 separate fits cost "
            f"{found[name]['eight_separate_over_together']} times as much as 8 together"
        )
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "members.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
