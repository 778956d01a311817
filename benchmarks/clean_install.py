"""Installs survtrace without extras into a fresh environment and uses it there.

A virtual environment is made in a scratch folder, `pip install .` run with constraints.txt; then:
import, fit, predict, save and load in Python; --help, datasets, fit, predict and evaluate on a CSV
file, on the command line; and a command that needs an extra, which has to name it. Prints what each
step took and fails at the first that does not do as it should. `--with-oldest` takes
constraints-oldest.txt. It installs torch: minutes, and not a part of the tests.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHON = """
import warnings; warnings.simplefilter("error")
import survtrace
from survtrace import SurvTRACE
from survtrace.datasets import make_cohort
X, y = make_cohort(300, random_state=0)
est = SurvTRACE(n_members=1, max_epochs=2, random_state=0, verbose=False).fit(X, y)
before = est.predict_survival_function(X, times=[12.0])
est.save("model")
assert (survtrace.load("model").predict_survival_function(X, times=[12.0]) == before).all()
import sys
extras = "matplotlib h5py optuna shap fastapi pyarrow openpyxl ray sksurv pycox".split()
assert not set(extras) & set(sys.modules), "an extra was imported"
"""
OUTCOME = "--duration duration --event event"
COMMANDS = [
    "--help",
    "--version",
    "doctor",
    "datasets simulated --rows 400 --out patients.csv",
    f"check patients.csv {OUTCOME}",
    f"fit patients.csv {OUTCOME} --set max_epochs=2 --set n_members=1 --hold-out 0.25 --out small",
    "predict small small-held-out.csv --times 6,12 --out risks.csv",
    "evaluate small small-held-out.csv",
    "info small",
]
NEED_AN_EXTRA = {
    "report small small-held-out.csv --out report.html": "survtrace[report]",
    "serve small": "survtrace[app]",
    "predict small patients.csv --times 6 --out risks.parquet": "survtrace[parquet]",
    "demo": "survtrace[plots]",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--with-oldest", action="store_true")
    constraints = "constraints-oldest.txt" if parser.parse_args().with_oldest else "constraints.txt"
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        binaries = place / "venv" / "bin"
        step("venv", [sys.executable, "-m", "venv", str(place / "venv")], place)
        install = [str(binaries / "pip"), "install", "--quiet", "--constraint", constraints, "."]
        step("pip install .", install, ROOT)
        step("Python", [str(binaries / "python"), "-c", PYTHON], place)
        for words in COMMANDS:
            step(f"survtrace {words}", [str(binaries / "survtrace"), *words.split()], place)
        for words, extra in NEED_AN_EXTRA.items():
            command = [str(binaries / "survtrace"), *words.split()]
            said = step(f"survtrace {words}", command, place, status=2)
            if extra not in said:
                sys.exit(f"survtrace {words} does not name {extra}:\n{said}")


def step(name: str, command: list[str], folder: Path, status: int = 0) -> str:
    """Run a command, tell how long it took, and stop where it ends otherwise than it should."""
    began = time.perf_counter()
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    said = run.stdout + run.stderr
    print(f"{time.perf_counter() - began:6.1f} s  {name}", flush=True)
    if run.returncode != status:
        sys.exit(f"{name} ended with {run.returncode}, not {status}:\n{said}")
    return said


if __name__ == "__main__":
    main()
