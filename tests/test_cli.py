"""The command speaks plainly and ends with the right code."""

import pytest
from typer.testing import CliRunner

from survtrace import DataError, __version__, cli

runner = CliRunner()


def test_it_tells_its_version():
    done = runner.invoke(cli.app, ["--version"])
    assert done.exit_code == 0
    assert done.output.strip() == __version__


def test_without_a_command_it_shows_help():
    assert "demo" in runner.invoke(cli.app, []).output


def test_a_mistake_of_the_user_ends_with_2_and_no_traceback(monkeypatch, capsys):
    def refuse():
        raise DataError("duration must be finite; 1 of 2 are not.")

    monkeypatch.setattr(cli, "app", refuse)
    with pytest.raises(SystemExit, match="2"):
        cli.main()
    shown = capsys.readouterr().err
    assert "error: duration must be finite; 1 of 2 are not." in shown
    assert "Traceback" not in shown


def test_demo_prints_scores_of_every_cause_and_writes_figures(tmp_path, monkeypatch):
    settings = {"n_members": 1, "max_epochs": 1, "width": 4, "depth": 1, "hidden": 8}
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr("survtrace.demo.DEFAULTS", {**settings, "verbose": False})
    done = runner.invoke(cli.app, ["demo", "--out", str(tmp_path / "figures")])
    assert done.exit_code == 0, done.output
    for word in ("circulatory", "neoplasms", "respiratory", "other", "cause-specific Cox", "IBS"):
        assert word in done.output
    written = {path.name: path.stat().st_size for path in (tmp_path / "figures").iterdir()}
    assert set(written) == {"curves.png", "attention.png", "calibration.png", "history.png"}
    assert min(written.values()) > 10_000
