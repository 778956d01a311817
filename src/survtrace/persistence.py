"""Save an estimator to a folder of JSON and safetensors; reading it executes nothing."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

from survtrace.errors import SavedFileError
from survtrace.estimator import SurvTRACE
from survtrace.inference.interval import IntervalScale
from survtrace.metrics import CensoringSurvival
from survtrace.network.assembly import Network, Shape
from survtrace.tables.covariates.encoding import Encoding
from survtrace.tables.typicality.typicality import Typicality

FORMAT, FORMAT_VERSION = "survtrace", 1
NOTE, TENSORS = "estimator.json", "tensors.safetensors"
TYPICALITY = "typicality."  # before the names of its tensors
# Names of tensors in a folder where the network's own name differs: folders outlive renamings.
SAVED_NAMES = {"recalibration_factor": "level"}


def save(est: SurvTRACE, path: str | Path) -> None:
    """Write a fitted estimator to a folder; an earlier one there is replaced whole.

    Examples
    --------
    >>> import tempfile
    >>> from survtrace.datasets import make_cohort
    >>> X, y = make_cohort(200, random_state=0)
    >>> est = SurvTRACE(n_members=1, max_epochs=1, random_state=0, verbose=False).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(est, f"{folder}/est")
    ...     bool((load(f"{folder}/est").predict(X) == est.predict(X)).all())
    True
    """
    state = est.network_.state_dict()
    if bool((state["hazard_power"] == 1).all()):  # as in every folder from before
        del state["hazard_power"]
    network = {f"network.{SAVED_NAMES.get(name, name)}": t for name, t in state.items()}
    arrays = {
        "time_grid": est.time_grid_,
        "score_times": est.score_times_,
        "censoring_times": est.censoring_.times,
        "censoring_values": est.censoring_.values,
    }
    if est.censoring_.at_risk is not None:
        arrays["censoring_at_risk"] = est.censoring_.at_risk
    if est.censoring_.entered is not None:
        arrays["censoring_entered"] = est.censoring_.entered
    if est.typicality_ is not None:
        learned = est.typicality_.arrays().items()
        arrays |= {f"{TYPICALITY}{name}": array for name, array in learned}
    _write_folder(
        Path(path),
        {
            "survtrace_version": version("survtrace"),
            "settings": {name: _plain(value) for name, value in est.get_params().items()},
            "causes": est.causes_,
            "censored": est.censored_,
            "encoding": est.encoding_.as_dict(),
            "left_out": list(est.encoding_.left_out),
            "shape": est.network_.shape.as_dict(),
            "median_event_time": est.median_event_time_,
            "censoring_floor": est.censoring_.floor,
            "history": est.history_.to_dict(orient="list"),
            "card": est.card_,
            "interval": None if est.interval_ is None else est.interval_.as_dict(),
            "entry": est.entry_,
            "has_start_stop": est.has_start_stop_,
            "updates": est.updates_,
        },
        {**network, **{name: torch.from_numpy(array) for name, array in arrays.items()}},
    )


def load(path: str | Path) -> SurvTRACE:
    """Read an estimator that `SurvTRACE.save` wrote; runs no code from the folder.

    Examples
    --------
    >>> load("no/such/folder")
    Traceback (most recent call last):
    survtrace.errors.SavedFileError: no/such/folder holds no saved estimator (estimator.json is \
missing). Pass the folder that SurvTRACE.save wrote.
    """
    note, tensors = _read_folder(Path(path))
    try:
        return _rebuild(note, tensors)
    except (AttributeError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise SavedFileError(
            f"{path} is damaged ({type(error).__name__}: {error}). Copy the folder again."
        ) from None


def _rebuild(note: dict[str, Any], tensors: dict[str, Tensor]) -> SurvTRACE:
    est = SurvTRACE(**note["settings"])
    est.causes_ = note["causes"]
    # Folders saved before these were known have none of them: censored, left_out, card, entry,
    # has_start_stop, interval, typicality, updates.
    est.censored_ = note.get("censored", [])
    est.encoding_ = Encoding.from_dict(note["encoding"], note.get("left_out", ()))
    est._remember_names(est.encoding_)
    est.feature_names_in_ = est.encoding_.names
    est.n_features_in_ = len(est.feature_names_in_)
    est.time_grid_ = tensors["time_grid"].numpy()
    est.score_times_ = tensors["score_times"].numpy()
    est.median_event_time_ = note["median_event_time"]
    at_risk, entered = (tensors.get(f"censoring_{name}") for name in ("at_risk", "entered"))
    est.censoring_ = CensoringSurvival(
        tensors["censoring_times"].numpy(),
        tensors["censoring_values"].numpy(),
        floor=note["censoring_floor"],
        at_risk=None if at_risk is None else at_risk.numpy(),
        entered=None if entered is None else entered.numpy(),
    )
    est.history_ = pd.DataFrame(note["history"])
    est.card_ = note.get("card", {})
    interval = note.get("interval")
    est.interval_ = None if interval is None else IntervalScale(**interval)
    est.entry_ = None if note.get("entry") is None else tuple(note["entry"])
    est.has_start_stop_ = bool(note.get("has_start_stop", False))
    typicality = {
        name.removeprefix(TYPICALITY): tensor.numpy()
        for name, tensor in tensors.items()
        if name.startswith(TYPICALITY)
    }
    est.typicality_ = Typicality.from_arrays(est.encoding_, typicality) if typicality else None
    est.updates_ = note.get("updates", [])
    network = Network(Shape.from_dict(note["shape"]))
    saved = {n.removeprefix("network."): t for n, t in tensors.items() if n.startswith("network.")}
    for name, saved_name in SAVED_NAMES.items():
        saved[name] = saved.pop(saved_name)
    saved.setdefault("hazard_power", torch.ones(network.shape.n_causes))
    network.load_state_dict(saved)
    est.network_ = network.eval()
    return est


def _plain(value: Any) -> Any:
    """Convert a setting to what JSON can hold; a random generator object is not saved."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, Path):
        return str(value)
    return value if isinstance(value, str | int | float | bool | None) else None


def _write_folder(path: Path, note: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
    """Write both files to a new folder, then put it in place in one step.

    An earlier saved estimator at ``path`` is replaced; any other file or folder is refused.
    """
    require_replaceable(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    content = safetensors.torch.save(
        {name: tensor.contiguous().cpu() for name, tensor in tensors.items()}
    )
    header = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "tensors_sha256": hashlib.sha256(content).hexdigest(),
    }
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}-") as temporary:
        new = Path(temporary) / "new"
        new.mkdir()
        (new / TENSORS).write_bytes(content)
        (new / NOTE).write_text(json.dumps({**header, **note}, indent=1), encoding="utf-8")
        _put_in_place(new, path, Path(temporary) / "old")


def _put_in_place(new: Path, path: Path, old: Path) -> None:
    """Rename the new folder to its path; if that fails, move the earlier one back."""
    if not path.exists():
        new.rename(path)
        return
    shutil.move(path, old)
    try:
        new.rename(path)
    except BaseException:
        shutil.move(old, path)
        raise


def require_replaceable(path: Path) -> None:
    """Refuse a path that holds anything but an estimator of ours."""
    if path.exists() and not _may_be_replaced(path):
        raise SavedFileError(
            f"{path} exists and holds no saved estimator; it is left alone. Choose another path."
        )


def _may_be_replaced(path: Path) -> bool:
    """Check whether a path is an empty folder or holds nothing but an estimator of ours."""
    if not path.is_dir() or {file.name for file in path.iterdir()} - {NOTE, TENSORS}:
        return False
    try:
        return not any(path.iterdir()) or json.loads((path / NOTE).read_bytes())["format"] == FORMAT
    except (OSError, ValueError, TypeError, KeyError):
        return False


def _read_folder(path: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Read and check both files."""
    note = _read_note(path)
    try:
        content = (path / TENSORS).read_bytes()
        if hashlib.sha256(content).hexdigest() != note.get("tensors_sha256"):
            raise SavedFileError(
                f"{path / TENSORS} is damaged: its content is not what was saved. "
                "Copy the folder again, or save the estimator anew."
            )
        return note, safetensors.torch.load(content)
    except FileNotFoundError:
        raise SavedFileError(f"{path} has no {TENSORS}; copy the whole folder again.") from None
    except SafetensorError as error:
        raise SavedFileError(f"{path / TENSORS} is not a safetensors file ({error}).") from None


def _read_note(path: Path) -> dict[str, Any]:
    try:
        note = json.loads((path / NOTE).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise SavedFileError(
            f"{path} holds no saved estimator ({NOTE} is missing). Pass the folder that "
            "SurvTRACE.save wrote."
        ) from None
    except (ValueError, RecursionError):
        raise SavedFileError(
            f"{path / NOTE} is damaged: it is not JSON. Copy the folder again."
        ) from None
    if not isinstance(note, dict) or note.get("format") != FORMAT:
        raise SavedFileError(f"{path / NOTE} was not written by survtrace.")
    version = note.get("format_version")
    if not isinstance(version, int) or version > FORMAT_VERSION:
        raise SavedFileError(
            f"{path} has format version {version}; this survtrace reads up to {FORMAT_VERSION}. "
            "Upgrade survtrace."
        )
    return note
