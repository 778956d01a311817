"""update brings a model to another place, shows what that is worth, and keeps the old folder."""

import json

import pytest

from survtrace import load


@pytest.fixture
def local(patients, tmp_path):
    """Patients of another place, where all happens twice as fast."""
    path = tmp_path / "local.csv"
    patients.assign(months=patients["months"] / 2).to_csv(path, index=False)
    return path


COLUMNS = ("--duration", "months", "--event", "cause", "--drop", "patient")


def test_the_update_is_shown_saved_and_remembered(survtrace, model, local, tmp_path):
    before = {path.name: path.read_bytes() for path in model.iterdir()}
    out = tmp_path / "new"
    ended = survtrace("update", model, local, *COLUMNS, "--how", "level", "--out", out)
    assert ended.code == 0, ended.err
    assert "level (chosen)" in ended.out
    assert "O/E" in ended.out
    assert f"wrote {out}" in ended.err.replace("\n", "")
    assert {path.name: path.read_bytes() for path in model.iterdir()} == before
    assert load(out).updates_[0]["how"] == "level"
    assert "updated:" in survtrace("info", out).out
    facts = json.loads(survtrace("info", out, "--json").out)
    assert facts["updates"][0]["rows"] == load(out).updates_[0]["rows"]


def test_the_record_is_read_by_programs(survtrace, model, local, tmp_path):
    out = tmp_path / "new"
    options = ("--how", "none", "--json", "--quiet", "--out", out)
    ended = survtrace("update", model, local, *COLUMNS, *options)
    assert json.loads(ended.out)["how"] == "none"
    assert ended.err == ""


def test_no_folder_is_written_over(survtrace, model, local):
    ended = survtrace("update", model, local, *COLUMNS, "--out", model, "--force")
    assert ended.code == 2
    assert "is an input of this command" in ended.err.replace("\n", " ")


def test_a_way_that_there_is_not_is_refused(survtrace, model, local, tmp_path):
    assert survtrace("update", model, local, "--how", "all", "--out", tmp_path / "x").code == 2
