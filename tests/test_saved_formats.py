"""Folders of every format that was ever written load, and answer as they did then."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from survtrace import load, portable
from survtrace.saved_folder import FORMAT_VERSION

FOLDER = Path(__file__).parent / "saved_formats"
SAVED = sorted(path.parent for path in FOLDER.glob("format_*/*/answers.json"))


@pytest.fixture(scope="module")
def ask():
    """The function that asked when the folders were saved."""
    spec = importlib.util.spec_from_file_location("make_saved_formats", FOLDER / "make.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.ask


@pytest.mark.parametrize("read", [load, portable.load], ids=["torch", "portable"])
@pytest.mark.parametrize("folder", SAVED, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_a_folder_answers_as_on_the_day_it_was_saved(folder, read, ask):
    record = json.loads((folder / "answers.json").read_text(encoding="utf-8"))
    answers = ask(read(folder / "est"), pd.DataFrame(record["rows"]))
    assert sorted(answers) == sorted(record["answers"])
    for name, saved in record["answers"].items():
        np.testing.assert_allclose(answers[name], saved, rtol=0, atol=1e-6, err_msg=name)


def test_there_are_folders_of_every_format():
    found = {path.parent.name for path in SAVED}
    assert found == {f"format_{version}" for version in range(1, FORMAT_VERSION + 1)}


def test_a_folder_of_an_earlier_format_is_saved_in_that_of_today(tmp_path):
    est = load(FOLDER / "format_1" / "updated" / "est")
    est.save(tmp_path / "est")
    note = json.loads((tmp_path / "est" / "estimator.json").read_text())
    assert note["format_version"] == FORMAT_VERSION
    assert load(tmp_path / "est").updates_ == est.updates_ != []
