"""Nothing of the user's is lost: what exists is refused before any work, an input always."""

import errno
import os
import shutil
from pathlib import Path

import pytest

from survtrace import DataError, SettingError, SurvTRACE, load
from survtrace.cli import outputs
from survtrace.cli.outputs import (
    beside,
    file_error_message,
    require_free,
    require_writable,
    save_model,
)

OUTCOME = ("--duration", "months", "--event", "cause")


@pytest.fixture
def small(tiny):
    """The settings of a tiny estimator as options."""
    return [option for name, value in tiny.items() for option in ("--set", f"{name}={value}")]


@pytest.fixture
def linked(table, tmp_path):
    """Other names of the table: by symbolic link, by hard link, and by a roundabout path."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "symbolic.csv").symlink_to(table)
    os.link(table, tmp_path / "hard.csv")
    return [
        tmp_path / "symbolic.csv",
        tmp_path / "hard.csv",
        tmp_path / "folder" / ".." / table.name,
    ]


def test_no_command_writes_onto_its_input_even_if_forced(survtrace, model, table, linked):
    before = table.read_bytes()
    for out in [table, *linked]:
        for arguments in (
            ("predict", model, table, "--times", "8", "--out", out),
            ("explain", model, table, *OUTCOME, "--out", out),
            ("report", model, table, *OUTCOME, "--out", out),
            ("split", table, "--out-train", out, "--out-test", table.with_name("b.csv")),
            ("split", table, "--out-train", table.with_name("b.csv"), "--out-test", out),
        ):
            code, _, err = survtrace(*arguments, "--force")
            assert code == 2, arguments
            assert "is an input of this command" in err
            assert table.read_bytes() == before


def test_no_command_writes_into_the_model_or_the_folder_it_reads(
    survtrace, model, table, tmp_path, patients
):
    (tmp_path / "parts").mkdir()
    patients.to_parquet(tmp_path / "parts" / "a.parquet", index=False)
    for source, out in ((table, model / "p.csv"), (tmp_path / "parts", tmp_path / "parts/p.csv")):
        code, _, err = survtrace("predict", model, source, "--times", "8", "--out", out, "--force")
        assert code == 2
        assert "is an input of this command" in err
        assert not out.exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("predict", "MODEL", "nowhere.csv", "--times", "8"),
        ("explain", "MODEL", "nowhere.csv", *OUTCOME),
        ("report", "MODEL", "nowhere.csv", *OUTCOME),
        ("datasets", "flchain"),
    ],
)
def test_an_existing_file_is_refused_before_any_work(survtrace, model, tmp_path, arguments):
    out = tmp_path / "thesis.csv"
    out.write_text("years of work")
    given = [model if each == "MODEL" else each for each in arguments]
    code, _, err = survtrace(*given, "--out", out)
    assert code == 2
    assert f"--out {out} exists and is left alone" in err
    assert "--force" in err
    assert out.read_text() == "years of work"


@pytest.mark.parametrize(
    "arguments",
    [
        ("predict", "MODEL", "nowhere.csv", "--times", "8", "--out"),
        ("explain", "MODEL", "nowhere.csv", *OUTCOME, "--out"),
        ("report", "MODEL", "nowhere.csv", *OUTCOME, "--out"),
        ("page", "MODEL", "--out"),
        ("export", "MODEL", "--onnx"),
        ("datasets", "flchain", "--out"),
    ],
)
def test_a_folder_in_place_of_a_file_is_refused_before_any_work(
    survtrace, model, tmp_path, arguments
):
    given = [model if each == "MODEL" else each for each in arguments]
    for force in ((), ("--force",)):
        code, _, err = survtrace(*given, tmp_path, *force)
        assert code == 2
        assert f"{arguments[-1]} {tmp_path} is a folder. Pass the path of a file to write" in err
    assert list(tmp_path.iterdir()) == []


def test_an_existing_file_is_replaced_if_forced(survtrace, model, table, tmp_path):
    out = tmp_path / "p.csv"
    out.write_text("an earlier file")
    options = ("--times", "8", "--out", out, "--force")
    assert survtrace("predict", model, table, *options).code == 0
    assert out.read_text().startswith("survival_8,")


def test_a_finished_model_is_replaced_only_if_forced(
    survtrace, model, table, tmp_path, small, monkeypatch
):
    out = tmp_path / "model"
    shutil.copytree(model, out)
    before = {file.name: file.read_bytes() for file in out.iterdir()}
    arguments = ("fit", table, *OUTCOME, "--id", "patient", "--out", out, *small, "--seed", 5)
    code, _, err = survtrace(*arguments)
    assert code == 2
    assert "exists and is left alone" in err
    assert {file.name: file.read_bytes() for file in out.iterdir()} == before
    assert survtrace(*arguments, "--force").code == 0
    assert load(out).random_state == 5


def test_a_device_is_never_replaced():
    with pytest.raises(SettingError, match="is no regular file"):
        require_free(Path("/dev/null"), force=True)


def test_an_empty_folder_may_become_a_model(survtrace, table, tmp_path, small):
    (tmp_path / "m").mkdir()
    options = ("--id", "patient", "--out", tmp_path / "m", *small)
    assert survtrace("fit", table, *OUTCOME, *options).code == 0


def test_a_place_that_cannot_be_written_is_refused_before_the_fit(
    survtrace, table, tmp_path, small, monkeypatch
):
    def refuse(*_, **__):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(SurvTRACE, "fit", lambda *_: pytest.fail("the fit was begun"))
    options = (*OUTCOME, "--id", "patient", *small)
    code, _, err = survtrace("fit", table, *options, "--out", table / "m")
    assert code == 2
    assert "Not a directory" in err
    monkeypatch.setattr(outputs.tempfile, "TemporaryDirectory", refuse)
    code, _, err = survtrace("fit", table, *options, "--out", tmp_path / "new" / "m")
    assert code == 2
    assert "cannot be written (Read-only file system" in err
    assert not (tmp_path / "new").exists()


def test_a_full_disk_is_noticed_before_the_fit(survtrace, table, tmp_path, small, monkeypatch):
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(outputs.shutil, "disk_usage", lambda _: usage._replace(free=1000))
    monkeypatch.setattr(SurvTRACE, "fit", lambda *_: pytest.fail("the fit was begun"))
    options = ("--id", "patient", "--out", tmp_path / "m", *small)
    code, _, err = survtrace("fit", table, *OUTCOME, *options)
    assert code == 2
    assert "Make room, or choose another place" in err


def test_the_room_asked_for_is_that_of_the_parameters(fitted_three, three_causes, tmp_path):
    from survtrace.cli.commands.fit import _model_bytes

    X, y = three_causes
    fitted_three.save(tmp_path / "m")
    size = (tmp_path / "m" / "tensors.safetensors").stat().st_size
    assert 0.3 * size < _model_bytes(fitted_three, X, y["event"].nunique()) < 3 * size


def test_a_model_that_cannot_be_saved_after_all_is_kept_elsewhere(
    fitted_three, three_causes, tmp_path, monkeypatch
):
    save = SurvTRACE.save

    def fill_up(est, path):
        if Path(path) == tmp_path / "m":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        save(est, path)

    monkeypatch.setattr(SurvTRACE, "save", fill_up)
    monkeypatch.setattr(outputs.tempfile, "tempdir", str(tmp_path / "elsewhere"))
    (tmp_path / "elsewhere").mkdir()
    with pytest.raises(DataError, match=r"No space left on device.*complete and saved in .*: mv "):
        save_model(fitted_three, tmp_path / "m")
    X, _ = three_causes
    [saved] = (tmp_path / "elsewhere").glob("survtrace-*/m")
    assert (load(saved).predict(X) == fitted_three.predict(X)).all()


def test_a_model_that_can_be_saved_nowhere_is_said_to_be_lost(fitted_three, tmp_path, monkeypatch):
    def fill_up(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(SurvTRACE, "save", fill_up)
    monkeypatch.setattr(outputs.tempfile, "tempdir", str(tmp_path / "elsewhere"))
    (tmp_path / "elsewhere").mkdir()
    with pytest.raises(DataError, match=r"neither to .* nor to .*Make room and fit again"):
        save_model(fitted_three, tmp_path / "m")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_full_disk_is_no_fault_of_ours():
    error = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "out.csv")
    assert file_error_message(error) == (
        "out.csv: No space left on device. Make room, or choose another place."
    )
    assert file_error_message(OSError("something else")) is None


def test_what_lies_beside_a_folder_is_named_after_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert beside(Path("a/m"), ".interrupted") == Path("a/m.interrupted")
    assert beside(Path("."), "-x") == tmp_path.with_name(tmp_path.name + "-x")


def test_a_missing_parent_is_no_hindrance(tmp_path):
    require_writable(tmp_path / "not" / "yet" / "there")
    assert not list(tmp_path.iterdir())
