"""A file is verified by onnxruntime, or by onnx itself where that is not installed."""

import numpy as np
import pytest

from survtrace import portable
from survtrace.export import export_onnx, verification

RUNTIMES = {"onnxruntime": "onnxruntime ", "no onnxruntime": "the reference of onnx "}


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("name", ["three causes", "one cause", "no attention", "by age", "updated"])
def test_both_run_every_operator(fitted, tmp_path, monkeypatch, runtime, name):
    if runtime == "no onnxruntime":
        monkeypatch.setattr(verification, "find_spec", lambda package: None)
    written = export_onnx(fitted[name][0], tmp_path / "model.onnx")
    assert written.verified_by.startswith(RUNTIMES[runtime])
    assert 0 < written.largest_difference < 5e-6


def test_random_subjects_have_missing_and_unseen_values_and_starts(fitted, tmp_path):
    fitted["three causes"][0].save(tmp_path / "saved")
    light = portable.load(tmp_path / "saved")
    rows, inputs = verification.random_subjects(light, np.random.default_rng(0))
    assert {row["sex"] for row in rows} == {None, verification.NEVER_SEEN, "f", "m"}
    assert any(row["age"] is None for row in rows)
    assert (inputs["after"] == 0).any()
    assert (inputs["after"] > 0).any()
