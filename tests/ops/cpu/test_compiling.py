"""Kernels are compiled once on a machine, and again when any of their files has changed."""

import os
import shutil
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from time import sleep

import numba
import numpy as np
import pytest

from survtrace.ops.cpu import compiling

KERNEL = """
import numpy as np
from survtrace.ops.cpu.compiling import kernel
from parts import double

@kernel
def run(x):
    return double(x[0])
"""
PART = """
from survtrace.ops.cpu.compiling import part

@part
def double(x):
    return {factor} * x
"""
PROGRAM = """
import numpy as np
from kernels import run
print(run(np.ones(1)), sum(run.stats.cache_hits.values()))
"""


@pytest.fixture
def folder(tmp_path):
    """A folder with a kernel that is made of functions of two files."""
    (tmp_path / "kernels.py").write_text(KERNEL)
    (tmp_path / "parts.py").write_text(PART.format(factor=2))
    return tmp_path


def run(folder, **environment):
    """What a process of its own computes by the kernel, and whether it found it compiled."""
    variables = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"} | environment
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=folder, env=variables, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    number, hits = done.stdout.split()
    return float(number), hits == "1"


def test_another_process_finds_a_kernel_compiled(folder):
    assert [run(folder), run(folder)] == [(2.0, False), (2.0, True)]


def test_a_change_of_another_file_is_noticed(folder):
    run(folder)
    (folder / "parts.py").write_text(PART.format(factor=3))
    assert [run(folder), run(folder)] == [(3.0, False), (3.0, True)]


def test_the_same_files_elsewhere_or_copied_anew_need_no_second_compilation(folder):
    run(folder)
    for path in folder.glob("*.py"):
        os.utime(path, (1e9, 1e9))
    assert run(folder) == (2.0, True)


def test_a_folder_for_caches_may_be_named(folder, tmp_path):
    named = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    assert [run(folder, **named), run(folder, **named)] == [(2.0, False), (2.0, True)]
    assert not list(folder.glob("__pycache__/*.nbi"))


def test_where_the_folder_cannot_be_written_the_users_cache_is(folder, tmp_path):
    shutil.rmtree(folder / "__pycache__", ignore_errors=True)
    (folder / "__pycache__").write_text("no folder")  # not even the superuser can write into it
    home = {"XDG_CACHE_HOME": str(tmp_path / "home")}
    assert [run(folder, **home), run(folder, **home)] == [(2.0, False), (2.0, True)]


def test_where_nothing_can_be_written_kernels_are_compiled_all_the_same(monkeypatch):
    monkeypatch.setattr(compiling._Files, "_locator_classes", [])
    compiled = compiling.kernel(lambda x: x[0] + 1)
    assert compiled(np.ones(1)) == 2.0


def test_the_digest_tells_any_change_of_a_folder(tmp_path):
    digest = compiling.digest.__wrapped__
    found = [digest(tmp_path)]
    for name, text in (("a.py", "1"), ("a.py", "2"), ("b.py", "2"), ("b.txt", "3")):
        Path(tmp_path, name).write_text(text)
        found.append(digest(tmp_path))
    assert len(set(found)) == 4
    assert found[-1] == found[-2]


def records_while_compiling(monkeypatch):
    """How often Python's record of warnings begins anew while a function is compiled."""
    begun = []

    class Counted(warnings.catch_warnings):
        def __enter__(self):
            begun.append(self)
            return super().__enter__()

    with monkeypatch.context() as patch:
        patch.setattr(warnings, "catch_warnings", Counted)
        assert numba.njit(lambda x: x + 1.0)(1.0) == 2.0
    return len(begun)


def test_compiled_beside_other_threads_nothing_they_warn_of_is_recorded(monkeypatch):
    with compiling.beside_others():
        assert records_while_compiling(monkeypatch) == 0
    assert records_while_compiling(monkeypatch) > 0


def test_compiled_beside_other_threads_standard_output_stays_what_it_is(monkeypatch):
    pytest.importorskip("colorama")
    replaced = []
    monkeypatch.setattr(
        numba.core.errors, "ColorShell", lambda: replaced.append(1) or nullcontext()
    )
    with compiling.beside_others():
        assert numba.njit(lambda x: x + 1.0)(2.0) == 3.0
    assert replaced == []
    assert numba.njit(lambda x: x + 1.0)(2.0) == 3.0
    assert replaced != []


def test_two_threads_that_compile_leave_the_record_as_it_was():
    def compile_for(seconds):
        with compiling.beside_others():
            sleep(seconds)

    record = compiling.WarningsFixer.catch_warnings
    with ThreadPoolExecutor() as threads:
        list(threads.map(compile_for, [0.02, 0.04]))
    assert compiling.WarningsFixer.catch_warnings is record
