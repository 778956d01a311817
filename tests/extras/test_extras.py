"""What needs a package of an extra says which extra, in Python and on the command line."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.xdist_group("extras")  # one process tries all of them
SCRIPT = Path(__file__).parent / "without_packages.py"


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """What every function and command answered with all packages of extras hidden."""
    run = subprocess.run(
        [sys.executable, str(SCRIPT)],
        cwd=tmp_path_factory.mktemp("without_packages"),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def test_each_function_that_needs_an_extra_names_it(answers):
    functions = {name: each for name, each in answers.items() if not name.startswith("survtrace ")}
    for name, (extra, message) in functions.items():
        assert message.startswith("MissingExtraError: "), name
        assert message.endswith(f"pip install 'survtrace[{extra}]'"), name


def test_each_command_that_needs_an_extra_names_it_and_ends_with_2(answers):
    commands = {name: each for name, each in answers.items() if name.startswith("survtrace ")}
    for name, (extra, message) in commands.items():
        assert message.startswith("2: error: "), name
        assert message.endswith(f"pip install 'survtrace[{extra}]'"), name


def test_every_extra_for_users_is_tried(answers):
    lines = (Path(__file__).parents[2] / "pyproject.toml").read_text().splitlines()
    begin = lines.index("[project.optional-dependencies]") + 1
    named = (line.partition(" = ") for line in lines[begin : lines.index("dev = [")])
    extras = {name for name, is_named, _ in named if is_named}
    assert extras - {"docs"} == {extra for extra, _ in answers.values()}
