"""What each kernel earns: an epoch with one operation in its plain form, against all kernels.

    python benchmarks/kernels.py --device cpu
    python benchmarks/kernels.py --device cuda --repeats 5

18 covariates, the default network with 1 and 8 members, in the smallest and the largest batch that
is chosen for a table (64 subjects and 1,024), 30 steps to an epoch. All variants take turns within
each repeat, in one process and on one thread. On a processor the clock is that of the process,
which other work on the machine disturbs least. A kernel that earns less than 5 % of an epoch in
every case is to go: its file, and its line in ops/<device>/__init__.py.
Results go to benchmarks/results/kernels_<device>.json.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from contextlib import nullcontext
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from survtrace import SurvTRACE, ops
from survtrace.datasets import make_cohort
from survtrace.ops.support import OPERATIONS

RESULTS = Path(__file__).parent / "results"
N_STEPS = 30  # of an epoch


def epoch_seconds(
    X: Any, y: Any, batch_size: int, n_members: int, device: str, n_epochs: int
) -> float:
    """Seconds of an epoch: a fit of more epochs less a fit of one, by the number of epochs more."""

    def fit_seconds(max_epochs: int) -> float:
        clock = time.process_time if device == "cpu" else time.perf_counter
        est = SurvTRACE(
            n_members=n_members,
            batch_size=batch_size,
            max_epochs=max_epochs,
            patience=1000,
            unknown_steps=0,
            device=device,
            n_threads=1,
            random_state=0,
            verbose=False,
        )
        began = clock()
        est.fit(X, y)
        return clock() - began

    return (fit_seconds(1 + n_epochs) - fit_seconds(1)) / n_epochs


def measure(
    batch_size: int, n_members: int, device: str, repeats: int, n_steps: int
) -> dict[str, Any]:
    """Seconds of an epoch with all kernels and without each, and what each earns of an epoch."""
    X, y = make_cohort(N_STEPS * batch_size, random_state=0)
    n_epochs = max(n_steps // N_STEPS, 1)
    tried = ["gradient", "survival_loss", "update"]  # an epoch has no predictions
    seconds: dict[str, list[float]] = {name: [] for name in ("all kernels", *tried)}
    epoch_seconds(X, y, batch_size, n_members, device, 1)  # compiles
    for repeat in range(repeats):
        for name, measured in seconds.items():
            with ops.plain(name) if name in OPERATIONS else nullcontext():
                measured.append(epoch_seconds(X, y, batch_size, n_members, device, n_epochs))
        last = {name: round(measured[-1], 3) for name, measured in seconds.items()}
        print(batch_size, n_members, repeat, last, flush=True)
    all_kernels = seconds["all kernels"]
    earned = {
        name: {
            "by_medians": statistics.median(seconds[name]) / statistics.median(all_kernels) - 1,
            "by_minima": min(seconds[name]) / min(all_kernels) - 1,
        }
        for name in tried
    }
    return {
        "seconds": {name: [round(s, 4) for s in measured] for name, measured in seconds.items()},
        "earned": {n: {k: round(v, 4) for k, v in e.items()} for n, e in earned.items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--steps", type=int, nargs="+", default=[900, 60], help="for each batch")
    parser.add_argument("--batches", type=int, nargs="+", default=[64, 1024])
    parser.add_argument("--members", type=int, nargs="+", default=[1, 8])
    given = parser.parse_args()
    torch.set_num_threads(1)
    report: dict[str, Any] = {"torch": version("torch"), "steps of an epoch": N_STEPS}
    for batch_size, n_steps in zip(given.batches, given.steps, strict=True):
        report[f"batches of {batch_size}"] = {
            f"members: {m}": measure(batch_size, m, given.device, given.repeats, n_steps)
            for m in given.members
        }
    out = RESULTS / f"kernels_{given.device}.json"
    out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(f"wrote {out}")


if __name__ == "__main__":
    main()
