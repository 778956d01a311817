"""The command speaks plainly and ends with the right code."""

import io
import shlex
import shutil
import signal
import sys
import tomllib
from contextlib import suppress
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from survtrace import DataError, __version__
from survtrace.cli import app, command

EXAMPLES = list(command.EXAMPLES.values())


@pytest.fixture
def failing(monkeypatch, survtrace):
    """A function of an error that runs the command while its first step fails with it."""

    def run(error):
        def fail():
            raise error

        monkeypatch.setattr(command, "app", fail)
        return survtrace()

    return run


def test_it_tells_its_version(survtrace):
    assert survtrace("--version") == (0, f"{__version__}\n", "")


def test_without_a_command_it_shows_all_of_them(survtrace):
    shown = survtrace().out
    assert all(f" {each.__name__} " in shown for each in command.EXAMPLES)


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_help_ends_with_an_example_that_parses(example, survtrace):
    name, *arguments = shlex.split(example)[1:]
    shown = survtrace(name, "--help").out
    assert shlex.split(shown.partition("Example:")[2]) == shlex.split(example)
    typer.main.get_command(app).commands[name].make_context(name, arguments)


def test_a_mistake_of_the_user_ends_with_2_and_no_traceback(failing):
    code, out, err = failing(DataError("duration must be finite; 1 of 2 are not [sic]."))
    assert (code, out) == (2, "")
    assert err == "error: duration must be finite; 1 of 2 are not [sic].\n"


def test_a_path_that_cannot_be_used_is_the_users_mistake(failing):
    code, _, err = failing(PermissionError(13, "Permission denied", "/vault"))
    assert code == 2
    assert "/vault: Permission denied" in err


def test_a_missing_extra_is_named(failing):
    code, _, err = failing(ModuleNotFoundError("No module named 'optuna'", name="optuna"))
    assert code == 2
    assert "pip install 'survtrace[tune]'" in err


def test_every_extra_named_can_be_installed():
    project = tomllib.loads(Path(__file__).parents[2].joinpath("pyproject.toml").read_text())
    assert set(command.EXTRAS.values()) <= set(project["project"]["optional-dependencies"])


def test_a_mistake_of_ours_ends_with_1_and_a_hint(failing):
    code, out, err = failing(KeyError("forgotten"))
    assert (code, out) == (1, "")
    assert err.startswith("error: KeyError: 'forgotten'\n")
    assert "SURVTRACE_DEBUG=1" in err
    assert "Traceback" not in err


def test_with_a_closed_standard_error_the_code_is_the_same(survtrace, monkeypatch, tmp_path):
    monkeypatch.setattr("sys.stderr", None)
    assert survtrace("info", tmp_path / "nowhere").code == 2
    sys.stderr.close()


def test_letters_that_a_terminal_cannot_show_are_escaped(
    survtrace, monkeypatch, model, tmp_path, sign_anew
):
    shutil.copytree(model, tmp_path / "m")
    sign_anew(
        tmp_path / "m", lambda note: note["encoding"]["age"].update(written={"unit": "\u00e5r"})
    )
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr("sys.stdout", stream)
    assert survtrace("info", tmp_path / "m").code == 0
    stream.flush()
    assert rb"\xe5r" in stream.buffer.getvalue()


def test_the_traceback_can_be_asked_for(failing, monkeypatch):
    monkeypatch.setenv("SURVTRACE_DEBUG", "1")
    code, _, err = failing(KeyError("forgotten"))
    assert code == 1
    assert "Traceback" in err


def test_an_interrupt_ends_with_130(failing):
    code, out, err = failing(KeyboardInterrupt())
    assert (code, out) == (130, "")
    assert "interrupted; what was not finished is not written" in err


def test_a_lack_of_memory_is_no_bug(failing):
    for error in (MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory")):
        code, _, err = failing(error)
        assert code == 2
        assert "there is not enough memory" in err


def test_an_unknown_command_is_the_users_mistake(survtrace):
    code, _, err = survtrace("pretend")
    assert code == 2
    assert "No such command 'pretend'" in err


def test_completion_knows_studies_and_cohorts():
    for line, words in (("benchmark ip", "ips"), ("datasets eb", "ebmt"), ("pre", "predict")):
        asked = {
            "_SURVTRACE_COMPLETE": "complete_bash",
            "COMP_WORDS": f"survtrace {line}",
            "COMP_CWORD": str(len(line.split())),
        }
        assert CliRunner().invoke(app, [], env=asked, prog_name="survtrace").output.split() == [
            words
        ]


def test_an_error_that_a_package_made_of_sigterm_is_no_bug_of_ours(monkeypatch, survtrace):
    def stopped_within_an_import():
        with suppress(SystemExit):
            signal.raise_signal(signal.SIGTERM)
        raise ImportError("initialization failed")

    monkeypatch.setattr(command, "app", stopped_within_an_import)
    code, _, err = survtrace()
    assert (code, err) == (143, "stopped by SIGTERM; what was not finished is not written.\n")
