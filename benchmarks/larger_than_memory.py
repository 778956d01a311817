"""A cohort larger than memory, from Parquet files to a model to predictions: time and peak memory.

Writes simulated subjects (18 covariates, 14 of them categorical, two causes) to a folder of Parquet
files piece by piece, runs `survtrace fit` for one epoch and `survtrace predict` in processes of
their own, and writes benchmarks/results/larger_than_memory.json.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import pandas as pd
import pyarrow
import torch
from pyarrow import parquet

from survtrace.datasets import make_cohort

RESULTS = Path(__file__).parent / "results"
PIECE, ROWS_OF_A_FILE = 100_000, 1_000_000
TIMES = "12,60,108"
LIMIT_GIB = 4.0
SETTINGS = {"width": 16, "depth": 2, "batch_size": 1024, "max_epochs": 1}
# A small process of its own starts the command and tells its peak memory: a child is charged with
# what its parent holds, and this script holds torch.
MEASURE = """
import os, sys
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(pid, 0)
print(usage.ru_maxrss, file=sys.stderr)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def write_tables(folder: Path, n_rows: int) -> int:
    """Give each file a million rows; returns the bytes of all."""
    folder.mkdir()
    for first in range(0, n_rows, ROWS_OF_A_FILE):
        path = folder / f"{first // ROWS_OF_A_FILE:04d}.parquet"
        with parquet.ParquetWriter(path, cohort(1, seed=0).schema) as file:
            for start in range(first, min(first + ROWS_OF_A_FILE, n_rows), PIECE):
                file.write_table(cohort(min(PIECE, n_rows - start), seed=start // PIECE))
    return sum(file.stat().st_size for file in folder.iterdir())


def cohort(n_rows: int, seed: int) -> pyarrow.Table:
    X, y = make_cohort(n_rows, random_state=seed)
    table = pd.concat([X, y], axis=1)
    words = X.select_dtypes("category").columns
    return pyarrow.Table.from_pandas(table.astype(dict.fromkeys(words, str)), preserve_index=False)


def measured(*arguments: str | Path) -> dict[str, float]:
    command = Path(sys.executable).with_name("survtrace")
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, command, *arguments, "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(done.stderr)
    found = json.loads(done.stdout)
    kib = int(done.stderr.strip().splitlines()[-1]) / (1024 if sys.platform == "darwin" else 1)
    return {
        "rows": found["rows"],
        "seconds": round(found["seconds"], 1),
        "rows_per_second": round(found["rows"] / found["seconds"]),
        "peak_gib": round(kib / 2**20, 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--members", type=int, default=1)
    chosen = parser.parse_args()
    settings = {**SETTINGS, "n_members": chosen.members}
    options = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
    with tempfile.TemporaryDirectory() as temporary:
        table, model = Path(temporary) / "table", Path(temporary) / "model"
        size = write_tables(table, chosen.rows)
        outcome = ("--duration", "duration", "--event", "event")
        found = {
            "fit": measured("fit", table, *outcome, "--out", model, *options),
            "predict": measured(
                "predict", model, table, "--times", TIMES, "--out", Path(temporary) / "out.parquet"
            ),
        }
    for name, figures in found.items():
        print(
            f"{name}: {figures['rows']:,} rows, {figures['rows_per_second']:,} rows per second, "
            f"peak memory {figures['peak_gib']:.2f} GiB (limit {LIMIT_GIB:g})"
        )
    RESULTS.mkdir(exist_ok=True)
    whole = {"machine": machine(), "settings": settings, "parquet_gib": round(size / 2**30, 3)}
    path = RESULTS / "larger_than_memory.json"
    path.write_text(json.dumps({**whole, **found}, indent=1) + "\n")


def machine() -> dict[str, object]:
    packages = ("survtrace", "torch", "numpy", "pandas", "pyarrow")
    return {
        "cpu": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
    }


if __name__ == "__main__":
    main()
