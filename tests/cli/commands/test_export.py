"""The command export writes both files, once."""

import json
import sys

import onnx
import pytest


def test_it_writes_the_file_and_its_schema(survtrace, model, tmp_path):
    path = tmp_path / "model.onnx"
    code, out, err = survtrace("export", model, "--onnx", path)
    assert (code, out) == (0, "")
    assert "wrote" in err
    assert "differs from the model by" in err
    assert "no intervals" in err
    onnx.checker.check_model(onnx.load(path))
    schema = json.loads((tmp_path / "model.schema.json").read_text())
    assert list(schema["properties"]) == ["age", "size", "sex", "stage"]


def test_programs_get_what_was_written_as_json(survtrace, model, tmp_path):
    paths = tmp_path / "m.onnx", tmp_path / "s.json"
    code, out, err = survtrace(
        "export", model, "--onnx", paths[0], "--schema", paths[1], "--json", "--quiet"
    )
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert (found["path"], found["schema_path"]) == tuple(map(str, paths))
    assert found["largest_difference"] < 1e-6
    assert paths[1].exists()


@pytest.mark.parametrize("name", ["model.onnx", "model.schema.json"])
def test_neither_file_is_replaced_without_force(survtrace, model, tmp_path, name):
    (tmp_path / name).write_text("mine")
    code, _, err = survtrace("export", model, "--onnx", tmp_path / "model.onnx")
    assert code == 2
    assert f"{name} exists and is left alone" in err.replace("\n", "")
    assert [each.name for each in tmp_path.iterdir()] == [name]
    assert survtrace("export", model, "--onnx", tmp_path / "model.onnx", "--force").code == 0


@pytest.mark.parametrize("name", ["estimator.json", "new.onnx"])
def test_nothing_is_written_into_the_model(survtrace, model, name):
    before = sorted(model.iterdir())
    code, _, err = survtrace("export", model, "--onnx", model / name, "--force")
    assert code == 2
    assert "is an input of this command" in " ".join(err.split())
    assert sorted(model.iterdir()) == before


def test_without_onnx_the_extra_is_named(survtrace, model, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    code, _, err = survtrace("export", model, "--onnx", tmp_path / "model.onnx")
    assert code == 2
    assert "pip install 'survtrace[onnx]'" in " ".join(err.split())


def test_a_level_that_is_none_is_refused(survtrace, model, tmp_path):
    code, _, err = survtrace("export", model, "--onnx", tmp_path / "m.onnx", "--level", "95")
    assert code == 2
    assert "level must be" in " ".join(err.split())
