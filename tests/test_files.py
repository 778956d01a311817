"""Files and folders appear whole or not at all, whatever happens meanwhile."""

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from survtrace import SavedFileError, load
from survtrace.errors import NotEnoughMemoryError, StorageError
from survtrace.files import new_folder, read_regular, replacing

NAMES = ("a", "b")


def fill(folder, text):
    for name in NAMES:
        (folder / name).write_text(text)


def content(folder):
    return {file.name: file.read_text() for file in folder.iterdir()}


@pytest.fixture(params=["in one step", "in two"])
def exchange(request, monkeypatch):
    """Replacing folders with and without the system's help."""
    if request.param == "in two":
        monkeypatch.setattr("survtrace.files._exchange", lambda first, second: False)


def test_a_folder_replaces_an_earlier_one_of_its_kind(tmp_path, exchange):
    for text in ("old", "new"):
        with new_folder(tmp_path / "x", NAMES) as part:
            fill(part, text)
    assert content(tmp_path / "x") == {"a": "new", "b": "new"}
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_a_folder_with_other_files_is_left_alone(tmp_path, exchange):
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "thesis").write_text("years of work")

    def write():
        with new_folder(tmp_path / "x", NAMES) as part:
            fill(part, "new")

    with pytest.raises(StorageError, match="another program has written to it meanwhile"):
        write()
    assert content(tmp_path / "x") == {"thesis": "years of work"}
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_a_link_is_followed_and_stays(tmp_path):
    (tmp_path / "real").mkdir()
    fill(tmp_path / "real", "old")
    (tmp_path / "link").symlink_to("real")
    with new_folder(tmp_path / "link", NAMES) as part:
        fill(part, "new")
    assert (tmp_path / "link").is_symlink()
    assert content(tmp_path / "real")["a"] == "new"


WRITER = """
import sys
from pathlib import Path
from survtrace.files import new_folder
text = sys.argv[2]
print("ready", flush=True)
for _ in range(int(sys.argv[3])):
    with new_folder(Path(sys.argv[1]), ("a", "b")) as part:
        for name in ("a", "b"):
            (part / name).write_text(text)
"""


def writer(path, text, times):
    command = [sys.executable, "-c", WRITER, str(path), text, str(times)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_two_writers_at_once_both_succeed(tmp_path):
    writers = [writer(tmp_path / "x", text, 60) for text in ("first", "second")]
    for each in writers:
        assert each.communicate(timeout=100)[1] == ""
        assert each.returncode == 0
    assert len(set(content(tmp_path / "x").values())) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_a_killed_writer_leaves_a_whole_folder(tmp_path):
    (tmp_path / "x").mkdir()
    fill(tmp_path / "x", "old")
    for k in range(8):
        killed = writer(tmp_path / "x", "new" * 1000, 10_000)
        killed.stdout.readline()
        signal.sigtimedwait([], 0.005 * k)
        killed.send_signal(signal.SIGKILL)
        killed.communicate()
        assert sorted(content(tmp_path / "x")) == ["a", "b"]
        assert len(set(content(tmp_path / "x").values())) == 1


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO])
def test_an_error_of_the_disk_is_said_in_our_words(tmp_path, code):
    (tmp_path / "x").write_text("old")

    def write():
        with replacing(tmp_path / "x") as part:
            part.write_text("half")
            raise OSError(code, os.strerror(code))

    with pytest.raises(StorageError, match=r"x could not be written \(.*\)\. [MC]") as caught:
        write()
    assert caught.value.errno == code
    assert content(tmp_path) == {"x": "old"}


def test_a_folder_in_place_of_a_file_is_said_by_its_own_name(tmp_path):
    (tmp_path / "x").mkdir()

    def write():
        with replacing(tmp_path / "x") as part:
            part.write_text("whole")

    with pytest.raises(
        StorageError, match=r"x could not be written \(Is a directory\)\. Choose an"
    ):
        write()
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


@pytest.mark.parametrize("write", [replacing, new_folder])
def test_a_link_to_nothing_in_place_of_a_folder_is_said_in_our_words(tmp_path, write):
    (tmp_path / "link").symlink_to(tmp_path / "nowhere" / "at" / "all")
    (tmp_path / "file").write_text("")
    name = "link" if write is replacing else "file"  # a new folder follows links
    said = pytest.raises(StorageError, match=r"could not be written .*Choose another path")
    with said, write(tmp_path / name / "new"):
        pass


def test_an_error_about_another_file_is_left_as_it_is(tmp_path):
    def write():
        with replacing(tmp_path / "x"):
            raise PermissionError(errno.EACCES, "Permission denied", "/data/patients.csv")

    with pytest.raises(PermissionError, match="patients"):
        write()


def test_a_full_disk_is_said_by_save_and_the_earlier_model_stays(fitted_one, one_cause, tmp_path):
    fitted_one.save(tmp_path / "est")
    before = {file: file.read_bytes() for file in (tmp_path / "est").iterdir()}

    def no_room(self, content):
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "write_bytes", no_room)
        with pytest.raises(StorageError, match=r"No space left on device\)\. Make room"):
            fitted_one.save(tmp_path / "est")
    assert {file: file.read_bytes() for file in (tmp_path / "est").iterdir()} == before
    assert load(tmp_path / "est").causes_ == [1]
    assert [path.name for path in tmp_path.iterdir()] == ["est"]


def test_a_lack_of_memory_is_said_by_save(fitted_one, tmp_path, monkeypatch):
    def no_memory(tensors):
        raise MemoryError

    monkeypatch.setattr("safetensors.torch.save", no_memory)
    with pytest.raises(NotEnoughMemoryError, match="not enough memory to write"):
        fitted_one.save(tmp_path / "est")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_grows_is_read_no_further_than_the_bound(tmp_path):
    (tmp_path / "x").write_bytes(b"0" * 101)
    assert len(read_regular(tmp_path / "x", 101)) == 101
    with pytest.raises(SavedFileError, match="has 101 bytes, more than the 100 that are read"):
        read_regular(tmp_path / "x", 100)
