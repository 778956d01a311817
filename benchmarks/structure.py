"""Count what a reader meets: modules, lines, classes, the fullest folder, and five walks.

A walk is what happens from a public call on. A hop is a function on the way that hands work to a
function of another file, found by tracing a small run. Functions inside the libraries (network,
losses, ops, curves, metrics, tables, inspection) are counted in the second number only: who follows
a fit reads what calls them, and looks inside when that is what he is after.

    python benchmarks/structure.py > benchmarks/results/structure.json
    python benchmarks/structure.py --tree ../before # another checkout, with this Python
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

WALKS = ("fit", "predict", "fit from a folder", "fit --ray", "/predict")
LIBRARIES = (
    *("network/", "losses/", "ops/", "kernels/", "metrics/", "tables/", "inspection/", "datasets/"),
    *("errors.py", "files.py", "settings.py", "naming.py", "threads.py"),
    *("curves.py", "inference/curves.py", "inference/curve_function.py"),
)
# Until the rooms were parted, tables and the way from tables to batches lay in one folder.
OLD_PLUMBING = ("batches", "blocks", "census", "draws", "pieces", "pools", "records", "remarks")
OLD_PLUMBING += ("sample", "spelling", "spool")


def is_library(file: str) -> bool:
    """Whether a file is one that a walk calls and does not lead through."""
    if file.startswith("data/"):
        return Path(file).stem not in OLD_PLUMBING
    return file.startswith(LIBRARIES)


def count_source(package: Path) -> dict[str, Any]:
    """Modules, lines and classes of a package, and its fullest folder."""
    files = sorted(package.rglob("*.py"))
    trees = [ast.parse(file.read_text()) for file in files]
    folders = Counter(str(file.parent.relative_to(package.parent)) for file in files)
    folder, n_files = folders.most_common(1)[0]
    return {
        "modules": len(files),
        "lines": sum(len(file.read_text().splitlines()) for file in files),
        "classes": sum(isinstance(node, ast.ClassDef) for tree in trees for node in ast.walk(tree)),
        "fullest folder": f"{folder}: {n_files} files",
    }


def trace(package: Path, call: Callable[[], Any]) -> dict[str, int]:
    """Run a call and count its hops in this thread."""
    root = str(package) + os.sep
    calls: dict[tuple[tuple[str, str], tuple[str, str]], None] = {}

    def name(code: Any) -> tuple[str, str]:
        return code.co_filename[len(root) :], code.co_qualname.split(".<locals>")[0]

    def profile(frame: Any, event: str, _: Any) -> None:
        if event != "call" or not frame.f_code.co_filename.startswith(root):
            return
        caller = frame.f_back
        while caller is not None and not caller.f_code.co_filename.startswith(root):
            caller = caller.f_back
        if caller is not None and caller.f_code.co_filename != frame.f_code.co_filename:
            calls[name(caller.f_code), name(frame.f_code)] = None

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    handing = list(dict.fromkeys(caller for caller, _ in calls))
    if os.environ.get("SHOW_HOPS"):
        print(*(" ".join(each) for each in handing if not is_library(each[0])), sep="\n")
    return {
        "hops": sum(not is_library(file) for file, _ in handing),
        "hops with libraries": len(handing),
        "files": len({file for pair in calls for file, _ in pair}),
    }


def walk(name: str, folder: Path) -> Callable[[], Any]:
    """Prepare a walk; the call that is returned has been made once before."""
    from survtrace import SurvTRACE
    from survtrace.datasets import make_cohort

    X, y = make_cohort(400, random_state=0)
    settings = {"n_members": 2, "max_epochs": 1, "random_state": 0, "verbose": False}
    table, roles = folder / "table.parquet", {"event": "event", "duration": "duration"}
    X.assign(**y).to_parquet(table)
    if name == "fit from a folder":
        SurvTRACE(**settings).fit(table, roles)
        return lambda: SurvTRACE(**settings).fit(table, roles)
    est = SurvTRACE(**settings).fit(X, y)
    if name == "fit":
        return lambda: SurvTRACE(**settings).fit(X, y)
    if name == "predict":
        est.predict_cumulative_incidence(X, [12.0])
        return lambda: est.predict_cumulative_incidence(X, [12.0])
    if name == "/predict":
        return walk_of_request(est, X)
    from survtrace.cli import app

    options = ["fit", str(table), "--event", "event", "--duration", "duration", "--ray"]
    given = [f"{key}={value}" for key, value in settings.items() if key != "verbose"]
    options += [part for each in given for part in ("--set", each)]

    def fit() -> None:
        number = len(list(folder.glob("model*")))
        with redirect_stdout(sys.stderr):
            app([*options, "--out", str(folder / f"model{number}")], standalone_mode=False)

    return fit


def walk_of_request(est: Any, X: Any) -> Callable[[], Any]:
    """Answer one request as the route does, without the server around it."""
    from survtrace import portable
    from survtrace.app.answers.answers import Answers, Question
    from survtrace.app.answers.limits import Limits

    with tempfile.TemporaryDirectory() as folder:
        est.save(f"{folder}/est")
        answers = Answers(portable.load(f"{folder}/est"), Limits())
    subject = {name: value for name, value in X.iloc[0].items() if value == value}
    question = Question([subject], [12.0])
    answers.predict(question)
    return lambda: answers.predict(question)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tree", type=Path, default=Path(__file__).resolve().parents[1])
    parser.add_argument("--walks", nargs="*", default=list(WALKS))
    parser.add_argument("--here", action="store_true", help="trace in this process")
    given = parser.parse_args()
    package = given.tree.resolve() / "src" / "survtrace"
    if not given.here:  # with the tree first on the path, whatever is installed
        environment = {**os.environ, "PYTHONPATH": str(package.parent)}
        command = [sys.executable, __file__, "--tree", str(given.tree), "--here"]
        subprocess.run([*command, "--walks", *given.walks], env=environment, check=True)
        return
    found = count_source(package)
    warnings.simplefilter("ignore")
    for name in given.walks:
        with tempfile.TemporaryDirectory() as folder:
            found[name] = trace(package, walk(name, Path(folder)))
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
