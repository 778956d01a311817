import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from survtrace import SavedFileError, SettingError, StorageError, SurvTRACE
from survtrace.folder_lock import only_writer
from survtrace.training.checkpoint import FILE
from survtrace.training.history import History

SCRIPT = """
import json, os, random, signal, sys, time
from pathlib import Path

import numpy as np, pandas as pd
from survtrace import SurvTRACE

folder = Path(sys.argv[1])
rng, chance = np.random.default_rng(0), random.Random(int(sys.argv[2]))
X = pd.DataFrame({"a": rng.normal(size=300), "b": rng.choice(list("xyz"), 300)})
y = {"event": rng.integers(0, 3, 300), "duration": rng.exponential(size=300) + 0.1}


def fit(checkpoint_dir, answer, max_epochs=20):
    est = SurvTRACE(n_members=2, n_intervals=3, width=4, depth=1, n_heads=1, hidden=8,
                    batch_size=16, max_epochs=max_epochs, patience=20, dropout=0.1,
                    head_dropout=0.1, random_state=0, verbose=False, device="cpu", n_threads=1,
                    checkpoint_dir=checkpoint_dir).fit(X, y)
    np.savez(folder / answer, predict=est.predict(X), losses=est.history_["validation_loss"],
             **{name: tensor.numpy() for name, tensor in est.network_.state_dict().items()})


def start(*arguments):
    child = os.fork()
    if child == 0:
        try:
            fit(*arguments)
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    return child


fit(None, "first.npz", max_epochs=1)  # children inherit what is imported and compiled for it
began = time.monotonic()
assert os.waitpid(start(None, "whole.npz"), 0)[1] == 0
whole, kills = time.monotonic() - began, 0
for _ in range(100):
    child = start(folder / "checkpoint", "resumed.npz")
    deadline = time.monotonic() + (chance.uniform(0.02, 0.2) * whole if kills < 6 else 1e9)
    done = 0
    while not done and time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        time.sleep(0.002)
    if done:
        break
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    kills += 1
print(json.dumps({"kills": kills, "status": status}))
"""


def test_a_fit_killed_again_and_again_equals_one_that_never_was(tmp_path):
    """Children are forked by one process that has imported all, and killed at any moment."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path), "0"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["status"] == 0, done.stderr
    assert json.loads(done.stdout)["kills"] >= 2
    expected, resumed = np.load(tmp_path / "whole.npz"), np.load(tmp_path / "resumed.npz")
    for name in expected.files:
        np.testing.assert_array_equal(resumed[name], expected[name], err_msg=name)


@pytest.fixture
def finished(tmp_path, one_cause, tiny):
    """Settings with a folder that holds a finished fit, and that fit."""
    settings = {**tiny, "checkpoint_dir": tmp_path / "checkpoint"}
    return settings, SurvTRACE(**settings).fit(*one_cause)


def test_a_checkpoint_changes_no_result(finished, one_cause, tiny):
    without = SurvTRACE(**tiny).fit(*one_cause)
    X = one_cause[0]
    np.testing.assert_array_equal(finished[1].predict(X), without.predict(X))


def test_a_finished_fit_is_returned_at_once(finished, one_cause, monkeypatch):
    settings, est = finished
    monkeypatch.setattr("survtrace.training.loop.take_steps", None)
    again = SurvTRACE(**settings).fit(*one_cause)
    np.testing.assert_array_equal(again.predict(one_cause[0]), est.predict(one_cause[0]))
    assert again.history_.equals(est.history_)


def test_more_epochs_go_on_from_there(finished, one_cause, tiny):
    settings, _ = finished
    longer = SurvTRACE(**{**settings, "max_epochs": 4}).fit(*one_cause)
    whole = SurvTRACE(**{**tiny, "max_epochs": 4}).fit(*one_cause)
    np.testing.assert_array_equal(longer.predict(one_cause[0]), whole.predict(one_cause[0]))
    assert longer.history_["epoch"].max() == 3


@pytest.mark.parametrize(
    "change", [{"lr": 0.5}, {"width": 8}, {"random_state": 1}, {"ips": "causes"}]
)
def test_other_settings_in_the_folder_are_refused(finished, one_cause, change):
    settings, _ = finished
    with pytest.raises(SettingError, match=r"other data or settings.*delete this one"):
        SurvTRACE(**{**settings, **change}).fit(*one_cause)


def test_a_generator_of_the_same_seed_may_go_on(one_cause, tiny, tmp_path):
    settings = {**tiny, "checkpoint_dir": tmp_path / "checkpoint"}
    first, again = (
        SurvTRACE(**{**settings, "random_state": np.random.RandomState(3)}).fit(*one_cause)
        for _ in range(2)
    )
    np.testing.assert_array_equal(first.predict(one_cause[0]), again.predict(one_cause[0]))


def test_other_data_in_the_folder_are_refused(finished, one_cause):
    settings, _ = finished
    X, y = one_cause
    older = X.copy()
    older.loc[3, "age"] += 1e-3
    longer = y.copy()
    longer.loc[5, "duration"] *= 1.5
    for data in (
        (older, y),
        (X, longer),
        (X[:-1], y[:-1]),
        (X[["size", "age", "sex", "stage"]], y),
    ):
        with pytest.raises(SettingError, match="holds a fit of other data"):
            SurvTRACE(**settings).fit(*data)


@pytest.mark.parametrize("damage", ["empty", "truncated", "text", "pickle"])
def test_a_damaged_checkpoint_is_refused(finished, one_cause, damage):
    settings, _ = finished
    file = settings["checkpoint_dir"] / FILE
    content = file.read_bytes()
    file.write_bytes(
        {
            "empty": b"",
            "truncated": content[: len(content) // 2],
            "text": b"not a checkpoint at all" * 9,
            "pickle": b"\x80\x04\x95" + content[3:],
        }[damage]
    )
    with pytest.raises(SavedFileError, match=r"not a readable checkpoint.*start anew"):
        SurvTRACE(**settings).fit(*one_cause)


def test_a_flipped_bit_is_noticed(finished, one_cause):
    """A checkpoint is written for machines that die: what it says must be what was saved."""
    settings, _ = finished
    file = settings["checkpoint_dir"] / FILE
    content = bytearray(file.read_bytes())
    content[-20] ^= 0x10
    file.write_bytes(content)
    with pytest.raises(SavedFileError, match="checkpoint"):
        SurvTRACE(**settings).fit(*one_cause)


@pytest.mark.parametrize("part", [b'\\"epoch\\": 1', b'\\"member\\": 1', b'"dtype":"F32"'])
def test_a_changed_note_is_noticed(finished, one_cause, part):
    settings, _ = finished
    file = settings["checkpoint_dir"] / FILE
    content = file.read_bytes()
    assert part in content
    changed = part.replace(b"1", b"0") if b"1" in part else part.replace(b"F32", b"I32")
    file.write_bytes(content.replace(part, changed, 1))
    with pytest.raises(SavedFileError, match=r"not a readable checkpoint.*start anew"):
        SurvTRACE(**settings).fit(*one_cause)


def test_a_pipe_in_place_of_a_checkpoint_is_not_waited_for(finished, one_cause):
    settings, _ = finished
    file = settings["checkpoint_dir"] / FILE
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(SavedFileError, match="must be a regular file"):
        SurvTRACE(**settings).fit(*one_cause)


def test_a_folder_in_use_by_another_fit_is_refused(finished, one_cause):
    settings, _ = finished
    before = (settings["checkpoint_dir"] / FILE).read_bytes()
    with (
        only_writer(settings["checkpoint_dir"]),
        pytest.raises(StorageError, match=rf"in use by process {os.getpid()}, .* another folder"),
    ):
        SurvTRACE(**{**settings, "max_epochs": 4}).fit(*one_cause)
    assert (settings["checkpoint_dir"] / FILE).read_bytes() == before


def test_a_full_disk_is_said_and_the_earlier_checkpoint_stays(finished, one_cause, monkeypatch):
    settings, _ = finished
    before = (settings["checkpoint_dir"] / FILE).read_bytes()

    def no_room(self, content):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", no_room)
    with pytest.raises(StorageError, match=r"could not be written \(No space left on device\)"):
        SurvTRACE(**{**settings, "max_epochs": 4}).fit(*one_cause)
    assert (settings["checkpoint_dir"] / FILE).read_bytes() == before


def test_a_half_written_file_is_ignored(finished, one_cause):
    settings, est = finished
    (settings["checkpoint_dir"] / FILE).with_suffix(".part").write_bytes(b"half")
    again = SurvTRACE(**settings).fit(*one_cause)
    np.testing.assert_array_equal(again.predict(one_cause[0]), est.predict(one_cause[0]))


def test_an_interrupted_fit_goes_on(tmp_path, one_cause, tiny, monkeypatch):
    settings = {**tiny, "checkpoint_dir": tmp_path / "checkpoint", "max_epochs": 4}
    record = History.add

    def add(history, epoch, *losses):
        if epoch == 2:
            raise KeyboardInterrupt
        record(history, epoch, *losses)

    monkeypatch.setattr(History, "add", add)
    with pytest.warns(UserWarning, match="interrupted"):
        SurvTRACE(**settings).fit(*one_cause)
    monkeypatch.undo()
    resumed = SurvTRACE(**settings).fit(*one_cause)
    whole = SurvTRACE(**{**tiny, "max_epochs": 4}).fit(*one_cause)
    np.testing.assert_array_equal(resumed.predict(one_cause[0]), whole.predict(one_cause[0]))
