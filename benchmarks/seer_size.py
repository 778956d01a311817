"""A cohort of SEER's size from table to scores: time and peak memory.

476,746 simulated subjects, 18 covariates, two causes; 70 % to learn from, 30 % to score. Writes
benchmarks/results/seer_size_<device>_<members>.json. With --load, a saved estimator is scored
instead of fitting one.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch

from survtrace import SurvTRACE, load
from survtrace.datasets import make_cohort
from survtrace.inference.predictor import choose_device
from survtrace.study.protocol import Task, random_splits
from survtrace.study.scoring import score_predictions

RESULTS = Path(__file__).parent / "results"


@contextmanager
def timed(found: dict, name: str) -> Iterator[None]:
    began = time.perf_counter()
    yield
    found[f"{name}_seconds"] = round(time.perf_counter() - began, 2)
    print(f"{name}: {found[f'{name}_seconds']} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=476_746)
    parser.add_argument("--members", type=int, default=8)
    parser.add_argument("--load", type=Path)
    parser.add_argument("--save", type=Path)
    chosen = parser.parse_args()
    device = choose_device("auto")
    found: dict = {"rows": chosen.rows, "members": chosen.members, "machine": machine(device)}
    with timed(found, "simulate"):
        X, y, truth = make_cohort(chosen.rows, random_state=0, return_truth=True)
    task = Task("seer-size", X, y, random_splits(len(X), 1), truth=truth)
    split = task.splits[0]
    if chosen.load:
        est = load(chosen.load)
    else:
        est = SurvTRACE(n_members=chosen.members, random_state=0, verbose=True)
        with timed(found, "fit"):
            est.fit(X.iloc[split.learn], y.iloc[split.learn])
        found["epochs"] = int(est.history_["epoch"].max()) + 1
    if chosen.save:
        est.save(chosen.save)
    horizons, grid = task.times(split)
    with timed(found, "predict"):
        incidence = est.predict_cumulative_incidence(
            X.iloc[split.test], np.concatenate([horizons, grid])
        )
    with timed(found, "score"):
        scores = score_predictions(incidence, task, split)
    found["scores"] = scores.round(4).to_dict(orient="records")
    found["peak_memory_gib"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2)
    print(scores.round(4).to_string(index=False))
    RESULTS.mkdir(exist_ok=True)
    name = f"seer_size_{device.type}_{chosen.members}.json"
    (RESULTS / name).write_text(json.dumps(found, indent=1) + "\n")


def machine(device: torch.device) -> dict:
    return {
        "cpu": platform.processor() or platform.machine(),
        "threads": torch.get_num_threads(),
        "device": torch.cuda.get_device_name() if device.type == "cuda" else "cpu",
        "torch": torch.__version__,
        "python": platform.python_version(),
    }


if __name__ == "__main__":
    main()
