"""One process against two Ray workers on one machine: the same loss, and a worker killed.

20,000 simulated subjects, default settings but for the learning rate where it is named. Prints and
writes to results/ray_workers.json how far the losses after an epoch are apart, and the seconds of
the epoch; and whether three epochs in which a worker is killed with SIGKILL end where three
undisturbed ones do.

At the default learning rate rounding grows in an epoch, in one process too: beside the workers
stands one process whose first parameters are disturbed by one part in ten million, and one that
takes the same two shares of every batch, one after the other.
"""

from __future__ import annotations

import json
import os
import platform
import tempfile
import threading
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any
from unittest.mock import patch

import psutil
import ray
import torch

from survtrace import SurvTRACE, ops
from survtrace.batch import Batch
from survtrace.datasets import make_cohort
from survtrace.distributed import fit
from survtrace.network.assembly import Network
from survtrace.training.process_group import ProcessGroup
from survtrace.training.step import Step

RESULTS = Path(__file__).parent / "results"
N_ROWS, N_WORKERS, EPOCHS, SMALL = 20_000, 2, 3, 1e-4
LOSSES = ["survival_loss", "mortality_loss", "stay_loss", "validation_loss"]
QUIET = {"n_threads": 1, "random_state": 0, "verbose": False}


def fitted(n_epochs: int = 1, storage: Path | None = None, **settings: Any) -> SurvTRACE:
    """Fit in one process or, where a storage is given, on two workers; prints the seconds."""
    X, y = make_cohort(N_ROWS, random_state=0)
    est, began = SurvTRACE(max_epochs=n_epochs, **QUIET, **settings), time.perf_counter()
    est = fit(est, X, y, n_workers=N_WORKERS, storage=storage) if storage else est.fit(X, y)
    est.seconds_ = time.perf_counter() - began
    return est


def disturb(network: Network, seeds: list[int], initialise: Any = Network.initialise) -> None:
    initialise(network, seeds)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.mul_(1 + 1e-7 * torch.randn(parameter.shape, generator=generator))


def take_in_turn(
    step: Step, cohort: Batch, subjects: torch.Tensor, weight: torch.Tensor
) -> torch.Tensor:
    """The step of all workers, share by share, in one process."""
    network, gradient = step.state.network, step.state.gradient
    masks, sums, losses = network.generator.get_state(), torch.zeros_like(gradient), 0.0
    for rank in range(N_WORKERS):
        network.generator.set_state(masks)  # each worker draws those of the whole batch
        group = ProcessGroup(rank, N_WORKERS)
        network.share_dropout(group.part(subjects.shape[1]))
        shard = group.shard(subjects)
        share = shard.shape[1] / subjects.shape[1]
        losses = losses + share * ops.gradient(network, cohort, shard, weight, gradient)
        sums += share * gradient
    gradient.copy_(sums)
    state = step.state
    ops.update(state.flat_parameters, gradient, state.optimiser, state.average, step.clip_norm)
    return losses


def kill_a_worker(storage: Path, wait: float, told: dict[str, Any]) -> None:
    """Wait for the state after the first epoch, then half of an epoch, and kill."""
    while not list(storage.glob("fit-*/checkpoint_*/*")):
        time.sleep(0.05)
    time.sleep(wait)
    workers = [
        process
        for process in psutil.Process().children(recursive=True)
        if "RayTrainWorker" in " ".join(process.cmdline())
    ]
    told["killed"], told["of"] = workers[-1].pid, len(workers)
    workers[-1].kill()


def apart(one: SurvTRACE, other: SurvTRACE) -> dict[str, float]:
    difference = one.history_[LOSSES] - other.history_[LOSSES]
    return {
        "any loss of any member": float(difference.abs().to_numpy().max()),
        "validation loss, mean over members": abs(float(difference["validation_loss"].mean())),
    }


def seconds(est: SurvTRACE) -> dict[str, float]:
    last = float(est.history_["seconds"].iloc[-1])
    return {"last epoch": round(last, 2), "in all": round(est.seconds_, 1)}


def main() -> None:
    torch.set_num_threads(1)
    ray.init(
        num_cpus=N_WORKERS, include_dashboard=False, log_to_driver=False, logging_level="ERROR"
    )
    SurvTRACE(max_epochs=1, **QUIET).fit(*make_cohort(500, random_state=1))  # compiles, once
    one, one_slowly = fitted(), fitted(lr=SMALL)
    told: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as temporary:
        home = Path(temporary)
        two_slowly = fitted(storage=home / "slowly", lr=SMALL)
        two = fitted(storage=home / "two")
        whole = fitted(EPOCHS, home / "whole")
        wait = seconds(whole)["last epoch"] / 2
        killer = threading.Thread(target=kill_a_worker, args=(home / "killed", wait, told))
        killer.start()
        broken = fitted(EPOCHS, home / "killed")
        killer.join()
    ray.shutdown()
    with patch.object(Network, "initialise", disturb):
        disturbed = fitted()
    with patch.object(Step, "__call__", take_in_turn):
        in_turn = fitted()
    found = {
        "machine": {
            "cpu": platform.processor() or platform.machine(),
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            **{name: version(name) for name in ("survtrace", "torch", "ray")},
        },
        "rows": N_ROWS,
        "members": one.n_members,
        "after an epoch, two workers from one process": {
            f"lr {SMALL}": apart(one_slowly, two_slowly),
            f"lr {one.lr}": apart(one, two),
            f"lr {one.lr}, one process disturbed by 1e-7 instead": apart(one, disturbed),
        },
        "after an epoch, two workers from one process that takes their shares in turn": {
            f"lr {one.lr}": apart(in_turn, two),
        },
        "seconds": {
            "one process, an epoch": seconds(one),
            "two workers, an epoch": seconds(two),
            "two workers, three epochs": seconds(whole),
            "the same, one killed in the second epoch": seconds(broken),
        },
        "killed": told,
        "parameters after the kill the same to the bit": all(
            torch.equal(parameter, broken.network_.state_dict()[name])
            for name, parameter in whole.network_.state_dict().items()
        ),
    }
    print(json.dumps(found, indent=1))
    (RESULTS / "ray_workers.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
