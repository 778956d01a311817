"""A short run of folders.py; ``python tests/fuzz/folders.py --count 10000`` is the long one."""

import importlib.util
from pathlib import Path


def test_damaged_and_forged_folders_are_refused_or_answer_by_the_laws():
    path = Path(__file__).with_name("folders.py")
    spec = importlib.util.spec_from_file_location("fuzz_folders", path)
    folders = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(folders)
    counts, problems, worst = folders.run(count=120, seed=3)
    assert problems == []
    assert counts["damaged", "refused"] > 80
    assert counts["forged", "refused"] > 60
    assert worst["seconds"] < 20
    assert worst["memory"] < 200
