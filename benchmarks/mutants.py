"""Counts the faults that the tests notice: mutants of losses, curves, scores, tables and training.

A sample of mutants (mutators.py), spread over the modules by their size, is tested: first with the
tests of its own module, then with those of its room, then with wider ones, until one fails. Before,
every file of tests runs on the unchanged sources: tests that fail there are left out and listed,
files that are slow are too. Each process has a copy of the sources and tests in a scratch folder.
A mutant in mutants_equivalent.json, which behaves as the module does, is not counted; the reason
stands there. Stops after ``--seconds`` and writes what it has to results/mutants.json.

    python benchmarks/mutants.py --count 480 --seed 0 --processes 16 --seconds 460
    python benchmarks/mutants.py --again benchmarks/results/mutants.json   # only the survivors
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from contextlib import suppress
from importlib import import_module, metadata
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from mutators import Mutant, is_other, mutants

ROOT = Path(__file__).resolve().parents[1]
RESULT = ROOT / "benchmarks" / "results" / "mutants.json"
EQUIVALENT = ROOT / "benchmarks" / "mutants_equivalent.json"
VERDICTS = ("killed", "timed out", "survived", "equivalent", "not run")
ATTEMPTS = 4  # at a file of tests of which some fail unchanged
SLOW = 30.0  # seconds of a file of tests, above which mutants go without it
MEMORY = 24 * 2**30  # bytes of address space: a mutant may ask for any amount
# Imported once, before processes divide. pytest's plugins are not: it rewrites their assertions.
PRELOADED = ("torch", "pandas", "scipy.stats", "scipy.optimize", "sklearn.model_selection", "numba")

CURVES = [
    "tests/laws/test_curves_laws.py",
    "tests/agreement/test_curves_against_numerical_integration.py",
]
SCORES = ["tests/laws/test_metrics_laws.py", "tests/laws/test_metrics_entry_laws.py"]
FITS = ["tests/test_golden_fit.py", "tests/test_estimator.py"]
# Room, or module: the files and folders of tests after the module's own, from near to far.
TESTS: dict[str, list[list[str]]] = {
    "losses": [
        ["tests/losses"],
        ["tests/agreement/test_likelihood_against_pycox.py", "tests/laws/test_cutting.py"],
        ["tests/training/test_loop.py", *FITS],
    ],
    "inference": [CURVES, ["tests/inference"], ["tests/test_estimator.py"]],
    "portable": [["tests/portable"]],
    "metrics": [
        ["tests/metrics"],
        SCORES,
        ["tests/agreement", "tests/evaluation", "tests/conformal"],
    ],
    "tables/covariates": [
        ["tests/tables/covariates"],
        ["tests/tables", "tests/test_bad_input.py", "tests/cohort"],
        ["tests/inspection", "tests/messy", "tests/test_estimator.py"],
    ],
    "tables/files": [
        ["tests/tables/files"],
        ["tests/tables", "tests/cohort", "tests/test_streaming.py"],
        ["tests/messy", "tests/cli/commands/test_check.py", "tests/cli/commands/test_split.py"],
    ],
    "tables/outcome": [
        ["tests/tables/outcome"],
        ["tests/tables", "tests/test_bad_input.py", "tests/cohort"],
        ["tests/messy", "tests/inspection", "tests/test_estimator.py"],
    ],
    "tables/typicality": [["tests/tables/typicality", "tests/inference/test_unlike.py"]],
    "tables": [
        ["tests/tables"],
        ["tests/cohort", "tests/training/test_start_stop.py", "tests/messy"],
    ],
    "training": [
        ["tests/training"],
        [*FITS, "tests/laws/test_cutting.py", "tests/inference/test_interval.py"],
        ["tests/test_bad_input.py"],
    ],
}
# Packages that some files of tests import at their head, and some machines lack: an empty module
# takes their place, so that the other tests of the file run. Those that use it fail, unchanged too.
STAND_INS = ("polars", "pyarrow", "openpyxl")
MODULES = ("losses", "inference/curves.py", "portable/curves.py", "metrics", "tables", "training")


class Outcome(NamedTuple):
    """How a run of pytest ended: its status (None: out of time), failures, and seconds."""

    status: int | None
    failed: list[str]
    seconds: float


class Verdict(NamedTuple):
    """What became of a mutant, and by which test."""

    number: int
    verdict: str
    by: str
    seconds: float


def main() -> None:
    options = read_options()
    check_is_installed()
    deadline = time.monotonic() + options.seconds
    chosen = survivors(options.again) if options.again else sample(options)
    with tempfile.TemporaryDirectory() as folder:
        base = copy_sources(Path(folder) / "base")
        for name in PRELOADED:
            import_module(name)
        files = sorted(
            {path for m in chosen for stage in stages(m)[: options.stages] for path in stage}
        )
        started = time.monotonic()
        unchanged = run_unchanged(base, files, options.processes)
        print(
            f"{len(files)} files of tests, unchanged: {time.monotonic() - started:.0f} s",
            flush=True,
        )
        verdicts = judge(chosen, unchanged, base, options.processes, deadline, options.stages)
    write(options, chosen, verdicts, unchanged)


def check_is_installed() -> None:
    """Refuse where survtrace's version is not known: every test that fits would fail unchanged."""
    try:
        metadata.version("survtrace")
    except metadata.PackageNotFoundError:
        raise SystemExit(
            "mutants need survtrace as an installed package, and none is found: pip install -e ."
        ) from None


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--count", type=int, default=480, help="mutants to try")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="modules whose path begins so, as metrics/brier")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--stages", type=int, default=9, help="how far from the module tests are tried: 2, its room"
    )
    parser.add_argument("--seconds", type=float, default=3600.0, help="stop after so long")
    parser.add_argument(
        "--again", type=Path, help="a result: try its survivors alone, and correct it"
    )
    parser.add_argument("--out", type=Path, default=RESULT)
    return parser.parse_args()


def modules() -> list[str]:
    """Name the modules whose mutants are made, those with code in them."""
    package = ROOT / "src" / "survtrace"
    found = [path for name in MODULES for path in [package / name, *(package / name).rglob("*.py")]]
    return sorted(
        str(p.relative_to(package)) for p in found if p.is_file() and p.name != "__init__.py"
    )


def sample(options: argparse.Namespace) -> list[Mutant]:
    """Draw mutants from all modules, as many of each as it has of all, and at least one."""
    rng = random.Random(options.seed)
    names = [name for name in modules() if name.startswith(options.only)]
    made = {name: mutants(ROOT / "src" / "survtrace" / name, name) for name in names}
    n_all, drawn = sum(len(some) for some in made.values()), []
    for name, some in made.items():
        source = (ROOT / "src" / "survtrace" / name).read_text()
        rng.shuffle(some)
        wanted = max(1, round(options.count * len(some) / n_all))
        usable = (mutant for mutant in some if is_other(mutant, source))
        drawn += [mutant for mutant, _ in zip(usable, range(wanted), strict=False)]
    rng.shuffle(drawn)  # a run that is stopped has tried a sample too
    return drawn


def survivors(result: Path) -> list[Mutant]:
    """Make the mutants again that survived, wherever their lines stand now."""
    listed = json.loads(result.read_text())["survivors"]
    keys = {tuple(row[field] for field in KEY) for row in listed}
    names = sorted({row["module"] for row in listed})
    made = [m for name in names for m in mutants(ROOT / "src" / "survtrace" / name, name)]
    return [mutant for mutant in made if mutant.key in keys]


KEY = ("module", "operator", "before", "after", "occurrence")


def stages(mutant: Mutant) -> list[list[str]]:
    """List the files of tests for a mutant, those of its module first, each once."""
    module, room = Path(mutant.module), Path(mutant.module).parent
    named = [f"tests/{module.parent}/test_{module.stem}.py", f"src/survtrace/{module}"]
    while str(room) not in TESTS:
        room = room.parent
    seen: set[str] = set()
    return [unseen(files_of(paths), seen) for paths in [named, *TESTS[str(room)]]]


def files_of(paths: Iterable[str]) -> list[str]:
    """Open folders into the files of tests in them, and leave out what is not there."""
    found = (
        sorted((ROOT / p).rglob("test_*.py")) if (ROOT / p).is_dir() else [ROOT / p] for p in paths
    )
    return [str(path.relative_to(ROOT)) for some in found for path in some if path.exists()]


def unseen(paths: list[str], seen: set[str]) -> list[str]:
    """Keep paths that were not seen, and note that they were."""
    new = [path for path in dict.fromkeys(paths) if path not in seen]
    seen.update(new)
    return new


def copy_sources(folder: Path, origin: Path = ROOT) -> Path:
    """Copy sources, tests and what the tests read, compiled kernels and dates among them."""
    for name in ("src", "tests", "docs", "benchmarks", "README.md", "pyproject.toml"):
        if (origin / name).is_dir():
            shutil.copytree(origin / name, folder / name)
        else:
            shutil.copy2(origin / name, folder / name)
    return folder


def run_unchanged(base: Path, files: list[str], processes: int) -> dict[str, Outcome]:
    """Run each file of tests on the unchanged sources; kernels are compiled first, once."""
    run_tests(base, ["tests/training/test_kernels_on_and_off.py"], 300.0)
    queue: Any = multiprocessing.SimpleQueue()
    turn = multiprocessing.Value("i", 0)

    def work() -> None:
        while (number := next_number(turn)) < len(files):
            queue.put((files[number], passing_part(base, files[number])))
        queue.put(None)

    return dict(collect(work, queue, processes))


def passing_part(base: Path, file: str) -> Outcome:
    """Find which tests of a file fail unchanged, until the rest of them passes.

    A test may fail only after another, or only where another is left out: such a failure, met for
    the first time with a fault in place, would count as noticing it.
    """
    failed: list[str] = []
    for _ in range(ATTEMPTS):
        found = run_tests(base, [file], 1.5 * SLOW, deselected(failed))
        if found.status != 1:
            return found._replace(failed=failed)
        failed += found.failed
    return found._replace(failed=failed, status=None)


def judge(
    chosen: list[Mutant],
    unchanged: dict[str, Outcome],
    base: Path,
    processes: int,
    deadline: float,
    n_stages: int,
) -> list[Verdict]:
    """Try the mutants, each process in a copy of its own, until the time is over."""
    queue: Any = multiprocessing.SimpleQueue()
    turn = multiprocessing.Value("i", 0)

    def work() -> None:
        folder = copy_sources(base.parent / str(os.getpid()), base)
        while (number := next_number(turn)) < len(chosen) and time.monotonic() < deadline:
            queue.put(try_mutant(number, chosen[number], unchanged, folder, deadline, n_stages))
        queue.put(None)

    verdicts = []
    for verdict in collect(work, queue, processes):
        verdicts.append(verdict)
        mutant = chosen[verdict.number]
        what = f"{mutant.module}:{mutant.line} {mutant.operator}"
        print(f"{len(verdicts):4} {verdict.verdict:10} {verdict.seconds:5.1f} s {what}", flush=True)
    return verdicts


def next_number(turn: Any) -> int:
    """Take the next number of a count that processes share."""
    with turn.get_lock():
        turn.value += 1
        return int(turn.value) - 1


def collect(work: Any, queue: Any, processes: int) -> Iterable[Any]:
    """Run ``work`` in forked processes and give what they put into the queue."""
    fork = multiprocessing.get_context("fork")
    workers = [fork.Process(target=work) for _ in range(processes)]
    for worker in workers:
        worker.start()
    n_ended = 0
    while n_ended < processes:
        if (found := queue.get()) is None:
            n_ended += 1
        else:
            yield found


def try_mutant(
    number: int,
    mutant: Mutant,
    unchanged: dict[str, Outcome],
    folder: Path,
    deadline: float,
    n_stages: int,
) -> Verdict:
    """Put a mutant in place, run its tests until one fails, and put the module back."""
    started = time.monotonic()
    path = folder / "src" / "survtrace" / mutant.module
    kept, dates = path.read_text(), path.stat()
    path.write_text(mutant.source)
    # Compiled files are told from stale ones by the date in seconds.
    os.utime(path, (dates.st_atime, dates.st_mtime + 10 + number))
    try:
        verdict, by = run_stages(mutant, unchanged, folder, deadline, n_stages)
    finally:
        path.write_text(kept)
        os.utime(path, (dates.st_atime, dates.st_mtime))
    return Verdict(number, verdict, by, time.monotonic() - started)


def run_stages(
    mutant: Mutant,
    unchanged: dict[str, Outcome],
    folder: Path,
    deadline: float,
    n_stages: int,
) -> tuple[str, str]:
    """Run the tests of a mutant, near ones first, and of these the fast ones."""
    n_run = 0
    for stage in stages(mutant)[:n_stages]:
        files = sorted(
            (f for f in stage if is_usable(unchanged[f])), key=lambda f: unchanged[f].seconds
        )
        if not files:
            continue
        limit = 15.0 + 3 * sum(unchanged[file].seconds for file in files)
        found = run_tests(
            folder,
            files,
            min(limit, deadline - time.monotonic()),
            ["-x", *deselected(name for file in files for name in unchanged[file].failed)],
        )
        if found.status is None:
            return ("not run" if time.monotonic() >= deadline else "timed out"), ""
        if found.status not in (0, 5):  # 5: all of a file's tests were left out
            return "killed", found.failed[0] if found.failed else f"pytest's status {found.status}"
        n_run += 1
    return ("survived" if n_run else "not run"), ""


def deselected(failed: Iterable[str]) -> list[str]:
    """Write the options that leave tests out."""
    return [f"--deselect={name}" for name in sorted({left_out_name(name) for name in failed})]


def left_out_name(test: str) -> str:
    """Name a test that is left out: all its cases, where their names hold an address in memory."""
    return test.partition("[")[0] if " at 0x" in test else test


def is_usable(unchanged: Outcome) -> bool:
    """Whether a file of tests can be collected here and is fast enough."""
    return unchanged.status == 0 and unchanged.seconds < SLOW


class StandIn(ModuleType):
    """A package that is not installed: it has a class for every name, which takes anything."""

    def __getattr__(self, name: str) -> Any:
        """Make a class: whether a frame is of this package, as narwhals asks, is answered so."""
        if name.startswith("__"):
            raise AttributeError(name)
        setattr(self, name, type(name, (Anything,), {}))
        return vars(self)[name]


class Anything:
    """What a stand-in makes: its methods give it back."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        """Give a method, which returns this."""
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *_, **__: self


class Failures:
    """A plugin of pytest that notes the tests that fail and the files that cannot be read."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Note a failed test, or a fixture's error."""
        if report.failed:
            self.names.append(report.nodeid)

    pytest_collectreport = pytest_runtest_logreport


def run_tests(folder: Path, files: list[str], limit: float, options: Iterable[str] = ()) -> Outcome:
    """Run pytest on files in a forked process, which ends with all it has started."""
    started = time.monotonic()
    note = folder / f"failed-{os.getpid()}.json"
    note.unlink(missing_ok=True)
    if (process := os.fork()) == 0:
        os._exit(run_here(folder, files, options, note))
    status = wait(process, started + limit)
    failed = json.loads(note.read_text()) if note.exists() else []
    return Outcome(status, failed, time.monotonic() - started)


def run_here(folder: Path, files: list[str], options: Iterable[str], note: Path) -> int:
    """Run pytest in this process, on the sources of a folder."""
    os.setsid()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    quiet = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(quiet, stream)
    os.chdir(folder)
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(folder / "src"))
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    for name in STAND_INS:
        if find_spec(name) is None:
            sys.modules[name] = StandIn(name)
    import pytest

    failures = Failures()
    scratch = f"--basetemp={folder / f'tmp-{os.getpid()}'}"
    status = 3
    try:
        status = int(pytest.main([*files, *options, "-p", "no:cacheprovider", scratch], [failures]))
    finally:
        note.write_text(json.dumps(failures.names))
    return status


def wait(process: int, deadline: float) -> int | None:
    """Wait for a process until the deadline, then end its group; give its exit status."""
    ended, status = os.waitpid(process, os.WNOHANG)
    while not ended and time.monotonic() < deadline:
        time.sleep(0.02)
        ended, status = os.waitpid(process, os.WNOHANG)
    with suppress(ProcessLookupError):
        os.killpg(process, signal.SIGKILL)  # what a test has left running, too
    if ended:
        return os.waitstatus_to_exitcode(status)
    os.waitpid(process, 0)
    return None


def write(
    options: argparse.Namespace,
    chosen: list[Mutant],
    verdicts: list[Verdict],
    unchanged: dict[str, Outcome],
) -> None:
    """Count the verdicts, by room too, and write them with the lines of each survivor."""
    reasons = equivalent_reasons()
    rows = [row_of(chosen[v.number], v.verdict, v.by, reasons) for v in verdicts]
    tried = {v.number for v in verdicts}
    rest = [mutant for number, mutant in enumerate(chosen) if number not in tried]
    rows += [row_of(mutant, "not run", "", reasons) for mutant in rest]
    if options.again:
        before = json.loads(options.again.read_text())
        options.seed = before["about"]["seed"]  # by which they were drawn
        rows = corrected(before["mutants"], rows, reasons)
    rows.sort(key=lambda row: (row["module"], row["line"]))
    result = {
        "about": about(options),
        "all": count(rows),
        "rooms": {room: count(some) for room, some in by_room(rows).items()},
        "tests left out": {
            file: outcome.failed or f"{outcome.seconds:.0f} s"
            for file, outcome in sorted(unchanged.items())
            if outcome.failed or not is_usable(outcome)
        },
        "survivors": [row for row in rows if row["verdict"] == "survived"],
        "mutants": [{name: row[name] for name in (*KEY, "line", "verdict", "by")} for row in rows],
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n")
    print(json.dumps({"all": result["all"], "rooms": result["rooms"]}, indent=1))


def row_of(mutant: Mutant, verdict: str, by: str, reasons: dict[Any, str]) -> dict[str, Any]:
    """Describe a mutant and what became of it."""
    row = {name: getattr(mutant, name) for name in (*KEY, "line")} | {"verdict": verdict, "by": by}
    return marked(row, reasons)


def marked(row: dict[str, Any], reasons: dict[Any, str]) -> dict[str, Any]:
    """Mark a survivor that behaves as the module does."""
    if row["verdict"] == "survived" and (
        reason := reasons.get(tuple(row[name] for name in KEY[:4]))
    ):
        return row | {"verdict": "equivalent", "by": reason}
    return row


def equivalent_reasons() -> dict[Any, str]:
    """Read the mutants that no test can notice, with the reason for each."""
    listed = json.loads(EQUIVALENT.read_text()) if EQUIVALENT.exists() else []
    return {tuple(row[name] for name in KEY[:4]): row["reason"] for row in listed}


def corrected(
    before: list[dict[str, Any]], now: list[dict[str, Any]], reasons: dict[Any, str]
) -> list[dict[str, Any]]:
    """Put the verdicts of a second run in place of those of the first."""
    again = {tuple(row[name] for name in KEY): row for row in now if row["verdict"] != "not run"}
    return [marked(again.get(tuple(row[name] for name in KEY), row), reasons) for row in before]


def by_room(rows: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Sort mutants by the room of their module."""
    rooms = defaultdict(list)
    for row in rows:
        rooms[row["module"].split("/")[0]].append(row)
    return dict(rooms)


def count(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Count verdicts; a mutant that never ends is noticed as one that fails is."""
    counted = Counter(row["verdict"] for row in rows)
    noticed = counted["killed"] + counted["timed out"]
    judged = noticed + counted["survived"]
    share = {"share noticed": round(noticed / judged, 4)} if judged else {}
    return {verdict: counted[verdict] for verdict in VERDICTS} | share


def about(options: argparse.Namespace) -> dict[str, Any]:
    """Say by what, when and on what sources the mutants were tried."""
    git = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip()
    return {
        "command": " ".join(["python", *sys.argv]),
        "date": time.strftime("%Y-%m-%d"),
        "commit": commit,
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "seed": options.seed,
    }


if __name__ == "__main__":
    for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[variable] = "1"  # a process for each core
    main()
