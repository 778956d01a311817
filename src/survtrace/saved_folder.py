"""Read a saved folder and what it says of an estimator; torch is not needed for it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as load_arrays

from survtrace.errors import SavedFileError
from survtrace.inference.interval import IntervalScale
from survtrace.settings import names_of_causes
from survtrace.tables.covariates.encoding import Encoding
from survtrace.tables.typicality.typicality import Typicality

FORMAT, FORMAT_VERSION = "survtrace", 1
NOTE, TENSORS = "estimator.json", "tensors.safetensors"
TYPICALITY = "typicality."  # before the names of its tensors
NETWORK = "network."
# Names of tensors in a folder where the network's own name differs: folders outlive renamings.
SAVED_NAMES = {"recalibration_factor": "level"}
Arrays = Mapping[str, NDArray[Any]]


def read_folder(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read and check both files: plain values, and arrays that may be written to."""
    note = read_note(path)
    try:
        content = (path / TENSORS).read_bytes()
        if hashlib.sha256(content).hexdigest() != note.get("tensors_sha256"):
            raise SavedFileError(
                f"{path / TENSORS} is damaged: its content is not what was saved. "
                "Copy the folder again, or save the estimator anew."
            )
        return note, {name: np.array(array) for name, array in load_arrays(content).items()}
    except FileNotFoundError:
        raise SavedFileError(f"{path} has no {TENSORS}; copy the whole folder again.") from None
    except SafetensorError as error:
        raise SavedFileError(f"{path / TENSORS} is not a safetensors file ({error}).") from None


def restore(est: Any, note: Mapping[str, Any], arrays: Arrays) -> None:
    """Set the attributes of a fitted estimator that predictions and their readers need.

    Folders saved before these were known have none of them: censored, left_out, card, entry,
    has_start_stop, interval, typicality, updates.
    """
    settings = note["settings"]
    est.causes_, est.censored_ = note["causes"], note.get("censored", [])
    est.encoding_ = Encoding.from_dict(note["encoding"], note.get("left_out", ()))
    est.cause_names_ = names_of_causes(est.causes_, settings.get("cause_names"))
    est.time_unit_, est.time_name_ = str(settings.get("time_unit", "")), settings.get("time_name")
    est.covariate_labels_ = {each.name: each.shown for each in est.encoding_.covariates}
    est.feature_names_in_ = est.encoding_.names
    est.n_features_in_ = len(est.feature_names_in_)
    est.time_grid_ = arrays["time_grid"]
    est.median_event_time_ = note["median_event_time"]
    est.card_ = note.get("card", {})
    interval = note.get("interval")
    est.interval_ = None if interval is None else IntervalScale(**interval)
    est.entry_ = None if note.get("entry") is None else tuple(note["entry"])
    est.has_start_stop_ = bool(note.get("has_start_stop", False))
    typicality = with_prefix(arrays, TYPICALITY)
    est.typicality_ = Typicality.from_arrays(est.encoding_, typicality) if typicality else None
    est.updates_ = note.get("updates", [])


def network_arrays(arrays: Arrays, n_causes: int) -> dict[str, NDArray[Any]]:
    """Return what the network is made of, by the names of its parameters and buffers."""
    saved = with_prefix(arrays, NETWORK)
    for name, saved_name in SAVED_NAMES.items():
        saved[name] = saved.pop(saved_name)
    saved.setdefault("hazard_power", np.ones(n_causes, dtype=np.float32))
    return saved


def with_prefix(arrays: Arrays, prefix: str) -> dict[str, NDArray[Any]]:
    """Take the arrays whose names begin with a prefix, which goes."""
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }


def damaged(path: Any, error: Exception) -> SavedFileError:
    """Make the error for a folder whose files are whole and do not fit together."""
    return SavedFileError(
        f"{path} is damaged ({type(error).__name__}: {error}). Copy the folder again."
    )


def read_note(path: Path) -> dict[str, Any]:
    """Read the plain values of a folder of ours, and check the version of its format."""
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
