"""What each kernel earns: an epoch with one operation in its plain form, against all kernels.

    python benchmarks/kernels.py --device cpu
    python benchmarks/kernels.py --device cuda --repeats 5

30,000 subjects with 18 covariates, batches of 1,024, the default network with 1 and 8 members. All
variants take turns within each repeat, in one process and on one thread. On a processor the clock
is that of the process, which other work on the machine disturbs least. A kernel that earns less
than 5 % of an epoch is to go: its file, and its line in ops/<device>/__init__.py.
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
N_SUBJECTS, BATCH = 30_000, 1024


def epoch_seconds(X: Any, y: Any, n_members: int, device: str, n_epochs: int) -> float:
    """Seconds of an epoch: a fit of more epochs less a fit of one, by the number of epochs more."""

    def fit_seconds(max_epochs: int) -> float:
        clock = time.process_time if device == "cpu" else time.perf_counter
        est = SurvTRACE(
            n_members=n_members,
            batch_size=BATCH,
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


def measure(n_members: int, device: str, repeats: int, n_epochs: int) -> dict[str, Any]:
    """Seconds of an epoch with all kernels and without each, and what each earns of an epoch."""
    X, y = make_cohort(N_SUBJECTS, random_state=0)
    tried = ["gradient", "survival_loss", "update"]  # an epoch has no predictions
    seconds: dict[str, list[float]] = {name: [] for name in ("all kernels", *tried)}
    epoch_seconds(X, y, n_members, device, 1)  # compiles
    for repeat in range(repeats):
        for name, measured in seconds.items():
            with ops.plain(name) if name in OPERATIONS else nullcontext():
                measured.append(epoch_seconds(X, y, n_members, device, n_epochs))
        print(n_members, repeat, {n: round(s[-1], 3) for n, s in seconds.items()}, flush=True)
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
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--members", type=int, nargs="+", default=[1, 8])
    given = parser.parse_args()
    torch.set_num_threads(1)
    report = {
        "subjects": N_SUBJECTS,
        "batch": BATCH,
        "torch": version("torch"),
        "members": {
            str(m): measure(m, given.device, given.repeats, given.epochs) for m in given.members
        },
    }
    out = RESULTS / f"kernels_{given.device}.json"
    out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(f"wrote {out}")


if __name__ == "__main__":
    main()
