"""Predicting a table too large for memory: peak memory and rows per second of `survtrace predict`.

Writes a Parquet file of simulated subjects piece by piece, fits one member and the default eight
on 20,000 of them, runs the command for each, and writes benchmarks/results/predict_stream.json.
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

import pyarrow
import torch
from pyarrow import parquet

from survtrace import SurvTRACE
from survtrace.datasets import make_cohort

RESULTS = Path(__file__).parent / "results"
LEARNING_ROWS, EPOCHS, GROUP = 20_000, 3, 100_000
TIMES = "12,60,108"
LIMIT_GIB = 2.0
# A small process of its own starts the command and tells its peak memory: a child is charged with
# what its parent holds, and this script holds torch.
MEASURE = """
import os, sys
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(pid, 0)
print(usage.ru_maxrss, file=sys.stderr)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def write_table(path: Path, n_rows: int) -> None:
    with parquet.ParquetWriter(path, _arrow(1, seed=1).schema) as file:
        for seed, first in enumerate(range(0, n_rows, GROUP), start=1):
            file.write_table(_arrow(min(GROUP, n_rows - first), seed))


def _arrow(n_rows: int, seed: int) -> pyarrow.Table:
    X, _ = make_cohort(n_rows, random_state=seed)
    return pyarrow.Table.from_pandas(X, preserve_index=False)


def predict(folder: Path, table: Path) -> dict[str, float]:
    command = Path(sys.executable).with_name("survtrace")
    out = folder / "predicted.parquet"
    asked = ["predict", folder / "model", table, "--times", TIMES, "--out", out, "--json"]
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, command, *asked], capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    assert parquet.read_metadata(out).num_rows == found["rows"]
    kib = int(done.stderr.strip().splitlines()[-1]) / (1024 if sys.platform == "darwin" else 1)
    return {
        "rows": found["rows"],
        "seconds": round(found["seconds"], 1),
        "rows_per_second": round(found["rows_per_second"]),
        "peak_gib": round(kib / 2**20, 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--members", type=int, nargs="+", default=[1, 8])
    arguments = parser.parse_args()
    found = {
        "machine": {
            "cpu": platform.processor() or platform.machine(),
            "cores": os.cpu_count(),
            "threads": torch.get_num_threads(),
            "python": platform.python_version(),
            **{name: version(name) for name in ("survtrace", "torch", "pandas", "pyarrow")},
        },
        "times": TIMES,
    }
    X, y = make_cohort(LEARNING_ROWS, random_state=0)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_table(folder / "table.parquet", arguments.rows)
        for n_members in arguments.members:
            est = SurvTRACE(n_members=n_members, max_epochs=EPOCHS, random_state=0, verbose=False)
            est.fit(X, y).save(folder / "model")
            measured = predict(folder, folder / "table.parquet")
            found[f"{n_members} members"] = measured
            print(
                f"{n_members} members: {measured['rows']:,} rows, "
                f"{measured['rows_per_second']:,} rows per second, peak memory "
                f"{measured['peak_gib']:.2f} GiB (limit {LIMIT_GIB:g})"
            )
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "predict_stream.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
