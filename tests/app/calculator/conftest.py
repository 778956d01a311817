"""Models packed into files, and node to ask the engine of a file what its page would ask."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from survtrace import SurvTRACE
from survtrace.app import write_page
from survtrace.app.calculator.bundle import bundle
from survtrace.app.calculator.write import ENGINE

# Before the engine: its model is a file, where a page has it in an element.
BEFORE = """
const fs = require("fs");
const model_text = () => fs.readFileSync(process.argv[2], "utf8");
const document = { getElementById: () => ({ textContent: model_text() }) };
"""
ASK = Path(__file__).parent / "ask.js"


@pytest.fixture(scope="session")
def ask_file(tmp_path_factory):
    """A function of (file, questions) that gives the answers of the file's engine."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed: the calculator's engine runs in a browser or in node")
    script = bundle(ENGINE / "server.js")
    last = re.findall(r"^const (module\d+)", script, re.MULTILINE)[-1]
    folder = tmp_path_factory.mktemp("engine")
    behind = f"\nconst {{ ask, post, Refused }} = {last};\n{ASK.read_text('utf-8')}"
    (folder / "ask.cjs").write_text(BEFORE + script + behind, encoding="utf-8")

    def ask(file, questions):
        model = folder / f"{file.stem}.json"
        model.write_text(packed_text(file), encoding="utf-8")
        command = [node, str(folder / "ask.cjs"), str(model)]
        run = subprocess.run(
            command, input=json.dumps(questions), capture_output=True, text=True, timeout=120
        )
        assert run.returncode == 0, run.stderr
        return json.loads(run.stdout)

    return ask


def packed_text(file):
    """The model in a file, as the browser reads it."""
    return re.search(
        r'<script type="application/json" id="packed-model">(.*?)</script>', file.read_text("utf-8")
    )[1]


@pytest.fixture(scope="session")
def packed():
    """A function that gives the packed model of a file, as plain values."""
    return lambda file: json.loads(packed_text(file))


@pytest.fixture(scope="session")
def certain(draw_cohort, tiny):
    """Four causes, with intervals and typicality, three layers of two heads; not to be changed."""
    X, y = draw_cohort(300, 4, seed=2)
    shape = {"depth": 2, "head_depth": 2, "width": 8, "hidden": 16, "n_members": 3}
    est = SurvTRACE(**{**tiny, **shape, "intervals": True, "time_unit": "months"})
    rng = np.random.default_rng(0)
    X = X.assign(ward=rng.choice([f"ward {k}" for k in range(20)], len(X)))
    X.loc[rng.random(len(X)) < 0.1, "ward"] = None
    return est.fit(X, y)


@pytest.fixture(scope="session")
def certain_file(certain, tmp_path_factory):
    """Its calculator."""
    return write_page(certain, tmp_path_factory.mktemp("certain") / "certain.html", name="ward 7")
