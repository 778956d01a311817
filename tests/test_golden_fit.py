"""Two fits say what they said when golden/make.py was last run."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from survtrace import SurvTRACE

FOLDER = Path(__file__).parent / "golden"


@pytest.fixture(scope="module")
def make():
    spec = importlib.util.spec_from_file_location("make_golden", FOLDER / "make.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def same_as_on_record(make):
    """A function of a record's name that fits again and compares."""

    def compare(name):
        golden = json.loads((FOLDER / name).read_text(encoding="utf-8"))
        settings = make.FITS[name]
        assert golden["settings"] == settings
        assert golden["times"] == make.TIMES
        now = make.fit_and_predict(settings)
        assert now["causes"] == golden["causes"]
        for each in ("time_grid", "validation_loss", "incidence"):
            np.testing.assert_allclose(now[each], golden[each], atol=1e-4, rtol=1e-4, err_msg=each)

    return compare


def test_curves_are_those_on_record(same_as_on_record):
    same_as_on_record("fit.json")


def test_curves_of_the_default_shape_are_those_on_record(same_as_on_record, make, kernels_run):
    same_as_on_record("default_shape.json")
    # Steps that learn what "missing" means come after the training and have no dropout anyway.
    assert kernels_run.trained > make.DEFAULT_SHAPE["unknown_steps"]
    assert kernels_run.predicted


def test_the_default_shape_is_that_of_the_estimator(make):
    default = SurvTRACE().get_params()
    names = ("n_intervals", "width", "depth", "n_heads", "hidden", "head_depth", "token_bias")
    assert {name: make.DEFAULT_SHAPE[name] for name in names} == {
        name: default[name] for name in names
    }
