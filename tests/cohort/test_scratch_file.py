"""Blocks come back as they were written, and nothing is left behind."""

import errno
import io
import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from survtrace import DataError
from survtrace.cohort import scratch_file as scratch_module
from survtrace.cohort.scratch_file import ScratchFile, require_space

DTYPE = np.dtype([("n", np.uint16), ("x", np.float32, (2,))])


def block(first, size):
    records = np.zeros(size, DTYPE)
    records["n"] = np.arange(first, first + size)
    records["x"] = records["n"][:, None] / 4
    return records


def test_blocks_are_read_in_any_order():
    with ScratchFile(DTYPE) as store:
        for first, size in ((0, 3), (3, 0), (3, 5), (8, 2)):
            store.append(block(first, size))
        assert store.sizes == [3, 0, 5, 2]
        assert store.read([3, 0])["n"].tolist() == [8, 9, 0, 1, 2]
        np.testing.assert_array_equal(store.read([0, 1, 2, 3]), block(0, 10))
        filled = store.read([3], length=4)
        assert filled["n"].tolist() == [8, 9, 0, 0]


def test_the_content_is_identified():
    def fingerprint(*blocks):
        with ScratchFile(DTYPE) as store:
            for records in blocks:
                store.append(records)
            return store.fingerprint

    assert fingerprint(block(0, 3)) == fingerprint(block(0, 3))
    assert fingerprint(block(0, 3)) != fingerprint(block(1, 3))


@pytest.mark.skipif(os.name == "nt", reason="open files have names there")
def test_the_file_has_no_name(tmp_path):
    with ScratchFile(DTYPE, tmp_path) as store:
        store.append(block(0, 100))
        assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
def test_a_killed_process_leaves_nothing(tmp_path):
    code = (
        "import os, signal, sys, numpy as np\n"
        "from survtrace.cohort.scratch_file import ScratchFile\n"
        "store = ScratchFile(np.dtype([('n', np.uint8)]), sys.argv[1])\n"
        "store.append(np.zeros(1000, store.dtype)); os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", code, tmp_path], check=False).returncode < 0
    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(DataError, match=r"nowhere \(No such file or directory\)\. Set .* TMPDIR"):
        ScratchFile(DTYPE, tmp_path / "nowhere")
    with pytest.raises(DataError, match=r"nowhere \(No such file or directory\)\. Set .* TMPDIR"):
        require_space(1, tmp_path / "nowhere")


def test_space_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.setattr(scratch_module.shutil, "disk_usage", lambda _: SimpleNamespace(free=999))
    require_space(999, tmp_path)
    with pytest.raises(DataError, match=r"needs 1,000 bytes .* 999 are free\. Set .* TMPDIR"):
        require_space(1000, tmp_path)


class Slow(io.BytesIO):
    """A raw file that takes and gives a few bytes at a time."""

    def write(self, content):
        return super().write(content[:3])

    def readinto(self, buffer):
        return super().readinto(buffer[:5])


def test_what_is_written_and_read_in_parts_is_whole():
    with ScratchFile(DTYPE) as store:
        store.close()
        store._file = Slow()
        store.append(block(0, 7))
        store.append(block(7, 4))
        np.testing.assert_array_equal(store.read([0, 1]), block(0, 11))


class Full(io.BytesIO):
    """A disk with room for 50 bytes: it takes a part, then nothing, or it says so."""

    def __init__(self, says_so):
        super().__init__()
        self.says_so = says_so

    def write(self, content):
        room = 50 - self.tell()
        if room <= 0 and self.says_so:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(content[: max(room, 0)])


@pytest.mark.parametrize("says_so", [True, False])
def test_a_disk_that_fills_up_is_an_error_not_rows_of_zeros(says_so):
    words = "No space left on device" if says_so else "20 of 30 bytes not written"
    with ScratchFile(DTYPE) as store:
        store.close()
        store._file = Full(says_so)
        store.append(block(0, 4))
        with pytest.raises(DataError, match=rf"{words}\)\. Set the variable TMPDIR"):
            store.append(block(4, 3))
        assert store.sizes == [4], "what was not written is not counted"


def test_a_file_that_has_lost_its_end_is_an_error_not_rows_of_zeros():
    with ScratchFile(DTYPE) as store:
        store.append(block(0, 4))
        store._file.truncate(33)
        with pytest.raises(DataError, match="shorter than what was written to it, by 7 bytes"):
            store.read([0])


@pytest.mark.skipif(os.name == "nt", reason="there is no limit on files")
def test_a_limit_of_the_system_is_met_in_the_middle_of_a_write():
    """The system lets the write that meets a limit end short, as the one that fills a disk."""
    code = (
        "import resource, signal, numpy as np; from survtrace import DataError\n"
        "from survtrace.cohort.scratch_file import ScratchFile\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1500, 1500))\n"
        "store = ScratchFile(np.dtype([('n', np.uint8)]))\n"
        "store.append(np.zeros(1000, store.dtype))\n"
        "try: store.append(np.zeros(1000, store.dtype))\n"
        "except DataError as error: print(error, store.sizes)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "(File too large). Set the variable TMPDIR" in done.stdout
    assert "[1000]" in done.stdout
