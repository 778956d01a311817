"""Kill, interrupt, starve and disturb what survtrace does, and count what was lost or wrong.

``python tests/fuzz/faults.py --times 20 --seed 0``. Each fault is injected so many times at random
moments, into children forked by one process that has imported everything. What must hold: finished
work is not lost, half-written work does not look finished, and what happened is said.
"""

import argparse
import json
import os
import random
import re
import resource
import shutil
import signal
import socket
import sys
import tempfile
import time
import warnings
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd

from survtrace import SavedFileError, SurvTRACE, load
from survtrace.cli import main as command
from survtrace.datasets import make_cohort
from survtrace.errors import DataError, SurvtraceError
from survtrace.streaming import predict_file
from survtrace.study import runner
from survtrace.study.protocol import Task, random_splits
from survtrace.tables.files.chunks import read_chunks
from survtrace.training.checkpoint import FILE
from survtrace.tuning import tune

TINY = {
    "n_members": 2, "n_intervals": 3, "width": 4, "depth": 1, "n_heads": 1, "hidden": 8,
    "batch_size": 16, "unknown_steps": 5, "intervals": False, "device": "cpu", "n_threads": 1,
    "random_state": 0, "verbose": False,
}  # fmt: skip
X, Y = make_cohort(240, proportions=(0.4, 0.2), random_state=0)
OUTCOME = ["--duration", "duration", "--event", "event"]
SIGNALS = {"SIGKILL": signal.SIGKILL, "SIGTERM": signal.SIGTERM, "Ctrl-C": signal.SIGINT}
# What commands that write files are given, with the path to write last.
WRITING = {
    "page": ["page", "MODEL", "--out", "page.html"],
    "export": ["export", "MODEL", "--onnx", "model.onnx"],
    "split": ["split", "TABLE", "--out-test", "test.csv", "--out-train", "train.csv"],
    "explain": ["explain", "MODEL", "TABLE", *OUTCOME, "--repeats", "1", "--out", "table.csv"],
    "validate": ["validate", "MODEL", "TABLE", *OUTCOME, "--horizon", "20", "--out", "page.html"],
    "update": ["update", "MODEL", "TABLE", *OUTCOME, "--out", "here"],
}
LONG = ["--set", "max_epochs=400", "--set", "patience=400"]


class Child:
    """A forked process that does something, with its words in a file."""

    def __init__(self, home: Path, do, *arguments) -> None:
        self.words = home / f"words-{random.getrandbits(40)}"
        self.pid = os.fork()
        if self.pid == 0:
            os.setpgid(0, 0)
            file = os.open(self.words, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            os.dup2(file, 1)
            os.dup2(file, 2)
            code = 0
            try:
                do(*arguments)
            except SystemExit as ended:
                code = ended.code or 0
            except BaseException as error:
                print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
                code = 2 if isinstance(error, SurvtraceError) else 1
            os._exit(code)

    def wait(self, seconds: float = 600.0) -> int:
        """Wait for the end; return the exit code, or minus the signal."""
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            done, status = os.waitpid(self.pid, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.002)
        os.killpg(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        return 999

    def hit(self, number: signal.Signals, seconds: float) -> int:
        """Send a signal after a while; return how it ended."""
        time.sleep(seconds)
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)
        return self.wait()

    @property
    def said(self) -> str:
        """What it printed."""
        return self.words.read_text() if self.words.exists() else ""


def survtrace(*arguments) -> None:
    """Run the command as a user does."""
    sys.argv = ["survtrace", *map(str, arguments)]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    command()


def fitted(max_epochs: int = 2, **settings) -> SurvTRACE:
    """Fit a tiny estimator."""
    return SurvTRACE(**{**TINY, "max_epochs": max_epochs, **settings}).fit(X, Y)


def ended_well(code: int, said: str, name: str) -> bool:
    """Check that an end by a signal, or in time before it, has its code and its words."""
    if name == "SIGKILL" or code == 0:
        return code in (0, -9)
    right, word = {"SIGTERM": (143, "SIGTERM"), "Ctrl-C": (130, "interrupted")}[name]
    return code == right and word in said


def save_forever(path: Path) -> None:
    """Replace a model again and again."""
    for _ in range(10_000):
        OTHER.save(path)


def answers(path: Path) -> np.ndarray | None:
    """What a saved model predicts; None if it cannot be loaded."""
    try:
        return load(path).predict(X)
    except SurvtraceError:
        return None


def is_one_of(found: np.ndarray | None, *models: SurvTRACE) -> bool:
    """Check that predictions are those of one of the estimators."""
    return found is not None and any(np.array_equal(found, each.predict(X)) for each in models)


def limit(kind: int, more: int) -> None:
    """Bound what this process may take; of memory, beyond what it has."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    has = int(Path("/proc/self/statm").read_text().split()[0]) * 4096
    n_bytes = more + (has if kind == resource.RLIMIT_AS else 0)
    resource.setrlimit(kind, (n_bytes, n_bytes))


def tell(child: Child, is_silent: bool) -> bool:
    """Print what a child said where that was not what it should."""
    if is_silent:
        print(child.said[-2000:])
    return is_silent


# Each of the following injects one fault and returns (lost, wrong, silent).


def save_and_signal(home: Path, rng: random.Random, name: str):
    """Signal a process that replaces a model again and again."""
    EST.save(home / "m")
    child = Child(home, save_forever, home / "m")
    child.hit(SIGNALS[name], rng.uniform(0.005, 0.2))
    found = answers(home / "m")
    return found is None, not is_one_of(found, EST, OTHER), False


def save_by_two(home: Path, rng: random.Random):
    """Let two processes replace one model."""

    def save(est):
        for _ in range(20):
            est.save(home / "m")

    codes = [child.wait() for child in [Child(home, save, est) for est in (EST, OTHER)]]
    found = answers(home / "m")
    return found is None, not is_one_of(found, EST, OTHER), codes != [0, 0]


def save_without_room(home: Path, rng: random.Random):
    """Save where files may not grow."""
    EST.save(home / "m")

    def save():
        limit(resource.RLIMIT_FSIZE, rng.randrange(1, 15_000))
        OTHER.save(home / "m")

    child = Child(home, save)
    code, found = child.wait(), answers(home / "m")
    silent = code != 2 or "could not be written" not in child.said
    return found is None, not is_one_of(found, EST), silent


def save_read_only(home: Path, rng: random.Random):
    """Save to a folder that is closed to us."""
    EST.save(home / "closed" / "m")
    os.chmod(home / "closed", 0o555)

    def save():
        if os.getuid() == 0:
            os.chmod(home, 0o777)
            os.setuid(65534)
        OTHER.save(home / "closed" / "m")

    child = Child(home, save)
    code, found = child.wait(), answers(home / "closed" / "m")
    os.chmod(home / "closed", 0o755)
    silent = code != 2 or "could not be written" not in child.said
    return found is None, not is_one_of(found, EST), silent


def fit_and_kill(home: Path, rng: random.Random):
    """Kill a fit with a checkpoint at a random moment, go on, and compare with one never killed."""
    folder = home / "checkpoint"

    def fit():
        fitted(12, checkpoint_dir=folder).save(home / "m")

    Child(home, fit).hit(signal.SIGKILL, rng.uniform(0.02, 1.0))
    code = Child(home, fit).wait()
    return code != 0, not is_one_of(answers(home / "m"), LONGER), False


def fit_command(home: Path, rng: random.Random, name: str):
    """Signal `survtrace fit`; a model stands at its path if it is finished, else beside it."""
    EST.save(home / "m")
    settings = [part for k, v in TINY.items() if k not in ("random_state", "verbose")
                for part in ("--set", f"{k}={v}")]  # fmt: skip
    child = Child(home, survtrace, "fit", TABLE, *OUTCOME, "--out", home / "m", "--force",
                  "--seed", 0, *settings, *LONG)  # fmt: skip
    code = child.hit(SIGNALS[name], rng.uniform(0.1, 3.0))
    found, beside = answers(home / "m"), home / "m.interrupted"
    wrong = not (code == 0 or is_one_of(found, EST)) or (
        beside.exists() and not answers(beside).any()
    )
    return found is None, wrong, not ended_well(code, child.said, name)


def fit_by_two(home: Path, rng: random.Random):
    """Let two processes fit with one checkpoint folder: one of them says that it is in use."""
    folder = home / "checkpoint"
    first = Child(home, lambda: fitted(12, checkpoint_dir=folder).save(home / "m"))
    while not (folder / FILE).exists():
        time.sleep(0.005)
    second = Child(home, lambda: fitted(12, checkpoint_dir=folder).save(home / "n"))
    codes = [first.wait(), second.wait()]
    refused = codes[1] == 2 and f"in use by process {first.pid}" in second.said
    late = codes[1] == 0  # the first had ended
    return codes[0] != 0, not is_one_of(answers(home / "m"), LONGER), not (refused or late)


def fit_without_room(home: Path, rng: random.Random):
    """Fit with a checkpoint where files may not grow."""

    def fit():
        limit(resource.RLIMIT_FSIZE, rng.randrange(1, 15_000))
        fitted(12, checkpoint_dir=home / "checkpoint")

    child = Child(home, fit)
    code = child.wait()
    half = (home / "checkpoint" / FILE).exists()
    return False, half, code != 2 or "could not be written" not in child.said


def fit_from_damaged(home: Path, rng: random.Random):
    """Damage a checkpoint: it is refused, or the fit is the same."""
    folder = home / "checkpoint"
    shutil.copytree(CHECKPOINT, folder)
    content = bytearray((folder / FILE).read_bytes())
    if rng.random() < 0.3:
        del content[rng.randrange(len(content)) :]
    else:
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    (folder / FILE).write_bytes(content)
    try:
        est = fitted(12, checkpoint_dir=folder)
    except SavedFileError as error:
        return False, False, "Delete it to start anew" not in str(error)
    except SurvtraceError:  # of another fit
        return False, False, False
    return False, not np.array_equal(est.predict(X), LONGER.predict(X)), False


def out_of_memory(home: Path, rng: random.Random):
    """Predict more than memory holds."""
    rows = pd.concat([X] * 400, ignore_index=True)

    def predict():
        limit(resource.RLIMIT_AS, 2**20 * rng.randrange(100, 300))
        EST.predict_cumulative_incidence(rows, np.linspace(0.1, 50, 400))

    child = Child(home, predict)
    code = child.wait()
    return False, code == 0, code != 2 or "not enough memory" not in child.said


def predict_and_signal(home: Path, rng: random.Random, name: str):
    """Signal `survtrace predict`: the file is the old one or the whole new one."""
    out = home / "risks.csv"
    out.write_text("old")
    child = Child(
        home, survtrace, "predict", MODEL, MANY, "--times", "5,20", "--out", out, "--force"
    )
    code = child.hit(SIGNALS[name], rng.uniform(0.05, 1.5))
    found = out.read_bytes()
    return found not in (b"old", WHOLE), False, not ended_well(code, child.said, name)


def predict_without_room(home: Path, rng: random.Random):
    """Predict to a file that may not grow."""
    out = home / "risks.csv"
    out.write_text("old")

    def predict():
        limit(resource.RLIMIT_FSIZE, rng.randrange(1, len(WHOLE)))
        survtrace("predict", MODEL, MANY, "--times", "5,20", "--out", out, "--force")

    child = Child(home, predict)
    code = child.wait()
    silent = code != 2 or "could not be written" not in child.said
    return out.read_text() != "old", False, tell(child, silent)


def written_by(command: str, home: Path) -> tuple[list, Path]:
    """Return the arguments of a command that replaces something, and its path."""
    places = {"MODEL": MODEL, "TABLE": TABLE}
    arguments = [
        home / each if "." in each or each == "here" else places.get(each, each)
        for each in WRITING[command]
    ]
    return [*arguments, "--force"], arguments[-1]


def contents(path: Path) -> bytes | dict[str, bytes]:
    """Read a file, or all files of a folder; without the minute at which a page was made."""
    if path.is_dir():
        return {file.name: file.read_bytes() for file in path.iterdir()}
    return re.sub(rb"Made on [-0-9]+ at [0-9:]+ UTC", b"", path.read_bytes())


def put_earlier(out: Path) -> bytes | dict[str, bytes]:
    """Put something there that a command is to replace."""
    if out.name == "here":
        shutil.copytree(MODEL, out)
    else:
        out.write_text("old")
    return contents(out)


def write_and_signal(home: Path, rng: random.Random, command: str, name: str):
    """Signal a command that writes a file or a model: there is the old one or the whole new one."""
    arguments, out = written_by(command, home)
    new, seconds = NEW[command]
    earlier = put_earlier(out)
    child = Child(home, survtrace, *arguments)
    code = child.hit(SIGNALS[name], rng.uniform(0.01, 1.1 * seconds))
    left = name != "SIGKILL" and any(file.suffix == ".part" for file in home.iterdir())
    silent = not ended_well(code, child.said, name)
    return contents(out) not in (earlier, new), left, tell(child, silent)


def write_without_room(home: Path, rng: random.Random, command: str):
    """Write where files may not grow: what was there stays."""
    arguments, out = written_by(command, home)
    new, _ = NEW[command]
    most = max(map(len, new.values())) if isinstance(new, dict) else len(new)
    earlier = put_earlier(out)

    def write():
        limit(resource.RLIMIT_FSIZE, rng.randrange(most // 10, most))
        survtrace(*arguments)

    child = Child(home, write)
    code = child.wait()
    left = any(file.suffix == ".part" for file in home.iterdir())
    silent = code != 2 or "could not be" not in child.said
    return contents(out) != earlier, left, tell(child, silent)


def change_a_file(home: Path, rng: random.Random):
    """Write to a table while it is read."""
    file = home / rng.choice(["t.csv", "t.parquet"])
    write = file.suffix == ".csv" and (lambda frame: frame.to_csv(file, index=False))
    write = write or (lambda frame: frame.to_parquet(file))
    write(X)
    try:
        for number, _ in enumerate(
            read_chunks(file, ["age"] if "age" in X else [X.columns[0]], n_rows=20)
        ):
            if number == 3:
                write(X[::-1])
    except DataError:
        return False, False, False
    return False, True, True


def jobs_of(home: Path, processes: int) -> pd.DataFrame:
    """Run a tiny study."""
    methods = {
        "SurvTRACE": lambda seed: SurvTRACE(**{**TINY, "max_epochs": 15, "random_state": seed})
    }
    task = Task("tiny", X, Y, random_splits(len(X), 6))
    jobs = [runner.Job("tiny", "SurvTRACE", split) for split in range(6)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return runner.run_jobs(jobs, methods, home, load=lambda name: task, n_processes=processes)


def study_and_signal(home: Path, rng: random.Random, name: str):
    """Signal a study, then go on with it: its scores are those of one never broken off."""

    def run():
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        jobs_of(home / "study", 1)

    child = Child(home, run)
    child.hit(SIGNALS[name], rng.uniform(0.05, 2.5))
    before = {file: file.read_bytes() for file in (home / "study" / "jobs").glob("[!.]*.json")}
    again = Child(home, jobs_of, home / "study", 1)
    code = again.wait()
    kept = all(file.read_bytes() == content for file, content in before.items())
    scores = home / "study" / "scores.csv"
    same = scores.exists() and scores.read_bytes() == STUDY
    return not kept or code != 0, not same, tell(again, code != 0)


def tune_and_signal(home: Path, rng: random.Random, name: str):
    """Signal a search, then go on with it: trials that were done are kept."""

    def search(n_trials):
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        small = {**{k: v for k, v in TINY.items() if k != "random_state"}, "max_epochs": 3}
        tune(X, Y, home / "t", n_trials=n_trials, n_folds=2, fixed=small)

    Child(home, search, 40).hit(SIGNALS[name], rng.uniform(0.3, 2.5))
    journal = home / "t" / "trials.log"
    if journal.exists() and rng.random() < 0.3:  # as a power cut leaves it
        journal.write_bytes(journal.read_bytes()[: -rng.randrange(1, 20)])
    done = journal.read_bytes().rpartition(b"\n")[0] if journal.exists() else b""
    child = Child(home, search, 1 + done.count(b'"state":1'))
    code = child.wait()
    kept = journal.read_bytes().startswith(done)
    return not kept, not (home / "t" / "settings.json").exists(), code != 0


def serve_and_signal(home: Path, rng: random.Random, name: str):
    """Signal a server: it ends at once, and cleanly."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    child = Child(home, survtrace, "serve", MODEL, "--port", port)
    for _ in range(600):
        time.sleep(0.05)
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            break
        except OSError:
            continue
    code = child.hit(SIGNALS[name], rng.uniform(0.0, 0.2))
    return False, code not in (0, 130, 143, -15, -9), code == 999


FAULTS = {
    ("SIGKILL", "save"): (save_and_signal, "SIGKILL"),
    ("SIGTERM", "save"): (save_and_signal, "SIGTERM"),
    ("two writers", "save"): (save_by_two,),
    ("full disk", "save"): (save_without_room,),
    ("read-only folder", "save"): (save_read_only,),
    ("SIGKILL", "fit with a checkpoint"): (fit_and_kill,),
    ("SIGKILL", "fit"): (fit_command, "SIGKILL"),
    ("SIGTERM", "fit"): (fit_command, "SIGTERM"),
    ("Ctrl-C", "fit"): (fit_command, "Ctrl-C"),
    ("two writers", "fit with a checkpoint"): (fit_by_two,),
    ("full disk", "fit with a checkpoint"): (fit_without_room,),
    ("damage", "fit with a checkpoint"): (fit_from_damaged,),
    ("out of memory", "predict"): (out_of_memory,),
    ("SIGKILL", "predict to a file"): (predict_and_signal, "SIGKILL"),
    ("SIGTERM", "predict to a file"): (predict_and_signal, "SIGTERM"),
    ("Ctrl-C", "predict to a file"): (predict_and_signal, "Ctrl-C"),
    ("full disk", "predict to a file"): (predict_without_room,),
    ("change of the file", "reading in chunks"): (change_a_file,),
    ("SIGKILL", "study"): (study_and_signal, "SIGKILL"),
    ("SIGTERM", "study"): (study_and_signal, "SIGTERM"),
    ("Ctrl-C", "study"): (study_and_signal, "Ctrl-C"),
    ("SIGKILL", "tune"): (tune_and_signal, "SIGKILL"),
    ("SIGTERM", "tune"): (tune_and_signal, "SIGTERM"),
    ("Ctrl-C", "tune"): (tune_and_signal, "Ctrl-C"),
    ("SIGTERM", "serve"): (serve_and_signal, "SIGTERM"),
    ("Ctrl-C", "serve"): (serve_and_signal, "Ctrl-C"),
}


for _command in WRITING:
    for _name in SIGNALS:
        FAULTS[_name, _command] = (write_and_signal, _command, _name)
    FAULTS["full disk", _command] = (write_without_room, _command)


def run(times: int, seed: int, only: str = "") -> list[dict]:
    """Inject each fault so many times; return a row of counts for each."""
    rows = []
    for (fault, during), (inject, *name) in FAULTS.items():
        if only not in f"{fault} {during}":
            continue
        rng = random.Random(f"{seed} {fault} {during}")
        counts = {
            "fault": fault,
            "during": during,
            "times": times,
            "lost": 0,
            "wrong": 0,
            "silent": 0,
        }
        for _ in range(times):
            with tempfile.TemporaryDirectory() as home:
                found = inject(Path(home), rng, *name)
            for kind, is_so in zip(("lost", "wrong", "silent"), found, strict=True):
                counts[kind] += bool(is_so)
        rows.append(counts)
        print(f"{fault:20} {during:22} {times:4} {counts['lost']:5} {counts['wrong']:5} "
              f"{counts['silent']:5}", flush=True)  # fmt: skip
    return rows


def prepare(home: Path, only: str = "") -> None:
    """Make what the chosen faults are compared with, and compile what children inherit."""
    global EST, OTHER, LONGER, MODEL, TABLE, MANY, WHOLE, CHECKPOINT, STUDY, NEW
    warnings.simplefilter("ignore")
    chosen = " ".join(
        f"{fault} {during}" for fault, during in FAULTS if only in f"{fault} {during}"
    )
    EST, OTHER, LONGER = fitted(), fitted(3), fitted(12)
    MODEL, TABLE, MANY, CHECKPOINT = (home / n for n in ("m", "t.csv", "many.csv", "checkpoint"))
    EST.save(MODEL)
    X.join(Y).to_csv(TABLE, index=False)
    if "predict to a file" in chosen:
        pd.concat([X] * 400).to_csv(MANY, index=False)
        predict_file(EST, MANY, home / "whole.csv", times=[5, 20])
        WHOLE = (home / "whole.csv").read_bytes()
    NEW = {}
    for name in {during for _, during in FAULTS if during in WRITING and during in chosen}:
        arguments, out = written_by(name, home)
        for _ in range(2):  # the second time tells how long it takes, once all is imported
            began = time.monotonic()
            run_in_child = Child(home, survtrace, *arguments)
            assert run_in_child.wait() == 0, run_in_child.said
            NEW[name] = contents(out), time.monotonic() - began
    if "damage" in chosen:
        fitted(6, checkpoint_dir=CHECKPOINT)
    if "study" in chosen:
        jobs_of(home / "study", 1)
        STUDY = (home / "study" / "scores.csv").read_bytes()


def main() -> None:
    """Run as a script."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="faults whose names contain this")
    parser.add_argument("--out", type=Path, help="a JSON file for the counts")
    given = parser.parse_args()
    print(f"{'fault':20} {'during':22} {'times':>4} {'lost':>5} {'wrong':>5} silent")
    with tempfile.TemporaryDirectory() as home:
        prepare(Path(home), given.only)
        rows = run(given.times, given.seed, given.only)
    if given.out:
        given.out.write_text(json.dumps({"seed": given.seed, "faults": rows}, indent=1) + "\n")
    sys.exit(any(row["lost"] or row["wrong"] or row["silent"] for row in rows))


if __name__ == "__main__":
    main()
