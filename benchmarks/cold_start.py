"""From `import survtrace` to the first epoch and the first prediction, in fresh processes.

    python benchmarks/cold_start.py                             # the GPU if there is one
    python benchmarks/cold_start.py --device cpu --rows 20000 --epochs 3
    python benchmarks/cold_start.py --show

Each run is a process of its own: first one with empty caches of Triton, numba and CUDA (a machine
on which the package has never run), then some with the caches it has filled. A run imports the
package, fits the default settings to a simulated raw table of 18 covariates and two causes, and
predicts twice; a last process loads that estimator and predicts twice. Seconds of each part are
noted, and those of each kernel's compilation, which may go on beside other parts and beside each
other. Whether the files of torch and CUDA lie in memory already is no cache of ours: on a machine
just started run this first, and the empty run is all cold.
Results go to benchmarks/results/cold_start_<device>.json.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
TIMES = [12.0, 60.0]
PARTS = {
    "import": "import SurvTRACE",
    "prepare": "prepare the table",
    "wait_for_kernels": "wait for device and kernels",
    "before_first_epoch": "from import to the first step",
    "first_epoch": "first epoch",
    "later_epochs": "a later epoch (median)",
    "fit": "whole fit",
    "import_to_end_of_fit": "import and fit",
    "first_prediction": "first prediction after it",
    "second_prediction": "second prediction",
}
LOADED = {
    "import": "import load",
    "load": "load",
    "first_prediction": "first prediction",
    "second_prediction": "second prediction",
}


class Clock:
    """Seconds since the process began to import, less what is none of ours."""

    def __init__(self) -> None:
        self.began = time.perf_counter()
        self.found: dict[str, Any] = {}

    def now(self) -> float:
        """Seconds so far."""
        return time.perf_counter() - self.began

    def note(self, name: str, since: float) -> None:
        """Note the seconds since then."""
        self.found[name] = round(self.now() - since, 4)


def watch_compilers(compiled: list[dict[str, Any]], clock: Clock) -> None:
    """Note each kernel that Triton or numba compiles, or loads from its cache."""
    from numba.core import event

    began: dict[Any, float] = {}

    class Listener(event.Listener):
        def on_start(self, event: Any) -> None:
            began[id(event.data["dispatcher"]), str(event.data["args"])] = clock.now()

        def on_end(self, event: Any) -> None:
            function = event.data["dispatcher"]
            start = began.pop((id(function), str(event.data["args"])), None)
            if start is not None:
                name = getattr(function, "__qualname__", str(function))
                note(name, "numba", start, clock.now() - start, None)

    def note(name: str, by: str, start: float, seconds: float, cached: bool | None) -> None:
        compiled.append(
            {
                "kernel": name,
                "compiler": by,
                "at": round(start, 3),
                "seconds": round(seconds, 4),
                **({} if cached is None else {"from_cache": cached}),
            }
        )

    event.register("numba:compile", Listener())
    try:
        from triton import knobs
    except ImportError:  # no Triton, or one that tells nothing
        return

    def listen(*, src: Any, times: Any, cache_hit: bool, **more: Any) -> None:
        seconds = times.total / 1e6
        note(src.name, "Triton", clock.now() - seconds, seconds, cache_hit)

    knobs.compilation.listener = listen


def fit_run(device: str, rows: int, epochs: int | None, members: int, folder: str) -> None:
    """Import, fit and predict in this process; print what was found."""
    clock, found = Clock(), dict[str, Any]()
    import survtrace  # noqa: F401

    clock.note("import_survtrace", 0.0)
    from survtrace import SurvTRACE

    clock.note("import", 0.0)
    found = clock.found
    compiled: list[dict[str, Any]] = []
    left_out = clock.now()
    from survtrace.datasets import make_cohort
    from survtrace.training import fit as fitting
    from survtrace.training import loop

    X, y = make_cohort(rows, random_state=0)
    watch_compilers(compiled, clock)
    marks: dict[str, float] = {}

    def marked(function: Any, name: str) -> Any:
        def call(*arguments: Any, **more: Any) -> Any:
            marks.setdefault(name, clock.now())
            return function(*arguments, **more)

        return call

    fitting.plan_training = marked(fitting.plan_training, "prepared")
    fitting.History = marked(fitting.History, "waited")
    fitting.train = marked(fitting.train, "train")
    loop.take_steps = marked(loop.take_steps, "first step")
    clock.began += clock.now() - left_out  # simulating the table is none of ours
    settings = {} if epochs is None else {"max_epochs": epochs, "patience": epochs}
    est = SurvTRACE(n_members=members, device=device, random_state=0, verbose=False, **settings)
    began = clock.now()
    est.fit(X, y)
    found["fit"] = round(clock.now() - began, 3)
    found["import_to_end_of_fit"] = round(clock.now(), 3)
    found["prepare"] = round(marks["prepared"] - began, 3)
    found["wait_for_kernels"] = round(marks["waited"] - marks["prepared"], 3)
    found["before_first_epoch"] = round(marks["first step"], 3)
    seconds = est.history_.groupby("epoch")["seconds"].first().tolist()
    found["epochs"] = len(seconds)
    found["first_epoch"] = round(seconds[0], 4)
    found["later_epochs"] = round(sorted(seconds[1:])[len(seconds) // 2 - 1], 4)
    found["compiled_in_fit"] = len(compiled)
    for name in ("first_prediction", "second_prediction"):
        began = clock.now()
        est.predict_cumulative_incidence(X[:1000], TIMES)
        clock.note(name, began)
    found["compiled"] = compiled
    est.save(folder)
    print(json.dumps(found))


def load_run(device: str, folder: str) -> None:
    """Load an estimator and predict in this process; print what was found."""
    clock = Clock()
    from survtrace import load

    clock.note("import", 0.0)
    from survtrace.datasets import make_cohort

    X, _ = make_cohort(1000, random_state=1)
    compiled: list[dict[str, Any]] = []
    watch_compilers(compiled, clock)
    began = clock.now()
    est = load(folder).set_params(device=device)
    clock.note("load", began)
    for name in ("first_prediction", "second_prediction"):
        began = clock.now()
        est.predict_cumulative_incidence(X, TIMES)
        clock.note(name, began)
    print(json.dumps({**clock.found, "compiled": compiled}))


def fresh_process(work: list[str], caches: str) -> dict[str, Any]:
    """Run a part of this file in a process with these caches; add its whole seconds."""
    folders = {
        name: str(Path(caches, name))
        for name in ("TRITON_CACHE_DIR", "NUMBA_CACHE_DIR", "CUDA_CACHE_PATH")
    }
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, __file__, *work],
        env={**os.environ, **folders},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    whole = round(time.perf_counter() - began, 3)
    return {**json.loads(done.stdout.splitlines()[-1]), "process": whole}


def markdown(report: dict[str, Any]) -> str:
    """Write the parts as a Markdown table, and those of a process that loads and predicts."""
    runs = {"empty caches": report["empty"]}
    runs |= {f"filled caches, run {n}": run for n, run in enumerate(report["filled"], start=1)}
    size = f"{report['rows']:,} rows, {report['members']} member{'s' * (report['members'] > 1)}"
    lines = [
        f"{size}, {report['machine']['device']}",
        "",
        "| seconds | " + " | ".join(runs) + " |",
        "|---" * (1 + len(runs)) + "|",
    ]
    for key, words in PARTS.items():
        cells = " | ".join(f"{run[key]:.3g}" for run in runs.values())
        lines.append(f"| {words} | {cells} |")
    for key, words in LOADED.items():
        cells = [f"{run[key]:.3g}" for run in (report["loaded_empty"], *report["loaded"])]
        lines.append(f"| in a process that loads and predicts: {words} | {' | '.join(cells)} |")
    return "\n".join(lines)


def show(report: dict[str, Any]) -> None:
    """Print the table, and the slowest compilations."""
    print(markdown(report))
    for name in ("empty", "loaded_empty"):
        print(f"\nslowest compilations, {name}")
        for kernel in sorted(report[name]["compiled"], key=lambda k: -k["seconds"])[:12]:
            print(f"  {kernel['seconds']:8.3f} s at {kernel['at']:7.3f}  {kernel['kernel']}")


def machine(device: str) -> dict[str, Any]:
    import torch

    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return {
        "cpu": names[0] if names else platform.processor(),
        "cores": len(os.sched_getaffinity(0)),
        "device": torch.cuda.get_device_name() if device == "cuda" else "cpu",
        "python": platform.python_version(),
        "torch": torch.__version__,
    }


def gpu_seen() -> bool:
    """Whether torch sees a GPU; asked in another process, for this one stays small."""
    code = "import sys, torch; sys.exit(not torch.cuda.is_available())"
    return subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=["cpu", "cuda"], help="the GPU if there is one")
    parser.add_argument("--rows", type=int, default=333_722)
    parser.add_argument("--epochs", type=int, help="by default until members stop")
    parser.add_argument("--members", type=int, default=8)
    parser.add_argument("--repeats", type=int, default=2, help="runs with filled caches")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--show", action="store_true", help="print the table of the result file")
    parser.add_argument("--fit-to", help=argparse.SUPPRESS)
    parser.add_argument("--load-from", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.fit_to:
        fit_run(given.device, given.rows, given.epochs, given.members, given.fit_to)
        return
    if given.load_from:
        load_run(given.device, given.load_from)
        return
    # Nothing of torch may be read before the first run, which is to be cold.
    device = given.device
    if device is None:
        device = "cuda" if Path("/dev/nvidia0").exists() and gpu_seen() else "cpu"
    file = given.out / f"cold_start_{device}.json"
    if given.show:
        show(json.loads(file.read_text()))
        return
    work = ["--device", device]
    details = ["--rows", str(given.rows), "--members", str(given.members)]
    details += [] if given.epochs is None else ["--epochs", str(given.epochs)]
    with tempfile.TemporaryDirectory() as folder:
        kept, caches = f"{folder}/estimator", f"{folder}/caches"
        report: dict[str, Any] = {
            "rows": given.rows,
            "members": given.members,
            "empty": fresh_process([*work, *details, "--fit-to", f"{kept}0"], caches),
        }
        report["filled"] = [
            fresh_process([*work, *details, "--fit-to", f"{kept}{n}"], caches)
            for n in range(1, given.repeats + 1)
        ]
        loading = [*work, "--load-from", f"{kept}0"]
        report["loaded_empty"] = fresh_process(loading, f"{folder}/other_caches")
        report["loaded"] = [fresh_process(loading, caches) for _ in range(given.repeats)]
    report["machine"] = machine(device)
    given.out.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    show(report)


if __name__ == "__main__":
    main()
