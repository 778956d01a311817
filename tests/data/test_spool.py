"""Blocks come back as they were written, and nothing is left behind."""

import errno
import os
import subprocess
import sys

import numpy as np
import pytest

from survtrace import DataError
from survtrace.data.spool import Spool

DTYPE = np.dtype([("n", np.uint16), ("x", np.float32, (2,))])


def block(first, size):
    records = np.zeros(size, DTYPE)
    records["n"] = np.arange(first, first + size)
    records["x"] = records["n"][:, None] / 4
    return records


def test_blocks_are_read_in_any_order():
    with Spool(DTYPE) as spool:
        for first, size in ((0, 3), (3, 0), (3, 5), (8, 2)):
            spool.append(block(first, size))
        assert spool.sizes == [3, 0, 5, 2]
        assert spool.read([3, 0])["n"].tolist() == [8, 9, 0, 1, 2]
        np.testing.assert_array_equal(spool.read([0, 1, 2, 3]), block(0, 10))
        filled = spool.read([3], length=4)
        assert filled["n"].tolist() == [8, 9, 0, 0]


def test_the_content_is_identified():
    def fingerprint(*blocks):
        with Spool(DTYPE) as spool:
            for records in blocks:
                spool.append(records)
            return spool.fingerprint

    assert fingerprint(block(0, 3)) == fingerprint(block(0, 3))
    assert fingerprint(block(0, 3)) != fingerprint(block(1, 3))


@pytest.mark.skipif(os.name == "nt", reason="open files have names there")
def test_the_file_has_no_name(tmp_path):
    with Spool(DTYPE, tmp_path) as spool:
        spool.append(block(0, 100))
        assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
def test_a_killed_process_leaves_nothing(tmp_path):
    code = (
        "import os, signal, sys, numpy as np; from survtrace.data.spool import Spool\n"
        "spool = Spool(np.dtype([('n', np.uint8)]), sys.argv[1])\n"
        "spool.append(np.zeros(1000, spool.dtype)); os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", code, tmp_path], check=False).returncode < 0
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_and_a_missing_folder_are_named(tmp_path, monkeypatch):
    with pytest.raises(DataError, match=r"No such file or directory\)\. Set the variable TMPDIR"):
        Spool(DTYPE, tmp_path / "nowhere")

    class Full:
        def seek(self, *_):
            raise OSError(errno.ENOSPC, "No space left on device")

        def close(self):
            pass

    with Spool(DTYPE) as spool:
        spool.close()
        spool._file = Full()
        with pytest.raises(DataError, match=r"No space left on device\)\. Set the variable TMPDIR"):
            spool.append(block(0, 1))
