"""A small fit says what it said when golden/make.py was last run."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parent / "golden"


@pytest.fixture(scope="module")
def make():
    spec = importlib.util.spec_from_file_location("make_golden", FOLDER / "make.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_curves_are_those_on_record(make):
    golden = json.loads((FOLDER / "fit.json").read_text(encoding="utf-8"))
    assert golden["settings"] == make.SETTINGS
    assert golden["times"] == make.TIMES
    now = make.fit_and_predict()
    assert now["causes"] == golden["causes"]
    for name in ("time_grid", "validation_loss", "incidence"):
        np.testing.assert_allclose(now[name], golden[name], atol=1e-4, rtol=1e-4, err_msg=name)
