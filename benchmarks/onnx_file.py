"""ONNX files against the estimator: differences, the time of one patient, size.

The five models of benchmarks/portable.py, 10,000 random raw rows each (values missing, levels
unseen), every output at twenty times, from 0 on and from a start of each row's own. Rows reach
onnxruntime by the schema that is written beside each file, as a client's do. Then how long one
patient takes in a session with one thread, with and without intervals. Writes
results/onnx_file.json.
"""

from __future__ import annotations

import json
import os
import platform
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pandas as pd
from numpy.typing import NDArray

import survtrace
from portable import models, random_rows
from survtrace import SurvTRACE
from survtrace.export import export_onnx

RESULTS = Path(__file__).parent / "results"
N_PATIENTS = 5_000


def open_session(path: Path) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def feeds(schema: dict[str, Any], X: pd.DataFrame) -> dict[str, NDArray[Any]]:
    """Fill the inputs of the covariates from raw rows, by the schema alone."""
    found = {}
    for key, tensor in schema["x-survtrace"]["inputs"].items():
        columns = []
        for name in tensor.get("columns", ()):
            if key == "numbers":
                columns.append(pd.to_numeric(X[name]).to_numpy(np.float64))
                continue
            codes = schema["properties"][name]["x-survtrace"]["codes"]
            columns.append([-1 if pd.isna(x) else codes.get(text(x), -2) for x in X[name]])
        if columns:
            found[key] = np.stack(columns, axis=1).astype(tensor["type"])
    return found


def text(value: Any) -> str:
    """Write a category as the schema does: whole numbers without a point."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def expected(est: SurvTRACE, X: pd.DataFrame, how: dict[str, Any]) -> dict[str, Any]:
    """Ask the estimator for everything that a file has."""
    found = {}
    survival = est.predict_survival_function(X, return_std=True, **how)
    found["survival"], found["survival_std"] = survival
    incidence = est.predict_cumulative_incidence(X, return_std=True, **how)
    found["incidence"], found["incidence_std"] = incidence
    if est.interval_ is not None:
        for kind in ("survival", "incidence"):
            ends = est.predict_interval(X, kind=kind, **how)
            found[f"{kind}_low"], found[f"{kind}_high"] = ends
    return found


def largest_differences(est: SurvTRACE, path: Path, X: pd.DataFrame) -> dict[str, float]:
    """Compare every output, from 0 on and conditional."""
    schema = json.loads(path.with_suffix(".schema.json").read_text())
    session, inputs = open_session(path), feeds(schema, X)
    end = float(est.time_grid_[-1])
    times, starts = np.linspace(0, end, 20), np.linspace(0, 0.9 * end, len(X))
    names, largest = [output.name for output in session.get_outputs()], {}
    for words, after in (("", None), (", conditional", starts)):
        asked = {"times": times[None], "after": np.zeros(1) if after is None else after}
        found = dict(zip(names, session.run(names, inputs | asked), strict=True))
        right = expected(est, X, {"times": times, "conditional_after": after})
        assert set(found) == set(right)
        for name, array in right.items():
            apart = np.where(np.isnan(array) & np.isnan(found[name]), 0, found[name] - array)
            largest[name + words] = float(np.abs(apart).max())
    return largest


def one_patient(path: Path, X: pd.DataFrame) -> dict[str, float]:
    """Milliseconds for all outputs of one patient at two times, of 200 by turns."""
    schema = json.loads(path.with_suffix(".schema.json").read_text())
    session, inputs, taken = open_session(path), feeds(schema, X[:200]), []
    end = schema["x-survtrace"]["time"]["end"]
    asked = {"times": np.array([[end / 4, end / 2]]), "after": np.zeros(1)}
    for k in range(N_PATIENTS):
        row = {name: array[k % 200, None] for name, array in inputs.items()} | asked
        begin = time.perf_counter()
        session.run(None, row)
        taken.append(1e3 * (time.perf_counter() - begin))
    return dict(zip(("best", "median", "95 %"), np.quantile(taken, [0, 0.5, 0.95]), strict=True))


def main() -> None:
    found: dict[str, Any] = {
        "machine": platform.processor() or platform.machine(),
        "load": os.getloadavg()[0],
        "onnxruntime": onnxruntime.__version__,
        "largest differences": {},
        "megabytes": {},
    }
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(action="ignore"):
        for k, (name, (est, X)) in enumerate(models().items()):
            est.save(f"{folder}/{k}")
            path = export_onnx(f"{folder}/{k}", f"{folder}/{k}.onnx").path
            saved, rows = survtrace.load(f"{folder}/{k}"), random_rows(X, k)
            differences = largest_differences(saved, path, rows)
            found["largest differences"][name] = differences
            found["megabytes"][name] = path.stat().st_size / 1e6
            print(name, {what: f"{value:.1e}" for what, value in differences.items()})
            if k == 0:
                plain = export_onnx(f"{folder}/{k}", f"{folder}/plain.onnx", level=None).path
                found["milliseconds for one patient"] = {
                    "with intervals": one_patient(path, rows),
                    "curves and deviations": one_patient(plain, rows),
                }
    for what in ("megabytes", "milliseconds for one patient"):
        print(what, found[what])
    (RESULTS / "onnx_file.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
