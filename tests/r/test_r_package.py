"""The R package is installed and its own tests pass; skipped where R or its packages are absent."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NEEDED = ("reticulate", "survival", "testthat")
RUN_TESTS = 'testthat::test_dir("{}", package = "survtrace", load_package = "installed")'
in_one_process = pytest.mark.xdist_group("r")  # which installs the package once


@pytest.fixture(scope="module")
def r_run(tmp_path_factory):
    """Run a script of R with the package, in a library of its own and this Python."""
    if shutil.which("Rscript") is None:
        pytest.skip("R is not installed: Rscript was not found")
    library = tmp_path_factory.mktemp("library")
    environment = {
        **os.environ,
        "R_LIBS": f"{library}{os.pathsep}{os.environ.get('R_LIBS', '')}",
        "RETICULATE_PYTHON": sys.executable,
        "PYTHONPATH": str(ROOT / "src"),
        "_R_CHECK_LENGTH_1_CONDITION_": "true",
        "LC_ALL": "C.UTF-8",
    }

    def run(*command: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=600
        )

    absent = run("Rscript", "-e", f"cat(setdiff(c{NEEDED!r}, rownames(installed.packages())))")
    if absent.returncode or absent.stdout:
        pytest.skip(f"R lacks packages: {absent.stdout or absent.stderr}")
    made = run("R", "CMD", "INSTALL", f"--library={library}", "r", cwd=_copied(tmp_path_factory))
    assert made.returncode == 0, made.stderr
    return run


def _copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy the sources, so that installing leaves nothing among them."""
    folder = tmp_path_factory.mktemp("sources")
    shutil.copytree(ROOT / "r", folder / "r", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@in_one_process
def test_its_own_tests_pass(r_run):
    done = r_run("Rscript", "-e", RUN_TESTS.format((ROOT / "r/tests/testthat").as_posix()))
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"FAIL 0 .*PASS [1-9]", done.stdout)
    # Tests that need prodlim or riskRegression may be skipped; those that need Python may not.
    assert "Python with survtrace" not in done.stdout, done.stdout


@in_one_process
def test_the_guide_runs(r_run, tmp_path):
    guide = (ROOT / "docs/guides/r.md").read_text(encoding="utf-8")
    for language, program in {"python": sys.executable, "r": "Rscript"}.items():
        blocks = re.findall(rf"^```{language}\n(.*?)^```", guide, re.MULTILINE | re.DOTALL)
        assert blocks
        (tmp_path / language).write_text("\n".join(blocks), encoding="utf-8")
        done = r_run(program, language, cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "from_r" / "estimator.json").exists()


def test_its_version_is_that_of_the_python_package():
    described = (ROOT / "r/DESCRIPTION").read_text(encoding="utf-8")
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (version,) = re.findall(r"^Version: (.*)$", described, re.MULTILINE)
    assert f'\nversion = "{version}"\n' in project


def test_its_pages_of_help_name_every_function_that_is_exported():
    names = re.findall(r"^export\((\w+)\)", (ROOT / "r/NAMESPACE").read_text("utf-8"), re.MULTILINE)
    pages = "".join(page.read_text("utf-8") for page in (ROOT / "r/man").glob("*.Rd"))
    assert names
    assert not [name for name in names if f"\\alias{{{name}}}" not in pages]
