"""An epoch and a prediction by 1, 2, 4, 8 and 16 threads, at four sizes, of one and eight members.

    python benchmarks/threads.py
    python benchmarks/threads.py --sizes 100000 --threads 1 16 --members 1 8 --repeats 1
    python benchmarks/threads.py --sizes metabric support --before ../before
    python benchmarks/threads.py --ceiling

Settings are the default ones; tables are simulated, with the number and kinds of covariates of the
data set they are named after. An epoch is a whole one, validation included, as `history_` has it; a
prediction is `predict_cumulative_incidence` of the whole raw table at two times. The numbers of
threads take turns within each repeat, in one process that has compiled its kernels. With --before,
another checkout's src does the same work in a second process; the two take turns, neither working
while the other does, so that their ratio is one of neighbours in time. 0 threads are those that
``n_threads=None`` picks; numbers above the machine's cores are left out.

Cores share clock, caches and memory, and may be halves of one: no machine gives all of them at full
speed. --ceiling measures what it gives: threads that only multiply numbers in their first cache,
and separate processes of one thread, each with an epoch of its own at SUPPORT's size, all at once.

Results go to benchmarks/results/threads_<cores>cores.json; each size and number of members replaces
its own figures there. `--show` prints the table of that file and measures nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
SIZES = {"metabric": 1_904, "support": 8_873, "100000": 100_000, "seer": 333_722}
KINDS = {"metabric": (5, 4), "support": (8, 6)}  # numerical and categorical covariates, one cause
SETTINGS: dict[str, Any] = {
    "device": "cpu",
    "unknown_steps": 0,  # they are no part of an epoch
    "random_state": 0,
    "verbose": False,
}
TITLES = {"epoch": "An epoch", "predict": "A prediction of the whole raw table"}
PARTS = tuple(TITLES)


class Checkout:
    """A process that measures with one checkout's src, one job at a time."""

    def __init__(self, name: str, src: Path) -> None:
        self.name, self.src = name, src.resolve()
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--worker"],
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(self.src), *sys.path[1:]])},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        package = Path(self.ask(job="package"))
        assert package.is_relative_to(self.src), f"{package} is not of {self.src}"

    def ask(self, **job: Any) -> Any:
        """Have a job done and give its answer."""
        self.begin(**job)
        return self.answer()

    def begin(self, **job: Any) -> None:
        """Have a job begun."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()

    def answer(self) -> Any:
        """Wait for the job that was begun and give its answer."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process of {self.src} broke off, for the reason above")
        return json.loads(line)

    def end(self) -> None:
        """Let the process end."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def work() -> None:
    """Do jobs: one per line in, one answer per line out."""
    answers, sys.stdout = sys.stdout, sys.stderr
    fitted: dict[str, Any] = {}

    def do(job: str, **details: Any) -> Any:
        if job == "package":
            import survtrace

            return survtrace.__file__
        if job == "multiply":
            return multiply(**details)
        if job == "epoch":
            seconds, fitted["estimator"] = epochs(**details)
            return seconds
        return prediction(fitted["estimator"], **details)

    for line in sys.stdin:
        print(json.dumps(do(**json.loads(line))), file=answers, flush=True)


def epochs(
    size: str, members: int, threads: int, n_epochs: int, count_first: bool
) -> tuple[list[float], Any]:
    """Seconds of each epoch of a fit, and the estimator."""
    from survtrace import SurvTRACE

    total = n_epochs + (not count_first)
    X, y = table(size)
    est = SurvTRACE(
        **SETTINGS, n_members=members, n_threads=threads or None, max_epochs=total, patience=total
    )
    seconds = est.fit(X, y).history_.groupby("epoch")["seconds"].first().tolist()
    return seconds[not count_first :], est


def prediction(est: Any, size: str, threads: int) -> list[float]:
    """Seconds of the curves of a whole raw table."""
    X, _ = table(size)
    est.set_params(n_threads=threads or None)
    began = time.perf_counter()
    est.predict_cumulative_incidence(X, [12.0, 60.0])
    return [time.perf_counter() - began]


def multiply(threads: int, n_loops: int = 100_000) -> float:
    """Seconds in which threads each add up so many times the squares of 4,096 numbers."""
    from threading import Thread

    import numpy as np
    from numba import njit

    @njit(nogil=True, fastmath=True)
    def add_squares(x: Any, n_loops: int) -> Any:
        total = np.float32(0)
        for _ in range(n_loops):
            for number in x:
                total += number * number
        return total

    add_squares(np.ones(4096, np.float32), 1)
    workers = [
        Thread(target=add_squares, args=(np.ones(4096, np.float32), n_loops))
        for _ in range(threads)
    ]
    began = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return time.perf_counter() - began


@cache
def table(size: str) -> tuple[Any, Any]:
    """Simulated subjects: SEER's covariates and two causes, or a plain table with one cause."""
    import numpy as np
    import pandas as pd

    from survtrace.datasets import make_cohort

    n = SIZES[size]
    if size not in KINDS:
        return make_cohort(n, random_state=0)
    n_numerical, n_categorical = KINDS[size]
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(n, n_numerical))).add_prefix("n")
    for j in range(n_categorical):
        X[f"c{j}"] = pd.Categorical(rng.integers(0, 3, n).astype(str))
    event = (rng.random(n) < 0.6).astype(int)
    return X, pd.DataFrame({"event": event, "duration": rng.exponential(100, n)})


def ceiling(counts: list[int], repeats: int) -> dict[str, Any]:
    """How many times one core so many cores are, for bare products and for whole processes."""
    src = Path(__file__).parents[1] / "src"
    processes = [Checkout("this", src) for _ in range(max(counts))]
    job = {"job": "epoch", "size": "support", "members": 1, "threads": 1, "count_first": False}
    found: dict[str, dict[str, list[float]]] = {"products": {}, "processes": {}}
    at_once(processes, **job, n_epochs=1)  # compiles
    for _ in range(repeats):
        for n in counts:
            seconds = processes[0].ask(job="multiply", threads=n)
            found["products"].setdefault(str(n), []).append(seconds)
            epochs_of_each = at_once(processes[:n], **job, n_epochs=4)
            middle = statistics.median(s for seconds in epochs_of_each for s in seconds)
            found["processes"].setdefault(str(n), []).append(middle)
    for process in processes:
        process.end()
    return {
        kind: {
            n: {
                "seconds": [round(s, 4) for s in seconds],
                "times_one": round(int(n) * min(by_count["1"]) / min(seconds), 2),
            }
            for n, seconds in by_count.items()
        }
        for kind, by_count in found.items()
    }


def at_once(processes: list[Checkout], **job: Any) -> list[Any]:
    """Have processes do the same job at the same time."""
    for process in processes:
        process.begin(**job)
    return [process.answer() for process in processes]


def measure(checkouts: list[Checkout], size: str, members: int, given: Any) -> dict[str, Any]:
    """Seconds by checkout, part and number of threads; all take turns."""
    counts = [n for n in given.threads if n <= n_cores()]
    found: dict[str, Any] = {
        checkout.name: {part: {str(n): [] for n in counts} for part in PARTS}
        for checkout in checkouts
    }
    for _ in range(given.repeats):
        for n in counts:
            for checkout in checkouts:
                seconds = checkout.ask(
                    job="epoch",
                    size=size,
                    members=members,
                    threads=n,
                    n_epochs=given.epochs,
                    count_first=given.count_first,
                )
                found[checkout.name]["epoch"][str(n)] += seconds
                for _ in range(given.predictions):
                    seconds = checkout.ask(job="predict", size=size, threads=n)
                    found[checkout.name]["predict"][str(n)] += seconds
    return summary(found, {"rows": SIZES[size], "members": members})


def summary(found: dict[str, Any], head: dict[str, Any]) -> dict[str, Any]:
    """Minimum and median of each, how many times as fast as one thread, and as before."""
    report: dict[str, Any] = dict(head)
    for name, parts in found.items():
        report[name] = {}
        for part, by_threads in parts.items():
            one = by_threads.get("1")
            report[name][part] = {
                n: {
                    "seconds": [round(s, 5) for s in seconds],
                    "minimum": round(min(seconds), 5),
                    "median": round(statistics.median(seconds), 5),
                    **({"times_one_thread": round(min(one) / min(seconds), 2)} if one else {}),
                }
                for n, seconds in by_threads.items()
            }
    if "before" in found:
        report["times_before"] = {
            part: {
                n: {
                    "by_minima": round(min(found["before"][part][n]) / min(seconds), 3),
                    "by_medians": round(
                        statistics.median(found["before"][part][n]) / statistics.median(seconds), 3
                    ),
                }
                for n, seconds in by_threads.items()
            }
            for part, by_threads in found["this"].items()
        }
    return report


def markdown(report: dict[str, Any]) -> str:
    """Write a Markdown table for each part: seconds (minimum), and times one thread."""
    machine, blocks, lines = report["machine"], report["sizes"], []
    for part in PARTS if blocks else ():
        counts = sorted({int(n) for block in blocks.values() for n in block["this"][part]})
        lines += [
            f"{TITLES[part]}: seconds (times one thread), {machine['cpu']}, "
            f"{machine['cores']} cores",
            "",
        ]
        counts = counts[counts[0] == 0 :] + counts[: counts[0] == 0]
        titles = [f"{n} thread{'s' * (n > 1)}" if n else "automatic" for n in counts]
        lines.append("| " + " | ".join(["rows, members", *titles]) + " |")
        lines.append("|---" * (len(counts) + 1) + "|")
        for block in blocks.values():
            for name in ("this", "before"):
                if name in block:
                    cells = [cell(block[name][part].get(str(n))) for n in counts]
                    label = f"{block['rows']:,}, {block['members']}"
                    label += ", before" * (name == "before")
                    lines.append("| " + " | ".join([label, *cells]) + " |")
        lines.append("")
    if "ceiling" in report:
        kinds = {"products": "threads, bare products", "processes": "processes, an epoch each"}
        counts = [int(n) for n in report["ceiling"]["products"]]
        lines += ["What so many cores of this machine give, times one", ""]
        lines.append("| " + " | ".join(["", *map(str, counts)]) + " |")
        lines.append("|---" * (len(counts) + 1) + "|")
        for kind, words in kinds.items():
            cells = [f"{by['times_one']:.1f}" for by in report["ceiling"][kind].values()]
            lines.append("| " + " | ".join([words, *cells]) + " |")
    return "\n".join(lines).strip()


def cell(figures: dict[str, Any] | None) -> str:
    if figures is None:
        return ""
    times = figures.get("times_one_thread")
    return f"{figures['minimum']:.3g}" + (f" ({times:.1f})" if times else "")


def n_cores() -> int:
    return len(os.sched_getaffinity(0))


def machine() -> dict[str, Any]:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return {
        "cpu": names[0] if names else platform.processor(),
        "cores": n_cores(),
        "python": platform.python_version(),
        **{package: version(package) for package in ("torch", "numba", "numpy")},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2, 4, 8, 16, 0])
    parser.add_argument("--members", nargs="+", type=int, default=[1, 8])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=1, help="epochs of a fit that count")
    parser.add_argument(
        "--count-first",
        action="store_true",
        help="count the first epoch too, where it is long beside what it sets up",
    )
    parser.add_argument("--predictions", type=int, default=1, help="predictions of a fit")
    parser.add_argument("--ceiling", action="store_true", help="what the cores give, and no more")
    parser.add_argument("--before", type=Path, help="another checkout, to measure in turn")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--show", action="store_true", help="print the table of the result file")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        work()
        return
    file = given.out / f"threads_{n_cores()}cores.json"
    report = json.loads(file.read_text()) if file.exists() else {"sizes": {}}
    if given.show:
        print(markdown(report))
        return
    report["machine"] = machine()
    given.out.mkdir(parents=True, exist_ok=True)
    if given.ceiling:
        counts = sorted(n for n in {1, *given.threads} if 0 < n <= n_cores())
        report["ceiling"] = ceiling(counts, given.repeats)
        file.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
        print(markdown(report))
        return
    checkouts = [Checkout("this", Path(__file__).parents[1] / "src")]
    if given.before:
        checkouts.append(Checkout("before", given.before / "src"))
    for checkout in checkouts:  # compiles
        for members in given.members:
            checkout.ask(
                job="epoch",
                size="metabric",
                members=members,
                threads=min(max(given.threads), n_cores()),
                n_epochs=1,
                count_first=True,
            )
            checkout.ask(job="predict", size="metabric", threads=min(max(given.threads), n_cores()))
    for size in given.sizes:
        for members in given.members:
            key = f"{SIZES[size]} rows, {members} members"
            report["sizes"][key] = measure(checkouts, size, members, given)
            ordered = sorted(report["sizes"].items(), key=lambda b: (b[1]["rows"], b[1]["members"]))
            report["sizes"] = dict(ordered)
            file.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
            print(key, json.dumps(report["sizes"][key]), flush=True)
    for checkout in checkouts:
        checkout.end()
    print(markdown(report))


if __name__ == "__main__":
    main()
