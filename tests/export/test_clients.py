"""The clients of the guide run, and give the model's numbers.

That in Python is also run with the guide itself; here it runs alone, with numpy and onnxruntime.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from survtrace import SurvTRACE
from survtrace.datasets import load_flchain
from survtrace.export import export_onnx

GUIDE = (Path(__file__).parents[2] / "docs" / "guides" / "onnx.md").read_text(encoding="utf-8")
TIMES = [365, 3650]


@pytest.fixture(scope="module")
def folder(tiny, tmp_path_factory):
    """The model.onnx and model.schema.json of the clients, and what the estimator says."""
    folder = tmp_path_factory.mktemp("clients")
    X, y = load_flchain()
    est = SurvTRACE(**tiny).fit(X[::10], y[::10])
    export_onnx(est, folder / "model.onnx")
    scope = {}
    exec(block("python", "patient = "), scope)
    one = pd.DataFrame([scope["patient"]])
    expected = [est.predict_survival_function(one, TIMES).ravel()]
    expected.append(est.predict_cumulative_incidence(one, TIMES).ravel())
    return folder, np.concatenate(expected)


def block(language, beginning):
    """The code of the guide's block that holds a text."""
    blocks = re.findall(rf"^```{language}\n(.*?)^```", GUIDE, re.M | re.S)
    [found] = [code for code in blocks if beginning in code]
    return found


def run(command, folder, **environment):
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=120,
        env={**os.environ, **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_client_in_python_needs_numpy_and_onnxruntime_alone(folder):
    folder, expected = folder
    without = "import sys; sys.modules.update(survtrace=None, pandas=None, torch=None, onnx=None)\n"
    client = block("python", "patient = ") + block("python", "import onnxruntime")
    show = "print(*survival.ravel(), *incidence.ravel(), file=open('found.txt', 'w'))"
    client = f"{without}{client}{show}"
    run([sys.executable, "-c", client], folder)
    found = [float(text) for text in (folder / "found.txt").read_text().split()]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


def test_the_client_in_python_has_ten_statements():
    lines = [line for line in block("python", "import onnxruntime").splitlines() if line]
    statements = [line for line in lines if not line.startswith((" ", "import"))]
    assert len(statements) <= 10


def test_the_client_in_javascript_gives_the_same(folder):
    folder, expected = folder
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    found = subprocess.run(
        [node, "-e", "require('onnxruntime-node')"], cwd=folder, capture_output=True, check=False
    )
    if found.returncode:
        pytest.skip("node has no package onnxruntime-node; NODE_PATH may say where it is")
    client = block("js", "onnxruntime-node").replace(
        "console.log(", "console.log(JSON.stringify([...found.survival.data,"
        " ...found.incidence.data])); console.error("
    )  # fmt: skip
    (folder / "client.js").write_text(client)
    numbers = re.findall(r"[\d.e-]+", run([node, "client.js"], folder))
    np.testing.assert_allclose([float(text) for text in numbers], expected, rtol=0, atol=1e-6)
