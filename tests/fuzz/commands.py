"""Options and files of the command: ``python tests/fuzz/commands.py --count 300 --seed 0``."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import numpy as np
import pandas as pd

from fuzz.case import Case, are_probabilities
from fuzz.fitted import fitted
from fuzz.run import main
from fuzz.values import pick
from messy.judge import QuestionError, run_command
from messy.table import Cohort, as_csv
from survtrace import SurvtraceError

Rng = np.random.Generator
WORDS = (
    *("", " ", "0", "-1", "1", "12", "1e400", "nan", "inf", "-inf", "abc", "a,b", "12,24", "12,x"),
    *(
        "12;24",
        "[1,2]",
        "{}",
        "--times",
        "age",
        "sex",
        "cause",
        "months",
        "no such",
        "\u00e4\u6f22",
    ),
    *("x" * 3000, "../..", "/dev/null", "/no/such/dir/out.csv", "model", "table.csv", "0.5", "1.5"),
    *("age=1", "n_members=0", "n_members=abc", "lr=1e999", "=", "width=", "a=b=c", "time_grid=9,1"),
)
FILES: dict[str, bytes] = {
    "empty": b"",
    "a byte": b"\xff",
    "NUL bytes": b"\0" * 100,
    "a header alone": b"age,creatinine,nodes,sex,stage,months,cause\n",
    "ragged": b"age,months,cause\n1,2\n1,2,3,4\n",
    "latin-1": "alter,months,cause\n\xe4,1,0\n".encode("latin-1"),
    "utf-16": "age,months,cause\n1,2,1\n".encode("utf-16"),
    "no table": b"%PDF-1.7 not a table",
    "quotes": b'"age,months,cause\n1,2,1\n',
    "two equal names": b"age,age,months,cause\n1,2,3,1\n",
    "a zip": b"PK\x03\x04" + b"\0" * 40,
    "json": b'{"age": [1, 2]}',
    "html": b"<html><body>404</body></html>",
    "semicolons": b"age;months;cause\n1;2;1\n",
    "one column": b"age\n1\n2\n",
}
# Files of which a command makes what it says.
HARMLESS: dict[str, tuple[str, ...]] = {"check": ("latin-1", "utf-16", "semicolons")}
TABLE = ("--sep", "--decimal", "--encoding", "--missing", "--sheet")
OUTCOME = ("--duration", "--event", "--entry", "--id", "--drop", "--censored")
OPTIONS: dict[str, tuple[str, ...]] = {
    "check": (*TABLE, *OUTCOME, "--categorical", "--columns", "--use"),
    "fit": (
        *(*TABLE, *OUTCOME, "--categorical", "--columns", "--use", "--set", "--hold-out", "--out"),
        *("--about", "--cause-name", "--config", "--seed", "--time-name", "--time-unit"),
    ),
    "predict": (*TABLE, "--times", "--causes", "--after", "--id", "--out"),
    "evaluate": (*TABLE, *OUTCOME, "--horizons", "--landmark"),
    "validate": (*TABLE, *OUTCOME, "--horizon", "--by", "--centre", "--thresholds", "--landmark"),
    "info": ("--json",),
    "split": (*TABLE, "--event", "--id", "--fraction", "--seed", "--out-train", "--out-test"),
    "explain": (*TABLE, *OUTCOME, "--out", "--repeats", "--landmark", "--seed"),
    "update": (*TABLE, *OUTCOME, "--how", "--out", "--folds", "--seed"),
}
DEFAULTS: dict[str, list[str]] = {
    "check": ["--duration", "months", "--event", "cause"],
    "fit": ["--duration", "months", "--event", "cause", "--out", "new-model"],
    "predict": ["--times", "12", "--out", "risks.csv"],
    "split": ["--event", "cause", "--out-train", "a.csv", "--out-test", "b.csv"],
    "update": ["--out", "new-model"],
}
TAKES_MODEL = ("predict", "evaluate", "validate", "explain", "update", "info")
TINY = [
    *("--set", "n_members=1", "--set", "max_epochs=1", "--set", "width=4", "--set", "depth=1"),
    *("--set", "n_heads=1", "--set", "hidden=4", "--set", "intervals=False"),
    *("--set", "unknown_steps=0"),
]


@cache
def _saved() -> Path:
    folder = Path(tempfile.mkdtemp()) / "model"
    fitted("two causes")[0].save(folder)
    return folder


def make(rng: Rng) -> Case:
    """Draw a command, and give it an odd option or an odd file."""
    command = pick(rng, OPTIONS)
    arguments, name = list(DEFAULTS.get(command, [])), ""
    content = as_csv(Cohort(0, 60).frame())
    if rng.random() < 0.3 and command != "info":
        name = pick(rng, FILES)
        content = FILES[name]
    else:
        option, word = pick(rng, OPTIONS[command]), pick(rng, WORDS)
        arguments += [option] if option == "--json" else [option, word]
        name = f"{option} {word[:30]!r}"
    if command == "fit":
        arguments += TINY

    def run() -> pd.DataFrame | None:
        return _run(command, content, arguments)

    refuse = name in FILES and name not in HARMLESS.get(command, ())
    return Case(f"{command}: {name}", run, _risks_hold, refuse)


def _risks_hold(risks: pd.DataFrame | None) -> str:
    """Check the probabilities of a table that `predict` wrote, if it did."""
    if risks is None:
        return ""
    chances = risks.filter(regex="^(survival|incidence|risk|event.free)")
    return are_probabilities(chances) if len(chances.columns) else "no probability was written"


def _run(command: str, content: bytes, arguments: list[str]) -> pd.DataFrame | None:
    """Run it in an empty folder; an error of ours for exit code 2."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            Path("table.csv").write_bytes(content)
            given: list[Any] = ["table.csv"]
            if command in TAKES_MODEL:
                shutil.copytree(_saved(), "model")
                given = ["model"] if command == "info" else ["model", "table.csv"]
            run_command(command, *given, *arguments)
            return pd.read_csv("risks.csv") if Path("risks.csv").exists() else None
        except QuestionError as question:
            if "Traceback" in str(question):
                raise RuntimeError(str(question)) from None
            raise SurvtraceError(f"{str(question).strip()}.") from None
        finally:
            os.chdir(before)


if __name__ == "__main__":
    main("the command", make)
