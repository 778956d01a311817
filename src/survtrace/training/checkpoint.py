"""A fit that was killed goes on where it was: its whole state in one file, replaced whole."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save

from survtrace.errors import SavedFileError, SettingError, lacks_memory
from survtrace.files import read_regular, replacing
from survtrace.network.assembly import Network
from survtrace.training.flat_parameters import release
from survtrace.training.history import History
from survtrace.training.state import State

FILE = "training.safetensors"
MOMENT = "optimiser."
MOST_BYTES = 2**33


class Checkpoint:
    """The state after an epoch, in a folder.

    ``fingerprint`` identifies data and settings; a folder that holds another fit is refused.
    """

    def __init__(self, folder: str | Path, fingerprint: str) -> None:
        self.path = Path(folder) / FILE
        self.fingerprint = fingerprint

    def save(self, epoch: int, state: State) -> None:
        """Write the state beside the old one, then replace that in one step."""
        tensors = {name: t.detach().contiguous().cpu() for name, t in _tensors(state).items()}
        note = {
            "fingerprint": self.fingerprint,
            "epoch": epoch,
            "sha256": _digest(tensors),
            "history": state.history.records,
        }
        note["note_sha256"] = _note_digest(note, tensors)
        with replacing(self.path) as part:
            part.write_bytes(save(tensors, metadata={"note": json.dumps(note)}))

    def restore(self, state: State) -> int:
        """Load the state if there is one; return the first epoch still to do."""
        if not self.path.exists():
            return 0
        note, tensors = self._read()
        with self._readable():
            state.keep(~tensors["stopping.stopped"].to(state.stopping.stopped.device))
            state.optimiser.state[state.flat_parameters] = {
                name.removeprefix(MOMENT): value.to(state.flat_parameters.device)
                for name, value in tensors.items()
                if name.startswith(MOMENT)
            }
            with torch.no_grad():
                for name, tensor in _tensors(state).items():
                    tensor.copy_(tensors[name])
            state.history.records[:] = note["history"]
            return int(note["epoch"]) + 1

    def load(self, network: Network, history: History) -> None:
        """Load the best parameters of each member, and the history; nothing is trained."""
        note, tensors = self._read()
        release(network, tensors["stopping.best"].to(network.device))
        network.eval()
        history.records[:] = note["history"]

    def _read(self) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
        with self._readable():
            content = read_regular(self.path, MOST_BYTES)
            length = int.from_bytes(content[:8], "little")  # of safetensors' header
            note = json.loads(json.loads(content[8 : 8 + length])["__metadata__"]["note"])
            tensors = load(content)
            # Checkpoints of earlier versions have a digest of the tensors only.
            digest = note.pop("note_sha256", None)
            intact = digest is None or digest == _note_digest(note, tensors)
            if note["sha256"] != _digest(tensors) or not intact:
                raise ValueError("its content is not what was saved")
        if note["fingerprint"] != self.fingerprint:
            raise SettingError(
                f"the checkpoint folder {self.path.parent} holds a fit of other data or settings. "
                "Choose another folder, or delete this one to start anew."
            )
        return note, tensors

    @contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except (SafetensorError, LookupError, TypeError, ValueError, RuntimeError) as error:
            if lacks_memory(error):
                raise
            raise SavedFileError(
                f"{self.path} is not a readable checkpoint ({error}). Delete it to start anew."
            ) from None


def _note_digest(note: dict[str, Any], tensors: dict[str, torch.Tensor]) -> str:
    """Identify the plain values of a checkpoint, and the types and shapes of its tensors."""
    kinds = {name: [str(t.dtype), list(t.shape)] for name, t in sorted(tensors.items())}
    return hashlib.sha256(json.dumps([note, kinds]).encode()).hexdigest()


def _digest(tensors: dict[str, torch.Tensor]) -> str:
    """Identify the content of all tensors."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        digest.update(name.encode() + tensors[name].numpy().tobytes())
    return digest.hexdigest()


def _tensors(state: State) -> dict[str, torch.Tensor]:
    """Return every tensor of the state, by name."""
    stopping, average = state.stopping, state.average
    moments = state.optimiser.state[state.flat_parameters]
    return {
        "stopping.best_loss": stopping.best_loss,
        "stopping.best_epoch": stopping.best_epoch,
        "stopping.stopped": stopping.stopped,
        "stopping.best": stopping.best,
        "average.average": average.average,
        "average.n_steps": average.n_steps,
        "parameters": state.flat_parameters,
        **{MOMENT + name: value for name, value in moments.items()},
    }
