"""The kernels of one recorded step of training, with their launches and microseconds.

    python benchmarks/profile_step.py

A batch of 1,024 subjects with 18 covariates, two causes, width 16, depth 2, hidden 64, four
intervals, with one and eight members, on a GPU. The step is recorded as in training, and replayed
under torch's profiler. Results go to benchmarks/results/profile_step_h200.json.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from survtrace.batch import Batch, no_entry
from survtrace.cohort.batch_source import EpochChunk
from survtrace.losses.objective import Tasks
from survtrace.network.assembly import Network, Shape
from survtrace.training.history import History
from survtrace.training.loop import ALONE, Plan, begin, tensor_cores
from survtrace.training.step import N_TOGETHER, N_WARM, GraphedStep, prepare_step, take_steps

RESULTS = Path(__file__).parent / "results"
N_SUBJECTS, BATCH, N_REPLAYS = 286_000, 1024, 5


def network_shape(n_members: int) -> Shape:
    return Shape(
        n_members=n_members,
        n_rows=90,
        n_tokens=18,
        n_causes=2,
        n_intervals=4,
        silent_rows=(0,),
        width=16,
        depth=2,
        n_heads=2,
        hidden=64,
        head_depth=2,
        token_bias=True,
        proportional=3.0,
        dropout=0.0,
        attention_dropout=0.0,
        token_dropout=0.1,
        head_dropout=0.2,
    )


def draw_cohort(shape: Shape, n: int, device: torch.device) -> Batch:
    """Subjects whose covariates have five rows each."""
    torch.manual_seed(0)
    first = 5 * torch.arange(shape.n_tokens)
    rows = first + torch.randint(0, 5, (n, shape.n_tokens))
    return Batch(
        rows=rows.to(torch.int32),
        values=torch.randn(n, shape.n_tokens),
        interval=torch.randint(0, shape.n_intervals, (n,)),
        fraction=torch.rand(n),
        event=torch.randint(0, shape.n_causes + 1, (n,)),
        stay=torch.randn(n),
        weight=torch.ones(n),
        ips=torch.ones(n, shape.n_causes),
        **no_entry(n),
    ).to(device)


def prepare(n_members: int, device: torch.device) -> Any:
    """A replay of a graph of several steps, as a function of nothing."""
    shape = network_shape(n_members)
    network = Network(shape)
    network.initialise(list(range(n_members)))
    network.to(device)
    plan = Plan(1e-3, 1e-4, BATCH, 1, 1, 1.0, 0.1, Tasks(1.0, 1.0, None), [0], 0)
    state = begin(network, plan, 279, History())
    network.train()
    network.seed_dropout(0)
    step = prepare_step(state, plan.clip_norm, ALONE)
    assert isinstance(step, GraphedStep)
    cohort = draw_cohort(shape, N_SUBJECTS, device)
    size = (N_WARM + N_TOGETHER, n_members, BATCH)
    order = torch.randint(0, N_SUBJECTS, size, device=device)
    weight = torch.ones(3, device=device)
    take_steps(step, EpochChunk(cohort, order), weight)
    chunk = EpochChunk(cohort, order[:N_TOGETHER])
    return lambda: take_steps(step, chunk, weight)


def measure(n_members: int, device: torch.device) -> dict[str, Any]:
    """Microseconds and launches of each kernel, a step."""
    replay, n_steps = prepare(n_members, device), N_REPLAYS * N_TOGETHER
    seconds = []
    for _ in range(5):
        torch.cuda.synchronize()
        began = time.perf_counter()
        for _ in range(N_REPLAYS):
            replay()
        torch.cuda.synchronize()
        seconds.append((time.perf_counter() - began) / n_steps)
    with profile(activities=[ProfilerActivity.CUDA]) as profiled:
        for _ in range(N_REPLAYS):
            replay()
        torch.cuda.synchronize()
    launches: dict[str, list[float]] = defaultdict(list)
    for event in profiled.events():
        if event.device_type == torch.autograd.DeviceType.CUDA:
            launches[event.name[:70]].append(event.device_time)
    kernels = [
        {
            "kernel": name,
            "launches": round(len(times) / n_steps, 2),
            "microseconds": round(sum(times) / n_steps, 2),
        }
        for name, times in launches.items()
    ]
    kernels.sort(key=lambda kernel: -float(kernel["microseconds"]))
    return {
        "microseconds_a_step": [round(1e6 * s, 1) for s in seconds],
        "in_kernels": round(sum(float(kernel["microseconds"]) for kernel in kernels), 1),
        "launches": round(sum(float(kernel["launches"]) for kernel in kernels), 1),
        "kernels": kernels,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--members", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--out", type=Path, default=RESULTS)
    chosen = parser.parse_args()
    device = torch.device("cuda")
    found: dict[str, Any] = {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "batch": BATCH,
        "members": {},
    }
    with tensor_cores(device):
        for n_members in chosen.members:
            found["members"][str(n_members)] = measured = measure(n_members, device)
            print(f"{n_members} member(s): {measured['microseconds_a_step']} us a step, of which")
            print(f"{measured['in_kernels']:9} us in {measured['launches']} launches")
            for kernel in measured["kernels"]:
                print("{microseconds:9} us {launches:6} x {kernel}".format(**kernel), flush=True)
    chosen.out.mkdir(parents=True, exist_ok=True)
    file = chosen.out / "profile_step_h200.json"
    file.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
