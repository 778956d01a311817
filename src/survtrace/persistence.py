"""Save an estimator to a folder of JSON and safetensors; reading it executes nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.metadata import version
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import safetensors.torch
import torch
from numpy.typing import NDArray
from torch import Tensor

from survtrace.errors import SavedFileError
from survtrace.estimator import SurvTRACE
from survtrace.files import new_folder, own_errors
from survtrace.metrics import CensoringSurvival
from survtrace.network.assembly import Network, Shape
from survtrace.rules import read_path
from survtrace.saved_folder import (
    NETWORK,
    NOTE,
    SAVED_NAMES,
    TENSORS,
    TYPICALITY,
    WRONG_KIND,
    damaged,
    network_arrays,
    read_folder,
    read_note,
    restore,
    written_note,
)
from survtrace.settings import check_settings, names_of_causes
from survtrace.tables.covariates.real_numbers import real_numbers
from survtrace.tables.outcome.time_grid import checked_cuts


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
    network = {f"{NETWORK}{SAVED_NAMES.get(name, name)}": t for name, t in state.items()}
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
        read_path("path", path),
        {
            "survtrace_version": version("survtrace"),
            "settings": _plain_settings(est),
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
    survtrace.errors.SavedFileError: no/such/folder holds no saved estimator (there is no such \
folder). Pass the folder that SurvTRACE.save or survtrace fit wrote.
    """
    note, arrays = read_folder(read_path("path", path))
    try:
        return _rebuild(note, arrays)
    except WRONG_KIND as error:
        raise damaged(path, error) from None


def _rebuild(note: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> SurvTRACE:
    est = SurvTRACE(**note["settings"])
    restore(est, note, arrays)
    est.score_times_ = arrays["score_times"]
    est.censoring_ = CensoringSurvival(
        arrays["censoring_times"],
        arrays["censoring_values"],
        floor=note["censoring_floor"],
        at_risk=arrays.get("censoring_at_risk"),
        entered=arrays.get("censoring_entered"),
    )
    est.history_ = pd.DataFrame(note["history"])
    network = Network(Shape.from_dict(note["shape"]))
    saved = network_arrays(arrays, network.shape.n_causes)
    network.load_state_dict({name: torch.from_numpy(array) for name, array in saved.items()})
    est.network_ = network.eval()
    return est


def _plain_settings(est: SurvTRACE) -> dict[str, Any]:
    """Convert all settings to what JSON can hold, and `load` takes."""
    check_settings(est.get_params())  # they may have been changed since the fit
    names_of_causes(est.causes_, est.cause_names)
    settings = {name: _plain(value) for name, value in est.get_params().items()}
    if est.time_grid is not None:  # any array of numbers, of any library
        checked_cuts(est.time_grid)
        settings["time_grid"] = real_numbers(est.time_grid, "time_grid").ravel().tolist()
    return settings


def _plain(value: Any) -> Any:
    """Convert a setting to what JSON can hold; a random generator object is not saved."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, str | bool | None):
        return value
    if isinstance(value, Real):
        return int(value) if isinstance(value, Integral) else float(value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted(map(_plain, value), key=str)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, torch.device):
        return str(value)
    return os.fspath(value) if isinstance(value, os.PathLike) else None


def _write_folder(path: Path, note: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
    """Write both files to a new folder, then put it in place in one step.

    An earlier saved estimator at ``path`` is replaced; any other file or folder is refused.
    """
    require_replaceable(path)
    with new_folder(path, replace=(NOTE, TENSORS)) as new:
        plain = {name: tensor.contiguous().cpu() for name, tensor in tensors.items()}
        content = safetensors.torch.save(plain)
        (new / TENSORS).write_bytes(content)
        (new / NOTE).write_bytes(written_note(note, content))


def require_replaceable(path: Path) -> None:
    """Refuse a path that holds anything but an estimator of ours."""
    with own_errors(path):  # a name that is too long, a folder that may not be looked into
        replaceable = not path.exists() or _may_be_replaced(path)
    if not replaceable:
        raise SavedFileError(
            f"{path} exists and holds no saved estimator; it is left alone. Choose another path."
        )


def _may_be_replaced(path: Path) -> bool:
    """Check whether a path is an empty folder or holds nothing but an estimator of ours."""
    if not path.is_dir() or {file.name for file in path.iterdir()} - {NOTE, TENSORS}:
        return False
    try:
        return not any(path.iterdir()) or bool(read_note(path))
    except SavedFileError:
        return False
