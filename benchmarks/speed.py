"""Every figure of speed and growth, side by side with its yardstick, in one command.

    python benchmarks/speed.py                      # all parts, on the GPU if there is one
    python benchmarks/speed.py epoch predict        # some of them
    python benchmarks/speed.py --device cpu --threads 1

The work is that of a SEER-size cohort: 18 covariates, 14 of them categorical, two causes, width 16,
depth 2, batches of 1,024. The yardstick is a plain eager `torch.nn.TransformerEncoder` of the same
shape with the same heads, losses and batches, trained in the same process by torch's AdamW.
Results go to benchmarks/results/speed_<device>.json; each part replaces its own figures there.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, mse_loss

from survtrace import SurvTRACE, ops
from survtrace.batch import Batch, no_entry
from survtrace.datasets import make_cohort
from survtrace.inference.predictor import choose_device
from survtrace.losses.hazard import negative_log_likelihood

RESULTS = Path(__file__).parent / "results"
N_TRAIN, N_STOP, BATCH = 286_000, 28_600, 1024
SHAPE = {"width": 16, "depth": 2, "n_heads": 2, "hidden": 64, "batch_size": BATCH}
TIMES = [12.0, 60.0]


class Yardstick(nn.Module):
    """Embedding, `nn.TransformerEncoder`, and a head for each cause and task."""

    def __init__(self, n_rows: int, n_tokens: int, n_causes: int, n_intervals: int) -> None:
        super().__init__()
        width, hidden = SHAPE["width"], SHAPE["hidden"]
        layer = nn.TransformerEncoderLayer(
            width, SHAPE["n_heads"], hidden, dropout=0.0, batch_first=True
        )
        self.table = nn.Embedding(n_rows, width)
        self.bias = nn.Parameter(torch.zeros(n_tokens, width))
        self.encoder = nn.TransformerEncoder(layer, SHAPE["depth"])
        self.align = nn.Linear(2 * n_tokens * width, hidden)
        self.heads = nn.ModuleList(
            nn.Sequential(
                nn.Dropout(0.2),
                nn.Linear(hidden, hidden),
                nn.ReLU(),
                nn.Dropout(0.2),
                nn.Linear(hidden, n_out),
            )
            for n_out in [n_intervals] * n_causes + [1, 1]
        )

    def forward(self, rows: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Logits of causes, mortality and stay."""
        tokens = self.table(rows) * values.unsqueeze(-1) + self.bias
        final = self.encoder(tokens)
        shared = torch.selu(self.align(torch.cat([final.flatten(1), tokens.flatten(1)], dim=1)))
        *causes, mortality, stay = [head(shared) for head in self.heads]
        return torch.stack(causes, dim=1), mortality.squeeze(1), stay.squeeze(1)


class Work:
    """A cohort, and the two that learn from it."""

    def __init__(self, device: torch.device, threads: int | None, n_rows: int = N_TRAIN) -> None:
        self.device, self.threads = device, threads
        self.n_rows = n_rows
        self.X, self.y = cohort(n_rows)
        self.stop = cohort(N_STOP, seed=1)

    def estimator(self, **settings: Any) -> SurvTRACE:
        """A fit of ours."""
        chosen = {
            **SHAPE,
            "n_members": 1,
            "max_epochs": 3,
            "patience": 100,
            "random_state": 0,
            "verbose": False,
            "device": self.device.type,
            "n_threads": self.threads,
            **settings,
        }
        return SurvTRACE(**chosen).fit(self.X, self.y, eval_set=self.stop)

    def epoch_seconds(self, **settings: Any) -> float:
        """A whole epoch, validation and all; the first one, which compiles, is left out."""
        return statistics.median(seconds_of(self.estimator(**settings))[1:])

    def yardstick(self) -> tuple[Yardstick, Batch]:
        """The plain network, and the encoded cohort it learns from."""
        est = self.estimator(max_epochs=1)
        encoded = est.encoding_.encode(_open(self.X))
        n, shape = self.n_rows, est.network_.shape
        torch.manual_seed(0)
        batch = Batch(
            rows=torch.from_numpy(encoded.rows),
            values=torch.from_numpy(encoded.values),
            interval=torch.randint(0, shape.n_intervals, (n,)),
            fraction=torch.rand(n),
            event=torch.from_numpy(self.y["event"].to_numpy().astype(np.int64)),
            stay=torch.randn(n),
            weight=torch.ones(n),
            ips=torch.ones(n, shape.n_causes),
            **no_entry(n),
        ).to(self.device)
        plain = Yardstick(shape.n_rows, shape.n_tokens, shape.n_causes, shape.n_intervals)
        return plain.to(self.device), batch


def _open(X: pd.DataFrame) -> Any:
    from survtrace.tables.covariates.covariates import open_table

    return open_table(X)


@cache
def cohort(n_rows: int, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Simulated subjects; beyond half a million, the same ones again."""
    X, y = make_cohort(min(n_rows, 500_000), random_state=seed)
    again = np.arange(n_rows) % len(X)
    return (X, y) if n_rows == len(X) else (X.iloc[again], y.iloc[again])


def seconds_of(est: SurvTRACE) -> list[float]:
    return est.history_.groupby("epoch")["seconds"].first().tolist()


def yardstick_epoch(plain: Yardstick, data: Batch) -> float:
    """Seconds of an epoch of plain training, and of the loss of as many subjects as stop ours."""
    optimiser = torch.optim.AdamW(plain.parameters(), lr=1e-3, weight_decay=1e-4)
    plain.train()
    wait(data.event)
    began = time.perf_counter()
    for subjects in torch.randperm(len(data.event), device=data.event.device).split(BATCH):
        batch = Batch(*(column[subjects] for column in data))
        causes, mortality, stay = plain(batch.rows, batch.values)
        likelihood = negative_log_likelihood(causes, batch.interval, batch.fraction, batch.event)
        happened = (batch.event > 0).float()
        loss = (likelihood.sum(-1) * batch.weight).mean()
        loss = loss + binary_cross_entropy_with_logits(mortality, happened)
        loss = loss + mse_loss(stay, batch.stay)
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(plain.parameters(), 1.0)
        optimiser.step()
    plain.eval()
    with torch.no_grad():
        for subjects in torch.arange(N_STOP, device=data.event.device).split(4096):
            batch = Batch(*(column[subjects] for column in data))
            causes, _, _ = plain(batch.rows, batch.values)
            negative_log_likelihood(causes, batch.interval, batch.fraction, batch.event).mean()
    wait(data.event)
    return time.perf_counter() - began


def wait(tensor: Tensor) -> None:
    if tensor.is_cuda:
        torch.cuda.synchronize()


def epoch(work: Work, repeats: int) -> dict[str, Any]:
    """One epoch: ours, without our kernels, and the yardstick's."""
    plain, data = work.yardstick()
    if work.device.type == "cuda":
        yardstick_epoch(plain, data)
    ours, theirs = [], []
    for _ in range(repeats):
        ours.append(work.epoch_seconds(max_epochs=3))
        theirs.append(yardstick_epoch(plain, data))
    with ops.plain():
        without = work.epoch_seconds(max_epochs=2)
    ratios = [b / a for a, b in zip(ours, theirs, strict=True)]
    return {
        "rows": work.n_rows,
        "ours_seconds": rounded(ours),
        "without_kernels_seconds": rounded([without]),
        "yardstick_seconds": rounded(theirs),
        "times_as_fast": summary(ratios),
    }


def predict(work: Work, repeats: int) -> dict[str, Any]:
    """Prediction from encoded rows to curves, and from raw rows to curves."""
    est = work.estimator(max_epochs=1)
    plain, data = work.yardstick()
    plain.eval()
    X, n = work.X.iloc[:100_000], 100_000
    encoded = est.encoding_.encode(_open(X))
    forecast = est._predictor()
    # The whole way of a prediction but for the encoding of its table.
    object.__setattr__(forecast, "encode", lambda table, **_: encoded)

    def ours() -> Any:
        return forecast.curve(X, "incidence", np.array(TIMES))

    def theirs() -> Any:
        return [
            plain(rows, values)[0]
            for rows, values in batches(encoded, 512 if work.threads else 4096, work.device)
        ]

    with torch.no_grad():
        fast, slow = alternate([ours, theirs], repeats, data.event)
    whole = [timed(lambda: est.predict_cumulative_incidence(X, TIMES)) for _ in range(repeats)]
    return {
        "ours_rows_per_second": [round(n / s) for s in fast],
        "yardstick_rows_per_second": [round(n / s) for s in slow],
        "times_as_fast": summary([b / a for a, b in zip(fast, slow, strict=True)]),
        "raw_table_to_curves_rows_per_second": [round(n / s) for s in whole],
        "remark": "the yardstick stops at logits; ours are curves of two causes at two times",
    }


def batches(encoded: Any, size: int, device: torch.device) -> Any:
    for first in range(0, len(encoded.rows), size):
        yield tuple(torch.from_numpy(part[first : first + size]).to(device) for part in encoded)


def alternate(jobs: list[Callable[[], Any]], repeats: int, on: Tensor) -> list[list[float]]:
    """Seconds of each job, warm and in turn."""
    found: list[list[float]] = [[] for _ in jobs]
    for repeat in range(repeats + 1):
        for seconds, job in zip(found, jobs, strict=True):
            wait(on)
            taken = timed(lambda job=job: (job(), wait(on)))
            if repeat:
                seconds.append(taken)
    return found


def members(work: Work, repeats: int) -> dict[str, Any]:
    """An epoch against the number of members."""
    if work.device.type == "cpu":
        work = Work(work.device, work.threads, N_TRAIN // 10)
    found: dict[str, Any] = {"rows": work.n_rows}
    for n_members in (1, 2, 4, 8, 16, 32):
        seconds = work.epoch_seconds(n_members=n_members, max_epochs=2 + (repeats > 1))
        first = found.get("1", {}).get("seconds", seconds)
        found[str(n_members)] = {
            "seconds": round(seconds, 4),
            "times_one": round(seconds / first, 2),
        }
        print(n_members, found[str(n_members)], flush=True)
    return found


def sizes(work: Work, repeats: int) -> dict[str, Any]:
    """Reading, encoding and an epoch against the number of rows."""
    found = {}
    most = 10**6 if work.device.type == "cpu" else 10**7  # more: benchmarks/larger_than_memory.py
    for n_rows in (n for n in (10**4, 10**5, 10**6, 10**7) if n <= most):
        own = Work(work.device, work.threads, n_rows)
        began = time.perf_counter()
        seconds = seconds_of(own.estimator(max_epochs=2 if n_rows < 1_000_000 else 1))
        found[str(n_rows)] = {
            "fit_seconds": round(time.perf_counter() - began, 3),
            "epoch_seconds": round(seconds[-1], 4),
            "microseconds_a_row": round(seconds[-1] / n_rows * 1e6, 3),
        }
        print(n_rows, found[str(n_rows)], flush=True)
    return found


def equal(work: Work, repeats: int) -> dict[str, Any]:
    """The loss curve with kernels and a recorded step, and that of the plain layers."""
    curves = {}
    for name, seed in (("ours", 0), ("other_seed", 1)):
        curves[name] = work.estimator(max_epochs=6, random_state=seed).history_
    with ops.plain():
        curves["plain"] = work.estimator(max_epochs=6).history_
    losses = {name: frame["validation_loss"].to_numpy() for name, frame in curves.items()}
    return {
        **{name: rounded(loss, 6) for name, loss in losses.items()},
        "largest_difference": float(np.abs(losses["ours"] - losses["plain"]).max()),
        "between_seeds": float(np.abs(losses["ours"] - losses["other_seed"]).max()),
    }


def fit(work: Work, repeats: int) -> dict[str, Any]:
    """From the raw table to early stopping: 70 % of 476,746 subjects, default settings."""
    X, y = cohort(333_722)
    found = {}
    for name, settings in (
        ("one member, depth 2", {"n_members": 1, "depth": 2}),
        ("one member", {"n_members": 1}),
        ("eight members (default)", {}),
    ):
        if work.device.type == "cpu" and "depth" not in settings:
            continue
        est = SurvTRACE(
            **settings,
            random_state=0,
            verbose=False,
            device=work.device.type,
            n_threads=work.threads,
        )
        seconds = timed(lambda est=est: est.fit(X, y))
        found[name] = {
            "seconds": round(seconds, 2),
            "epochs": int(est.history_["epoch"].max()) + 1,
            "validation_loss": round(float(est.history_["validation_loss"].min()), 4),
        }
        print(name, found[name], flush=True)
    return found


def scores(work: Work, repeats: int) -> dict[str, Any]:
    """Curves and scores of 500,000 subjects."""
    from survtrace.metrics import brier_score, concordance_paper, integrated_brier_score

    X, y = cohort(500_000)
    est = work.estimator(max_epochs=1)
    times = est.score_times_[est.score_times_ <= est.censoring_.last_usable]
    found: dict[str, Any] = {"subjects": len(X), "times": len(times)}
    began = time.perf_counter()
    incidence = est.predict_cumulative_incidence(X, times)
    found["curves_seconds"] = round(time.perf_counter() - began, 2)
    cause, own = est.causes_[0], incidence[:, 0]
    jobs = {
        "concordance": lambda: concordance_paper(
            {"event": (y["event"] == cause).to_numpy(), "duration": y["duration"]},
            own[:, 50],
            times[50],
        ),
        "brier": lambda: brier_score(y, own, times, cause=cause, y_train=est.censoring_),
        "integrated_brier": lambda: integrated_brier_score(
            y, own, times, cause=cause, y_train=est.censoring_
        ),
    }
    for name, job in jobs.items():
        job()
        found[f"{name}_seconds"] = round(timed(job), 2)
    return found


def rivals(work: Work, repeats: int) -> dict[str, Any]:
    """An epoch of pycox's PC-Hazard, and a score of scikit-survival, on the CPU."""
    from sksurv.metrics import concordance_index_ipcw
    from sksurv.util import Surv

    from survtrace.baselines import PCHazard
    from survtrace.metrics import concordance_paper

    any_event = pd.DataFrame(
        {"event": (work.y["event"] > 0).astype(int), "duration": work.y["duration"]}
    )

    def epochs(n: int) -> float:
        perceptron = PCHazard(batch_size=BATCH, max_epochs=n, patience=n, random_state=0)
        return timed(lambda: perceptron.fit(work.X, any_event))

    perceptron = [(epochs(3) - epochs(1)) / 2 for _ in range(repeats)]
    ours = [work.epoch_seconds(max_epochs=2) for _ in range(repeats)]
    some = any_event.iloc[:50_000]
    y = Surv.from_arrays(some["event"].astype(bool), some["duration"])
    estimate, horizon = np.random.default_rng(0).random(len(some)), 60.0
    fast, slow = alternate(
        [
            lambda: concordance_paper(some, estimate, horizon),
            lambda: concordance_index_ipcw(y, y, estimate, tau=horizon, tied_tol=0),
        ],
        repeats,
        torch.zeros(1),
    )
    return {
        "pc_hazard_epoch_seconds": rounded(perceptron),
        "ours_epoch_seconds": rounded(ours),
        "concordance_of_50000_seconds": rounded(fast),
        "scikit_survival_concordance_seconds": rounded(slow),
        "concordance_times_as_fast": summary([b / a for a, b in zip(fast, slow, strict=True)]),
        "remark": "PC-Hazard: a perceptron of two layers of 64 on one-hot covariates, one cause",
    }


PARTS: dict[str, Callable[[Work, int], dict[str, Any]]] = {
    part.__name__: part for part in (epoch, predict, members, sizes, equal, fit, scores, rivals)
}


def timed(job: Callable[[], Any]) -> float:
    began = time.perf_counter()
    job()
    return time.perf_counter() - began


def rounded(numbers: Any, digits: int = 4) -> list[float]:
    return [round(float(number), digits) for number in numbers]


def summary(ratios: list[float]) -> dict[str, float]:
    low, middle, high = min(ratios), statistics.median(ratios), max(ratios)
    return {"median": round(middle, 2), "lowest": round(low, 2), "highest": round(high, 2)}


def machine(device: torch.device, threads: int | None) -> dict[str, Any]:
    return {
        "cpu": processor(),
        "device": torch.cuda.get_device_name() if device.type == "cuda" else "cpu",
        "threads": threads or torch.get_num_threads(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": version("numpy"),
    }


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="all if left out")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--threads", type=int, help="CPU threads; 1 on a CPU if left out")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path, default=RESULTS)
    chosen = parser.parse_args()
    device = choose_device(chosen.device)
    threads = chosen.threads or (1 if device.type == "cpu" else None)
    torch.set_num_threads(threads or torch.get_num_threads())
    work = Work(device, threads)
    chosen.out.mkdir(parents=True, exist_ok=True)
    file = chosen.out / f"speed_{device.type}.json"
    found = json.loads(file.read_text()) if file.exists() else {}
    for part in chosen.parts or PARTS:
        print(f"--- {part}: {PARTS[part].__doc__}", flush=True)
        found[part] = {"machine": machine(device, threads), **PARTS[part](work, chosen.repeats)}
        print(json.dumps(found[part], indent=1), flush=True)
        file.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
