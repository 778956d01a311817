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
from survtrace.files import read_regular
from survtrace.inference.interval import IntervalScale
from survtrace.saved_checks import check_saved
from survtrace.settings import names_of_causes
from survtrace.strict_json import MOST_VALUES, count_values, parse
from survtrace.tables.covariates.encoding import Encoding
from survtrace.tables.typicality.typicality import Typicality

FORMAT, FORMAT_VERSION = "survtrace", 2
NOTE, TENSORS = "estimator.json", "tensors.safetensors"
MOST_NOTE_BYTES, MOST_BYTES = 2**24, 2**31  # of these files; more is refused unread
DIGEST, NO_DIGEST = "sha256", "0" * 64
# What reading a part of another kind than expected raises.
WRONG_KIND = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
TYPICALITY = "typicality."  # before the names of its tensors
NETWORK = "network."
# Names of tensors in a folder where the network's own name differs: folders outlive renamings.
SAVED_NAMES = {"recalibration_factor": "level"}
Arrays = Mapping[str, NDArray[Any]]


def read_folder(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read both files and check all they say: plain values, and arrays that may be written to."""
    note, content = read_note(path)
    try:
        tensors = read_regular(path / TENSORS, MOST_BYTES)
    except FileNotFoundError:
        raise SavedFileError(f"{path} has no {TENSORS}; copy the whole folder again.") from None
    if note["format_version"] == 1:
        intact = note.get("tensors_sha256") == hashlib.sha256(tensors).hexdigest()
    else:
        intact = note.get(DIGEST) == digest_of(content, tensors, str(note.get(DIGEST)))
    if not intact:
        raise SavedFileError(
            f"{path} is damaged: its content is not what was saved. Copy the folder again, or save "
            "the estimator anew."
        )
    try:
        arrays = {name: np.array(array) for name, array in load_arrays(tensors).items()}
    except (SafetensorError, *WRONG_KIND) as error:
        raise SavedFileError(f"{path / TENSORS} is not a safetensors file ({error}).") from None
    try:
        check_saved(note, arrays)
    except WRONG_KIND as error:
        raise damaged(path, error) from None
    return note, arrays


def digest_of(note: bytes, tensors: bytes, digest: str) -> str:
    """Compute the digest of both files, where that of the first is taken with zeros in its place.

    Examples
    --------
    >>> digest = digest_of(b'{"sha256": "' + NO_DIGEST.encode() + b'"}', b"", NO_DIGEST)
    >>> digest == digest_of(b'{"sha256": "' + digest.encode() + b'"}', b"", digest)
    True
    """
    unsigned = note.replace(digest.encode(), NO_DIGEST.encode(), 1)
    return hashlib.sha256(hashlib.sha256(unsigned).digest() + tensors).hexdigest()


def written_note(note: Mapping[str, Any], tensors: bytes) -> bytes:
    """Write the plain values of a folder, with the digest of all it holds."""
    header = {"format": FORMAT, "format_version": FORMAT_VERSION, DIGEST: NO_DIGEST}
    content = json.dumps({**header, **note}, indent=1).encode()
    n_values = count_values(content)
    if len(content) > MOST_NOTE_BYTES or n_values > MOST_VALUES or len(tensors) > MOST_BYTES:
        raise SavedFileError(
            f"a saved estimator must have at most {MOST_NOTE_BYTES:,} bytes of names and "
            f"categories, {MOST_VALUES:,} of these, and {MOST_BYTES:,} bytes of parameters; this "
            f"one has {len(content):,}, {n_values:,} and {len(tensors):,}. Leave out columns with "
            "very many categories."
        )
    digest = digest_of(content, tensors, NO_DIGEST)
    return content.replace(NO_DIGEST.encode(), digest.encode(), 1)


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
    reason = str(error) if type(error) is ValueError else f"{type(error).__name__}: {error}"
    return SavedFileError(f"{path} is damaged ({reason}). Copy the folder again.")


def read_note(path: Path) -> tuple[dict[str, Any], bytes]:
    """Read the plain values of a folder of ours, and their bytes; check the format's version."""
    try:
        content = read_regular(path / NOTE, MOST_NOTE_BYTES)
        note = parse(content)
    except (FileNotFoundError, NotADirectoryError):
        seen = f"{NOTE} is missing" if path.exists() else "there is no such folder"
        raise SavedFileError(
            f"{path} holds no saved estimator ({seen}). Pass the folder that SurvTRACE.save or "
            "survtrace fit wrote."
        ) from None
    except SavedFileError:
        raise
    except ValueError as error:
        raise SavedFileError(
            f"{path / NOTE} is damaged: it is not JSON of ours ({error}). Copy the folder again."
        ) from None
    if not isinstance(note, dict) or note.get("format") != FORMAT:
        raise SavedFileError(f"{path / NOTE} was not written by survtrace.")
    version = note.get("format_version")
    if type(version) is not int or not 1 <= version <= FORMAT_VERSION:
        raise SavedFileError(
            f"{path} has format version {version}; this survtrace reads 1 to {FORMAT_VERSION}. "
            "Upgrade survtrace."
        )
    return note, content
